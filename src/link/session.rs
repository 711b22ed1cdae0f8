//! One link from its inputs to a proven result: expand, choose, find a library, check, link, verify. Each step takes
//! what the one before made, and the [`Report`] keeps what each found.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::Blob;
use crate::cache::Cache;
use crate::code::{Arch, ExpandOptions, Expansion, Image, ImageKind, ObjectCode};
use crate::compile;
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::format::Kind;
use crate::format::ltoir::Header;
use crate::link::check::{self, Chosen, Levels, LtoLibrary, LtoTarget, Outside, Rules, Unit};
use crate::link::demand::{lacking, needed};
use crate::link::front::{FromSource, FrontEnd, SourceOptions, is_source};
use crate::link::inputs::{input_report, unlinkable};
use crate::link::nvjitlink::{Inspector, NvJitLink, Work};
use crate::link::options::{Emit, Options, Present, Shape};
use crate::link::own;
use crate::link::picked::Picked;
use crate::link::report::{BackendReport, ImageChoice, Report};
use crate::link::requirements::Requirements;
use crate::link::select::{Choice, Group, derive_target, describe, is_code, no_device_code};
use crate::link::{findings, verify};
use crate::observe::Observer;
use crate::toolkit::{self, Candidate, Component, Needs, Settings, Version};
use crate::worker::Workers;

/// Whether link-time optimisation is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lto {
    /// Where an input has nothing but LTO-IR to offer.
    #[default]
    Auto,
    On,
    Off,
}

/// Which members of archives take part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Members {
    /// All of them, as in NVIDIA's linkers.
    #[default]
    All,
    /// Those that define something that is needed.
    Needed,
}

/// Who links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backend {
    /// nvJitLink; the built-in linker where it can and no nvJitLink is installed.
    #[default]
    Auto,
    NvJitLink,
    Builtin,
}

/// How results are proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verify {
    /// Read back and held against the inputs.
    #[default]
    Fast,
    /// Also linked by the built-in linker, and compared.
    Double,
}

/// What a user asks for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub inputs: Vec<ObjectCode>,
    /// Told by the inputs when it is not given.
    pub target: Option<Arch>,
    pub emit: Emit,
    /// The result is linked again (`-r`).
    pub relocatable: bool,
    pub backend: Backend,
    pub verify: Verify,
    pub lto: Lto,
    pub options: Options,
    pub sources: SourceOptions,
    pub levels: Levels,
    /// Where libraries lie (`-L`), for hints about what is missing.
    pub folders: Vec<PathBuf>,
    pub members: Members,
    /// Leaves libcudadevrt out even if something of it is needed.
    pub no_devrt: bool,
    /// All headers of the sources must be known, for a depfile.
    pub lists_headers: bool,
}

/// What a link is done with.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations)] // An observer is whatever it is.
pub struct Tools<'a> {
    pub settings: &'a Settings,
    pub workers: Workers<'a>,
    pub cache: &'a Cache,
    pub observer: &'a dyn Observer,
}

/// Links. The result is proven, and nothing of it is written anywhere.
///
/// # Errors
/// Whatever keeps it from being what was asked for; `report` tells how far it came.
pub fn link(request: &Request, tools: &Tools<'_>, report: &mut Report) -> Result<Blob> {
    let result = Session::new(request, tools, report).link();
    record(&result, report);
    result
}

/// Does everything but the link itself: nothing is fetched, and no library is loaded but to look into LTO-IR.
pub fn plan(request: &Request, tools: &Tools<'_>, report: &mut Report) -> Result<()> {
    let mut session = Session::new(request, tools, report);
    let result = session.prepare(true).map(drop);
    record(&result, report);
    result
}

fn record<T>(result: &Result<T>, report: &mut Report) {
    match result {
        Ok(_) => report.ok = true,
        Err(error) => report.diagnostics.extend(error.diagnostics.iter().cloned()),
    }
}

struct Session<'a> {
    request: &'a Request,
    tools: &'a Tools<'a>,
    report: &'a mut Report,
    options: Options,
}

/// All that is known before the backend starts.
struct Prepared {
    shape: Shape,
    picked: Vec<Picked>,
    two_steps: bool,
    outcome: check::Outcome,
    library: Option<Candidate>,
    /// The built-in linker links.
    builtin: bool,
    /// The library's release, or that of the one that would be fetched.
    release: Version,
}

/// The release that is fetched when none is found and nothing asks for an older one.
const NEWEST: Version = Version::new(13, 5);

impl<'a> Session<'a> {
    fn new(request: &'a Request, tools: &'a Tools<'a>, report: &'a mut Report) -> Self {
        Self {
            request,
            tools,
            report,
            options: request.options.clone(),
        }
    }

    fn link(mut self) -> Result<Blob> {
        let prepared = self.prepare(false)?;
        if let Some(passed) = self.passed_through(&prepared) {
            return Ok(passed);
        }
        let start = Instant::now();
        if prepared.builtin {
            let result = own::link(&prepared.picked, prepared.shape, false)?;
            self.report.timings.link = milliseconds(start);
            return self.prove(result, &prepared);
        }
        let Some(library) = &prepared.library else {
            return Err(Error::failed(Code::Internal, "no library was chosen"));
        };
        let work = Work {
            shape: prepared.shape,
            options: &self.options,
            picked: &prepared.picked,
            two_steps: prepared.two_steps,
            levels: &self.request.levels,
        };
        let backend = NvJitLink {
            library,
            workers: self.tools.workers,
            cache: self.tools.cache,
        };
        for step in work.steps() {
            self.tools
                .observer
                .detail(&format!("nvJitLink options: {}", step.options.join(" ")));
        }
        let made = backend.link(&work)?;
        self.report.timings.link = milliseconds(start);
        self.report.timings.load = made.load;
        self.report.cached = made.known;
        self.report.steps = made.steps;
        self.settle(made.findings, Category::Failed)?;
        let result = made
            .result
            .ok_or_else(|| Error::failed(Code::BackendFailed, "the library gave no result"))?;
        if self.request.verify == Verify::Double {
            let own = own::link(&prepared.picked, prepared.shape, true)?;
            if let Some(section) = own::difference(&result, &own)? {
                return Err(own::disagreement(&section));
            }
        }
        self.prove(result, &prepared)
    }

    /// Lets a result go only if it is what was promised.
    fn prove(mut self, result: Blob, prepared: &Prepared) -> Result<Blob> {
        let start = Instant::now();
        let promise = verify::Promise {
            shape: prepared.shape,
            outcome: &prepared.outcome,
            keep_kernels: &self.options.keep_kernels,
            linker: prepared.release,
        };
        let found = verify::verify(&result, &promise);
        self.settle(found, Category::Failed)?;
        self.report.timings.verify = milliseconds(start);
        Ok(result)
    }

    /// A single PTX that is to stay PTX is the result itself.
    fn passed_through(&self, prepared: &Prepared) -> Option<Blob> {
        let ptx = self.request.emit == Emit::Ptx && !prepared.shape.lto;
        ptx.then(|| prepared.picked.first().map(|picked| picked.bytes.clone()))
            .flatten()
    }

    fn prepare(&mut self, dry: bool) -> Result<Prepared> {
        let start = Instant::now();
        self.request.options.validate()?;
        self.report.emit = self.request.emit;
        self.report.relocatable = self.request.relocatable;
        self.refuse_combinations()?;
        let expansions = self.expand()?;
        let chosen = self.choose(&expansions)?;
        let shape = Shape {
            target: chosen.target,
            lto: chosen.lto,
            emit: self.request.emit,
            relocatable: self.request.relocatable,
        };
        let mut picked = Picked::all(&chosen.images)?;
        self.compile(&mut picked, shape, dry)?;
        self.refuse_outputs(&picked, chosen.lto)?;
        self.switch_nvvm_latest(&picked, shape.target);
        self.note_idle_options(&picked)?;
        self.note_unseen(&picked)?;
        self.report.options = self.options.clone();
        self.report.timings.plan = milliseconds(start);

        let start = Instant::now();
        let requirements = Requirements::new(shape, &self.options, &picked);
        let builtin = self.takes_builtin(&requirements, shape, &picked)?;
        // A PTX that is passed through needs nobody.
        let passed = shape.emit == Emit::Ptx && !shape.lto;
        let library = match builtin || passed {
            true => None,
            false => self.find_library(&requirements, dry)?,
        };
        let release = library
            .as_ref()
            .and_then(|library| library.version)
            .unwrap_or(NEWEST);
        self.report.timings.library = milliseconds(start);

        let start = Instant::now();
        let mut checked = self.check(&picked, shape, library.as_ref(), release)?;
        if !self.request.no_devrt
            && checked
                .outcome
                .missing
                .iter()
                .any(|name| check::is_in_devrt(name))
        {
            let more = self.devrt(shape, library.as_ref(), dry)?;
            if !more.is_empty() {
                picked.extend(more);
                checked = self.check(&picked, shape, library.as_ref(), release)?;
            }
        }
        if let Some(taken) = &checked.taken {
            let mut taken = taken.iter();
            picked.retain(|_| taken.next() == Some(&true));
        }
        self.settle(
            std::mem::take(&mut checked.outcome.findings),
            Category::Failed,
        )?;
        self.report.timings.check = milliseconds(start);
        let prepared = Prepared {
            shape,
            two_steps: checked.two_steps,
            picked,
            outcome: checked.outcome,
            library,
            builtin,
            release,
        };
        self.report.steps = Work {
            shape,
            options: &self.options,
            picked: &prepared.picked,
            two_steps: prepared.two_steps,
            levels: &self.request.levels,
        }
        .steps();
        Ok(prepared)
    }

    /// Tells findings that let the link go on; the others end it.
    fn settle(&mut self, findings: Vec<Diagnostic>, category: Category) -> Result<()> {
        let findings = findings
            .into_iter()
            .map(|finding| self.request.levels.apply(finding));
        let (errors, others): (Vec<_>, Vec<_>) =
            findings.partition(|finding| finding.severity == Severity::Error);
        for finding in others {
            let known = |old: &Diagnostic| {
                let same = old.message == finding.message && old.inputs == finding.inputs;
                old.code == finding.code
                    && old.symbol == finding.symbol
                    && (same || finding.symbol.is_some())
            };
            if !self.report.diagnostics.iter().any(known) {
                self.tools.observer.diagnostic(&finding);
                self.report.diagnostics.push(finding);
            }
        }
        match Error::from_diagnostics(category, errors) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn refuse_combinations(&self) -> Result<()> {
        let request = self.request;
        if request.inputs.is_empty() {
            return Err(Error::usage("there is nothing to link").hint(
                "name at least one input, such as `cudalink link a.cubin b.a -o out.cubin`",
            ));
        }
        if request.relocatable && request.emit == Emit::Ptx {
            return Err(Error::usage(
                "PTX cannot be linked again: `-r` and `--emit ptx` exclude one another",
            ));
        }
        Ok(())
    }

    fn expand(&mut self) -> Result<Vec<Expansion>> {
        let mut errors = Vec::new();
        for input in &self.request.inputs {
            errors.extend(unlinkable(input));
        }
        let category = errors.iter().map(|error: &Error| error.category).max();
        let found = errors
            .into_iter()
            .flat_map(|error| error.diagnostics)
            .collect();
        if let Some(error) = category.and_then(|category| Error::from_diagnostics(category, found))
        {
            return Err(error);
        }
        let options = ExpandOptions::default();
        let expansions: Vec<Expansion> = self
            .request
            .inputs
            .iter()
            .map(|input| input.expand(&options))
            .collect();
        let read = self.request.inputs.iter().zip(&expansions);
        let read = read.flat_map(|(input, expansion)| input.path.iter().chain(&expansion.files));
        self.report.depends_on(read);
        let problems = expansions.iter().flat_map(|expansion| &expansion.problems);
        self.settle(problems.cloned().collect(), Category::Damaged)?;
        let inputs = self.request.inputs.iter().zip(&expansions);
        self.report.inputs = inputs
            .map(|(input, expansion)| input_report(input, expansion))
            .collect();
        Ok(expansions)
    }

    /// Decides on the target and link-time optimisation, and takes an image of each container.
    fn choose<'e>(&mut self, expansions: &'e [Expansion]) -> Result<Selection<'e>> {
        let mut groups = Vec::new();
        let mut problems = Vec::new();
        for (index, expansion) in expansions.iter().enumerate() {
            if is_source(self.request.inputs[index].kind()) {
                continue;
            }
            let all = Group::all(index, &expansion.images);
            problems.extend(self.without_use(index, &all));
            groups.extend(all.into_iter().filter(|group| {
                group.is_for_links() && group.images.iter().any(|image| is_code(image.kind))
            }));
        }
        let mut lto = match self.request.lto {
            Lto::On => true,
            Lto::Off => false,
            Lto::Auto => groups.iter().any(Group::is_lto_only) || self.sources_need_lto(),
        };
        self.settle(problems, Category::Failed)?;
        let target = match self.request.target {
            Some(target) => target,
            // What only link-time optimisation could use is told of below.
            None => derive_target(&groups, self.request.lto != Lto::Off)
                .or_else(|_| derive_target(&groups, true))?,
        };
        lto |= self.request.lto == Lto::Auto && groups.iter().any(|group| group.needs_lto(target));
        self.report.target = Some(target);
        self.report.lto = Some(lto);
        self.tools.observer.detail(&match self.request.target {
            Some(_) => format!("target {target}"),
            None => format!("target {target}, which the inputs leave"),
        });
        let mut images = Vec::new();
        let mut problems = Vec::new();
        for group in &groups {
            match group.choose(target, lto) {
                Choice::Taken(image) => {
                    self.note_choice(group, image, target);
                    images.push((group.input, image));
                }
                Choice::Nothing(finding) => problems.push(finding.input(group.name())),
            }
        }
        self.settle(problems, Category::Failed)?;
        if images.is_empty() && !self.has_sources() {
            return Err(Error::failed(
                Code::NoDeviceCode,
                "no input has device code to link",
            ));
        }
        Ok(Selection {
            target,
            lto,
            images,
        })
    }

    fn has_sources(&self) -> bool {
        self.request
            .inputs
            .iter()
            .any(|input| is_source(input.kind()))
    }

    /// PTX of several sources, and LTO-IR of any, comes out of link-time optimisation alone.
    fn sources_need_lto(&self) -> bool {
        let single = self.request.inputs.len() == 1;
        self.has_sources()
            && match self.request.emit {
                Emit::Cubin => false,
                Emit::Ptx => !single,
                Emit::LtoIr => true,
            }
    }

    /// Compiles the sources among the inputs and puts what they give in their places.
    fn compile(&mut self, picked: &mut Vec<Picked>, shape: Shape, dry: bool) -> Result<()> {
        if !self.has_sources() {
            return Ok(());
        }
        let start = Instant::now();
        let requirements = Requirements::new(shape, &self.options, picked);
        let mut needs = requirements.needs();
        if self.request.lists_headers && !self.tools.settings.names_library() {
            needs = needs.at_least(compile::LISTS_HEADERS, "a depfile lists headers");
        }
        let options = self.options.clone();
        let front = FrontEnd {
            target: shape.target,
            lto: shape.lto,
            options: &options,
            sources: &self.request.sources,
            tools: compile::Tools {
                settings: self.tools.settings,
                needs: &needs,
                workers: self.tools.workers,
                observer: self.tools.observer,
            },
        };
        for made in front.cuda(&self.request.inputs)? {
            self.take_compiled(made, picked)?;
        }
        if self
            .request
            .inputs
            .iter()
            .any(|input| input.kind() == Kind::NvvmIr)
        {
            let wanted = self.wanted(picked, shape, &requirements, dry)?;
            if let Some(made) = front.nvvm(&self.request.inputs, &wanted)? {
                self.take_compiled(made, picked)?;
            }
        }
        picked.sort_by_key(|picked| picked.input);
        self.report.timings.compile = milliseconds(start);
        Ok(())
    }

    fn take_compiled(&mut self, made: FromSource, picked: &mut Vec<Picked>) -> Result<()> {
        let FromSource {
            picked: one,
            compiled,
        } = made;
        self.settle(compiled.diagnostics, Category::Failed)?;
        self.options.nvvm_latest |= compiled.nvvm_latest && one.is_lto();
        let headers = match compiled.headers {
            None if self.request.lists_headers => {
                let library = compiled.library.to_string();
                let finding = findings::headers_unknown(&library, compile::LISTS_HEADERS);
                return Err(Error::new(Category::Missing, finding.input(&one.name)));
            }
            headers => headers.unwrap_or_default(),
        };
        self.report
            .depends_on(headers.iter().chain(&compiled.files));
        self.report.headers.extend(headers);
        self.report.inputs[one.input].images.push(ImageChoice {
            id: one.name.clone(),
            kind: one.image.kind,
            arch: one.image.arch,
            taken: true,
            reason: format!("compiled by {}", compiled.library),
        });
        picked.push(one);
        Ok(())
    }

    /// What the inputs that are no NVVM IR leave undefined.
    fn wanted(
        &mut self,
        picked: &[Picked],
        shape: Shape,
        requirements: &Requirements,
        dry: bool,
    ) -> Result<Vec<String>> {
        let chosen: Vec<Chosen<'_>> = picked.iter().map(|picked| picked.chosen("")).collect();
        let mut units = check::read(&chosen)?;
        let library = self.find_library(requirements, dry)?;
        let release = library
            .as_ref()
            .and_then(|library| library.version)
            .unwrap_or(NEWEST);
        if let Some(library) = &library {
            self.look_inside_all(&mut units, &chosen, library, shape);
        }
        Ok(lacking(&units, release))
    }

    /// Looks into all LTO-IR, also that of a single input: what it lacks decides what is compiled.
    fn look_inside_all(
        &self,
        units: &mut [Unit<'_>],
        chosen: &[Chosen<'_>],
        library: &Candidate,
        shape: Shape,
    ) {
        let inspector = self.inspector(library, shape);
        for (unit, image) in units.iter_mut().zip(chosen) {
            if unit.facts.is_none()
                && let Ok(cubin) = inspector.relocatable(image)
            {
                unit.facts = check::Facts::from_cubin(&cubin).ok().flatten();
            }
        }
    }

    fn inspector<'i>(&self, library: &'i Candidate, shape: Shape) -> Inspector<'i>
    where
        'a: 'i,
    {
        Inspector {
            nvjitlink: NvJitLink {
                library,
                workers: self.tools.workers,
                cache: self.tools.cache,
            },
            target: shape.target,
            nvvm_latest: self.options.nvvm_latest,
        }
    }

    fn note_choice(&mut self, group: &Group<'_>, taken: &Image, target: Arch) {
        let choices = &mut self.report.inputs[group.input].images;
        for image in &group.images {
            let id = image.id();
            let Some(choice) = choices.iter_mut().find(|choice| choice.id == id) else {
                continue;
            };
            choice.taken = std::ptr::eq(*image, taken);
            choice.reason = match (choice.taken, group.images.len()) {
                (true, 1) => format!("can be linked for {target}"),
                (true, _) => format!("suits {target} best of its fatbin"),
                (false, _) => format!("{} suits {target} better", describe(taken)),
            };
            if choice.taken {
                let (kind, reason) = (describe(image), &choice.reason);
                self.tools
                    .observer
                    .detail(&format!("take {id}: {kind}, {reason}"));
            }
        }
    }

    /// What is wrong with an input that gives a link nothing, or with members that do.
    fn without_use(&self, input: usize, groups: &[Group<'_>]) -> Vec<Diagnostic> {
        let name = &self.request.inputs[input].name;
        let has_code = |group: &&Group<'_>| group.images.iter().any(|image| is_code(image.kind));
        let with_code: Vec<&Group<'_>> = groups.iter().filter(has_code).collect();
        if with_code.is_empty() {
            return vec![no_device_code().input(name)];
        }
        let useful: HashSet<&str> = with_code
            .iter()
            .filter(|group| group.is_for_links())
            .map(|group| group.name())
            .collect();
        if useful.is_empty() {
            return vec![findings::not_relocatable().input(name)];
        }
        let mut told = HashSet::new();
        with_code
            .iter()
            .map(|group| group.name())
            .filter(|file| !useful.contains(file) && told.insert(*file))
            .map(|file| {
                let mut finding = findings::not_relocatable().input(file);
                finding.severity = Severity::Warning;
                finding
            })
            .collect()
    }

    /// Refuses what a kind of result cannot be made of.
    fn refuse_outputs(&self, picked: &[Picked], lto: bool) -> Result<()> {
        let emit = self.request.emit;
        let single_ptx = emit == Emit::Ptx && !lto && picked.len() == 1;
        if emit == Emit::Cubin || (single_ptx && picked[0].image.kind == ImageKind::Ptx) {
            return Ok(());
        }
        let mut others = picked.iter().filter(|picked| !picked.is_lto()).peekable();
        if others.peek().is_none() {
            return Ok(());
        }
        let what = match emit {
            Emit::Ptx => "PTX is made of LTO-IR alone",
            _ => "linked LTO-IR is made of LTO-IR alone",
        };
        let finding = others.fold(
            Diagnostic::error(Code::OptionConflict, what),
            |finding, picked| {
                finding.input(&picked.name).detail(format!(
                    "`{}` is {}",
                    picked.name,
                    describe(&picked.image)
                ))
            },
        );
        Err(Error::new(
            Category::Failed,
            finding.hint("leave out `--emit`, or compile these inputs with `-dlto`"),
        ))
    }

    fn note_idle_options(&mut self, picked: &[Picked]) -> Result<()> {
        let has = |kind| picked.iter().any(|picked| picked.image.kind == kind);
        let inputs = &self.request.inputs;
        let given = |kind| inputs.iter().any(|input| input.kind() == kind);
        let present = Present {
            lto_ir: has(ImageKind::LtoIr),
            ptx: has(ImageKind::Ptx),
            cuda: given(Kind::CudaSource),
            nvvm_ir: given(Kind::NvvmIr),
        };
        let mut idle = self.request.options.without_effect(present);
        if !present.cuda {
            let of_sources = self.request.sources.given();
            idle.extend(of_sources.map(|option| (option, "CUDA C++")));
        }
        let findings = idle.into_iter().map(|(option, missing)| {
            let message =
                format!("`{option}` has no effect: there is no {missing} among the inputs");
            Diagnostic::warning(Code::OptionConflict, message)
        });
        self.settle(findings.collect(), Category::Failed)
    }

    /// Says which inputs link-time optimisation cannot look into, where a user asked for it.
    fn note_unseen(&mut self, picked: &[Picked]) -> Result<()> {
        if self.request.lto != Lto::On {
            return Ok(());
        }
        let unseen = |input: usize| {
            let mut of_input = picked.iter().filter(|picked| picked.input == input);
            of_input.find(|picked| !picked.is_lto())
        };
        let inputs = self.request.inputs.iter().enumerate();
        let findings = inputs.filter_map(|(index, input)| {
            let what = describe(&unseen(index)?.image);
            let message =
                format!("link-time optimisation cannot look into {what}; it is linked as it is");
            let finding = Diagnostic::warning(Code::NotLto, message).input(&input.name);
            Some(
                finding.hint("compile it with `-dlto` (or `-gencode arch=compute_90,code=lto_90`)"),
            )
        });
        self.settle(findings.collect(), Category::Failed)
    }

    /// LTO-IR of the newer LLVM can only be linked by it.
    fn switch_nvvm_latest(&mut self, picked: &[Picked], target: Arch) {
        if self.options.nvvm_latest || target.number >= 100 {
            return;
        }
        let newer = picked
            .iter()
            .filter(|picked| picked.is_lto())
            .find_map(|picked| {
                let header = Header::parse(&picked.bytes, 0).ok()?;
                (header.llvm.0 > 7).then_some((picked, header.llvm.0))
            });
        if let Some((picked, llvm)) = newer {
            self.options.nvvm_latest = true;
            let note = Diagnostic::note(
                Code::InputNewerThanLibrary,
                format!("was made with LLVM {llvm}; `--nvvm-latest` is switched on"),
            );
            let note = note.input(&picked.name);
            self.tools.observer.diagnostic(&note);
            self.report.diagnostics.push(note);
        }
    }

    /// Whether the built-in linker links.
    fn takes_builtin(
        &mut self,
        requirements: &Requirements,
        shape: Shape,
        picked: &[Picked],
    ) -> Result<bool> {
        let obstacles = own::obstacles(shape, &self.options, picked);
        let wants_it = self.request.backend == Backend::Builtin;
        if wants_it || self.request.verify == Verify::Double {
            if let Some(error) = Error::from_diagnostics(Category::Failed, obstacles) {
                return Err(error);
            }
            if wants_it {
                self.report_builtin("it is asked for");
            }
            return Ok(wants_it);
        }
        if self.request.backend != Backend::Auto || !obstacles.is_empty() {
            return Ok(false);
        }
        // Nothing is fetched for what needs no library.
        let settings = self.tools.settings;
        let located = toolkit::locate(Component::NvJitLink, settings, &requirements.needs());
        let is_named = settings.names_library();
        if located.chosen.is_some() || is_named || own::link(picked, shape, false).is_err() {
            return Ok(false);
        }
        self.tools.observer.status(
            "linked by the built-in linker: all inputs are machine code, and no suitable nvJitLink is installed",
        );
        self.report_builtin("all inputs are machine code, and no suitable nvJitLink is installed");
        Ok(true)
    }

    fn report_builtin(&mut self, reason: &str) {
        self.report.backend = Some(BackendReport {
            name: "builtin".to_owned(),
            version: env!("CARGO_PKG_VERSION").parse().ok(),
            path: None,
            reason: reason.to_owned(),
        });
    }

    fn find_library(
        &mut self,
        requirements: &Requirements,
        dry: bool,
    ) -> Result<Option<Candidate>> {
        let settings = self.tools.settings;
        let is_explicit = settings.names_library();
        // What the user chose is held against the inputs here, where the message can name them.
        let needs = if is_explicit {
            Needs::default()
        } else {
            requirements.needs()
        };
        let library = if dry {
            toolkit::locate(Component::NvJitLink, settings, &needs).chosen
        } else {
            let [library] = toolkit::obtain(
                [Component::NvJitLink],
                settings,
                &needs,
                self.tools.observer,
            )?;
            Some(library)
        };
        if let Some(library) = &library {
            if is_explicit && let Some(version) = library.version {
                requirements.check(&library.to_string(), version)?;
            }
            self.report.backend = Some(BackendReport {
                name: "nvjitlink".to_owned(),
                version: library.version,
                path: Some(library.path.clone()),
                reason: library.verdict.reason().to_owned(),
            });
        }
        Ok(library)
    }

    /// The images of libcudadevrt, of which the check takes what is needed.
    fn devrt(
        &mut self,
        shape: Shape,
        library: Option<&Candidate>,
        dry: bool,
    ) -> Result<Vec<Picked>> {
        let needs = library.map_or_else(Needs::default, |library| Needs::default().beside(library));
        let settings = self.tools.settings;
        let found = if dry {
            toolkit::locate(Component::Cudadevrt, settings, &needs).chosen
        } else {
            let [found] = toolkit::obtain(
                [Component::Cudadevrt],
                settings,
                &needs,
                self.tools.observer,
            )?;
            Some(found)
        };
        let Some(found) = found else {
            return Ok(Vec::new());
        };
        self.tools.observer.detail(&format!("use {found}"));
        self.report.depends_on([&found.path]);
        let code = ObjectCode::open(&found.path)?;
        let expansion = code.expand(&ExpandOptions::default());
        let groups = Group::all(DEVRT, &expansion.images);
        let images: Vec<(usize, &Image)> = groups
            .iter()
            .filter(|group| group.is_for_links())
            .filter_map(|group| match group.choose(shape.target, shape.lto) {
                Choice::Taken(image) => Some((DEVRT, image)),
                Choice::Nothing(_) => None,
            })
            .collect();
        Picked::all(&images)
    }

    fn check(
        &mut self,
        picked: &[Picked],
        shape: Shape,
        library: Option<&Candidate>,
        release: Version,
    ) -> Result<Checked> {
        let inputs = &self.request.inputs;
        let name = |picked: &Picked| {
            inputs
                .get(picked.input)
                .map_or("libcudadevrt", |input| &*input.name)
                .to_owned()
        };
        let names: Vec<String> = picked.iter().map(name).collect();
        let chosen: Vec<Chosen<'_>> = picked
            .iter()
            .zip(&names)
            .map(|(picked, name)| picked.chosen(name))
            .collect();
        self.check_headers(picked, shape, release)?;
        let mut units = check::read(&chosen)?;
        if let Some(library) = library {
            let inspector = self.inspector(library, shape);
            let note = check::look_inside(&mut units, &chosen, release, &inspector);
            self.settle(note.into_iter().collect(), Category::Failed)?;
        }
        let on_demand: Vec<bool> = picked
            .iter()
            .map(|picked| self.is_on_demand(picked))
            .collect();
        let (units, taken) = if on_demand.contains(&true) {
            let taken = needed(&units, &on_demand, release);
            let mut keep = taken.iter();
            units.retain(|_| keep.next() == Some(&true));
            (units, Some(taken))
        } else {
            (units, None)
        };
        let mut keep = taken.iter().flatten();
        let chosen: Vec<Chosen<'_>> = chosen
            .into_iter()
            .filter(|_| taken.is_none() || keep.next() == Some(&true))
            .collect();
        let two_steps = shape.emit == Emit::Cubin
            && shape.lto
            && release >= Version::new(13, 0)
            && check::needs_two_steps(&units, &chosen, release);
        let rules = Rules {
            linker: release,
            relocatable: self.request.relocatable,
            keep_kernels: &self.options.keep_kernels,
        };
        let outside = Outside {
            inputs,
            folders: &self.request.folders,
            target: shape.target,
        };
        let outcome = check::check(&units, &rules, &|names| check::search(names, &outside));
        Ok(Checked {
            two_steps,
            taken,
            outcome,
        })
    }

    fn is_on_demand(&self, picked: &Picked) -> bool {
        match self.request.inputs.get(picked.input) {
            None => true,
            Some(input) => {
                self.request.members == Members::Needed
                    && matches!(input.kind(), Kind::Archive | Kind::ThinArchive)
            }
        }
    }

    fn check_headers(&mut self, picked: &[Picked], shape: Shape, release: Version) -> Result<()> {
        let target = LtoTarget {
            arch: shape.target,
            linker: release,
            nvvm_latest: self.options.nvvm_latest,
        };
        let mut found = Vec::new();
        for picked in picked
            .iter()
            .filter(|picked| picked.is_lto() && !picked.is_wrapped())
        {
            match Header::parse(&picked.bytes, 0) {
                Ok(header) => {
                    let arch = picked.image.container.and(picked.image.arch);
                    found.extend(check::lto_header(&picked.name, &header, arch, &target));
                }
                Err(error) => return Err(error.in_input(&picked.name)),
            }
        }
        self.settle(found, Category::Failed)
    }
}

/// The place of libcudadevrt among the inputs of the command line: behind all of them.
const DEVRT: usize = usize::MAX;

struct Selection<'e> {
    target: Arch,
    lto: bool,
    images: Vec<(usize, &'e Image)>,
}

struct Checked {
    two_steps: bool,
    /// Which of the images take part; all of them when nothing is taken on demand.
    taken: Option<Vec<bool>>,
    outcome: check::Outcome,
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
