//! The symbol pass before a link. Linkers report success for many broken links; this pass finds what is wrong
//! from the images alone, all of it at once, and names every input involved.
//!
//! It reads each image once ([`facts`]), puts all symbols under their names ([`table`]), judges each name
//! ([`resolve`]), follows the calls ([`graph`]) and sums up what kernels need ([`resources`]).

mod collect;
mod coverage;
mod facts;
mod graph;
mod lto;
mod names;
mod near;
mod outside;
mod prototype;
mod resolve;
mod resources;
mod table;

use rayon::prelude::*;

pub use coverage::ExpectedKernel;
pub use facts::{Facts, Kind, State, Symbol};
pub use lto::{
    LtoLibrary, LtoTarget, fits as lto_fits, header as lto_header, lacking, look_inside,
    needs_two_steps,
};
pub use names::{is_in_devrt, is_provided};
pub use near::{Elsewhere, Why};
pub use outside::{Outside, search};
pub use table::Unit;

use crate::code::ImageKind;
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::link::findings;
use crate::toolkit::Version;
use collect::Findings;
use graph::{CallGraph, Missing, Reach};
use near::Near;
use resolve::{Resolution, with_inputs};
use table::Table;

/// An image that was chosen for a link.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// As messages call it: `libx.a(b.o):.nv_fatbin[3]`.
    pub name: &'a str,
    /// Which input of the command line it came from.
    pub input: usize,
    pub input_name: &'a str,
    pub kind: ImageKind,
    pub bytes: &'a [u8],
}

/// What decides whether a fact is a fault.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The release of the library that will link.
    pub linker: Version,
    /// The result is linked again, so nothing needs to be complete (`-r`).
    pub relocatable: bool,
    /// Names of the kernels to keep; all when empty.
    pub keep_kernels: &'a [String],
}

/// Severities that the user changed (`--allow`, `--deny`).
#[derive(Debug, Clone, Default)]
pub struct Levels {
    pub allow: Vec<Code>,
    pub deny: Vec<Code>,
}

impl Levels {
    /// An allowed error becomes a warning and an allowed warning a note; whatever is denied becomes an error.
    pub fn apply(&self, mut finding: Diagnostic) -> Diagnostic {
        if self.deny.contains(&finding.code) {
            finding.severity = Severity::Error;
        } else if self.allow.contains(&finding.code) {
            finding.severity = match finding.severity {
                Severity::Error => Severity::Warning,
                _ => Severity::Note,
            };
            // It is done already.
            finding.hints.retain(|hint| !hint.contains("`--allow"));
        }
        finding
    }
}

/// What the check found.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Errors first, then warnings, then notes; within each by code, then in link order.
    pub findings: Vec<Diagnostic>,
    /// Names that live code needs and nobody defines.
    pub missing: Vec<String>,
    /// The kernels that the result must have, as far as the images could be looked into.
    pub kernels: Vec<ExpectedKernel>,
    /// Whether every image could be looked into.
    pub complete: bool,
}

/// Reads the facts of all images, in parallel; the units are in the order of the images. The error names every image
/// that is damaged or linked already.
pub fn read<'a>(images: &[Chosen<'a>]) -> Result<Vec<Unit<'a>>> {
    let read: Vec<Result<Unit<'a>>> = images.par_iter().map(read_one).collect();
    let mut units = Vec::with_capacity(read.len());
    let mut errors: Vec<Error> = Vec::new();
    for result in read {
        match result {
            Ok(unit) => units.push(unit),
            Err(error) => errors.push(error),
        }
    }
    let category = errors.iter().map(|error| error.category).max();
    let findings = errors
        .into_iter()
        .flat_map(|error| error.diagnostics)
        .collect();
    match category.and_then(|category| Error::from_diagnostics(category, findings)) {
        Some(error) => Err(error),
        None => Ok(units),
    }
}

fn read_one<'a>(image: &Chosen<'a>) -> Result<Unit<'a>> {
    let facts = match image.kind {
        ImageKind::Cubin => Facts::from_cubin(image.bytes),
        ImageKind::Ptx => Facts::from_ptx(image.bytes).map(Some),
        _ => Ok(None),
    };
    let facts = facts.map_err(|error| error.in_input(image.name))?;
    if facts.is_none() && image.kind == ImageKind::Cubin {
        let finding = findings::not_relocatable().input(image.name);
        return Err(Error::new(Category::Failed, finding));
    }
    Ok(Unit {
        name: image.name,
        input: image.input,
        input_name: image.input_name,
        facts,
    })
}

/// Judges a whole link. `elsewhere` is asked for definitions that the link cannot use, when it lacks some.
pub fn check(
    units: &[Unit<'_>],
    rules: &Rules<'_>,
    elsewhere: &dyn Fn(&[&str]) -> Vec<Elsewhere>,
) -> Outcome {
    let table = Table::new(units);
    let resolution = Resolution::new(&table);
    let graph = CallGraph::new(&table, &resolution);
    let kernels = graph::kernels(&table, &resolution);
    let live = graph.reach(kernels.iter().chain(&graph.taken).copied());
    let missing = graph::missing(&table, &resolution, &graph, &live, |name| {
        is_provided(name, rules.linker)
    });
    let mut findings = Findings::default();
    resolve::conflicts(&table, &mut findings);
    if table.is_complete() {
        let lacking = Lacking {
            table: &table,
            missing: &missing,
            live: &live,
        };
        if rules.relocatable {
            findings.extend(lacking.stays_undefined());
        } else {
            lacking.undefined(&resolution, rules.linker, elsewhere, &mut findings);
        }
    }
    // What a kernel needs is known, and judged by linkers, when the link is complete.
    if !rules.relocatable {
        resources::registers(&table, &graph, &kernels, &mut findings);
        resources::cta_groups(&table, &graph, &kernels, &mut findings);
        resources::shared(&table, &resolution, &graph, &kernels, &mut findings);
        findings.extend(resources::stack(&table, &graph, &kernels));
    }
    findings.extend(resources::constant(&table, &resolution));
    coverage::add(&table, &live, &kernels, rules, &mut findings);
    Outcome {
        findings: findings.finish(),
        missing: missing
            .iter()
            .filter(|missing| missing.live)
            .map(|missing| table.symbol(missing.references[0]).name.clone())
            .collect(),
        kernels: coverage::expected_kernels(&table, &kernels, rules),
        complete: table.is_complete(),
    }
}

/// Names without definition.
struct Lacking<'t, 'c> {
    table: &'t Table<'c>,
    missing: &'t [Missing],
    live: &'t Reach,
}

impl<'t> Lacking<'t, '_> {
    fn name(&self, missing: &Missing) -> &'t str {
        &self.table.symbol(missing.references[0]).name
    }

    /// One finding for each name that live code lacks, and one note for all those that only dead code names.
    fn undefined(
        &self,
        resolution: &Resolution,
        linker: Version,
        elsewhere: &dyn Fn(&[&str]) -> Vec<Elsewhere>,
        findings: &mut Findings,
    ) {
        let (live, dead): (Vec<&Missing>, Vec<&Missing>) =
            self.missing.iter().partition(|missing| missing.live);
        findings.extend(self.listing(&dead, "only dead code needs"));
        if live.is_empty() {
            return;
        }
        let told = live.iter().take(collect::MOST);
        let names: Vec<&str> = told.map(|missing| self.name(missing)).collect();
        let elsewhere = elsewhere(&names);
        let near = Near::new(self.table, resolution, &elsewhere);
        for missing in live {
            if !findings.count_only(Severity::Error, Code::UndefinedSymbol) {
                let finding = self.undefined_symbol(missing);
                findings.add(near.add_hints(finding, self.name(missing), linker));
            }
        }
    }

    fn undefined_symbol(&self, missing: &Missing) -> Diagnostic {
        let finding = findings::undefined_symbol(self.name(missing));
        let finding = with_inputs(self.table, finding, &missing.references);
        let mut way = missing
            .reached
            .map(|node| self.live.way(node))
            .unwrap_or_default();
        way.reverse();
        match way.first() {
            Some(&root) if way.len() > 1 => {
                let path = resources::path(self.table, &way);
                let is_kernel = self.table.symbol(root).is_kernel();
                let root = if is_kernel {
                    "kernel"
                } else {
                    "function whose address is taken"
                };
                finding.detail(format!("needed by a {root}: {path}"))
            }
            Some(_) => finding.detail("its address is taken"),
            None => finding,
        }
    }

    fn stays_undefined(&self) -> Vec<Diagnostic> {
        let all: Vec<&Missing> = self.missing.iter().collect();
        self.listing(&all, "the final link must define")
            .into_iter()
            .collect()
    }

    /// One note about several undefined names.
    fn listing(&self, missing: &[&Missing], why: &str) -> Option<Diagnostic> {
        const SHOWN: usize = 10;
        let (&first, others) = missing.split_first()?;
        if others.is_empty() {
            let mut finding =
                findings::undefined_symbol(self.name(first)).detail(format!("{why} it"));
            finding.severity = Severity::Note;
            return Some(with_inputs(self.table, finding, &first.references));
        }
        let message = format!("no input defines {} symbols; {why} them", missing.len());
        let mut finding = Diagnostic::note(Code::UndefinedSymbol, message);
        for missing in missing.iter().take(SHOWN) {
            let node = missing.references[0];
            let (readable, unit) = (self.table.readable(node), self.table.unit(node).name);
            finding = finding.detail(format!("`{readable}` in {unit}"));
        }
        if missing.len() > SHOWN {
            finding = finding.detail(format!("and {} more", missing.len() - SHOWN));
        }
        Some(finding)
    }
}
