//! Which images of the inputs take part in a link. The rules are those of NVIDIA's linkers, measured on nvlink and
//! nvJitLink 13.5: each container gives one image, the one that fits the target best. Unlike them, nothing is left
//! out in silence.

use std::cmp::Reverse;

use crate::code::{Arch, Image, ImageKind, Loadable};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::link::check::lto_fits;

/// Images of which a link takes one: those of one fatbin, or a bare image.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// Which input of the command line they are in.
    pub input: usize,
    pub images: Vec<&'a Image>,
}

/// What can become of a group.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    Taken(&'a Image),
    /// Nothing of it can be linked, and why.
    Nothing(Diagnostic),
}

impl<'a> Group<'a> {
    /// The groups of an input, in order.
    pub fn all(input: usize, images: &'a [Image]) -> Vec<Self> {
        let place = |image: &Image| (image.file.clone(), image.section.clone(), image.container);
        let mut groups: Vec<Self> = Vec::new();
        for image in images {
            match groups.last_mut() {
                Some(group)
                    if image.container.is_some() && place(group.images[0]) == place(image) =>
                {
                    group.images.push(image);
                }
                _ => groups.push(Self {
                    input,
                    images: vec![image],
                }),
            }
        }
        groups
    }

    /// The fatbin's or image's name: that of its file.
    pub fn name(&self) -> &'a str {
        &self.images[0].file
    }

    /// Whether a device link may use it: what a host file holds outside `__nv_relfatbin` is linked already, or its
    /// purpose is unknown. LTO-IR is never for anything but a link.
    pub fn is_for_links(&self) -> bool {
        let for_links = [Loadable::RelocatableOnly, Loadable::No];
        let mut images = self.images.iter();
        images.any(|image| image.section.is_none() || for_links.contains(&image.loadable))
    }

    /// Whether only link-time optimisation can use it, whatever the target.
    pub fn is_lto_only(&self) -> bool {
        let mut kinds = self.images.iter().map(|image| image.kind);
        let others = [ImageKind::Cubin, ImageKind::Ptx];
        let has_lto = kinds.clone().any(|kind| kind == ImageKind::LtoIr);
        has_lto && !kinds.any(|kind| others.contains(&kind))
    }

    /// Whether only link-time optimisation can use it for this target.
    pub fn needs_lto(&self, target: Arch) -> bool {
        self.best(target, false).is_none() && self.best(target, true).is_some()
    }

    pub fn fits(&self, target: Arch, lto: bool) -> bool {
        self.best(target, lto).is_some()
    }

    pub fn choose(&self, target: Arch, lto: bool) -> Choice<'a> {
        match self.best(target, lto) {
            Some(image) => Choice::Taken(image),
            None => Choice::Nothing(self.why_nothing(target, lto)),
        }
    }

    /// With link-time optimisation any LTO-IR that fits beats the rest. Then the highest architecture wins, then a
    /// cubin over PTX, then the closer suffix.
    fn best(&self, target: Arch, lto: bool) -> Option<&'a Image> {
        let rank = |image: &Image, arch: Arch| {
            let is_lto = image.kind == ImageKind::LtoIr;
            let is_cubin = image.kind == ImageKind::Cubin;
            (is_lto, arch.number, is_cubin, arch.suffix)
        };
        let usable = self
            .images
            .iter()
            .enumerate()
            .filter_map(|(index, &image)| {
                let arch = usable(image, target, lto)?;
                // Of equal ones the first is taken.
                Some((rank(image, arch), Reverse(index), image))
            });
        let best = usable.max_by_key(|&(rank, index, _)| (rank, index));
        best.map(|(_, _, image)| image)
    }

    fn why_nothing(&self, target: Arch, lto: bool) -> Diagnostic {
        if !lto && self.best(target, true).is_some() {
            return Diagnostic::error(
                Code::OptionConflict,
                "has nothing but LTO-IR for this target, which link-time optimisation alone can use",
            )
            .hint("leave out `--lto=off`");
        }
        let with_code: Vec<&Image> = self
            .images
            .iter()
            .copied()
            .filter(|image| is_code(image.kind))
            .collect();
        if with_code.is_empty() {
            return no_device_code();
        }
        let close = with_code.iter().find_map(|image| {
            let arch = image.arch?;
            let plain = Arch::new(arch.number);
            let fits = |arch: Arch, target: Arch| match image.kind {
                ImageKind::Cubin => arch.cubin_fits(target),
                _ => arch.virtual_fits(target),
            };
            (!fits(arch, target) && fits(plain, target)).then_some((arch, image.kind))
        });
        if let Some((arch, kind)) = close
            && kind != ImageKind::LtoIr
        {
            let what = kind_word(kind);
            return Diagnostic::error(
                Code::ArchSuffix,
                format!("has {what} for {arch}, whose suffix keeps it from {target}"),
            )
            .hint(format!("link for {arch}, or rebuild it without the suffix"));
        }
        if let [image] = with_code[..]
            && image.kind == ImageKind::LtoIr
            && let Some(finding) = image.arch.and_then(|arch| lto_fits(arch, target))
        {
            return finding;
        }
        let have: Vec<String> = with_code.iter().map(|image| describe(image)).collect();
        let compute = target.compute();
        Diagnostic::error(Code::ArchMissing, format!("has no code for {target}"))
            .detail(format!("it has {}", have.join(", ")))
            .hint(format!("rebuild it with `-gencode arch={compute},code={target}`, or link for another architecture"))
    }
}

pub(super) fn no_device_code() -> Diagnostic {
    Diagnostic::error(Code::NoDeviceCode, "holds no device code")
        .hint("leave it out, or compile it with nvcc")
}

pub(super) fn is_code(kind: ImageKind) -> bool {
    matches!(kind, ImageKind::Cubin | ImageKind::Ptx | ImageKind::LtoIr)
}

/// The architecture of an image that can be linked for `target`.
fn usable(image: &Image, target: Arch, lto: bool) -> Option<Arch> {
    let arch = image.arch?;
    let fits = match image.kind {
        ImageKind::Cubin => arch.cubin_fits(target),
        ImageKind::Ptx => arch.virtual_fits(target),
        ImageKind::LtoIr => lto && arch.virtual_fits(target),
        _ => false,
    };
    fits.then_some(arch)
}

fn kind_word(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Cubin => "a cubin",
        _ => "PTX",
    }
}

/// `sm_90 cubin`, `compute_90 PTX`
pub(super) fn describe(image: &Image) -> String {
    let arch = image
        .arch
        .map_or("unknown".to_owned(), |arch| match image.kind {
            ImageKind::Cubin => arch.to_string(),
            ImageKind::Ptx => arch.compute(),
            _ => format!("lto_{}", arch.bare()),
        });
    match image.kind {
        ImageKind::Cubin => format!("{arch} cubin"),
        ImageKind::Ptx => format!("{arch} PTX"),
        ImageKind::LtoIr => format!("{arch} LTO-IR"),
        other => format!("{arch} {}", other.as_str()),
    }
}

/// The architecture that the inputs leave, when the user names none: of those that their images are for, the one
/// that every input has something for.
///
/// # Errors
/// `arch-ambiguous` with the choices, or with what each input has when there is none.
pub(super) fn derive_target(groups: &[Group<'_>], lto: bool) -> Result<Arch> {
    let failed = |finding| Error::new(Category::Failed, finding);
    let images = groups.iter().flat_map(|group| &group.images);
    let mut choices: Vec<Arch> = images
        .filter(|image| is_code(image.kind))
        .filter_map(|image| image.arch)
        .collect();
    choices.sort();
    choices.dedup();
    let all = choices.clone();
    choices.retain(|&target| groups.iter().all(|group| group.fits(target, lto)));
    match choices[..] {
        [target] => Ok(target),
        [] => {
            let finding = Diagnostic::error(
                Code::ArchAmbiguous,
                match all[..] {
                    [] => "the inputs do not tell an architecture to link for".to_owned(),
                    _ => "no architecture of the inputs suits all of them".to_owned(),
                },
            );
            let finding = groups.iter().take(10).fold(finding, |finding, group| {
                let have: Vec<String> = group.images.iter().map(|image| describe(image)).collect();
                finding.detail(format!("{}: {}", group.name(), have.join(", ")))
            });
            Err(failed(finding.hint("name it with `--arch`")))
        }
        _ => {
            let names: Vec<String> = choices.iter().map(Arch::to_string).collect();
            let finding = Diagnostic::error(
                Code::ArchAmbiguous,
                format!("the inputs can be linked for {}", names.join(", ")),
            );
            Err(failed(finding.hint(format!(
                "choose one with `--arch`, such as `--arch {}`",
                names[names.len() - 1]
            ))))
        }
    }
}
