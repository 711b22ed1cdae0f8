use std::borrow::Cow;

use super::strings::{Budget, string_at};
use super::{Cubin, Section};
use crate::error::Malformed;
use crate::format::text::text;

/// Who calls whom. Functions are symbol indices; prototypes are texts such as `#ii`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallGraph<'a> {
    /// Caller and callee; a pair of one function is recursion.
    pub calls: Vec<(u32, u32)>,
    /// Functions whose address is taken, in code or in an initialiser.
    pub address_taken: Vec<(u32, Cow<'a, str>)>,
    /// Functions that call through a pointer.
    pub indirect_callers: Vec<(u32, Cow<'a, str>)>,
    /// The function that takes an address, and whose.
    pub takes_address: Vec<(u32, u32)>,
}

impl<'a> Cubin<'a> {
    /// `.nv.callgraph`; empty when there is none.
    pub fn call_graph(&self) -> Result<CallGraph<'a>, Malformed> {
        let mut graph = CallGraph::default();
        let Some(section) = self.section(".nv.callgraph") else {
            return Ok(graph);
        };
        let mut prototypes = Prototypes::new(self, section)?;
        // Pairs of i32; a pair whose first is 0 opens the group that its second names.
        let mut group = 0;
        for (at, first, second) in self.pairs(section)? {
            if first == 0 {
                group = second as i32;
                if !(-4..=-1).contains(&group) {
                    return Err(Malformed::new(
                        at,
                        format!("call graph has group {group}, expected -1 to -4"),
                    ));
                }
                continue;
            }
            match group {
                -1 => graph.calls.push((first, second)),
                -2 => graph.address_taken.push((first, prototypes.get(second)?)),
                -3 => graph
                    .indirect_callers
                    .push((first, prototypes.get(second)?)),
                -4 => graph.takes_address.push((first, second)),
                _ => return Err(Malformed::new(at, "call graph starts without a group")),
            }
        }
        Ok(graph)
    }

    /// `.nv.prototype`: symbol index and prototype of every function that is defined or called and whose
    /// address is not taken; those are in [`CallGraph::address_taken`].
    pub fn prototypes(&self) -> Result<Vec<(u32, Cow<'a, str>)>, Malformed> {
        let Some(section) = self.section(".nv.prototype") else {
            return Ok(Vec::new());
        };
        let mut texts = Prototypes::new(self, section)?;
        self.pairs(section)?
            .map(|(_, symbol, offset)| Ok((symbol, texts.get(offset)?)))
            .collect()
    }

    /// Pairs of u32 with the offset of each.
    fn pairs(
        &self,
        section: &Section<'_>,
    ) -> Result<impl Iterator<Item = (u64, u32, u32)> + use<'a>, Malformed> {
        let (pairs, rest) = self.data(section)?.as_chunks::<8>();
        let base = section.offset;
        if !rest.is_empty() {
            return Err(Malformed::new(
                base,
                format!(
                    "section `{}` of {} bytes is no multiple of 8",
                    section.name, section.size
                ),
            ));
        }
        Ok(pairs.iter().enumerate().map(move |(index, pair)| {
            let [a, b, c, d, e, f, g, h] = *pair;
            (
                base + 8 * index as u64,
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            )
        }))
    }
}

/// The texts that `.nv.prototype` and `.nv.callgraph` refer to: in the string table of the symbol table
/// that the section links to.
struct Prototypes<'a> {
    strings: &'a [u8],
    offset: u64,
    budget: Budget,
}

impl<'a> Prototypes<'a> {
    fn new(cubin: &Cubin<'a>, section: &Section<'_>) -> Result<Self, Malformed> {
        let strings = cubin
            .sections
            .get(section.link as usize)
            .and_then(|symbols| cubin.sections.get(symbols.link as usize));
        let Some(strings) = strings else {
            return Err(Malformed::new(
                section.offset,
                format!("section `{}` links to no symbol table", section.name),
            ));
        };
        Ok(Self {
            strings: cubin.data(strings)?,
            offset: strings.offset,
            budget: Budget::new("prototypes", cubin.bytes.len()),
        })
    }

    fn get(&mut self, at: u32) -> Result<Cow<'a, str>, Malformed> {
        let prototype = string_at(self.strings, self.offset, at, "prototype")?;
        self.budget.spend(prototype.len(), self.offset)?;
        Ok(text(prototype))
    }
}
