use std::borrow::Cow;
use std::fmt;

use super::strings::string_at;
use super::{Cubin, Section};
use crate::bytes::Reader;
use crate::error::Malformed;
use crate::format::text::{text, until_nul};

/// A CUDA release such as 13.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    pub major: u16,
    pub minor: u16,
}

impl Release {
    /// From the ten-fold number that files hold: 135 is 13.5.
    pub(super) fn from_tenfold(number: u32) -> Option<Self> {
        (number >= 10).then_some(())?;
        Some(Self {
            major: u16::try_from(number / 10).ok()?,
            minor: (number % 10) as u16,
        })
    }

    /// From a tool's version text: `Cuda compilation tools, release 12.9, V12.9.86`.
    pub(super) fn from_tool_version(version: &str) -> Option<Self> {
        let (_, rest) = version.split_once("release ")?;
        let (major, rest) = rest.split_once('.')?;
        let minor = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// One run of a tool, from `.note.nv.tkinfo`: the linker first, then one for each input's compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRun<'a> {
    /// 2 in CUDA 13; the ten-fold toolkit version in 12.8 and 12.9.
    pub note_version: u32,
    pub object: Cow<'a, str>,
    pub tool: Cow<'a, str>,
    pub version: Cow<'a, str>,
    pub build: Cow<'a, str>,
    pub command: Cow<'a, str>,
}

/// `.note.nv.cuinfo` or `.note.nv.cuver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaNote {
    pub virtual_number: u16,
    /// Absent from `.note.nv.cuver`.
    pub release: Option<Release>,
}

impl<'a> Cubin<'a> {
    /// Every tool run noted in `.note.nv.tkinfo`, the last tool first. Only ABI 8 has them.
    pub fn tool_runs(&self) -> Result<Vec<ToolRun<'a>>, Malformed> {
        let mut runs = Vec::new();
        for section in self.notes(".note.nv.tkinfo") {
            for note in self.note_records(section)? {
                if note.kind == 2000 {
                    runs.push(tool_run(&note)?);
                }
            }
        }
        Ok(runs)
    }

    /// `.note.nv.cuinfo` (CUDA 13) or `.note.nv.cuver` (12.8 and 12.9).
    pub fn cuda_note(&self) -> Result<Option<CudaNote>, Malformed> {
        for (name, has_release) in [(".note.nv.cuinfo", true), (".note.nv.cuver", false)] {
            for section in self.notes(name) {
                if let Some(note) = self
                    .note_records(section)?
                    .into_iter()
                    .find(|note| note.kind == 1000)
                {
                    let mut reader = Reader::with_base(note.bytes, note.offset);
                    reader.skip(2, "note version")?;
                    let virtual_number = reader.u16("virtual architecture")?;
                    let tenfold = reader.u16("toolkit version")?;
                    return Ok(Some(CudaNote {
                        virtual_number,
                        release: has_release
                            .then(|| Release::from_tenfold(tenfold.into()))
                            .flatten(),
                    }));
                }
            }
        }
        Ok(None)
    }

    fn notes(&self, name: &'static str) -> impl Iterator<Item = &Section<'a>> {
        self.sections
            .iter()
            .filter(move |section| section.name == name && !section.is_mercury())
    }

    fn note_records(&self, section: &Section<'_>) -> Result<Vec<Note<'a>>, Malformed> {
        let mut reader = Reader::with_base(self.data(section)?, section.offset);
        let mut notes = Vec::new();
        while !reader.is_empty() {
            let name_size = reader.u32("note name size")?;
            let size = reader.u32("note size")?;
            let kind = reader.u32("note type")?;
            let owner = until_nul(reader.bytes(name_size as usize, "note name")?);
            reader.align(4);
            let offset = reader.offset();
            let bytes = reader.bytes(size as usize, "note")?;
            reader.align(4);
            if owner == b"NVIDIA Corp" {
                notes.push(Note {
                    kind,
                    bytes,
                    offset,
                });
            }
        }
        Ok(notes)
    }
}

struct Note<'a> {
    kind: u32,
    bytes: &'a [u8],
    offset: u64,
}

/// `u32 note version`, five u32 offsets into the strings that follow at 24.
fn tool_run<'a>(note: &Note<'a>) -> Result<ToolRun<'a>, Malformed> {
    let mut reader = Reader::with_base(note.bytes, note.offset);
    let note_version = reader.u32("note version")?;
    let mut offsets = [0; 5];
    for offset in &mut offsets {
        *offset = reader.u32("string offset")?;
    }
    let base = reader.offset();
    let strings = reader.bytes(reader.remaining(), "note strings")?;
    let string = |offset| Ok(text(string_at(strings, base, offset, "note string")?));
    let [object, tool, version, build, command] = offsets;
    Ok(ToolRun {
        note_version,
        object: string(object)?,
        tool: string(tool)?,
        version: string(version)?,
        build: string(build)?,
        command: string(command)?,
    })
}
