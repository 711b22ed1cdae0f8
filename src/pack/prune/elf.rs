//! Relocatable ELF objects with smaller sections: nothing in them is found by its place in the file but through the
//! table of sections.

use std::ops::Range;

use object::elf::{EM_CUDA, ET_REL, FileHeader64, SHT_NOBITS, SHT_NULL, SectionHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex};

type Header = FileHeader64<LittleEndian>;

const SECTION_HEADER: usize = size_of::<SectionHeader64<LittleEndian>>();

/// Where a section's offset and size stand in its header.
const OFFSET_FIELD: usize = 24;
const SIZE_FIELD: usize = 32;
/// Where the place of the table of sections stands in the file's header.
const TABLE_FIELD: usize = 40;

/// The file with these sections, named by where they are, cut to so many bytes; none where something could depend on
/// the place of what follows.
pub(super) fn shrink(bytes: &[u8], cuts: &[(Range<usize>, usize)]) -> Option<Vec<u8>> {
    let endian = LittleEndian;
    let header = Header::parse(bytes).ok()?;
    let is_relocatable = header.e_type(endian) == ET_REL && header.e_machine(endian) != EM_CUDA;
    let sections = header.section_headers(endian, bytes).ok()?;
    if !is_relocatable
        || header.e_phnum(endian) != 0
        || header.e_shnum(endian) == 0
        || cuts.is_empty()
    {
        return None;
    }
    if cuts.iter().any(|(range, _)| !is_whole(bytes, range)) {
        return None;
    }
    let mut order: Vec<usize> = (0..sections.len())
        .filter(|&number| ![SHT_NULL, SHT_NOBITS].contains(&sections[number].sh_type(endian)))
        .collect();
    order.sort_by_key(|&number| sections[number].sh_offset(endian));
    let table_at = usize::try_from(header.e_shoff(endian)).ok()?;
    let mut table = bytes
        .get(table_at..table_at + sections.len() * SECTION_HEADER)?
        .to_vec();
    let mut out = bytes.get(..size_of::<Header>())?.to_vec();
    let mut behind = out.len();
    let mut cuts_made = 0;
    for number in order {
        let section = &sections[number];
        let start = usize::try_from(section.sh_offset(endian)).ok()?;
        let size = usize::try_from(section.sh_size(endian)).ok()?;
        // Sections that share bytes are not taken apart.
        if start < behind && size > 0 {
            return None;
        }
        behind = behind.max(start.checked_add(size)?);
        let cut = cuts
            .iter()
            .find(|(range, _)| *range == (start..start + size) && size > 0);
        cuts_made += usize::from(cut.is_some());
        let size = cut.map_or(size, |(_, size)| *size);
        let align = usize::try_from(section.sh_addralign(endian))
            .ok()?
            .clamp(1, 4096);
        out.resize(out.len().next_multiple_of(align), 0);
        let fields = &mut table[number * SECTION_HEADER..][..SECTION_HEADER];
        fields[OFFSET_FIELD..][..8].copy_from_slice(&(out.len() as u64).to_le_bytes());
        fields[SIZE_FIELD..][..8].copy_from_slice(&(size as u64).to_le_bytes());
        out.extend(bytes.get(start..start.checked_add(size)?)?);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let table_at = out.len() as u64;
    out[TABLE_FIELD..][..8].copy_from_slice(&table_at.to_le_bytes());
    out.extend(table);
    (cuts_made == cuts.len()).then_some(out)
}

/// Whether all that refers to the section refers to its start.
fn is_whole(bytes: &[u8], range: &Range<usize>) -> bool {
    let Ok(file) = object::File::parse(bytes) else {
        return false;
    };
    let at = |section: &object::Section<'_, '_>| {
        section.file_range().map(|(start, _)| start as usize) == Some(range.start)
    };
    let Some(index) = file.sections().find(at).map(|section| section.index()) else {
        return false;
    };
    let symbols = file
        .symbols()
        .filter(|symbol| symbol.section_index() == Some(index));
    symbols
        .map(|symbol| symbol.address())
        .all(|address| address == 0)
        && only_the_start(&file, index)
}

fn only_the_start(file: &object::File<'_>, wanted: SectionIndex) -> bool {
    file.sections().all(|section| {
        section.relocations().all(|(_, relocation)| {
            let refers = match relocation.target() {
                RelocationTarget::Symbol(symbol) => file
                    .symbol_by_index(symbol)
                    .is_ok_and(|symbol| symbol.section_index() == Some(wanted)),
                RelocationTarget::Section(section) => section == wanted,
                _ => false,
            };
            !refers || relocation.addend() == 0
        })
    })
}
