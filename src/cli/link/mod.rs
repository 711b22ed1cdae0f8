mod depfile;
mod inputs;
mod many;
mod plan;
pub mod spellings;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::libraries::LibraryFlags;
use super::{Context, interrupt};
use crate::bytes::Blob;
use crate::cache::Cache;
use crate::code::Arch;
use crate::error::{Code, Error, Result};
use crate::ffi::driver::Driver;
use crate::link::check::Levels;
use crate::link::report::OutputReport;
use crate::link::{
    Backend, Emit, FastCompile, Lto, Members, Options, Report, Request, SourceOptions, Tools,
    Verify, artifact,
};
use crate::pack::{Codec, HostTarget, symbol_from_name, write_object};
use crate::ui::table::human_bytes;
use crate::worker::{Limits, Workers, this_program};
use depfile::DepfileFlags;
use inputs::Inputs;

pub use inputs::refuse_as_output;

/// Link device code
#[derive(Debug, clap::Args)]
#[command(long_about = "Link device code\n\n\
    Takes any mix of cubins, PTX, LTO-IR, fatbins, host objects, shared libraries and archives, each recognised by its \
    content, and links them with nvJitLink, which is fetched if there is none. Whatever is wrong with the link is told \
    before and after, and nothing is written unless the result holds all that it should.")]
#[command(after_help = "Examples:
  cudalink link a.ltoir b.a -o out.cubin               link-time optimisation, for the architecture of the inputs
  cudalink link --arch sm_90a main.o -Llib -lhelpers   relocatable code of nvcc -dc objects and an archive
  cudalink link --emit ptx a.ltoir -o -                what link-time optimisation made, as PTX
  cudalink link k.cu lib.bc --arch sm_90,sm_100f,compute_100 --emit fatbin
  cudalink link -r a.cubin b.cubin -o ab.cubin         a result to be linked again
  cudalink link a.o b.o --dry-run                      what would be linked, and why
nvlink's and nvcc's spellings (-arch=sm_90 -maxrregcount=64 -dlto) are understood.

Several inputs may define one weak symbol: the first in the order of the command line is taken.")]
pub struct Opts {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write; `-` is standard output [default: out.cubin, out.ptx or out.ltoir]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The architecture to link for, such as sm_90a, or `native`; left out, the inputs tell it. Several, and compute_90
    /// for PTX, go into a fatbin or object
    #[arg(long, value_name = "ARCH", value_parser = parse_target, value_delimiter = ',')]
    arch: Vec<TargetArch>,
    /// What to make
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    emit: EmitArg,
    /// Make a relocatable result, to be linked again
    #[arg(short, long)]
    relocatable: bool,
    /// Link-time optimisation; `auto` is on when an input has nothing but LTO-IR
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, default_missing_value = "on", num_args = 0..=1, require_equals = true)]
    lto: LtoArg,
    #[command(flatten)]
    code: CodeFlags,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    choice: ChoiceFlags,
    #[command(flatten)]
    container: ContainerFlags,
    #[command(flatten)]
    depfile: DepfileFlags,
    #[command(flatten)]
    libraries: LibraryFlags,
    #[command(flatten)]
    process: ProcessFlags,
}

/// Options of code generation.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Code generation")]
struct CodeFlags {
    /// Optimisation level: 0 or 3
    #[arg(short = 'O', value_name = "LEVEL")]
    optimize: Option<u8>,
    /// Compile faster at the cost of the code: 0, min, mid or max
    #[arg(long, value_name = "LEVEL")]
    ofast_compile: Option<FastCompile>,
    /// Debug information
    #[arg(short = 'g')]
    debug: bool,
    /// Source lines
    #[arg(long)]
    lineinfo: bool,
    /// Most registers of a thread, for PTX and LTO-IR inputs
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..))]
    max_registers: Option<u8>,
    /// Flush denormal numbers to zero
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ftz: Option<bool>,
    /// Exact division
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    prec_div: Option<bool>,
    /// Exact square roots
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    prec_sqrt: Option<bool>,
    /// Contract multiplications and additions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    fma: Option<bool>,
    /// Threads for optimisation; 0 is one for each CPU
    #[arg(long, value_name = "COUNT")]
    split_compile: Option<u16>,
    /// The same, for what follows optimisation too
    #[arg(long, value_name = "COUNT")]
    split_compile_extended: Option<u16>,
    /// Percentage at which a switch becomes a jump table, up to 101
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(..=101))]
    jump_table_density: Option<u8>,
    /// Guard stacks of device functions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    device_stack_protector: bool,
    /// Use the newer LLVM for every architecture
    #[arg(long)]
    nvvm_latest: bool,
    /// An option for ptxas
    #[arg(long = "Xptxas", value_name = "OPTION", allow_hyphen_values = true)]
    ptxas: Vec<String>,
    /// An option for NVVM
    #[arg(long = "Xnvvm", value_name = "OPTION", allow_hyphen_values = true)]
    nvvm: Vec<String>,
}

/// Options of CUDA C++ inputs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "CUDA C++")]
struct SourceFlags {
    /// Look for headers here
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Undefine a macro
    #[arg(short = 'U', value_name = "NAME")]
    undefine: Vec<String>,
    /// The language, such as c++17
    #[arg(long, value_name = "STANDARD")]
    std: Option<String>,
    /// A template to instantiate, such as `kernel<float>`
    #[arg(long, value_name = "EXPRESSION")]
    name_expression: Vec<String>,
    /// An option for NVRTC
    #[arg(long = "Xnvrtc", value_name = "OPTION", allow_hyphen_values = true)]
    nvrtc: Vec<String>,
}

/// What takes part and what is kept.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What is linked and kept")]
struct ChoiceFlags {
    /// Keep this kernel and drop those that are not named
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep_kernel: Vec<String>,
    /// Keep this variable; with --keep-kernel, others may be dropped
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep_variable: Vec<String>,
    /// Drop variables that nothing uses, with link-time optimisation
    #[arg(long)]
    drop_unused_variables: bool,
    /// Which members of archives are linked: all, as NVIDIA's linkers do, or those that are needed
    #[arg(long, value_name = "WHICH", value_enum, default_value_t)]
    archive_members: MembersArg,
    /// Whether libcudadevrt is added when something of it is needed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = true)]
    add_devrt: bool,
    /// Take an error of this code for a warning, and a warning for a note
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    allow: Vec<Code>,
    /// Take a warning or note of this code for an error
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    deny: Vec<Code>,
}

/// What holds the results of several architectures.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Fatbins and objects")]
struct ContainerFlags {
    /// How images are stored in a fatbin
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    compress: Codec,
    /// The symbol that stands for the fatbin in an object [default: from the output's name]
    #[arg(long, value_name = "NAME")]
    symbol: Option<String>,
    /// What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]
    #[arg(long, value_name = "TARGET")]
    host_target: Option<HostTarget>,
}

/// How the work is done and told.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Process")]
struct ProcessFlags {
    /// Who links
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    backend: BackendArg,
    /// How the result is proven
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    verify: VerifyArg,
    /// Print what would be linked, and why, and stop
    #[arg(long)]
    dry_run: bool,
    /// Write a report as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Have the library tell how long its phases take, in the report
    #[arg(long)]
    time: bool,
    /// Links at the same time, when there are several architectures [default: as CPUs and memory allow]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..))]
    jobs: Option<u8>,
    /// Neither use nor keep results of earlier links
    #[arg(long)]
    no_cache: bool,
    /// Stop the library after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
    /// Most memory for the library, such as 4GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum EmitArg {
    #[default]
    Cubin,
    /// Of LTO-IR, or a single PTX as it is.
    Ptx,
    /// One LTO-IR of many.
    Ltoir,
    /// A link for each architecture, in one fatbin.
    Fatbin,
    /// A host object that carries the fatbin.
    Object,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum LtoArg {
    #[default]
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum BackendArg {
    /// nvJitLink; the built-in linker where all inputs are cubins and no nvJitLink is installed.
    #[default]
    Auto,
    Nvjitlink,
    /// Relocatable cubins of sm_75 to sm_90a, without any library.
    Builtin,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum VerifyArg {
    /// Read back and held against the inputs.
    #[default]
    Fast,
    /// Linked by the built-in linker as well, and compared section by section.
    Double,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum MembersArg {
    #[default]
    All,
    Needed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetArch {
    Named {
        arch: Arch,
        is_virtual: bool,
    },
    /// That of the first device.
    Native,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let mut report = Report::default();
        let result = self.work(context, &mut report);
        if let Err(error) = &result {
            // Errors from before the link are not in it yet.
            for diagnostic in &error.diagnostics {
                if !report.diagnostics.contains(diagnostic) {
                    report.diagnostics.push(diagnostic.clone());
                }
            }
            report.ok = false;
        }
        let reported = self.report(context, &report);
        // What went wrong first is what is told.
        result?;
        reported?;
        Ok(ExitCode::SUCCESS)
    }

    fn work(&self, context: &Context, report: &mut Report) -> Result<()> {
        let request = self.request()?;
        let output = self
            .output
            .clone()
            .unwrap_or_else(|| PathBuf::from(self.default_name()));
        inputs::refuse_as_output(&request.inputs, &output)?;
        let depfile = self.depfile.depfile(&output)?;
        let settings = self.libraries.settings(context);
        let program = this_program()?;
        let cache = match self.process.no_cache {
            true => Cache::off(),
            false => Cache::of_user(&settings.environment),
        };
        let tools = Tools {
            settings: &settings,
            workers: Workers {
                program: &program,
                limits: Limits {
                    time: self.process.timeout,
                    memory: self.process.memory_limit,
                },
                interrupted: interrupt::flag(),
            },
            cache: &cache,
            observer: &context.printer,
        };
        if self.process.dry_run {
            crate::link::plan(&request, &tools, report)?;
            let to_stdout = self.process.report.as_deref() == Some(Path::new("-"));
            return match to_stdout {
                true => Ok(()),
                false => context
                    .printer
                    .data(plan::text(report, context.printer.width())),
            };
        }
        if self.emits_container() {
            self.container(context, &request, &output, &tools, report)?;
        } else {
            let result = crate::link::link(&request, &tools, report)?;
            self.write(context, &output, &result, report)?;
        }
        report.depends_on(&context.response_files);
        match depfile {
            Some(depfile) => depfile.write(&report.files),
            None => Ok(()),
        }
    }

    fn default_name(&self) -> &'static str {
        match self.emit {
            EmitArg::Cubin => "out.cubin",
            EmitArg::Ptx => "out.ptx",
            EmitArg::Ltoir => "out.ltoir",
            EmitArg::Fatbin => "out.fatbin",
            EmitArg::Object => "out.o",
        }
    }

    fn emits_container(&self) -> bool {
        matches!(self.emit, EmitArg::Fatbin | EmitArg::Object)
    }

    /// Links for each architecture, and puts the results into one file.
    fn container(
        &self,
        context: &Context,
        request: &Request,
        output: &Path,
        tools: &Tools<'_>,
        report: &mut Report,
    ) -> Result<()> {
        if request.relocatable {
            return Err(Error::usage(
                "a relocatable result cannot be loaded, so it goes into no fatbin",
            )
            .hint("leave out `-r` or `--emit`"));
        }
        let targets = match self.arch[..] {
            // What the inputs leave, as in any link.
            [] => {
                let mut planned = Report::default();
                crate::link::plan(request, tools, &mut planned)?;
                many::targets(
                    &planned
                        .target
                        .map(|arch| TargetArch::Named {
                            arch,
                            is_virtual: false,
                        })
                        .into_iter()
                        .collect::<Vec<_>>(),
                )?
            }
            _ => many::targets(&self.arch)?,
        };
        let jobs = self
            .process
            .jobs
            .map_or_else(many::default_jobs, usize::from);
        let results = many::link(request, &targets, jobs, tools, report)?;
        let fatbin = many::fatbin(&targets, &results, self.container.compress)?;
        let (kind, bytes) = match self.emit {
            EmitArg::Object => {
                let symbol = self
                    .container
                    .symbol
                    .clone()
                    .unwrap_or_else(|| symbol_from_name(output));
                let host = self
                    .container
                    .host_target
                    .map_or_else(HostTarget::current, Ok)?;
                ("object", write_object(&fatbin, &symbol, host)?)
            }
            _ => ("fatbin", fatbin),
        };
        report.ok = true;
        let made = OutputReport {
            path: output.display().to_string(),
            kind: kind.to_owned(),
            archs: targets.iter().map(|target| target.arch).collect(),
            size: bytes.len() as u64,
            blake3: blake3::hash(&bytes).to_hex().to_string(),
            kernels: None,
        };
        match output == Path::new("-") {
            true => context.printer.binary(&bytes)?,
            false => {
                artifact::write(output, &bytes)?;
                context.printer.status(&summary(&made, report));
            }
        }
        report.outputs.push(made);
        Ok(())
    }

    fn request(&self) -> Result<Request> {
        let target = match self.arch[..] {
            [] => None,
            [TargetArch::Named { arch, .. }] => Some(arch),
            [TargetArch::Native] => Some(native()?),
            // Each link gets its own.
            _ if self.emits_container() => None,
            _ => {
                return Err(
                    Error::usage("several architectures go into a fatbin or an object")
                        .hint("add `--emit fatbin` or `--emit object`"),
                );
            }
        };
        Ok(Request {
            inputs: self.inputs.open()?,
            target,
            emit: match self.emit {
                EmitArg::Cubin | EmitArg::Fatbin | EmitArg::Object => Emit::Cubin,
                EmitArg::Ptx => Emit::Ptx,
                EmitArg::Ltoir => Emit::LtoIr,
            },
            relocatable: self.relocatable,
            backend: match self.process.backend {
                BackendArg::Auto => Backend::Auto,
                BackendArg::Nvjitlink => Backend::NvJitLink,
                BackendArg::Builtin => Backend::Builtin,
            },
            verify: match self.process.verify {
                VerifyArg::Fast => Verify::Fast,
                VerifyArg::Double => Verify::Double,
            },
            lto: match self.lto {
                LtoArg::Auto => Lto::Auto,
                LtoArg::On => Lto::On,
                LtoArg::Off => Lto::Off,
            },
            options: self.options(),
            sources: SourceOptions {
                include: self.source.include.clone(),
                define: self.source.define.clone(),
                undefine: self.source.undefine.clone(),
                std: self.source.std.clone(),
                name_expressions: self.source.name_expression.clone(),
                nvrtc: self.source.nvrtc.clone(),
            },
            levels: Levels {
                allow: self.choice.allow.clone(),
                deny: self.choice.deny.clone(),
            },
            folders: self.inputs.folders.clone(),
            members: match self.choice.archive_members {
                MembersArg::All => Members::All,
                MembersArg::Needed => Members::Needed,
            },
            no_devrt: !self.choice.add_devrt,
            lists_headers: self.depfile.is_wanted(),
        })
    }

    fn options(&self) -> Options {
        let (code, choice) = (&self.code, &self.choice);
        Options {
            optimize: code.optimize,
            fast_compile: code.ofast_compile,
            debug: code.debug,
            lineinfo: code.lineinfo,
            max_registers: code.max_registers,
            ftz: code.ftz,
            prec_div: code.prec_div,
            prec_sqrt: code.prec_sqrt,
            fma: code.fma,
            keep_kernels: choice.keep_kernel.clone(),
            keep_variables: choice.keep_variable.clone(),
            drop_unused_variables: choice.drop_unused_variables,
            split_compile: code.split_compile,
            split_compile_extended: code.split_compile_extended,
            jump_table_density: code.jump_table_density,
            device_stack_protector: code.device_stack_protector,
            nvvm_latest: code.nvvm_latest,
            ptxas: code.ptxas.clone(),
            nvvm: code.nvvm.clone(),
            time: self.process.time,
        }
    }

    fn write(
        &self,
        context: &Context,
        output: &Path,
        result: &Blob,
        report: &mut Report,
    ) -> Result<()> {
        let printer = context.printer;
        let Some(target) = report.target else {
            return Err(Error::failed(Code::Internal, "the link has no target"));
        };
        let made = OutputReport::new(output.display().to_string(), report.emit, target, result);
        if output == Path::new("-") {
            match report.emit {
                Emit::Ptx => printer.data(result)?,
                _ => printer.binary(result)?,
            }
        } else {
            artifact::write(output, result)?;
            printer.status(&summary(&made, report));
        }
        report.outputs.push(made);
        Ok(())
    }

    fn report(&self, context: &Context, report: &Report) -> Result<()> {
        let Some(path) = &self.process.report else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(report).map_err(|error| {
            Error::failed(
                Code::Internal,
                format!("the report cannot be written: {error}"),
            )
        })?;
        match path == Path::new("-") {
            true => context.printer.data(text + "\n"),
            false => artifact::write(path, (text + "\n").as_bytes()),
        }
    }
}

/// `out.cubin: sm_90 cubin, 2 kernels, 4.1 KiB (nvJitLink 13.5.37)`
fn summary(made: &OutputReport, report: &Report) -> String {
    let kernels = match made.kernels.as_ref().map(Vec::len) {
        None => String::new(),
        Some(1) => "1 kernel, ".to_owned(),
        Some(count) => format!("{count} kernels, "),
    };
    let by = report.backend.as_ref().map_or(String::new(), |backend| {
        let version = backend
            .version
            .map_or(String::new(), |version| format!(" {version}"));
        match backend.name.as_str() {
            "builtin" => " (built-in linker)".to_owned(),
            _ => format!(" (nvJitLink{version})"),
        }
    });
    let relocatable = if report.relocatable {
        "relocatable "
    } else {
        ""
    };
    let kind = format!("{relocatable}{}", made.kind);
    let archs: Vec<String> = made.archs.iter().map(Arch::to_string).collect();
    format!(
        "{}: {} {kind}, {kernels}{}{by}",
        made.path,
        archs.join(", "),
        human_bytes(made.size)
    )
}

fn parse_target(text: &str) -> Result<TargetArch, String> {
    if text == "native" {
        return Ok(TargetArch::Native);
    }
    let arch: Arch = text.parse()?;
    if !arch.is_known() {
        let known: Vec<String> = Arch::all_known().iter().map(Arch::to_string).collect();
        return Err(format!(
            "{arch} is not known; known are {}",
            known.join(", ")
        ));
    }
    let is_virtual = text.starts_with("compute_");
    Ok(TargetArch::Named { arch, is_virtual })
}

/// The architecture of the first device.
fn native() -> Result<Arch> {
    let hint = |error: Error| error.hint("name the architecture, such as `--arch sm_90`");
    let driver = Driver::load().map_err(hint)?;
    driver.init().map_err(hint)?;
    let devices = driver.devices().map_err(hint)?;
    let unusable = |what: String| hint(Error::missing(Code::DriverUnavailable, what));
    let first = devices
        .first()
        .ok_or_else(|| unusable("there is no device".to_owned()))?;
    let info = first
        .info()
        .map_err(|error| unusable(format!("the first device does not answer: {error:?}")))?;
    Ok(info.arch)
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("`{text}` is no positive number of seconds"))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit
        .trim()
        .to_ascii_lowercase()
        .trim_end_matches("ib")
        .trim_end_matches('b')
    {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => {
            return Err(format!(
                "`{text}` is no size; expected one like 512MiB or 4GiB"
            ));
        }
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no size; expected one like 512MiB or 4GiB"))?;
    number
        .checked_shl(shift)
        .filter(|&bytes| bytes > 0 && bytes >> shift == number)
        .ok_or_else(|| format!("`{text}` is out of range"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("4GB"), Ok(4 << 30));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_size("4096"), Ok(4096));
        for wrong in [
            "",
            "GiB",
            "4X",
            "-1",
            "0",
            "99999999999999999999",
            "9999999999999T",
        ] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "x", "inf", "nan"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn targets() {
        assert_eq!(parse_target("native"), Ok(TargetArch::Native));
        for text in ["sm_90", "90", "9.0", "compute_90"] {
            let named = TargetArch::Named {
                arch: Arch::new(90),
                is_virtual: text.starts_with("compute"),
            };
            assert_eq!(parse_target(text), Ok(named), "{text}");
        }
        assert!(parse_target("sm_99").unwrap_err().contains("sm_90a"));
    }

    #[test]
    fn report_schema() {
        super::super::tests::schema_is_current::<Report>("link.json");
    }
}
