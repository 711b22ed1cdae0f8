use std::collections::{BTreeMap, BTreeSet};

use super::report::ImageReport;
use crate::code::{Arch, Compression, ImageKind, Loadable, Suffix};
use crate::format::Kind;

/// How many images of each kind there are for each architecture; grows with every image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    rows: BTreeMap<(Option<Arch>, ImageKind, Loadable), Row>,
    with_debug: usize,
    /// Sections in which images were found that nothing is known to register.
    unregistered_in: BTreeSet<String>,
}

/// The images of one architecture, kind and use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub arch: Option<Arch>,
    pub kind: ImageKind,
    pub loadable: Loadable,
    pub images: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes once unpacked.
    pub size: u64,
    pub compressions: BTreeSet<Compression>,
    /// Of cubins the CUDA release, of PTX its ISA, of LTO-IR its container, as far as was read.
    pub versions: BTreeSet<(u16, u16)>,
}

impl Row {
    fn is_ir(&self) -> bool {
        matches!(self.kind, ImageKind::LtoIr | ImageKind::NvvmIr)
    }
}

impl Summary {
    pub fn add(&mut self, image: &ImageReport) {
        let key = (image.arch, image.kind, image.loadable);
        let row = self.rows.entry(key).or_insert_with(|| Row {
            arch: image.arch,
            kind: image.kind,
            loadable: image.loadable,
            images: 0,
            stored: 0,
            size: 0,
            compressions: BTreeSet::new(),
            versions: BTreeSet::new(),
        });
        row.images += 1;
        row.stored = row.stored.saturating_add(image.stored_size);
        row.size = row.size.saturating_add(image.size);
        row.compressions.insert(image.compression);
        row.versions.extend(version(image));
        self.with_debug += usize::from(image.debug);
        if image.loadable == Loadable::Unregistered {
            self.unregistered_in.extend(image.section.clone());
        }
    }

    /// By architecture, then kind, then use.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What the numbers mean for whoever ships an input of this kind, one line each.
    pub fn notes(&self, kind: Kind) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_empty() {
            return notes;
        }
        let is_container = !matches!(kind, Kind::Cubin | Kind::Ptx | Kind::LtoIr | Kind::NvvmIr);
        if is_container {
            notes.extend(self.reach());
        }
        for arch in self.archs_with(Suffix::Family) {
            notes.push(format!(
                "{arch} code runs on {}",
                arch.members().join(" and ")
            ));
        }
        if !self.unregistered_in.is_empty() {
            let sections: Vec<&str> = self.unregistered_in.iter().map(String::as_str).collect();
            notes.push(format!(
                "found by content in {}: whether the program loads it is unknown",
                sections.join(", ")
            ));
        }
        if self.with_debug > 0 {
            notes.push(format!(
                "{} images carry debug information",
                self.with_debug
            ));
        }
        notes
    }

    /// Whether newer GPUs can run this.
    fn reach(&self) -> Option<String> {
        let relocatable = |row: &Row| row.loadable == Loadable::RelocatableOnly;
        if self.rows().all(relocatable) {
            return Some(
                "all code is relocatable: it must be device-linked before it can run".to_owned(),
            );
        }
        if self.rows().all(|row| relocatable(row) || row.is_ir()) {
            return Some("nothing can be loaded before a device link with LTO".to_owned());
        }
        let ptx: Vec<&Row> = self
            .rows()
            .filter(|row| row.kind == ImageKind::Ptx)
            .collect();
        if ptx.is_empty() {
            return Some("no PTX: not forward compatible".to_owned());
        }
        let usable: Vec<&&Row> = ptx.iter().filter(|row| !relocatable(row)).collect();
        if usable.is_empty() {
            return Some("PTX is relocatable only: not forward compatible".to_owned());
        }
        let plain = |row: &&&Row| row.arch.is_none_or(|arch| arch.suffix == Suffix::None);
        if !usable.iter().any(plain) {
            let archs: BTreeSet<Arch> = usable.iter().filter_map(|row| row.arch).collect();
            let archs: Vec<String> = archs.into_iter().map(Arch::compute).collect();
            return Some(format!(
                "PTX is for {} alone: not forward compatible",
                archs.join(" and ")
            ));
        }
        None
    }

    fn archs_with(&self, suffix: Suffix) -> BTreeSet<Arch> {
        self.rows()
            .filter_map(|row| row.arch)
            .filter(|arch| arch.suffix == suffix)
            .collect()
    }
}

fn version(image: &ImageReport) -> Option<(u16, u16)> {
    let producer = &image.producer;
    let text = match image.kind {
        ImageKind::Cubin => &producer.toolkit,
        ImageKind::LtoIr => &producer.ltoir_version,
        _ => &producer.ptx_isa,
    };
    let (major, minor) = text.as_ref()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::report::tests::image;

    fn notes(kind: Kind, images: &[(&str, ImageKind, Loadable)]) -> Vec<String> {
        let mut summary = Summary::default();
        for &(arch, kind, loadable) in images {
            summary.add(&ImageReport {
                arch: arch.parse().ok(),
                kind,
                loadable,
                section: Some(".data".to_owned()),
                ..image("x")
            });
        }
        summary.notes(kind)
    }

    #[test]
    fn notes_tell_who_can_run_it() {
        use ImageKind::{Cubin, Ptx};
        use Loadable::{RelocatableOnly, Unregistered, Yes};
        let library = Kind::SharedLibrary;
        let cubin = ("sm_90", Cubin, Yes);
        assert!(notes(library, &[]).is_empty());
        assert!(notes(library, &[cubin, ("sm_90", Ptx, Yes)]).is_empty());
        assert_eq!(notes(library, &[cubin]), ["no PTX: not forward compatible"]);
        assert_eq!(
            notes(library, &[cubin, ("sm_90", Ptx, RelocatableOnly)]),
            ["PTX is relocatable only: not forward compatible"]
        );
        assert_eq!(
            notes(library, &[cubin, ("sm_90a", Ptx, Yes)]),
            ["PTX is for compute_90a alone: not forward compatible"]
        );
        assert_eq!(
            notes(Kind::Object, &[("sm_90", Cubin, RelocatableOnly)]),
            ["all code is relocatable: it must be device-linked before it can run"]
        );
        let no = Loadable::No;
        assert_eq!(
            notes(library, &[("sm_90", ImageKind::LtoIr, no)]),
            ["nothing can be loaded before a device link with LTO"]
        );
        assert_eq!(
            notes(library, &[cubin, ("sm_90", ImageKind::LtoIr, no)]),
            ["no PTX: not forward compatible"]
        );
        // What a bare cubin cannot do needs no words.
        assert!(notes(Kind::Cubin, &[cubin]).is_empty());
        assert_eq!(
            notes(Kind::Cubin, &[("sm_100f", Cubin, Yes)]),
            ["sm_100f code runs on sm_100 and sm_103"]
        );
        assert_eq!(
            notes(library, &[("sm_90", Ptx, Unregistered)]),
            ["found by content in .data: whether the program loads it is unknown"]
        );
    }
}
