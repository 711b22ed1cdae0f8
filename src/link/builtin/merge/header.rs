//! Header flags, notes and `.nv.compat`.

use super::super::program::{ATTRIBUTES, New, Program, Rank};
use super::super::read::Unit;

impl<'a> Program<'a> {
    /// Header flags, notes and compatibility attributes.
    pub(super) fn adopt_header(&mut self, unit: &Unit<'a>, is_first: bool) {
        if is_first {
            self.number = unit.number;
            self.virtual_number = unit.virtual_number;
            self.flags = unit.flags;
            self.highest_level = 6;
            self.create_notes(unit);
        }
        self.virtual_number = self.virtual_number.min(unit.virtual_number);
        if !unit.tool_note.is_empty() {
            self.tool_notes.push(unit.tool_note);
        }
        // The top byte is the highest of all inputs, plus one for each input with line numbers after the first.
        self.highest_level = self.highest_level.max(unit.debug_level);
        self.with_debug += u32::from(unit.debug_level >= 8);
        let level = self.highest_level + self.with_debug.saturating_sub(1);
        self.flags = self.flags & 0x00FF_FFFF | level.min(0xFF) << 24;
        self.merge_compat(unit, is_first);
    }

    pub(super) fn create_notes(&mut self, unit: &Unit<'a>) {
        let note = |name: &'static str, flags, rank| New {
            name: name.into(),
            kind: 7,
            flags,
            align: 4,
            rank,
            with_symbol: true,
            of: None,
        };
        let has_compat = unit.compat.is_some() || unit.number >= 90 && unit.old_abi;
        self.tool_note =
            Some(self.add_section(note(".note.nv.tkinfo", 0x200_0000, Rank::ToolNote)));
        let linked = if has_compat { 0x40 } else { 0 };
        self.cuda_note =
            Some(self.add_section(note(".note.nv.cuinfo", 0x100_0000 | linked, Rank::CudaNote)));
        let plain = |name: &'static str, kind, rank| New {
            name: name.into(),
            kind,
            flags: 0,
            align: 4,
            rank,
            with_symbol: false,
            of: None,
        };
        self.info_section = Some(self.add_section(plain(".nv.info", ATTRIBUTES, Rank::Info)));
        if has_compat {
            self.compat_section =
                Some(self.add_section(plain(".nv.compat", 0x7000_0086, Rank::Compat)));
        }
    }

    /// The first input's list without attribute 6; attribute 2 is the maximum; what is missing is appended.
    pub(super) fn merge_compat(&mut self, unit: &Unit<'a>, is_first: bool) {
        const ISA_CLASS: u8 = 2;
        const FINALIZATION: u8 = 6;
        if is_first {
            self.compat_was_given = unit.compat.is_some();
            self.compat = match &unit.compat {
                Some(list) => Some(
                    list.iter()
                        .filter(|a| a.number != FINALIZATION)
                        .map(|a| (a.format, a.number, a.value.to_vec()))
                        .collect(),
                ),
                None if self.compat_section.is_some() => {
                    Some(vec![(2, 9, vec![u8::from(unit.accelerated), 0])])
                }
                None => None,
            };
            return;
        }
        let (Some(merged), Some(list)) = (&mut self.compat, &unit.compat) else {
            return;
        };
        let known: Vec<u8> = merged.iter().map(|(_, number, _)| *number).collect();
        for attribute in list {
            if !known.contains(&attribute.number) && ![5, FINALIZATION].contains(&attribute.number)
            {
                merged.push((attribute.format, attribute.number, attribute.value.to_vec()));
            }
        }
        if let (Some(ours), Some(theirs)) = (
            merged
                .iter_mut()
                .find(|(_, number, _)| *number == ISA_CLASS),
            list.iter().rfind(|a| a.number == ISA_CLASS),
        ) {
            ours.2 = theirs.value.to_vec().max(std::mem::take(&mut ours.2));
        }
    }
}
