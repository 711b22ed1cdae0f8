//! Archives of object files: GNU, BSD and COFF ones, and thin ones, whose members lie beside them.

use std::borrow::Cow;

use object::read::archive::{ArchiveFile, ArchiveMember, ArchiveMemberIterator};

use super::text::text;
use crate::error::Malformed;

const MAGIC: &[u8; 8] = b"!<arch>\n";
const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";
const HEADER: u64 = 60;

/// The members of an archive, in order. Names may repeat. Symbol and name tables are left out.
#[derive(Debug)]
pub struct Members<'a> {
    bytes: &'a [u8],
    /// None after an error.
    members: Option<ArchiveMemberIterator<'a>>,
    /// Where the next header is looked for.
    next: u64,
    /// Bytes of names that may still be looked at: all members can name one long string.
    names_left: usize,
}

/// One member.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// As in the archive: `b.o`, or the path `obj/b.o` in a thin one.
    pub raw_name: &'a [u8],
    /// Offset of its header.
    pub offset: u64,
    pub content: Content<'a>,
    /// Set when the archive ends within the member.
    pub damage: Option<Malformed>,
}

/// Where the bytes of a member are.
#[derive(Debug, Clone)]
pub enum Content<'a> {
    Here {
        offset: u64,
        bytes: &'a [u8],
    },
    /// In the file that a thin archive names, relative to the archive's own folder.
    Elsewhere,
}

impl Member<'_> {
    pub fn name(&self) -> Cow<'_, str> {
        text(self.raw_name)
    }
}

/// Reads an archive. An error ends the iteration, since nothing says where the next member starts.
pub fn members(bytes: &[u8]) -> Result<Members<'_>, Malformed> {
    if !bytes.starts_with(MAGIC) && !bytes.starts_with(THIN_MAGIC) {
        return Err(Malformed::new(0, "expected an archive (`!<arch>`)"));
    }
    let next = MAGIC.len() as u64;
    let file = ArchiveFile::parse(bytes).map_err(|error| damaged(next, error))?;
    Ok(Members {
        bytes,
        members: Some(file.members()),
        next,
        names_left: bytes.len().saturating_mul(4),
    })
}

fn damaged(offset: u64, error: object::Error) -> Malformed {
    Malformed::new(offset, format!("archive is damaged: {error}"))
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let member = match self.members.as_mut()?.next()? {
                Ok(member) => member,
                Err(error) => return Some(Err(damaged(self.next, error))),
            };
            match self.names_left.checked_sub(member.name().len()) {
                Some(left) => self.names_left = left,
                None => {
                    self.members = None;
                    let message = "the names of all members are longer than the archive";
                    return Some(Err(Malformed::new(self.next, message)));
                }
            }
            if let Some(member) = self.member(&member) {
                return Some(Ok(member));
            }
        }
    }
}

impl<'a> Members<'a> {
    /// `None` for a table that does not stand where tables belong.
    fn member(&mut self, member: &ArchiveMember<'a>) -> Option<Member<'a>> {
        let raw_name = member.name();
        // `object` keeps the place of a header to itself, but the header is a part of the archive.
        let header = member.header()?;
        let offset = (header.name.as_ptr().addr() - self.bytes.as_ptr().addr()) as u64;
        let (content, damage) = if member.is_thin() {
            self.next = offset + HEADER;
            (Content::Elsewhere, None)
        } else {
            let (start, size) = member.file_range();
            let end = start.saturating_add(size);
            self.next = end.saturating_add(end & 1);
            self.here(start, end)
        };
        let is_table =
            raw_name.starts_with(b"/") && !member.is_thin() || raw_name.starts_with(b"__.SYMDEF");
        (!is_table).then_some(Member {
            raw_name,
            offset,
            content,
            damage,
        })
    }

    fn here(&self, start: u64, end: u64) -> (Content<'a>, Option<Malformed>) {
        let length = self.bytes.len() as u64;
        let damage = (end > length).then(|| {
            Malformed::new(
                start,
                format!(
                    "member of {} bytes is cut off: the archive ends at {length:#x}",
                    end - start
                ),
            )
        });
        // Both lie within the slice now, so they fit.
        let range = start.min(length) as usize..end.min(length) as usize;
        let content = Content::Here {
            offset: start,
            bytes: &self.bytes[range],
        };
        (content, damage)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One member with its header, in the System V form.
    pub(crate) fn member(name: &str, data: &[u8]) -> Vec<u8> {
        let mut out = header(name, data.len());
        out.extend(data);
        if data.len() % 2 == 1 {
            out.push(b'\n');
        }
        out
    }

    pub(crate) fn header(name: &str, size: usize) -> Vec<u8> {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
    }

    pub(crate) fn archive(members: &[Vec<u8>]) -> Vec<u8> {
        [&MAGIC[..], &members.concat()].concat()
    }

    fn read(bytes: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
        let member = |member: Result<Member<'_>, Malformed>| {
            let member = member.unwrap();
            assert_eq!(member.damage, None);
            let bytes = match member.content {
                Content::Here { bytes, .. } => Some(bytes.to_vec()),
                Content::Elsewhere => None,
            };
            (member.name().into_owned(), bytes)
        };
        members(bytes).unwrap().map(member).collect()
    }

    fn here(name: &str, bytes: &[u8]) -> (String, Option<Vec<u8>>) {
        (name.to_owned(), Some(bytes.to_vec()))
    }

    #[test]
    fn gnu_names_duplicates_and_padding() {
        let long = "a_name_that_does_not_fit_into_its_field.o";
        let bytes = archive(&[
            member("/", &[0, 0, 0, 0]),
            member("//", format!("{long}/\n").as_bytes()),
            member("/0", b"long"),
            member("b.o/", b"one"),
            member("b.o/", b"two"),
            member("e.o/", b""),
        ]);
        let expected = [
            here(long, b"long"),
            here("b.o", b"one"),
            here("b.o", b"two"),
            here("e.o", b""),
        ];
        assert_eq!(read(&bytes), expected);
        let members: Vec<_> = members(&bytes).unwrap().map(Result::unwrap).collect();
        for member in members {
            let at = usize::try_from(member.offset).unwrap();
            assert_eq!(&bytes[at + 58..at + 60], b"`\n");
            let Content::Here { offset, .. } = member.content else {
                panic!("not thin");
            };
            assert_eq!(offset, member.offset + HEADER);
        }
    }

    #[test]
    fn bsd_and_coff_names() {
        let bsd = archive(&[
            member("__.SYMDEF SORTED", &[0; 8]),
            member("#1/20", b"a name with spaces.ocode"),
        ]);
        assert_eq!(read(&bsd), [here("a name with spaces.o", b"code")]);
        let coff = archive(&[
            member("/", &[0, 0, 0, 0]),
            member("/", &[0, 0, 0, 0, 0, 0, 0, 0]),
            member("//", b"dir\\a_rather_long_name.obj\0"),
            member("/0", b"code"),
        ]);
        assert_eq!(read(&coff), [here("dir\\a_rather_long_name.obj", b"code")]);
    }

    #[test]
    fn thin_members_are_elsewhere() {
        let bytes = [
            &THIN_MAGIC[..],
            &member("//", b"obj/a.o/\nobj/b.o/\n"),
            &header("/0", 100),
            &header("/9", 7),
        ]
        .concat();
        let expected = [("obj/a.o".to_owned(), None), ("obj/b.o".to_owned(), None)];
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn a_cut_archive_keeps_what_is_there() {
        let bytes = archive(&[member("a.o/", b"whole"), member("b.o/", b"truncated")]);
        for cut in 0..bytes.len() {
            let Ok(found) = members(&bytes[..cut]) else {
                assert!(cut < 8 + 60, "cut at {cut}");
                continue;
            };
            let found: Vec<_> = found.collect();
            let damage: Vec<_> = found
                .iter()
                .filter_map(|member| match member {
                    Ok(member) => member.damage.clone(),
                    Err(error) => Some(error.clone()),
                })
                .collect();
            // An archive may end after its magic and after any member, padded or not.
            let whole = [8, 8 + 65, 8 + 66, 8 + 66 + 69].contains(&cut);
            assert_eq!(damage.is_empty(), whole, "cut at {cut}: {damage:?}");
            for damage in damage {
                assert!(damage.offset >= 8 && damage.offset <= cut as u64);
            }
        }
    }

    #[test]
    fn a_bad_header_names_its_offset() {
        let mut bytes = archive(&[member("a.o/", b"1234"), member("b.o/", b"1234")]);
        bytes[8 + 64 + 58] = b'X';
        let mut found = members(&bytes).unwrap();
        assert!(found.next().unwrap().is_ok());
        assert_eq!(found.next().unwrap().unwrap_err().offset, 8 + 64);
        assert!(found.next().is_none());
        assert_eq!(members(b"!<bigaf>\n...").unwrap_err().offset, 0);
    }
}
