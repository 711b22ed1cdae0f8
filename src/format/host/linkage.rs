use goblin::elf::Elf;
use goblin::mach::{Mach, MachO};
use goblin::options::ParseOptions;
use object::LittleEndian as LE;
use object::pe::{ImageNtHeaders32, ImageNtHeaders64};
use object::read::pe::{ImageNtHeaders, PeFile};
use schemars::JsonSchema;
use serde::Serialize;

use super::damaged;
use crate::error::Malformed;
use crate::format::text::text;

/// How a host file is bound to others at run time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Linkage {
    /// The name that others link to: `DT_SONAME`, the install name, the DLL's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soname: Option<String>,
    /// Libraries that it needs, in its order.
    pub needed: Vec<String>,
    /// Folders searched for them: `DT_RPATH` or `LC_RPATH`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rpath: Vec<String>,
    /// Folders searched for them: `DT_RUNPATH`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runpath: Vec<String>,
}

impl Linkage {
    /// Reads an ELF, PE or Mach-O file of one architecture. Objects have nothing of this, so theirs is empty.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut names = Names { left: bytes.len() };
        match bytes {
            [0x7f, b'E', b'L', b'F', ..] => {
                let elf = Elf::parse_with_opts(bytes, &ParseOptions::permissive());
                names.elf(&elf.map_err(unreadable)?)
            }
            // goblin reads every imported function, which takes forever on a hostile table.
            [b'M', b'Z', ..] => match object::FileKind::parse(bytes) {
                Ok(object::FileKind::Pe32) => names.pe::<ImageNtHeaders32>(bytes),
                _ => names.pe::<ImageNtHeaders64>(bytes),
            },
            [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] => {
                match Mach::parse(bytes).map_err(unreadable)? {
                    Mach::Binary(mach) => names.mach_o(&mach),
                    Mach::Fat(_) => Ok(Self::default()),
                }
            }
            _ => Ok(Self::default()),
        }
    }
}

fn unreadable(error: goblin::error::Error) -> Malformed {
    Malformed::new(0, format!("host file is damaged: {error}"))
}

/// Copies names, in all no more than the file has bytes: a hostile file can name one long string many times.
struct Names {
    left: usize,
}

impl Names {
    fn copy(&mut self, name: &str) -> Result<String, Malformed> {
        self.left = self.left.checked_sub(name.len()).ok_or_else(|| {
            Malformed::new(0, "the names of all libraries are longer than the file")
        })?;
        Ok(name.to_owned())
    }

    fn all<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<String>, Malformed> {
        names.into_iter().map(|name| self.copy(name)).collect()
    }

    fn elf(&mut self, elf: &Elf<'_>) -> Result<Linkage, Malformed> {
        // ELF joins folders with colons.
        Ok(Linkage {
            soname: elf.soname.map(|name| self.copy(name)).transpose()?,
            needed: self.all(elf.libraries.iter().copied())?,
            rpath: self.all(elf.rpaths.iter().flat_map(|list| list.split(':')))?,
            runpath: self.all(elf.runpaths.iter().flat_map(|list| list.split(':')))?,
        })
    }

    fn pe<Pe: ImageNtHeaders>(&mut self, bytes: &[u8]) -> Result<Linkage, Malformed> {
        let damaged = |error| damaged(0, error);
        let pe = PeFile::<Pe>::parse(bytes).map_err(damaged)?;
        let mut linkage = Linkage::default();
        if let Some(exports) = pe.export_table().map_err(damaged)? {
            let name = exports
                .name_from_pointer(exports.directory().name.get(LE))
                .map_err(damaged)?;
            linkage.soname = Some(self.copy(&text(name))?);
        }
        if let Some(imports) = pe.import_table().map_err(damaged)? {
            let mut descriptors = imports.descriptors().map_err(damaged)?;
            while let Some(descriptor) = descriptors.next().map_err(damaged)? {
                let name = imports.name(descriptor.name.get(LE)).map_err(damaged)?;
                linkage.needed.push(self.copy(&text(name))?);
            }
        }
        Ok(linkage)
    }

    fn mach_o(&mut self, mach: &MachO<'_>) -> Result<Linkage, Malformed> {
        // The list starts with the file itself, under the name `self`.
        let needed = mach.libs.get(1..).unwrap_or_default();
        Ok(Linkage {
            soname: mach.name.map(|name| self.copy(name)).transpose()?,
            needed: self.all(needed.iter().copied())?,
            rpath: self.all(mach.rpaths.iter().copied())?,
            runpath: Vec::new(),
        })
    }
}
