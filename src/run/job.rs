//! One run from start to end: the driver starts on a thread of its own while inputs are opened.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use super::compare::Comparison;
use super::plan::{Prepared, Request};
use super::program::{self, Linker};
use super::report::{DeviceReport, Results};
use super::session::Session;
use super::target::Target;
use crate::code::{Arch, ExpandOptions, ImageKind, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::ffi::driver::{Context, Device, DeviceInfo, Driver, DriverVersion};
use crate::observe::Observer;

/// What is loaded when no INPUT is given.
pub const DEFAULT_INPUT: &str = "out.cubin";

/// Everything that was asked for.
#[derive(Debug, Clone)]
pub struct Job {
    /// A kernel's name, or a file that holds one.
    pub kernel: String,
    pub inputs: Vec<PathBuf>,
    /// Where the bytes of standard input were put, for inputs called `-`.
    pub stdin: Option<PathBuf>,
    pub request: Request,
}

/// Which device: its number or its UUID, or the start of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    Ordinal(u32),
    Uuid(String),
}

impl std::str::FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ordinal) = text.parse() {
            return Ok(Self::Ordinal(ordinal));
        }
        let is_uuid = text.starts_with("GPU-") || text.starts_with("MIG-");
        is_uuid
            .then(|| Self::Uuid(text.to_owned()))
            .ok_or_else(|| format!("`{text}` is no device; expected a number, GPU-…, MIG-… or all"))
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "{ordinal}"),
            Self::Uuid(uuid) => f.write_str(uuid),
        }
    }
}

impl Selector {
    fn find(&self, driver: Driver) -> Result<Device> {
        let devices = driver.devices()?;
        let mut found = Vec::new();
        for device in &devices {
            let fits = match self {
                Self::Ordinal(ordinal) => device.ordinal() == *ordinal,
                Self::Uuid(uuid) => device.uuid()?.starts_with(uuid.as_str()),
            };
            if fits {
                found.push(*device);
            }
        }
        if let [device] = found[..] {
            return Ok(device);
        }
        let what = if found.is_empty() {
            "there is no device"
        } else {
            "several devices fit"
        };
        let mut error = Error::missing(Code::DriverUnavailable, format!("{what} `{self}`"))
            .hint("`CUDA_VISIBLE_DEVICES` selects and numbers the devices");
        for device in devices {
            error = error.detail(format!(
                "device {}: {} ({})",
                device.ordinal(),
                device.name()?,
                device.uuid()?
            ));
        }
        Err(error)
    }
}

/// How many devices there are, for `--device all`.
pub fn device_count() -> Result<u32> {
    let driver = Driver::load()?;
    driver.init()?;
    Ok(driver.devices()?.len() as u32)
}

/// What the driver's thread knows first.
struct Started {
    version: DriverVersion,
    info: DeviceInfo,
}

/// Starts the driver and makes the device ready. The device is told of as soon as it is known, since
/// making it ready takes as long again.
fn start(selector: &Selector, tell: &mpsc::Sender<Started>) -> Result<Context> {
    let driver = Driver::load()?;
    driver.init()?;
    let device = selector.find(driver)?;
    // Whoever waits may have given up already.
    let _ = tell.send(Started {
        version: driver.version(),
        info: device.info()?,
    });
    Ok(device.context()?)
}

impl Job {
    /// Plans for a device that need not be here.
    pub fn plan(
        &self,
        target: Target,
        linker: &dyn Linker,
        observer: &dyn Observer,
    ) -> Result<Prepared> {
        self.prepare(&self.open()?, target, linker, observer)
    }

    /// The model that the inputs were built for: the newest architecture they have code for.
    pub fn model_of_inputs(&self) -> Result<Target> {
        let mut inputs = self.open()?;
        inputs.extend(program::device_code(&self.kernel));
        let images: Vec<_> = inputs
            .iter()
            .flat_map(|input| input.expand(&ExpandOptions::default()).images)
            .collect();
        let newest = |kind| {
            images
                .iter()
                .filter(|image| image.kind == kind)
                .filter_map(|image| image.arch)
                .max()
        };
        let arch = newest(ImageKind::Cubin)
            .or_else(|| newest(ImageKind::Ptx))
            .or_else(|| newest(ImageKind::LtoIr));
        let arch = arch.ok_or_else(|| {
            Error::usage("the inputs do not tell which device to plan for")
                .hint("give `--device-model sm_90`")
        })?;
        model(arch)
    }

    /// Runs on one device, or with `dry_run` stops before the launch. What is learnt on the way goes into
    /// `report`, which so has it also after a failure.
    pub fn run(
        &self,
        selector: &Selector,
        place: Place,
        linker: &dyn Linker,
        observer: &dyn Observer,
        report: &mut DeviceReport,
    ) -> Result<()> {
        observer.detail("starting the driver");
        let (tell, told) = mpsc::channel();
        let own = selector.clone();
        let starting = thread::spawn(move || start(&own, &tell));
        let inputs = self.open()?;
        let started = match told.recv() {
            Ok(started) => started,
            // It ended before it knew; its error says why.
            Err(_) => return join(starting).map(drop),
        };
        note_newer_driver(started.version, observer);
        let target = Target::device(&started.info, started.version);
        report.device = Some(started.info.clone());
        report.driver = Some(started.version);
        let mut prepared = self.prepare(&inputs, target, linker, observer)?;
        let context = join(starting)?;
        let session = Session {
            context: &context,
            device: &started.info,
            observer,
            is_one_of_several: place.several,
        };
        let outcome = if place.dry_run {
            session.complete(&mut prepared).map(|()| None)
        } else {
            session.run(&mut prepared).map(Some)
        };
        report.plan = Some(prepared.plan);
        report.results = outcome?;
        let differences = report
            .results
            .iter()
            .flat_map(Results::differences)
            .collect();
        Error::from_diagnostics(Category::Failed, differences).map_or(Ok(()), Err)
    }

    fn prepare(
        &self,
        inputs: &[ObjectCode],
        target: Target,
        linker: &dyn Linker,
        observer: &dyn Observer,
    ) -> Result<Prepared> {
        let program = program::resolve(&self.kernel, inputs, &target, linker, observer)?;
        Prepared::new(&self.request, program, target)
    }

    fn open(&self) -> Result<Vec<ObjectCode>> {
        if self.inputs.is_empty() {
            let default = Path::new(DEFAULT_INPUT);
            if default.exists() {
                return Ok(vec![ObjectCode::open(default)?]);
            }
            if program::device_code(&self.kernel).is_none() {
                return Err(program::no_input(DEFAULT_INPUT));
            }
        }
        self.inputs.iter().map(|path| self.open_one(path)).collect()
    }

    fn open_one(&self, path: &Path) -> Result<ObjectCode> {
        match &self.stdin {
            Some(kept) if path == Path::new("-") => Ok(ObjectCode::from_blob(
                crate::bytes::STDIN_NAME,
                crate::bytes::open(kept)?,
            )),
            _ => ObjectCode::open(path),
        }
    }
}

/// How a run is carried out beside what is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub dry_run: bool,
    /// Other devices run the same.
    pub several: bool,
}

/// The model of `arch`, or what models there are.
pub fn model(arch: Arch) -> Result<Target> {
    Target::model(arch).ok_or_else(|| {
        let known: Vec<String> = Target::models().map(|arch| arch.to_string()).collect();
        Error::usage(format!("there is no model of {arch}"))
            .hint(format!("models: {}", known.join(" ")))
    })
}

fn join(thread: thread::JoinHandle<Result<Context>>) -> Result<Context> {
    thread.join().unwrap_or_else(|_| {
        Err(Error::failed(
            Code::Internal,
            "the thread that starts the driver panicked",
        ))
    })
}

fn note_newer_driver(version: DriverVersion, observer: &dyn Observer) {
    if version > DriverVersion::NEWEST_KNOWN {
        observer.detail(&format!(
            "the driver is of CUDA {version}, newer than {}, the newest that is known here",
            DriverVersion::NEWEST_KNOWN
        ));
    }
}

impl Results {
    /// A finding for each comparison that failed.
    fn differences(&self) -> impl Iterator<Item = Diagnostic> + use<'_> {
        self.comparisons
            .iter()
            .filter(|comparison| !comparison.equal)
            .map(difference)
    }
}

fn difference(comparison: &Comparison) -> Diagnostic {
    let Comparison {
        argument,
        source,
        elements,
        different,
        tolerance,
        worst,
        ..
    } = comparison;
    let mut found = Diagnostic::error(
        Code::ResultDiffers,
        format!(
            "argument {argument} differs from `{source}` in {different} of {elements} elements (rtol {}, atol {})",
            tolerance.relative, tolerance.absolute
        ),
    );
    for one in worst {
        let index: Vec<String> = one.index.iter().map(u64::to_string).collect();
        found = found.detail(format!(
            "[{}]: got {}, expected {}, off by {}",
            index.join(","),
            one.got,
            one.expected,
            one.off_by
        ));
    }
    found
}
