//! Phase 5: what a kernel needs because of what it reaches: registers, stack, barriers, and the attributes that
//! travel from callees to kernels. Recomputed from the merged facts; nothing of the program is changed.

use std::borrow::Cow;
use std::collections::HashMap;

use super::live::Live;
use super::program::{Attribute, Function, FunctionId, Program, SymbolId, Value};
use crate::error::Result;

const CTAIDZ_USED: u8 = 0x04;
const EXTERNS: u8 = 0x0F;
const CRS_STACK_SIZE: u8 = 0x1E;
const NUM_MBARRIERS: u8 = 0x38;
const NUM_BARRIERS: u8 = 0x4C;
const SPARSE_MMA_MASK: u8 = 0x50;
const GRID_ATTRIBUTES: u8 = 0x68;

/// A stack that cannot be bounded, because the kernel recurses.
const UNKNOWN: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Resources<'a> {
    /// By kernel: registers over everything it reaches.
    pub registers: HashMap<SymbolId, u32>,
    /// By kernel: bytes of stack, or `0xFFFFFFFF`.
    pub stacks: Vec<(SymbolId, u32)>,
    /// By function: its attributes in the result.
    pub attributes: Vec<Vec<Attribute<'a>>>,
}

pub(super) fn propagate<'a>(program: &Program<'a>, live: &Live) -> Result<Resources<'a>> {
    let mut attributes: Vec<Vec<Attribute<'a>>> = program
        .functions
        .iter()
        .map(|function| function.attributes.clone())
        .collect();
    complete_old_functions(program, live, &mut attributes);
    let depths = stack_depths(program, live);
    let mut registers = HashMap::new();
    let mut stacks = Vec::new();
    let kernels: Vec<FunctionId> = live.kernels(program).collect();
    let lone = kernels.len() == 1;
    for &id in &kernels {
        let kernel = program.function(id);
        let reached: Vec<&Function> = live.reach[id.at()]
            .iter()
            .map(|&f| program.function(f))
            .collect();
        let most = reached
            .iter()
            .map(|function| function.registers)
            .max()
            .unwrap_or(0);
        registers.insert(kernel.symbol, most);
        stacks.push((kernel.symbol, depths[id.at()].unwrap_or(UNKNOWN)));
        let collected = Collected::new(program, live, id, &attributes, lone);
        collected.apply(
            program,
            kernel,
            depths[id.at()].is_none(),
            &mut attributes[id.at()],
        );
    }
    Ok(Resources {
        registers,
        stacks,
        attributes,
    })
}

/// ABI 7 code lacks two attributes that newer code always has.
fn complete_old_functions(program: &Program, live: &Live, attributes: &mut [Vec<Attribute>]) {
    let any_mask = live.kept(program).any(|id| {
        attributes[id.at()]
            .iter()
            .any(|attribute| attribute.number == SPARSE_MMA_MASK)
    });
    for id in live.kept(program) {
        let function = program.function(id);
        if function.lacks_sparse_mask && any_mask {
            attributes[id.at()].push(bytes(3, SPARSE_MMA_MASK, vec![0, 0x80]));
        }
        if function.add_barriers {
            attributes[id.at()].push(bytes(2, NUM_BARRIERS, vec![function.barriers, 0]));
        }
    }
}

fn bytes<'a>(format: u8, number: u8, value: Vec<u8>) -> Attribute<'a> {
    Attribute {
        format,
        number,
        value: Value::Bytes(Cow::Owned(value)),
    }
}

/// Own frame and the deepest path below it, by function; none when a cycle is reachable.
fn stack_depths(program: &Program, live: &Live) -> Vec<Option<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done(Option<u32>),
    }
    let mut states = vec![State::New; program.functions.len()];
    for start in live.kept(program) {
        let mut stack = vec![(start, 0usize)];
        while let Some((id, next)) = stack.pop() {
            if next == 0 {
                if states[id.at()] != State::New {
                    continue;
                }
                states[id.at()] = State::Open;
            }
            let targets = &live.targets[id.at()];
            match targets.get(next) {
                Some(&callee) => {
                    stack.push((id, next + 1));
                    if states[callee.at()] == State::New {
                        stack.push((callee, 0));
                    }
                }
                None => {
                    let deepest = targets.iter().try_fold(0, |deepest: u32, callee| {
                        match states[callee.at()] {
                            State::Done(Some(depth)) => Some(deepest.max(depth)),
                            // Still open: the callee is on the path, which is a cycle.
                            _ => None,
                        }
                    });
                    states[id.at()] = State::Done(
                        deepest.map(|below| program.function(id).frame.saturating_add(below)),
                    );
                }
            }
        }
    }
    states
        .into_iter()
        .map(|state| {
            if let State::Done(depth) = state {
                depth
            } else {
                None
            }
        })
        .collect()
}

/// What a kernel collects from the functions it reaches.
struct Collected {
    uses_block_z: bool,
    sparse_mask: Option<u16>,
    barriers: u8,
    grid: u16,
    mbarriers: Option<Vec<u8>>,
    externals: Vec<SymbolId>,
    lone: bool,
}

impl Collected {
    fn new(
        program: &Program,
        live: &Live,
        kernel: FunctionId,
        attributes: &[Vec<Attribute>],
        lone: bool,
    ) -> Self {
        let reach = &live.reach[kernel.at()];
        let all = |number: u8| {
            reach
                .iter()
                .flat_map(move |id| attributes[id.at()].iter())
                .filter(move |a| a.number == number)
        };
        let half = |attribute: &Attribute| match attribute.bytes() {
            [low, high, ..] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        };
        let barriers = |ids: &[FunctionId]| {
            ids.iter()
                .map(|&id| program.function(id).barriers)
                .max()
                .unwrap_or(0)
        };
        // With one kernel only, address-taken functions count even if nothing reaches them.
        let unreached = if lone {
            live.address_taken.as_slice()
        } else {
            &[]
        };
        let mut externals: Vec<SymbolId> = reach
            .iter()
            .chain(unreached)
            .flat_map(|&id| &program.function(id).calls)
            .copied()
            .filter(|&symbol| program.symbol(symbol).is_undefined())
            .collect();
        externals.sort();
        externals.dedup();
        // Of equal counts the first stands, as its bytes were.
        let mbarriers =
            all(NUM_MBARRIERS).fold(None, |most: Option<&Attribute>, next| match most {
                Some(most) if half(most) >= half(next) => Some(most),
                _ => Some(next),
            });
        Self {
            uses_block_z: all(CTAIDZ_USED).next().is_some(),
            sparse_mask: all(SPARSE_MMA_MASK).map(half).reduce(|a, b| a | b),
            barriers: barriers(reach).max(barriers(unreached)),
            grid: all(GRID_ATTRIBUTES).map(half).fold(0, |a, b| a | b),
            mbarriers: mbarriers.map(|attribute| attribute.bytes().to_vec()),
            externals,
            lone,
        }
    }

    /// Values are replaced where they stand, or appended, in nvlink's order.
    fn apply(
        self,
        program: &Program,
        kernel: &Function,
        recurses: bool,
        attributes: &mut Vec<Attribute>,
    ) {
        let has = |attributes: &[Attribute], number| attributes.iter().any(|a| a.number == number);
        if let Some(mask) = self.sparse_mask {
            for attribute in attributes
                .iter_mut()
                .filter(|a| a.number == SPARSE_MMA_MASK)
            {
                attribute.value = Value::Bytes(mask.to_le_bytes().to_vec().into());
            }
        }
        if recurses {
            set(
                attributes,
                bytes(4, CRS_STACK_SIZE, UNKNOWN.to_le_bytes().to_vec()),
            );
        }
        if self.barriers > 0 && (self.barriers > kernel.barriers || !has(attributes, NUM_BARRIERS))
        {
            set(attributes, bytes(2, NUM_BARRIERS, vec![self.barriers, 0]));
        }
        if self.uses_block_z && !has(attributes, CTAIDZ_USED) {
            attributes.push(bytes(1, CTAIDZ_USED, vec![0, 0]));
        }
        if self.grid > 0 {
            set(
                attributes,
                bytes(3, GRID_ATTRIBUTES, self.grid.to_le_bytes().to_vec()),
            );
        }
        self.set_externals(program, attributes);
        if let Some(count) = self.mbarriers {
            set(attributes, bytes(3, NUM_MBARRIERS, count));
        }
    }

    /// Resolved externals go, new ones come; a list that grew or became empty loses its place.
    fn set_externals(&self, program: &Program, attributes: &mut Vec<Attribute>) {
        let own = attributes.iter().position(|a| a.number == EXTERNS);
        let before = match own
            .and_then(|at| attributes.get(at))
            .map(|attribute| &attribute.value)
        {
            Some(Value::Externals(list)) => list.clone(),
            _ => Vec::new(),
        };
        let mut now: Vec<SymbolId> = before
            .iter()
            .copied()
            .filter(|&id| program.symbol(id).is_undefined())
            .collect();
        let all_resolved = now.is_empty();
        now.extend(self.externals.iter().filter(|id| !before.contains(id)));
        let moves = now.len() > before.len() || now.is_empty() || self.lone && all_resolved;
        let new = Attribute {
            format: 4,
            number: EXTERNS,
            value: Value::Externals(now.clone()),
        };
        match own {
            Some(at) if moves => {
                attributes.remove(at);
                if !now.is_empty() {
                    attributes.push(new);
                }
            }
            Some(at) => attributes[at] = new,
            None if !now.is_empty() => attributes.push(new),
            None => {}
        }
    }
}

/// Replaces the first attribute of that number, or appends.
fn set<'a>(attributes: &mut Vec<Attribute<'a>>, new: Attribute<'a>) {
    match attributes
        .iter_mut()
        .find(|attribute| attribute.number == new.number)
    {
        Some(old) => old.value = new.value,
        None => attributes.push(new),
    }
}
