//! One link for each of several architectures, side by side, and the fatbin of their results.

use rayon::prelude::*;

use super::TargetArch;
use crate::bytes::Blob;
use crate::code::{Arch, ExpandOptions, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::link::{Emit, Report, Request, Tools};
use crate::pack::{Codec, Packable, pack};

/// What one architecture gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub arch: Arch,
    /// PTX instead of a cubin (`compute_90`).
    pub is_ptx: bool,
}

impl Target {
    fn name(self) -> String {
        match self.is_ptx {
            true => self.arch.compute(),
            false => self.arch.to_string(),
        }
    }
}

/// The targets of `--arch`, each once.
pub fn targets(archs: &[TargetArch]) -> Result<Vec<Target>> {
    let mut targets: Vec<Target> = Vec::new();
    for &arch in archs {
        let target = match arch {
            TargetArch::Named { arch, is_virtual } => Target {
                arch,
                is_ptx: is_virtual,
            },
            TargetArch::Native => Target {
                arch: super::native()?,
                is_ptx: false,
            },
        };
        if targets.contains(&target) {
            return Err(Error::usage(format!("`{}` is named twice", target.name())));
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Links for each target, at most `jobs` at a time. All are done, whatever becomes of one; the reports are in order.
///
/// # Errors
/// What every failed one has to say.
pub fn link(
    request: &Request,
    targets: &[Target],
    jobs: usize,
    tools: &Tools<'_>,
    report: &mut Report,
) -> Result<Vec<Blob>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool
        .map_err(|error| Error::failed(Code::Internal, format!("cannot start threads: {error}")))?;
    let one = |target: &Target| {
        let request = Request {
            target: Some(target.arch),
            emit: if target.is_ptx {
                Emit::Ptx
            } else {
                Emit::Cubin
            },
            ..request.clone()
        };
        let mut report = Report::default();
        let result = crate::link::link(&request, tools, &mut report);
        (result, report)
    };
    let done: Vec<(Result<Blob>, Report)> = pool.install(|| targets.par_iter().map(one).collect());
    let mut results = Vec::new();
    let mut category: Option<Category> = None;
    let mut findings: Vec<Diagnostic> = Vec::new();
    for (target, (result, one)) in targets.iter().zip(done) {
        match result {
            Ok(blob) => results.push(blob),
            Err(error) => {
                category = category.max(Some(error.category));
                let name = target.name();
                let told = error.diagnostics.into_iter();
                findings
                    .extend(told.map(|finding| finding.detail(format!("in the link for {name}"))));
            }
        }
        report.depends_on(&one.files);
        report.backend = report.backend.take().or_else(|| one.backend.clone());
        report.links.push(one);
    }
    match category.and_then(|category| Error::from_diagnostics(category, findings)) {
        Some(error) => Err(error),
        None => Ok(results),
    }
}

/// The fatbin of the results, in the order of the targets.
pub fn fatbin(targets: &[Target], results: &[Blob], codec: Codec) -> Result<Vec<u8>> {
    let images = targets.iter().zip(results).map(|(target, bytes)| {
        let code = ObjectCode::from_blob(format!("result for {}", target.name()), bytes.clone());
        let images = code.expand(&ExpandOptions::default()).images;
        let image = images
            .first()
            .ok_or_else(|| Error::failed(Code::Internal, "a result holds no image"))?;
        Packable::new(image, Some(target.arch))
    });
    pack(&images.collect::<Result<Vec<_>>>()?, codec)
}

/// How many links may run at once: one for each CPU, and no more than there is memory for.
pub fn default_jobs() -> usize {
    /// What a large link was seen to take.
    const EACH: u64 = 1 << 30;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemAvailable:"))?;
            line.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<u64>()
                .ok()
        });
    match memory {
        Some(kib) => cpus
            .min(usize::try_from((kib << 10) / EACH).unwrap_or(usize::MAX))
            .max(1),
        None => cpus,
    }
}
