use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::libraries::LibraryFlags;
use super::toolkit::{Format, json};
use crate::error::{Category, Code, Diagnostic, Result, Severity};
use crate::ffi::driver::{self, DeviceInfo, DriverVersion};
use crate::ffi::driver_probe::{self, Answer};
use crate::toolkit::{
    self, Available, Candidate, Component, Located, Needs, Settings, Verdict, Version,
};
use crate::ui::table::{Table, human_bytes};

/// Say what was found on this machine, what was chosen and why, and what will not work
///
/// The exit status is 3 if nothing could be linked here, not even after a download.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cudalink doctor --all\n  cudalink doctor --toolkit /usr/local/cuda-12.9"
)]
pub struct Opts {
    #[command(flatten)]
    libraries: LibraryFlags,
    /// List every candidate and why it won or lost, as -v does
    #[arg(long)]
    all: bool,
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
}

/// The kinds of work, and the parts that each needs together.
const WORK: &[(&str, &str, &[Component])] = &[
    (
        "link",
        "link PTX, cubins, fatbins, objects and LTO-IR",
        &[Component::NvJitLink],
    ),
    (
        "cuda-source",
        "link CUDA C++ sources",
        &[
            Component::Nvrtc,
            Component::NvrtcBuiltins,
            Component::NvJitLink,
        ],
    ),
    (
        "nvvm-ir",
        "link NVVM IR",
        &[
            Component::LibNvvm,
            Component::Libdevice,
            Component::NvJitLink,
        ],
    ),
    (
        "device-runtime",
        "link code that uses the device runtime",
        &[Component::Cudadevrt, Component::NvJitLink],
    ),
];

/// What `doctor --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    pub schema_version: u32,
    pub tool: Tool,
    pub platform: Platform,
    /// Where fetched libraries are kept.
    pub folder: Option<PathBuf>,
    pub components: Vec<Found>,
    /// What the driver said, if one was found.
    pub driver: Option<Driver>,
    pub work: Vec<Work>,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Platform {
    pub os: &'static str,
    pub cpu: &'static str,
}

/// The search for one component.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    pub component: Component,
    /// The path that won.
    pub path: Option<PathBuf>,
    pub version: Option<Version>,
    /// All of them, in the order of the search.
    pub candidates: Vec<Candidate>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Driver {
    pub path: PathBuf,
    /// The newest CUDA release that it serves.
    pub cuda_version: Option<Version>,
    /// The result code of `cuInit`; 0 is success. Absent if the library could not be loaded.
    pub result: Option<i32>,
    pub meaning: String,
    /// The newest PTX ISA that it compiles; null where that is not known.
    pub ptx_isa: Option<Version>,
    /// Those that this process may use.
    pub devices: Vec<DeviceInfo>,
    #[serde(skip)]
    findings: Vec<Diagnostic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ready,
    /// What is missing is fetched when it is first needed.
    Download,
    Missing,
}

/// Whether a kind of work can be done.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Work {
    pub name: &'static str,
    pub about: &'static str,
    pub state: State,
    /// The parts that would be used together, as far as they are here.
    pub parts: Vec<Candidate>,
    /// What would be downloaded first.
    pub download: Vec<Available>,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let settings = self.libraries.settings(context);
        let report = Report::new(&settings);
        context.printer.data(match self.format {
            Format::Json => json(&report)?,
            Format::Text => report.text(self.all || context.printer.is_verbose()),
        })?;
        let can_link = report
            .work
            .iter()
            .any(|work| work.name == "link" && work.state != State::Missing);
        Ok(if can_link {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(Category::Missing.exit_code())
        })
    }
}

impl Report {
    fn new(settings: &Settings) -> Self {
        let mut diagnostics = Vec::new();
        let mut driver = None;
        let components = Component::ALL
            .iter()
            .map(|&component| {
                let located = toolkit::survey(component, settings, &Needs::default());
                add(&mut diagnostics, located.warnings.iter().cloned());
                if component == Component::Driver {
                    driver = located
                        .chosen
                        .as_ref()
                        .map(|found| Driver::ask(&found.path));
                }
                Found::new(located)
            })
            .collect();
        let work: Vec<Work> = WORK
            .iter()
            .map(|&(name, about, parts)| Work::new(name, about, parts, settings, &mut diagnostics))
            .collect();
        let linker = work.first().and_then(|work| work.parts.first()?.version);
        add(&mut diagnostics, driver_findings(driver.as_ref(), linker));
        let platform = settings.environment.platform;
        Self {
            schema_version: 1,
            tool: Tool {
                name: "cudalink",
                version: env!("CARGO_PKG_VERSION"),
            },
            platform: Platform {
                os: platform.os.as_str(),
                cpu: platform.cpu.as_str(),
            },
            folder: toolkit::folder(&settings.environment),
            components,
            driver,
            work,
            diagnostics,
        }
    }
}

fn add(all: &mut Vec<Diagnostic>, new: impl IntoIterator<Item = Diagnostic>) {
    for diagnostic in new {
        if !all.contains(&diagnostic) {
            all.push(diagnostic);
        }
    }
}

impl Found {
    fn new(located: Located) -> Self {
        Self {
            component: located.component,
            version: located.chosen.as_ref().and_then(|chosen| chosen.version),
            path: located.chosen.map(|chosen| chosen.path),
            candidates: located.candidates,
        }
    }

    fn chosen(&self) -> Option<&Candidate> {
        let mut candidates = self.candidates.iter();
        candidates.find(|candidate| matches!(candidate.verdict, Verdict::Chosen(_)))
    }
}

impl Work {
    fn new(
        name: &'static str,
        about: &'static str,
        parts: &[Component],
        settings: &Settings,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let needs = Needs::default();
        let located = toolkit::locate_together(parts, settings, &needs);
        let download = toolkit::would_fetch(&located, settings, &needs);
        let state = match &download {
            Some(download) if download.is_empty() => State::Ready,
            Some(_) => State::Download,
            None => State::Missing,
        };
        let parts: Vec<Candidate> = located
            .iter()
            .filter_map(|part| part.chosen.clone())
            .collect();
        if state == State::Missing {
            let missing = located.iter().filter(|part| part.chosen.is_none());
            let errors = missing.flat_map(|part| part.missing(settings, &needs).diagnostics);
            for mut error in errors {
                if diagnostics
                    .iter()
                    .any(|known| known.message == error.message)
                {
                    continue;
                }
                // Only that nothing at all can be linked is an error here.
                if name != "link" {
                    error.severity = Severity::Note;
                    error.details.clear();
                }
                diagnostics.push(error);
            }
        }
        if state == State::Ready {
            add(diagnostics, toolkit::mixed(&parts));
        }
        Self {
            name,
            about,
            state,
            parts,
            download: download.unwrap_or_default(),
        }
    }

    fn answer(&self) -> String {
        match self.state {
            State::Ready => "yes".to_owned(),
            State::Missing => "no".to_owned(),
            State::Download => {
                let bytes = self.download.iter().map(|package| package.size).sum();
                let packages = self.download.iter().map(|package| package.package.as_str());
                let packages: Vec<_> = packages.collect();
                format!(
                    "yes, after a download of {} ({})",
                    human_bytes(bytes),
                    packages.join(", ")
                )
            }
        }
    }
}

impl Driver {
    fn ask(path: &Path) -> Self {
        let mut driver = Self::new(path, driver_probe::ask(path));
        if driver.result == Some(0) {
            match devices(path) {
                Ok(devices) => driver.devices = devices,
                Err(error) => {
                    driver
                        .findings
                        .extend(error.diagnostics.into_iter().map(|mut finding| {
                            finding.severity = Severity::Warning;
                            finding
                        }))
                }
            }
        }
        driver
    }

    fn new(path: &Path, answer: Result<Answer, String>) -> Self {
        let version_number = answer.as_ref().ok().and_then(|answer| answer.version.ok());
        let (cuda_version, result, meaning) = match answer {
            Ok(answer) => (
                answer.version.ok().and_then(version),
                Some(answer.init),
                driver_probe::meaning(answer.init).to_owned(),
            ),
            Err(words) => (None, None, words),
        };
        Self {
            path: path.to_owned(),
            cuda_version,
            result,
            meaning,
            ptx_isa: version_number
                .and_then(|number| DriverVersion(number).ptx_isa())
                .map(|(major, minor)| Version::new(major, minor)),
            devices: Vec::new(),
            findings: Vec::new(),
        }
    }
}

/// What `run` could launch on.
fn devices(path: &Path) -> Result<Vec<DeviceInfo>> {
    let driver = driver::Driver::load_from(path)?;
    driver.init()?;
    let devices = driver.devices()?.into_iter();
    devices.map(|device| Ok(device.info()?)).collect()
}

/// `cuDriverGetVersion` counts 13.4 as 13040.
fn version(number: i32) -> Option<Version> {
    let number = u16::try_from(number).ok()?;
    Some(Version::new(number / 1000, number % 1000 / 10))
}

/// What will go wrong when a kernel is launched.
fn driver_findings(driver: Option<&Driver>, linker: Option<Version>) -> Vec<Diagnostic> {
    let Some(driver) = driver else {
        return vec![
            Diagnostic::note(
                Code::DriverUnavailable,
                "there is no CUDA driver, so no kernel can be launched here",
            )
            .hint("install NVIDIA's driver; linking and inspecting work without it"),
        ];
    };
    let mut findings = driver.findings.clone();
    if driver.result != Some(0) {
        let message = match driver.result {
            Some(code) => format!(
                "no kernel can be launched: {} (`cuInit` returned {code})",
                driver.meaning
            ),
            None => format!("the driver cannot be loaded: {}", driver.meaning),
        };
        let finding = Diagnostic::warning(Code::DriverUnavailable, message)
            .input(driver.path.display().to_string());
        findings.push(match driver.result {
            Some(34) => {
                finding.hint("take the toolkit's `stubs` folder out of the loader's search path")
            }
            _ => finding,
        });
    }
    if let (Some(have), Some(linker)) = (driver.cuda_version, linker)
        && have.major < linker.major
    {
        findings.push(
            Diagnostic::warning(
                Code::DriverTooOld,
                format!("the driver serves CUDA {have}, and what nvJitLink {linker} links needs {}.0", linker.major),
            )
            .hint("update the driver, or link with a library of the driver's release (`--toolkit VERSION`)"),
        );
    }
    findings
}

impl Report {
    fn text(&self, all: bool) -> String {
        let mut out = format!(
            "{} {} on {} {}\n\n",
            self.tool.name,
            env!("CUDALINK_VERSION"),
            self.platform.os,
            self.platform.cpu
        );
        out.push_str(&self.components_table());
        if let Some(driver) = &self.driver {
            let release = driver.cuda_version;
            let serves = release.map_or(String::new(), |release| {
                let isa = driver
                    .ptx_isa
                    .map_or(String::new(), |isa| format!(" and PTX up to {isa}"));
                format!(" (serves CUDA {release}{isa})")
            });
            out.push_str(&format!("\nThe driver{serves}: {}\n", driver.meaning));
            out.push_str(&devices_table(&driver.devices));
        }
        out.push('\n');
        let mut table = Table::new(["what", "can it be done"]);
        for work in &self.work {
            table.row([work.about.to_owned(), work.answer()]);
        }
        let launch = self
            .driver
            .as_ref()
            .is_some_and(|driver| driver.result == Some(0));
        table.row([
            "launch kernels".to_owned(),
            if launch { "yes" } else { "no" }.to_owned(),
        ]);
        out.push_str(&table.render());
        for work in self.work.iter().filter(|work| self.differs(work)) {
            let parts: Vec<String> = work.parts.iter().map(ToString::to_string).collect();
            out.push_str(&format!(
                "\nTo {}, one toolkit is used for all parts: {}\n",
                work.about,
                parts.join(", ")
            ));
        }
        if all {
            out.push('\n');
            out.push_str(&self.candidates_table());
        }
        out.push_str(&self.diagnostics_text());
        let lost = self
            .components
            .iter()
            .map(|found| found.candidates.len().saturating_sub(1));
        let lost: usize = lost.sum();
        if !all && lost > 0 {
            out.push_str(&format!(
                "\nOther candidates: {lost}; `cudalink doctor --all` lists each with its reason\n"
            ));
        }
        out
    }

    /// Whether some part of this work is another file than the component's own winner.
    fn differs(&self, work: &Work) -> bool {
        work.state == State::Ready
            && work.parts.iter().any(|part| {
                let mut components = self.components.iter();
                let own = components.find(|found| found.component == part.component);
                own.is_some_and(|found| found.path.as_ref() != Some(&part.path))
            })
    }

    fn components_table(&self) -> String {
        let mut table = Table::new(["component", "version", "found through", "path"]);
        for found in &self.components {
            let unknown = || "-".to_owned();
            let (through, path) = match found.chosen() {
                Some(chosen) => (chosen.origin.clone(), chosen.path.display().to_string()),
                None => (unknown(), "not found".to_owned()),
            };
            table.row([
                found.component.to_string(),
                found
                    .version
                    .map_or_else(unknown, |version| version.to_string()),
                through,
                path,
            ]);
        }
        table.render()
    }

    fn candidates_table(&self) -> String {
        let mut table = Table::new([
            "candidate",
            "version",
            "found through",
            "verdict",
            "path and reason",
        ]);
        for candidate in self.components.iter().flat_map(|found| &found.candidates) {
            let verdict = match candidate.verdict {
                Verdict::Chosen(_) => "won",
                Verdict::Outranked(_) => "lost",
                Verdict::Unsuitable(_) => "unsuitable",
            };
            table.row([
                candidate.component.to_string(),
                candidate
                    .version
                    .map_or_else(|| "-".to_owned(), |version| version.to_string()),
                candidate.origin.clone(),
                verdict.to_owned(),
                format!(
                    "{}: {}",
                    candidate.path.display(),
                    candidate.verdict.reason()
                ),
            ]);
        }
        table.render()
    }

    /// Part of the answer, so it goes where the answer goes, and not among the messages of a failed run.
    fn diagnostics_text(&self) -> String {
        let mut out = String::new();
        for diagnostic in &self.diagnostics {
            out.push_str(&format!("\n{}", crate::ui::diagnostic_text(diagnostic)));
        }
        out
    }
}

fn devices_table(devices: &[DeviceInfo]) -> String {
    if devices.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        ">device",
        "name",
        "arch",
        ">memory",
        ">SMs",
        ">shared of a block",
        "cooperative",
        "clusters",
        "uuid",
    ]);
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    for device in devices {
        let part = if device.mig { " (a part, MIG)" } else { "" };
        table.row([
            device.ordinal.to_string(),
            format!("{}{part}", device.name),
            device.arch.to_string(),
            human_bytes(device.memory),
            device.sms.to_string(),
            human_bytes(device.limits.shared_opt_in.into()),
            yes(device.cooperative),
            yes(device.clusters),
            device.uuid.clone(),
        ]);
    }
    format!("\n{}", table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::Environment;

    fn settings(variables: &[(&str, &str)]) -> (tempfile::TempDir, Settings) {
        let root = tempfile::tempdir().unwrap();
        let environment = Environment::of(root.path(), variables.iter().copied());
        let settings = Settings {
            nvjitlink: None,
            toolkit: None,
            offline: true,
            environment,
        };
        (root, settings)
    }

    #[test]
    fn a_bare_machine_can_link_only_with_a_download() {
        let (root, mut settings) = settings(&[]);
        let report = Report::new(&settings);
        assert_eq!(report.work[0].state, State::Missing);
        let error = &report.diagnostics[0];
        assert_eq!(
            (error.severity, error.code),
            (Severity::Error, Code::LibraryNotFound)
        );
        assert!(error.hints[0].contains("cudalink toolkit install"));
        let text = report.text(true);
        assert!(text.contains("launch kernels"), "{text}");
        assert!(text.contains("note[driver-unavailable]"), "{text}");

        std::fs::write(root.path().join("python3"), "").unwrap();
        settings.environment = Environment::of(root.path(), [("PATH", root.path())]);
        settings.offline = false;
        let report = Report::new(&settings);
        assert_eq!(report.work[0].state, State::Download);
        assert!(
            report
                .text(false)
                .contains("yes, after a download of 44.5 MiB (nvidia-nvjitlink)")
        );
        assert!(
            report
                .diagnostics
                .iter()
                .all(|finding| finding.severity == Severity::Note)
        );
    }

    #[test]
    fn a_stub_and_an_old_driver_are_named() {
        let path = Path::new("/stubs/libcuda.so.1");
        let answer = |version, init| Driver::new(path, Ok(Answer { version, init }));
        let linker = Some(Version::with_patch(13, 5, 37));
        let stub = driver_findings(Some(&answer(Err(34), 34)), linker);
        assert_eq!(stub[0].code, Code::DriverUnavailable);
        assert!(stub[0].message.contains("stub") && stub[0].hints[0].contains("stubs"));
        let old = driver_findings(Some(&answer(Ok(12080), 0)), linker);
        assert_eq!(old[0].code, Code::DriverTooOld);
        assert!(old[0].message.starts_with("the driver serves CUDA 12.8"));
        assert!(driver_findings(Some(&answer(Ok(13000), 0)), linker).is_empty());
        let broken = Driver::new(path, Err("file too short".to_owned()));
        let broken = driver_findings(Some(&broken), linker);
        assert!(broken[0].message.contains("file too short"));
        assert_eq!(version(13040), Some(Version::new(13, 4)));
        assert_eq!(version(-1), None);
    }

    #[test]
    fn the_schema_is_current() {
        crate::cli::tests::schema_is_current::<Report>("doctor.json");
    }
}
