//! Shared memory: static variables, and where external arrays start.

use std::collections::{HashMap, HashSet};

use super::super::live::Live;
use super::super::program::{FunctionId, Meaning, Program, SharedId, SharedVariable};
use super::super::read::unsupported;
use super::super::sort::{Ties, list_sort};
use super::{Layout, SharedSize};
use crate::error::Result;

/// Bytes that sm_90 keeps at the start of a kernel's shared memory.
const RESERVED_FROM_SM_90: u64 = 1024;

/// Variables of several kernels are compared each with each: more work than this is refused.
const MOST_COMPARISONS: usize = 200_000_000;

/// One kernel's shared memory while it is laid out.
#[derive(Debug, Default)]
struct Kernel {
    variables: Vec<SharedId>,
    end: u64,
    align: u64,
    /// Alignment of external shared memory, when it uses any.
    external: Option<u64>,
}

pub(super) struct Shared<'p, 'a> {
    program: &'p Program<'a>,
    live: &'p Live,
    kernels: Vec<FunctionId>,
    of: HashMap<FunctionId, Kernel>,
    users: HashMap<SharedId, Vec<FunctionId>>,
    /// By function: its external shared arrays' largest alignment.
    external: HashMap<FunctionId, u64>,
}

impl<'p, 'a> Shared<'p, 'a> {
    pub(super) fn new(program: &'p Program<'a>, live: &'p Live) -> Result<Self> {
        let mut uses: HashMap<FunctionId, Vec<SharedId>> = HashMap::new();
        let mut seen = HashSet::new();
        let mut external: HashMap<FunctionId, u64> = HashMap::new();
        for list in &program.relocations {
            let Some(owner) = program
                .section(list.target)
                .owner
                .filter(|&owner| live.keeps(owner))
            else {
                continue;
            };
            for record in &list.records {
                let Meaning::Shared(id) = program.symbol(record.symbol).meaning else {
                    continue;
                };
                let variable = &program.shared[id.at()];
                if variable.is_external {
                    let align = external.entry(owner).or_insert(1);
                    *align = variable.align.max(*align);
                } else if seen.insert((owner, id)) {
                    uses.entry(owner).or_default().push(id);
                }
            }
        }
        let kernels: Vec<FunctionId> = live.kernels(program).collect();
        let mut of: HashMap<FunctionId, Kernel> = HashMap::new();
        let mut users: HashMap<SharedId, Vec<FunctionId>> = HashMap::new();
        for &kernel in &kernels {
            let mut variables = Vec::new();
            let mut seen = HashSet::new();
            for function in &live.reach[kernel.at()] {
                for &variable in uses.get(function).map_or(&[][..], Vec::as_slice) {
                    if seen.insert(variable) {
                        variables.push(variable);
                        users.entry(variable).or_default().push(kernel);
                    }
                }
            }
            of.insert(
                kernel,
                Kernel {
                    variables,
                    align: 1,
                    ..Kernel::default()
                },
            );
        }
        Ok(Self {
            program,
            live,
            kernels,
            of,
            users,
            external,
        })
    }

    pub(super) fn variable(&self, id: SharedId) -> &SharedVariable {
        &self.program.shared[id.at()]
    }

    pub(super) fn users(&self, id: SharedId) -> &[FunctionId] {
        self.users.get(&id).map_or(&[], Vec::as_slice)
    }

    pub(super) fn place(mut self, layout: &mut Layout) -> Result<()> {
        let public: Vec<SharedId> = (0..self.program.shared.len() as u32)
            .map(SharedId)
            .filter(|&id| self.variable(id).is_public)
            .collect();
        let by_size = list_sort(
            &public,
            &|a, b| self.variable(a).size > self.variable(b).size,
            Ties::Second,
        );
        let common: Vec<SharedId> = by_size
            .iter()
            .copied()
            .filter(|&id| {
                let variable = self.variable(id);
                !variable.is_external && variable.is_referenced && self.users(id).len() != 1
            })
            .collect();
        self.place_common(&common, layout)?;
        self.place_own(&by_size, &common, layout);
        self.place_external(layout);

        let reserved = if self.program.number >= 90 {
            RESERVED_FROM_SM_90
        } else {
            0
        };
        let has_external = self
            .program
            .shared
            .iter()
            .any(|variable| variable.is_external);
        layout.reserved = reserved;
        layout.keeps_public_shared = has_external;
        for (&id, kernel) in &self.of {
            if kernel.end > 0 || kernel.external.is_some() || !common.is_empty() && has_external {
                layout.shared.insert(
                    id,
                    SharedSize {
                        size: kernel.end + reserved,
                        align: kernel.align,
                    },
                );
            }
        }
        Ok(())
    }

    /// Variables of several kernels (or of dead code only): first fit into slots whose members share no kernel.
    pub(super) fn place_common(&mut self, common: &[SharedId], layout: &mut Layout) -> Result<()> {
        let users: usize = common.iter().map(|&id| 1 + self.users(id).len()).sum();
        if users.saturating_mul(common.len()) > MOST_COMPARISONS {
            return Err(unsupported(
                "the inputs",
                format_args!("how to place {} common shared variables", common.len()),
            ));
        }
        let mut slots: Vec<(Vec<SharedId>, HashSet<FunctionId>)> = Vec::new();
        for &id in common {
            let users = self.users(id);
            match slots
                .iter_mut()
                .find(|(_, taken)| !users.iter().any(|user| taken.contains(user)))
            {
                Some((slot, taken)) => {
                    slot.push(id);
                    taken.extend(users);
                }
                None => slots.push((vec![id], users.iter().copied().collect())),
            }
        }
        let mut at = 0u64;
        for (slot, _) in &slots {
            let align = slot
                .iter()
                .map(|&id| self.variable(id).align)
                .max()
                .unwrap_or(1);
            at = at.next_multiple_of(align);
            for &id in slot {
                layout.offsets.insert(id, at);
            }
            at += slot
                .iter()
                .map(|&id| self.variable(id).size)
                .max()
                .unwrap_or(0);
        }
        Ok(())
    }

    /// What one kernel alone uses follows: largest alignment first, then smallest size.
    pub(super) fn place_own(
        &mut self,
        by_size: &[SharedId],
        common: &[SharedId],
        layout: &mut Layout,
    ) {
        let is_common: HashSet<SharedId> = common.iter().copied().collect();
        let rank: HashMap<SharedId, usize> = by_size
            .iter()
            .rev()
            .enumerate()
            .map(|(rank, &id)| (id, rank))
            .collect();
        let public_align = self
            .program
            .public_shared_section
            .map_or(1, |id| self.program.section(id).align);
        let all: Vec<SharedId> = (0..self.program.shared.len() as u32)
            .map(SharedId)
            .collect();
        let mut own_of: HashMap<FunctionId, Vec<SharedId>> = HashMap::new();
        for &id in all.iter().filter(|&&id| !self.variable(id).is_external) {
            if let [user] = self.users(id) {
                own_of.entry(*user).or_default().push(id);
            }
        }
        for &id in &self.kernels {
            let Some(mut kernel) = self.of.remove(&id) else {
                continue;
            };
            let ends = kernel.variables.iter().filter(|id| is_common.contains(id));
            kernel.end = ends
                .map(|id| layout.offsets.get(id).copied().unwrap_or(0) + self.variable(*id).size)
                .max()
                .unwrap_or(0);
            let own = own_of.remove(&id).unwrap_or_default();
            let (mut public, private): (Vec<SharedId>, Vec<SharedId>) =
                own.iter().partition(|&&id| self.variable(id).is_public);
            public.sort_by_key(|id| std::cmp::Reverse(rank.get(id).copied()));
            let list: Vec<SharedId> = private.into_iter().chain(public).collect();
            let key = |id: SharedId| {
                (
                    std::cmp::Reverse(self.variable(id).align),
                    self.variable(id).size,
                )
            };
            for id in list_sort(&list, &|a, b| key(a) < key(b), Ties::First) {
                let variable = self.variable(id);
                kernel.end = kernel.end.next_multiple_of(variable.align);
                layout.offsets.insert(id, kernel.end);
                kernel.end += variable.size;
            }
            let align = kernel
                .variables
                .iter()
                .map(|&id| self.variable(id).align)
                .max()
                .unwrap_or(1);
            kernel.align = kernel.align.max(align);
            if !common.is_empty() {
                kernel.align = kernel.align.max(public_align);
            }
            self.of.insert(id, kernel);
        }
    }

    /// External shared memory starts at the aligned end of static; kernels that share a function using it form a group
    /// with the group's maximum.
    pub(super) fn place_external(&mut self, layout: &mut Layout) {
        let mut group: HashMap<FunctionId, FunctionId> = self
            .kernels
            .iter()
            .map(|&kernel| (kernel, kernel))
            .collect();
        fn leader(group: &HashMap<FunctionId, FunctionId>, mut kernel: FunctionId) -> FunctionId {
            while let Some(&next) = group.get(&kernel).filter(|&&next| next != kernel) {
                kernel = next;
            }
            kernel
        }
        let mut first_kernel: HashMap<FunctionId, FunctionId> = HashMap::new();
        for &kernel in &self.kernels {
            for function in &self.live.reach[kernel.at()] {
                let Some(&align) = self.external.get(function) else {
                    continue;
                };
                let first = *first_kernel.entry(*function).or_insert(kernel);
                if let Some(kernel) = self.of.get_mut(&kernel) {
                    kernel.external = Some(kernel.external.unwrap_or(1).max(align));
                }
                let (from, to) = (leader(&group, kernel), leader(&group, first));
                group.insert(from, to);
            }
        }
        let mut members: HashMap<FunctionId, Vec<FunctionId>> = HashMap::new();
        for &kernel in self
            .kernels
            .iter()
            .filter(|kernel| self.of.get(kernel).is_some_and(|k| k.external.is_some()))
        {
            members
                .entry(leader(&group, kernel))
                .or_default()
                .push(kernel);
        }
        for kernels in members.values() {
            let facts = || kernels.iter().filter_map(|kernel| self.of.get(kernel));
            let align = facts()
                .filter_map(|kernel| kernel.external)
                .max()
                .unwrap_or(1);
            let start = facts()
                .map(|kernel| kernel.end.next_multiple_of(align))
                .max()
                .unwrap_or(0);
            for id in kernels {
                if let Some(kernel) = self.of.get_mut(id) {
                    kernel.end = start;
                    kernel.align = kernel.align.max(align);
                }
            }
        }
        for (&function, kernel) in &first_kernel {
            if let Some(kernel) = self.of.get(kernel) {
                layout.external.insert(function, kernel.end);
            }
        }
    }
}
