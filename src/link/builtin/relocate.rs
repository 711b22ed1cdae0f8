//! Phase 6: what the linker itself resolves is written into code and debug sections; the rest is kept for the driver.

use std::collections::HashMap;

use super::known::relocation::{self, Content};
use super::layout::Layout;
use super::live::Live;
use super::program::{
    FunctionId, Meaning, Program, Rank, Relocation, RelocationList, SectionId, SharedId,
};
use super::read::unsupported;
use crate::error::{Code, Error, Result};

#[derive(Debug, Default)]
pub(super) struct Relocated {
    /// Sections whose bytes changed.
    pub data: HashMap<SectionId, Vec<u8>>,
    /// By list of the program: what is left for the driver.
    pub kept: Vec<Vec<Relocation>>,
}

/// A value to put into an instruction: offset in a constant bank or in shared memory.
#[derive(Debug, Clone, Copy)]
struct Resolved {
    value: i64,
    bank: u64,
}

pub(super) fn relocate(program: &Program, live: &Live, layout: &Layout) -> Result<Relocated> {
    let mut out = Relocated::default();
    for list in &program.relocations {
        let owner = program.section(list.target).owner;
        let kept = if owner.is_some_and(|owner| !live.keeps(owner)) {
            Vec::new()
        } else {
            relocate_list(program, live, layout, list, &mut out.data)?
        };
        out.kept.push(kept);
    }
    Ok(out)
}

fn relocate_list(
    program: &Program,
    live: &Live,
    layout: &Layout,
    list: &RelocationList,
    changed: &mut HashMap<SectionId, Vec<u8>>,
) -> Result<Vec<Relocation>> {
    let target = program.section(list.target);
    let is_debug = target.rank == Rank::Debug;
    let refuse = |kind: u32, what: &str| {
        let kind = crate::format::cubin::RelocationKind(kind);
        unsupported(
            "the inputs",
            format_args!("relocation {kind} of `{}` against {what}", target.name),
        )
    };
    let mut kept = Vec::new();
    for record in &list.records {
        let symbol = program.symbol(record.symbol);
        let mut put = |resolved| {
            let data = changed
                .entry(list.target)
                .or_insert_with(|| target.data.to_vec());
            put(data, record, resolved, is_debug)
                .ok_or_else(|| refuse(record.kind, &format!("`{}`", symbol.name)))
        };
        match record.kind {
            _ if symbol.meaning == Meaning::Section => {
                if !is_debug {
                    return Err(refuse(record.kind, "a section"));
                }
                put(Resolved {
                    value: record.addend.unwrap_or(0),
                    bank: 0,
                })?;
                continue;
            }
            relocation::UNUSED_CLEAR64 => {
                // The range of a dead function in a debug section.
                if live.drops(record.symbol) && !record.against_section {
                    put(Resolved { value: 0, bank: 0 })?;
                }
                continue;
            }
            _ if live.drops(record.symbol) || record.against_section => continue,
            relocation::RESERVED_SHARED => continue,
            _ => {}
        }
        let addend = record.addend.unwrap_or(0);
        if let Some(mut resolved) = resolve(program, layout, target.owner, record)? {
            resolved.value += addend;
            put(resolved)?;
            continue;
        }
        let kind = if record.kind == relocation::UNIFIED {
            relocation::ABS64
        } else {
            record.kind
        };
        let known = relocation::FOR_DRIVER.contains(&kind) || is_debug && kind == relocation::ABS32;
        if !known {
            return Err(refuse(kind, &format!("`{}`", symbol.name)));
        }
        kept.push(Relocation { kind, ..*record });
    }
    Ok(kept)
}

/// The offset of a shared variable or constant; none for what the driver places.
fn resolve(
    program: &Program,
    layout: &Layout,
    owner: Option<FunctionId>,
    record: &Relocation,
) -> Result<Option<Resolved>> {
    let symbol = program.symbol(record.symbol);
    let value = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    Ok(match symbol.meaning {
        Meaning::Shared(id) => Some(Resolved {
            value: shared_offset(program, layout, owner, id)?,
            bank: 0,
        }),
        Meaning::CompilerConstant => {
            let base = owner
                .and_then(|owner| layout.constants_at.get(&owner))
                .copied()
                .unwrap_or(0);
            Some(Resolved {
                value: value(base + symbol.value),
                bank: 2,
            })
        }
        _ => {
            let is_constant = symbol
                .section
                .is_some_and(|section| program.section(section).name == ".nv.constant3");
            is_constant.then(|| Resolved {
                value: value(symbol.value),
                bank: 3,
            })
        }
    })
}

fn shared_offset(
    program: &Program,
    layout: &Layout,
    owner: Option<FunctionId>,
    id: SharedId,
) -> Result<i64> {
    let placed = if program.shared[id.at()].is_external {
        match owner.and_then(|owner| layout.external.get(&owner)) {
            Some(&offset) => offset,
            // No kernel reaches this function, so there is no end of static memory to start from.
            None => return Ok(-1),
        }
    } else {
        *layout
            .offsets
            .get(&id)
            .ok_or_else(|| Error::failed(Code::Internal, "a shared variable was given no place"))?
    };
    Ok(i64::try_from(placed).unwrap_or(i64::MAX))
}

/// Writes a resolved value; none when the kind of relocation does not take one here.
fn put(data: &mut [u8], record: &Relocation, resolved: Resolved, is_debug: bool) -> Option<()> {
    let at = usize::try_from(record.offset).ok()?;
    let value = resolved.value;
    if is_debug {
        return match record.kind {
            relocation::ABS32 => write(data, at, &(value as u32).to_le_bytes()),
            relocation::ABS64 => write(data, at, &(value as u64).to_le_bytes()),
            relocation::UNUSED_CLEAR64 => write(data, at, &[0; 8]),
            _ => None,
        };
    }
    let (position, width, content) = relocation::field(record.kind)?;
    // Fields are signed or not by instruction; a value must fit one way or the other.
    let fits = |bits: u32| (-(1i64 << (bits - 1))..1 << bits).contains(&value);
    let field = match content {
        Content::Offset if fits(width) => value as u64,
        Content::BankAndWord if fits(16) && value % 4 == 0 => {
            resolved.bank << 14 | (value as u64 >> 2) & 0x3FFF
        }
        Content::BankAndByte if fits(16) => resolved.bank << 16 | value as u64 & 0xFFFF,
        _ => return None,
    };
    let instruction: [u8; 16] = data.get(at..at.checked_add(16)?)?.try_into().ok()?;
    let mask = ((1u128 << width) - 1) << position;
    let bits = u128::from_le_bytes(instruction) & !mask | u128::from(field) << position & mask;
    write(data, at, &bits.to_le_bytes())
}

fn write(data: &mut [u8], at: usize, bytes: &[u8]) -> Option<()> {
    data.get_mut(at..at.checked_add(bytes.len())?)?
        .copy_from_slice(bytes);
    Some(())
}
