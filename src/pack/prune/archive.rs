//! Archives whose members get smaller: each member moves up, and the table of symbols, which names members by their
//! places, moves with them.

use std::collections::HashMap;

use super::Job;
use crate::error::Malformed;
use crate::format::{Kind, classify};

const MAGIC: &[u8; 8] = b"!<arch>\n";
const HEADER: usize = 60;
/// Where a member's size stands in its header, as text.
const SIZE: std::ops::Range<usize> = 48..58;

/// A member as it stands in the archive, tables included.
struct Member<'a> {
    /// Of its header.
    at: usize,
    header: &'a [u8],
    data: &'a [u8],
}

impl<'a> Member<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Result<Self, Malformed> {
        let cut = || Malformed::new(at as u64, "archive ends within a member");
        let header = bytes.get(at..at + HEADER).ok_or_else(cut)?;
        let size = std::str::from_utf8(&header[SIZE]).ok();
        let size = size.and_then(|size| size.trim().parse::<usize>().ok());
        let size = size
            .ok_or_else(|| Malformed::new(at as u64, "size of an archive's member is no number"))?;
        let start = at + HEADER;
        let data = start
            .checked_add(size)
            .and_then(|end| bytes.get(start..end))
            .ok_or_else(cut)?;
        Ok(Self { at, header, data })
    }

    fn name(&self) -> &'a [u8] {
        self.header[..16].trim_ascii_end()
    }

    /// Bytes of a name that stands before the content, as BSD has it.
    fn name_before(&self) -> usize {
        let length = self.name().strip_prefix(b"#1/");
        let length = length.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        length.unwrap_or(0).min(self.data.len())
    }

    fn content(&self) -> &'a [u8] {
        &self.data[self.name_before()..]
    }

    fn table(&self) -> Option<Table> {
        let name = match self.name_before() {
            0 => self.name(),
            length => self.data[..length].trim_ascii_end(),
        };
        match name {
            b"/" => Some(Table::Gnu),
            b"/SYM64/" => Some(Table::Gnu64),
            b"//" => Some(Table::Names),
            _ if name.starts_with(b"__.SYMDEF") => Some(Table::Other),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    /// A count and offsets of headers, of four bytes each, the highest byte first; then the names.
    Gnu,
    /// The same with eight bytes.
    Gnu64,
    /// Of long names; it names no places.
    Names,
    /// BSD's and the linker's on Windows, which are left as they are: members then stay where they are.
    Other,
}

/// None for a member that cannot be pruned: an archive within an archive.
pub(super) fn prune(bytes: &[u8], job: &mut Job<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    let members = read(bytes)?;
    let tables = members.iter().filter_map(Member::table);
    let gnu = tables.clone().filter(|table| *table == Table::Gnu).count();
    // The second of that name is Windows' own.
    let may_move = gnu <= 1 && !tables.clone().any(|table| table == Table::Other);
    let mut out = MAGIC.to_vec();
    let mut moved: HashMap<usize, usize> = HashMap::new();
    for member in &members {
        moved.insert(member.at, out.len());
        let Some(content) = content(member, job, may_move)? else {
            return Ok(None);
        };
        let before = &member.data[..member.name_before()];
        let size = before.len() + content.len();
        let header = out.len();
        out.extend(member.header);
        if size != member.data.len() {
            let text = format!("{size:<10}");
            out[header..][SIZE].copy_from_slice(&text.as_bytes()[..10]);
        }
        out.extend(before);
        out.extend(content);
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    for member in &members {
        let width = match member.table() {
            Some(Table::Gnu) => 4,
            Some(Table::Gnu64) => 8,
            _ => continue,
        };
        if may_move {
            let at = moved.get(&member.at).copied().unwrap_or_default() + HEADER;
            let end = at + member.data.len();
            move_symbols(&mut out[at..end], width, &moved).ok_or_else(|| {
                Malformed::new(
                    member.at as u64,
                    "table of symbols of an archive is damaged",
                )
            })?;
        }
    }
    Ok(Some(out))
}

fn read(bytes: &[u8]) -> Result<Vec<Member<'_>>, Malformed> {
    let mut at = MAGIC.len();
    let mut members = Vec::new();
    while at < bytes.len() {
        let member = Member::read(bytes, at)?;
        let end = at + HEADER + member.data.len();
        at = end + end % 2;
        members.push(member);
    }
    Ok(members)
}

fn content(
    member: &Member<'_>,
    job: &mut Job<'_>,
    may_move: bool,
) -> Result<Option<Vec<u8>>, Malformed> {
    let content = member.content();
    if member.table().is_some() {
        return Ok(Some(content.to_vec()));
    }
    let start = (member.at + HEADER + member.name_before()) as u64;
    let in_archive =
        |damage: Malformed| Malformed::new(start.saturating_add(damage.offset), damage.message);
    match classify(content).kind {
        Kind::Object | Kind::Executable | Kind::SharedLibrary => {
            job.host(content, may_move).map(Some).map_err(in_archive)
        }
        Kind::Archive | Kind::ThinArchive => Ok(None),
        // Nothing that could be dropped is in it.
        _ => Ok(Some(content.to_vec())),
    }
}

/// Puts the new places of members into a table of symbols whose numbers have `width` bytes.
fn move_symbols(table: &mut [u8], width: usize, moved: &HashMap<usize, usize>) -> Option<()> {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let count = number(table.get(..width)?);
    let offsets = table.get_mut(width..width.checked_add(count.checked_mul(width)?)?)?;
    for place in offsets.chunks_exact_mut(width) {
        let new = *moved.get(&number(place))? as u64;
        place.copy_from_slice(&new.to_be_bytes()[8 - width..]);
    }
    Some(())
}
