//! Which sections the result has, in file order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::layout::Layout;
use super::super::live::Live;
use super::super::program::{FunctionId, Info, PROGBITS, Program, Rank, SectionId};
use super::super::relocate::Relocated;
use super::{Key, Section};

/// The sections of the result after the four tables, in file order.
pub(super) fn choose_sections<'p>(
    program: &'p Program,
    live: &Live,
    layout: &'p Layout,
    relocated: &Relocated,
) -> Vec<Section<'p>> {
    let emptied: HashSet<SectionId> = program
        .relocations
        .iter()
        .zip(&relocated.kept)
        .filter(|(_, kept)| kept.is_empty())
        .map(|(list, _)| list.section)
        .collect();
    let shared_of: HashMap<SectionId, FunctionId> = program
        .function_ids()
        .filter_map(|id| Some((program.function(id).shared?, id)))
        .collect();
    let banks: HashMap<SectionId, u64> = layout
        .constants
        .iter()
        .filter_map(|(_, bank)| Some((bank.section?, bank.align)))
        .collect();
    let is_dead = |id: SectionId| {
        program
            .section(id)
            .owner
            .is_some_and(|owner| !live.keeps(owner))
    };
    let mut sections = Vec::new();
    for (index, section) in program.sections.iter().enumerate() {
        let id = SectionId(index as u32);
        let belongs_to_dead = matches!(section.info, Info::Section(target) if is_dead(target));
        let is_unused_info = program.info_section == Some(id) && program.info.is_empty();
        let is_unused_shared =
            program.public_shared_section == Some(id) && !layout.keeps_public_shared;
        if is_dead(id)
            || belongs_to_dead
            || emptied.contains(&id)
            || is_unused_info
            || is_unused_shared
        {
            continue;
        }
        let (mut size, mut align) = (section.size, section.align);
        if let Some(kernel) = shared_of.get(&id) {
            let Some(shared) = layout.shared.get(kernel) else {
                continue;
            };
            (size, align) = (shared.size, shared.align);
        } else if program.public_shared_section == Some(id) {
            size = 0;
        } else if let Some(bank) = banks.get(&id) {
            align = *bank;
        }
        sections.push(Section {
            key: Key::Merged(id),
            name: Cow::Borrowed(&section.name),
            kind: section.kind,
            flags: section.flags,
            align,
            entry_size: section.entry_size,
            rank: section.rank,
            data: Cow::Borrowed(&section.data),
            size,
            offset: 0,
        });
    }
    sections.extend(made_sections(program, layout));
    // Stable: within a rank the order of creation stays.
    sections.sort_by_key(|section| section.rank);
    sections
}

/// Sections that only a linked cubin has, in order of creation.
pub(super) fn made_sections<'p>(program: &'p Program, layout: &Layout) -> Vec<Section<'p>> {
    let make = |key, name: Cow<'p, str>, kind, align, rank| Section {
        key,
        name,
        kind,
        flags: 0,
        align,
        entry_size: 8,
        rank,
        data: Cow::Borrowed(&[]),
        size: 0,
        offset: 0,
    };
    let mut made = vec![
        make(
            Key::CallGraph,
            ".nv.callgraph".into(),
            0x7000_0001,
            4,
            Rank::CallGraph,
        ),
        make(
            Key::Prototypes,
            ".nv.prototype".into(),
            0x7000_0002,
            4,
            Rank::Prototype,
        ),
    ];
    for (kernel, constants) in layout
        .constants
        .iter()
        .filter(|(_, constants)| constants.section.is_none())
    {
        let name = program.symbol(program.function(*kernel).symbol).name;
        let name = format!(".nv.constant2.{name}").into();
        let section = make(
            Key::Constants(*kernel),
            name,
            PROGBITS,
            constants.align,
            Rank::Constants,
        );
        made.push(Section {
            flags: 0x42,
            entry_size: 0,
            ..section
        });
    }
    made.push(make(
        Key::RelocationActions,
        ".nv.rel.action".into(),
        0x7000_000B,
        8,
        Rank::RelocationActions,
    ));
    made
}
