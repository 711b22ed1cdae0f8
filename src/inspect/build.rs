use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};

use rayon::prelude::*;

use super::report::{ImageReport, RelocationReport, SectionReport, Sink, Source};
use super::select::Selection;
use crate::code::{
    Arch, Demangler, ExpandOptions, Functions, Image, ImageKind, Loadable, ObjectCode, Producer,
    Suffix, SymbolKind, Symbols, Visitor, demangled, disagreement,
};
use crate::error::{Code, Diagnostic, Malformed, Result, Severity};
use crate::format::Kind;
use crate::format::compress::Limits;
use crate::format::cubin::{Cubin, Stage};
use crate::format::host::Host;
use crate::format::ptx::Ptx;
use crate::observe::Observer;

/// What to look for inside of images. Without any of it nothing is unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Detail {
    pub kernels: bool,
    /// Kernels, device functions and what they share.
    pub resources: bool,
    pub symbols: bool,
    pub sections: bool,
    pub relocations: bool,
}

impl Detail {
    pub const ALL: Self = Self {
        kernels: true,
        resources: true,
        symbols: true,
        sections: true,
        relocations: true,
    };

    fn needs_bytes(self) -> bool {
        self != Self::default()
    }
}

/// What a report is to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    pub selection: Selection,
    pub detail: Detail,
    /// Whether to add readable names.
    pub demangle: bool,
}

/// What was met on the way, beside the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Some part of an input could not be read.
    pub damaged: bool,
    /// Images of all inputs, and those that the selection took.
    pub images: usize,
    pub selected: usize,
    /// Functions and symbols that the selection took.
    pub functions: usize,
    /// The architectures of all images, in order.
    pub archs: BTreeSet<Arch>,
}

/// Reports on every object in turn. Damage is part of the report: what can be read around it is.
pub fn inspect(
    objects: &[ObjectCode],
    request: &Request,
    sink: &mut dyn Sink,
    observer: &dyn Observer,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let builder = Builder {
        request,
        demangler: Demangler::default(),
    };
    for object in objects {
        builder.report(object, sink, observer, &mut outcome)?;
    }
    Ok(outcome)
}

struct Builder<'r> {
    request: &'r Request,
    demangler: Demangler,
}

impl Builder<'_> {
    fn report(
        &self,
        object: &ObjectCode,
        sink: &mut dyn Sink,
        observer: &dyn Observer,
        outcome: &mut Outcome,
    ) -> Result<()> {
        sink.source(&source(object))?;
        let progress = observer.progress(&object.name, None);
        let mut done = 0;
        let mut warnings = Vec::new();
        let found = self.in_order(object, |piece| {
            match piece {
                Piece::Problem(problem) => {
                    observer.diagnostic(&problem);
                    warnings.push(problem);
                }
                Piece::Images(reports) => {
                    for report in reports {
                        done += report.size;
                        outcome.take(&report);
                        for warning in &report.warnings {
                            observer.diagnostic(warning);
                        }
                        if !self.is_beside_the_point(&report) {
                            sink.image(report)?;
                        }
                    }
                    progress.set(done);
                }
            }
            Ok(())
        })?;
        drop(progress);
        if found.images == 0 && !is_damaged(&warnings) {
            let note = Diagnostic::note(Code::NoDeviceCode, "no device code").input(&object.name);
            observer.diagnostic(&note);
            warnings.push(note);
        }
        outcome.images += found.images;
        outcome.archs.extend(found.archs);
        outcome.damaged |= is_damaged(&warnings);
        sink.end(warnings)
    }

    /// Goes through an object on one thread, makes the reports of its images on all cores, and hands them
    /// over in order. While one batch is handed over, the next is made; no more than two are held.
    fn in_order(
        &self,
        object: &ObjectCode,
        take: impl FnMut(Piece) -> Result<()>,
    ) -> Result<Found> {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(0);
            let worker = scope.spawn(move || {
                let mut batch = Batch {
                    builder: self,
                    images: Vec::new(),
                    bytes: 0,
                    sender,
                    closed: false,
                    found: Found::default(),
                };
                object.visit(&ExpandOptions::default(), &mut batch);
                batch.send_images();
                batch.found
            });
            // When taking fails, the receiver goes, and the worker reads nothing more.
            receiver.into_iter().try_for_each(take)?;
            worker
                .join()
                .map_err(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// What is sent from where images are read to where they are handed over.
enum Piece {
    Images(Vec<ImageReport>),
    Problem(Diagnostic),
}

/// What an object held, whatever was selected of it.
#[derive(Default)]
struct Found {
    images: usize,
    archs: BTreeSet<Arch>,
}

/// Gathers images until there are enough to keep all cores busy.
struct Batch<'b, 'r> {
    builder: &'b Builder<'r>,
    images: Vec<Image>,
    /// Unpacked size of the images.
    bytes: u64,
    sender: mpsc::SyncSender<Piece>,
    /// Nobody takes any more: handing over failed, and that error is the one to tell.
    closed: bool,
    found: Found,
}

impl Batch<'_, '_> {
    fn send_images(&mut self) {
        self.bytes = 0;
        let images = std::mem::take(&mut self.images);
        if images.is_empty() || self.closed {
            return;
        }
        let reports = images
            .par_iter()
            .map(|image| self.builder.image(image))
            .collect();
        self.send(Piece::Images(reports));
    }

    fn send(&mut self, piece: Piece) {
        self.closed |= self.sender.send(piece).is_err();
    }
}

impl Visitor for Batch<'_, '_> {
    fn image(&mut self, image: Image) {
        const MOST_IMAGES: usize = 128;
        // A member of a package stays in memory as long as one of its images waits here.
        const MOST_BYTES: u64 = 64 << 20;
        self.found.images += 1;
        self.found.archs.extend(image.arch);
        let selection = &self.builder.request.selection;
        if !selection.takes_image(image.kind, image.arch) {
            return;
        }
        let bytes = self.bytes.saturating_add(image.size);
        let is_new_member = |last: &Image| last.member != image.member;
        if self.images.len() == MOST_IMAGES
            || (bytes > MOST_BYTES && self.images.last().is_some_and(is_new_member))
        {
            self.send_images();
        }
        self.bytes = self.bytes.saturating_add(image.size);
        self.images.push(image);
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.send(Piece::Problem(problem));
    }
}

fn source(object: &ObjectCode) -> Source {
    let kind = object.kind();
    let is_host = matches!(kind, Kind::Object | Kind::Executable | Kind::SharedLibrary);
    let host = is_host.then(|| Host::parse(&object.blob).ok()).flatten();
    Source {
        path: object.name.clone(),
        kind,
        format: object.classified.format.clone(),
        host_arch: host.map(|host| host.arch.into_owned()),
        size: object.blob.len() as u64,
    }
}

impl Outcome {
    fn take(&mut self, report: &ImageReport) {
        self.selected += 1;
        self.damaged |= is_damaged(&report.warnings);
        self.functions += report.kernels.as_ref().map_or(0, Vec::len);
        self.functions += report.functions.as_ref().map_or(0, Vec::len);
        self.functions += report.symbols.as_ref().map_or(0, Vec::len);
    }
}

fn is_damaged(warnings: &[Diagnostic]) -> bool {
    warnings
        .iter()
        .any(|warning| warning.severity == Severity::Error)
}

impl Builder<'_> {
    /// One image. Bytes are unpacked only for what needs them, or where they lie at hand in a file that
    /// is nothing but this image.
    fn image(&self, image: &Image) -> ImageReport {
        let mut report = head(image);
        let detail = self.request.detail;
        let wanted = match image.kind {
            ImageKind::Cubin => detail.needs_bytes(),
            ImageKind::Ptx => detail.kernels || detail.symbols,
            _ => return report,
        };
        if !wanted && image.container.is_some() {
            return report;
        }
        let read = image.read(Limits::default(), |bytes| match image.kind {
            ImageKind::Cubin => self.read_cubin(bytes, &mut report),
            _ => self.read_ptx(bytes, &mut report),
        });
        match read {
            Ok(Ok(())) => {}
            Ok(Err(malformed)) => report.warnings.push(malformed.diagnostic(image.id())),
            Err(error) => report.warnings.extend(error.diagnostics),
        }
        report
    }
}

fn head(image: &Image) -> ImageReport {
    ImageReport {
        id: image.id(),
        member: image.member.as_deref().map(str::to_owned),
        section: image.section.as_deref().map(str::to_owned),
        offset: image.offset,
        kind: image.kind,
        kind_number: image.kind_number,
        arch: image.arch,
        arch_source: image.arch_source.map(str::to_owned),
        loadable: image.loadable,
        relocatable: (image.loadable == Loadable::RelocatableOnly).then_some(true),
        compression: image.compression,
        stored_size: image.stored_size,
        size: image.size,
        name: image.name.clone(),
        options: image.options.clone(),
        debug: image.debug,
        producer: image.producer.clone(),
        kernels: None,
        functions: None,
        common: None,
        symbols: None,
        sections: None,
        relocations: None,
        warnings: image.warnings.clone(),
    }
}

impl Builder<'_> {
    fn read_cubin(&self, bytes: &[u8], report: &mut ImageReport) -> Result<(), Malformed> {
        let cubin = Cubin::parse(bytes)?;
        report.relocatable = Some(cubin.stage() == Stage::Relocatable);
        if report.relocatable == Some(true) && report.loadable == Loadable::Yes {
            report.loadable = Loadable::RelocatableOnly;
        }
        report.producer = Producer::from_cubin(&cubin);
        note_arch(&cubin, report);
        let detail = self.request.detail;
        if detail.kernels || detail.resources {
            self.take_functions(Functions::from_cubin(&cubin)?, report);
        }
        if detail.symbols {
            self.take_symbols(Symbols::from_cubin(&cubin)?, report);
        }
        if detail.sections {
            report.sections = Some(sections(&cubin));
        }
        if detail.relocations {
            report.relocations = Some(relocations(&cubin)?);
        }
        Ok(())
    }

    fn read_ptx(&self, bytes: &[u8], report: &mut ImageReport) -> Result<(), Malformed> {
        let ptx = Ptx::parse(bytes)?;
        report.producer.ptx_isa = Producer::from_ptx(&ptx).ptx_isa;
        report.debug |= ptx.options.contains(&"debug");
        if report.arch.is_none() {
            report.arch = ptx.target.parse().ok();
            report.arch_source = report.arch.map(|_| ".target".to_owned());
        }
        if self.request.detail.kernels {
            self.take_functions(Functions::from_ptx(&ptx), report);
        }
        if self.request.detail.symbols {
            self.take_symbols(Symbols::from_ptx(&ptx), report);
        }
        Ok(())
    }

    fn take_functions(&self, all: Functions, report: &mut ImageReport) {
        let mut kernels = all.kernels;
        kernels.retain_mut(|kernel| self.take_name(&kernel.name, &mut kernel.demangled));
        report.kernels = Some(kernels);
        // PTX knows nothing of resources.
        if self.request.detail.resources && report.kind == ImageKind::Cubin {
            let mut functions = all.functions;
            functions
                .retain_mut(|function| self.take_name(&function.name, &mut function.demangled));
            report.functions = Some(functions);
            report.common = Some(all.common);
        }
    }

    fn take_symbols(&self, all: Symbols, report: &mut ImageReport) {
        let mut list = all.list;
        // Section symbols and the nameless first one say nothing that the sections do not.
        list.retain_mut(|symbol| {
            symbol.kind != SymbolKind::Section
                && !symbol.name.is_empty()
                && self.take_name(&symbol.name, &mut symbol.demangled)
        });
        report.symbols = Some(list);
    }

    /// Whether functions were asked for by name and none of them is in this image.
    fn is_beside_the_point(&self, report: &ImageReport) -> bool {
        fn none<T>(list: &Option<Vec<T>>) -> bool {
            list.as_ref().is_none_or(Vec::is_empty)
        }
        !self.request.selection.kernels.is_empty()
            && none(&report.kernels)
            && none(&report.functions)
            && none(&report.symbols)
    }

    /// Adds the readable name, and says whether the patterns for names take this one.
    fn take_name(&self, name: &str, readable: &mut Option<String>) -> bool {
        let selection = &self.request.selection;
        let demangle = self.request.demangle;
        if demangle || !selection.kernels.is_empty() {
            *readable = self.demangler.get(name);
        }
        let taken = selection.takes_function(name, readable.as_deref());
        if !demangle {
            *readable = None;
        }
        taken
    }
}

/// Whether an image has a function that the selection takes by its name.
pub fn has_function(image: &Image, bytes: &[u8], selection: &Selection) -> Result<bool> {
    let damaged = |malformed: Malformed| malformed.in_input(image.id());
    let all = match image.kind {
        ImageKind::Cubin => Cubin::parse(bytes)
            .and_then(|cubin| Functions::from_cubin(&cubin))
            .map_err(damaged)?,
        ImageKind::Ptx => Functions::from_ptx(&Ptx::parse(bytes).map_err(damaged)?),
        _ => return Ok(false),
    };
    let kernels = all.kernels.iter().map(|kernel| &kernel.name);
    let mut names = kernels.chain(all.functions.iter().map(|function| &function.name));
    Ok(names.any(|name| selection.takes_function(name, demangled(name).as_deref())))
}

/// The container's word counts, since it alone knows every suffix; a cubin for another architecture is
/// a contradiction that no user should miss.
fn note_arch(cubin: &Cubin<'_>, report: &mut ImageReport) {
    let target = cubin.target();
    let own = Arch::from(target);
    match report.arch {
        None => {
            report.arch = Some(own);
            report.arch_source = Some(target.source.to_owned());
        }
        Some(said) if differ(said, own) => {
            let message = disagreement(said, own);
            let is_told = |warning: &Diagnostic| warning.message == message;
            if !report.warnings.iter().any(is_told) {
                let warning = Diagnostic::warning(Code::Damaged, message);
                report.warnings.push(warning.input(&report.id));
            }
        }
        Some(_) => {}
    }
}

/// Not every release records `f` in the cubin.
fn differ(said: Arch, own: Arch) -> bool {
    let is_exact = |arch: Arch| arch.suffix == Suffix::Accelerated;
    said.number != own.number || is_exact(said) != is_exact(own)
}

fn sections(cubin: &Cubin<'_>) -> Vec<SectionReport> {
    let sections = cubin.sections().iter().skip(1);
    sections
        .map(|section| SectionReport {
            index: section.index,
            name: section.name.clone().into_owned(),
            kind: section.kind.to_string(),
            flags: section.flags,
            offset: section.offset,
            size: section.size,
            link: section.link,
            info: section.info,
            align: section.align,
        })
        .collect()
}

fn relocations(cubin: &Cubin<'_>) -> Result<Vec<RelocationReport>, Malformed> {
    let symbols: Vec<Arc<str>> = cubin
        .symbols()?
        .into_iter()
        .map(|symbol| into_arc(symbol.name))
        .collect();
    let mut out = Vec::new();
    for section in cubin.relocation_sections() {
        let target = cubin.sections().get(section.info as usize);
        let target = target.map_or_else(|| Arc::from(""), |section| into_arc(section.name.clone()));
        for relocation in cubin.relocations(section)? {
            let Some(symbol) = symbols.get(relocation.symbol as usize) else {
                return Err(Malformed::new(
                    section.offset,
                    format!(
                        "relocation against symbol {}, but there are {}",
                        relocation.symbol,
                        symbols.len()
                    ),
                ));
            };
            out.push(RelocationReport {
                section: target.clone(),
                offset: relocation.offset,
                kind: relocation.kind.to_string(),
                symbol: symbol.clone(),
                addend: relocation.addend,
            });
        }
    }
    Ok(out)
}

fn into_arc(name: Cow<'_, str>) -> Arc<str> {
    Arc::from(&*name)
}
