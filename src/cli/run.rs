use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::libraries::LibraryFlags;
use super::{Context, interrupt};
use crate::bytes;
use crate::cache::Cache;
use crate::code::{Arch, ImageKind, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::ffi::driver::{Attribute, AttributeKind};
use crate::link::{self, Tools};
use crate::observe::{Observer, Silent};
use crate::run::job::{self, Job, Place, Selector};
use crate::run::plan::{LaunchPlan, Request, dims_text};
use crate::run::program::Linker;
use crate::run::report::{DeviceReport, Report, Results};
use crate::run::spec::{
    ArgumentSpec, Expect, Extent, GetGlobal, Print, Save, SetGlobal, attribute, attribute_help,
    dims,
};
use crate::run::timing::{Timing, Work};
use crate::run::worker::{COUNT, Reporter, STDIN_VARIABLE, Supervision, WORKER_VARIABLE};
use crate::toolkit::Settings;
use crate::ui::sanitize;
use crate::ui::table::{Table, human_bytes};
use crate::worker::{Limits, Workers, this_program};

/// Launch a kernel: link what needs linking, fill its arguments, run it, check and time it
///
/// KERNEL is a kernel's name, mangled or readable, or a part that only one kernel has. A file that holds one
/// kernel will do as well.
#[derive(Debug, clap::Args)]
#[command(after_long_help = after_help())]
pub struct Opts {
    /// The kernel to launch, or a file with one kernel
    kernel: String,
    /// What to load; anything linkable is linked first [default: out.cubin]
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Blocks of the grid, or `max` for as many as run at once
    #[arg(long, value_name = "X[,Y,Z]|max", default_value = "1", help_heading = LAUNCH)]
    grid: Extent,
    /// Threads of a block, or `max` for as many as the kernel can have [default: 1, or what it was compiled for]
    #[arg(long, value_name = "X[,Y,Z]|max", help_heading = LAUNCH)]
    block: Option<Extent>,
    /// Blocks of a cluster; a kernel with `__cluster_dims__` needs none said
    #[arg(long, value_name = "X[,Y,Z]", value_parser = dims, help_heading = LAUNCH)]
    cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory; the opt-in above 48 KiB is automatic
    #[arg(long, value_name = "BYTES", default_value_t = 0, help_heading = LAUNCH)]
    shared: u32,
    /// Run all blocks at once, so that the kernel can synchronise its grid
    #[arg(long, help_heading = LAUNCH)]
    cooperative: bool,
    /// Let a launch begin before the one before it ends (programmatic stream serialization)
    #[arg(long, help_heading = LAUNCH)]
    pdl: bool,
    /// Priority of the launch, lower is more urgent
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = LAUNCH)]
    priority: Option<i32>,
    /// Another launch attribute; see the end of this help
    #[arg(long, value_name = "NAME=VALUE", value_parser = attribute, action = clap::ArgAction::Append, help_heading = LAUNCH)]
    attr: Vec<Attribute>,

    /// The next argument of the kernel, in order; see the end of this help
    #[arg(long = "arg", value_name = "SPEC", help_heading = DATA)]
    arguments: Vec<ArgumentSpec>,
    /// Set a variable of the module before the launch; SPEC is TYPE:VALUE or a SOURCE
    #[arg(long, value_name = "NAME=SPEC", help_heading = DATA)]
    set_global: Vec<SetGlobal>,
    /// Print a variable of the module after the launch
    #[arg(long, value_name = "NAME=TYPE[DIMS]", help_heading = DATA)]
    get_global: Vec<GetGlobal>,
    /// Write the buffer of argument N to a file: `.npy`, or raw elements under any other name
    #[arg(long, value_name = "N=FILE", help_heading = DATA)]
    save: Vec<Save>,
    /// Print the first elements of argument N's buffer, 10 unless a count is given
    #[arg(long, value_name = "N[:COUNT]", help_heading = DATA)]
    print: Vec<Print>,
    /// Fail unless argument N's buffer equals SOURCE within the tolerances, and show the worst elements
    #[arg(long, value_name = "N=SOURCE", help_heading = DATA)]
    expect: Vec<Expect>,
    /// Relative tolerance of --expect [default: by type, see the end of this help]
    #[arg(long, value_name = "R", value_parser = tolerance, help_heading = DATA)]
    rtol: Option<f64>,
    /// Absolute tolerance of --expect [default: by type, see the end of this help]
    #[arg(long, value_name = "A", value_parser = tolerance, help_heading = DATA)]
    atol: Option<f64>,

    /// Time so many launches, after the one that is checked
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = TIMING)]
    repeat: u32,
    /// Launch so many times before timing
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = TIMING)]
    warmup: u32,
    /// Bytes that one launch moves, for GB/s
    #[arg(long, value_name = "B", value_parser = amount, help_heading = TIMING)]
    bytes: Option<f64>,
    /// Operations that one launch does, for GFLOP/s
    #[arg(long, value_name = "F", value_parser = amount, help_heading = TIMING)]
    flops: Option<f64>,
    /// Empty the L2 cache before each timed launch
    #[arg(long, help_heading = TIMING)]
    flush_l2: bool,

    /// Where to run: a number, a UUID or the start of one, several with commas, or `all`
    #[arg(long, value_name = "N|UUID|all", help_heading = PLACE)]
    device: Option<String>,
    /// End with status 124 when all is not done after so many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds, help_heading = PLACE)]
    timeout: Option<Duration>,
    /// Print the plan of the launch and stop; needs no GPU unless --device is given
    #[arg(long, help_heading = PLACE)]
    dry_run: bool,
    /// With --dry-run: plan for a device of this architecture [default: the newest that the inputs are for]
    #[arg(long, value_name = "ARCH", requires = "dry_run", conflicts_with = "device", help_heading = PLACE)]
    device_model: Option<Arch>,
    #[command(flatten)]
    libraries: LibraryFlags,
    /// How results are written to stdout
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
}

const LAUNCH: &str = "Launch";
const DATA: &str = "Arguments and results";
const TIMING: &str = "Timing";
const PLACE: &str = "Where and how";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

fn after_help() -> String {
    format!(
        "\
Arguments:
  SPEC    TYPE:VALUE            a scalar: i8 i16 i32 i64 u8 u16 u32 u64 bool f16 bf16 f32 f64 c64 c128;
                                decimal, nan, inf, RE+IMi, or 0x… for the bits
          TYPE:@device          the number of the device
          bytes:HEX, bytes:@F   a struct by value, exactly the parameter's size
          in:SOURCE             a device buffer filled from SOURCE
          inout:SOURCE          the same, copied back for --save, --print and --expect
          out:SHAPE             a device buffer of zeros, copied back likewise
          ref:N                 the buffer of argument N again
          null                  a null pointer
  SOURCE  SHAPE=INIT            INIT is a number, iota (0, 1, 2, …) or rand(SEED): floats in [0, 1), integers
                                over their whole range, the same numbers everywhere
          SHAPE@FILE            raw little-endian elements of exactly that shape
          FILE.npy              any order and byte order; two raw bytes (V2) are bf16
  SHAPE   TYPE[D0,D1,…]         in C order
  N counts all arguments from 0.

Tolerances of --expect: |got - expected| <= atol + rtol * |expected|; NaN equals NaN, and infinity the same
infinity. By type, rtol and atol are f16 1e-3 and 1e-5, bf16 1.6e-2 and 1e-5, f32 and c64 1.3e-6 and 1e-5,
f64 and c128 1e-7 and 1e-7; integers and booleans must be equal.

With --repeat, one launch from the initial contents is checked and saved first; warm-ups and timed launches
follow, each timed by events on the device.

The grid counts blocks, also with clusters, and must be a multiple of the cluster.

Attributes for --attr: {}

Examples:
  cudalink run axpy out.cubin --grid 64 --block 256 --arg f32:2 --arg in:x.npy --arg inout:f32[16384]=1 --expect 2=y.npy
  cudalink run kernel a.ltoir libhelpers.a --cooperative --grid max --block 256
  cudalink run kernel app.fatbin --dry-run --device-model sm_90
  cudalink run kernel --arg inout:f32[1048576]=iota --repeat 100 --bytes 8388608 --format json",
        attribute_help()
    )
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if value > 0.0 && f64::is_finite(value) => Ok(value),
        _ => Err("expected a number above 0".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    amount(text)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()))
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        // What is wrong with the command line shows before anything is started.
        let request = self.request()?;
        let mut job = Job {
            kernel: self.kernel.clone(),
            inputs: self.inputs.clone(),
            stdin: None,
            request,
        };
        let linker = InputLinker {
            settings: self.libraries.settings(context),
        };
        if let Ok(selector) = std::env::var(WORKER_VARIABLE) {
            job.stdin = std::env::var_os(STDIN_VARIABLE).map(PathBuf::from);
            return self.work(&job, &selector, &linker, context);
        }
        if self.dry_run && self.device.is_none() {
            let target = match self.device_model {
                Some(arch) => job::model(arch)?,
                None => job.model_of_inputs()?,
            };
            let prepared = job.plan(target, &linker, &context.printer)?;
            let mut report = DeviceReport::new("model");
            report.plan = Some(prepared.plan);
            return self.show(vec![report], context);
        }
        self.supervise(&job, context)
    }

    fn request(&self) -> Result<Request> {
        let mut request = Request {
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            shared: self.shared,
            cooperative: self.cooperative,
            attributes: Vec::new(),
            arguments: self.arguments.clone(),
            set_globals: self.set_global.clone(),
            get_globals: self.get_global.clone(),
            saves: self.save.clone(),
            prints: self.print.clone(),
            expects: self.expect.clone(),
            rtol: self.rtol,
            atol: self.atol,
            repeat: self.repeat,
            warmup: self.warmup,
            flush_l2: self.flush_l2,
            work: Work {
                bytes: self.bytes,
                flops: self.flops,
            },
        };
        let own = [
            self.pdl.then(|| Attribute::new(AttributeKind::Pdl, 1)),
            // Negative numbers keep their 32 bits.
            self.priority
                .map(|priority| Attribute::new(AttributeKind::Priority, priority as u32)),
        ];
        for attribute in own.into_iter().flatten().chain(self.attr.iter().copied()) {
            add_attribute(&mut request, attribute)?;
        }
        Ok(request)
    }

    /// What a worker does: its part, reported through the pipe.
    fn work(
        self,
        job: &Job,
        selector: &str,
        linker: &dyn Linker,
        context: &Context,
    ) -> Result<ExitCode> {
        let several = self.selectors().is_none_or(|all| all.len() > 1);
        // Bars of several processes would run through one another.
        let progress: &dyn Observer = if several { &Silent } else { &context.printer };
        let reporter = Reporter::new(progress)?;
        let mut report = DeviceReport::new(selector);
        let outcome = if selector == COUNT {
            job::device_count().map(|count| reporter.count(count))
        } else {
            selector.parse().map_err(Error::usage).and_then(|selector| {
                job.run(
                    &selector,
                    Place {
                        dry_run: self.dry_run,
                        several,
                    },
                    linker,
                    &reporter,
                    &mut report,
                )
            })
        };
        match outcome {
            Ok(()) if selector == COUNT => return Ok(ExitCode::SUCCESS),
            Ok(()) => {}
            Err(error) => {
                report.exit_code = error.category.exit_code();
                report.diagnostics = error.diagnostics;
            }
        }
        let code = ExitCode::from(report.exit_code);
        reporter.done(report);
        Ok(code)
    }

    /// The devices that are named; `None` stands for all.
    fn selectors(&self) -> Option<Vec<String>> {
        match self.device.as_deref() {
            None => Some(vec!["0".to_owned()]),
            Some("all") => None,
            Some(list) => Some(list.split(',').map(str::to_owned).collect()),
        }
    }

    fn supervise(&self, job: &Job, context: &Context) -> Result<ExitCode> {
        let deadline = self.timeout.map(|limit| (Instant::now() + limit, limit));
        let stdin = keep_stdin(&job.inputs)?;
        let supervision = Supervision {
            arguments: std::env::args_os().skip(1).collect(),
            stdin: stdin.as_ref().map(|file| file.path().to_owned()),
            output_to_stderr: self.format == Format::Json,
            deadline,
        };
        let selectors = match self.selectors() {
            Some(named) => {
                check_selectors(&named)?;
                named
            }
            None => {
                let count = supervision.count_devices(&context.printer)?;
                (0..count).map(|ordinal| ordinal.to_string()).collect()
            }
        };
        self.show(supervision.run(&selectors, &context.printer)?, context)
    }

    fn show(&self, reports: Vec<DeviceReport>, context: &Context) -> Result<ExitCode> {
        let several = reports.len() > 1;
        for report in &reports {
            for error in report
                .diagnostics
                .iter()
                .filter(|d| d.severity == Severity::Error)
            {
                let mut error = error.clone();
                if several {
                    error.details.push(format!("on device {}", report.selector));
                }
                context.printer.diagnostic(&error);
            }
        }
        let report = Report::new(reports);
        match self.format {
            Format::Json => {
                let mut text = serde_json::to_string_pretty(&report).map_err(|error| {
                    Error::failed(Code::Internal, format!("cannot write the report: {error}"))
                })?;
                text.push('\n');
                context.printer.data(text)?;
            }
            Format::Text => context.printer.data(text(&report))?,
        }
        for device in report.devices.iter().filter(|device| device.exit_code == 0) {
            if let Some(line) = summary(device) {
                context.printer.status(&line);
            }
        }
        Ok(ExitCode::from(report.exit_code))
    }
}

/// Attributes that have a flag of their own are that flag.
fn add_attribute(request: &mut Request, attribute: Attribute) -> Result<()> {
    let twice = |name: &str| {
        Err(Error::usage(format!(
            "the launch attribute `{name}` is given twice"
        )))
    };
    match attribute.kind {
        AttributeKind::Cooperative => request.cooperative |= attribute.value[0] != 0,
        AttributeKind::Cluster
            if request
                .cluster
                .is_some_and(|cluster| cluster != attribute.value) =>
        {
            return twice("cluster");
        }
        AttributeKind::Cluster => request.cluster = Some(attribute.value),
        kind if request.attributes.iter().any(|known| known.kind == kind) => {
            return twice(crate::run::spec::attribute_name(kind));
        }
        _ => request.attributes.push(attribute),
    }
    Ok(())
}

fn check_selectors(selectors: &[String]) -> Result<()> {
    for (at, selector) in selectors.iter().enumerate() {
        selector.parse::<Selector>().map_err(Error::usage)?;
        if selectors[..at].contains(selector) {
            return Err(Error::usage(format!("device `{selector}` is named twice")));
        }
    }
    Ok(())
}

/// Workers have no standard input, so what an input called `-` reads is put into a file for them.
fn keep_stdin(inputs: &[PathBuf]) -> Result<Option<tempfile::NamedTempFile>> {
    if !inputs.iter().any(|input| input == Path::new("-")) {
        return Ok(None);
    }
    let blob = bytes::open(Path::new("-"))?;
    let failed = |error: std::io::Error| {
        Error::new(
            Category::Failed,
            Diagnostic::error(
                Code::OutputUnwritable,
                format!("cannot keep standard input in a file: {error}"),
            ),
        )
    };
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(&blob).map_err(failed)?;
    Ok(Some(file))
}

/// Links inputs as `cudalink link` does.
struct InputLinker {
    settings: Settings,
}

impl Linker for InputLinker {
    fn link(
        &self,
        inputs: &[ObjectCode],
        target: Arch,
        observer: &dyn Observer,
    ) -> Result<ObjectCode> {
        let request = link::Request {
            inputs: inputs.to_vec(),
            target: Some(target),
            ..link::Request::default()
        };
        let program = this_program()?;
        let cache = Cache::of_user(&self.settings.environment);
        let tools = Tools {
            settings: &self.settings,
            workers: Workers {
                program: &program,
                // `--timeout` ends the process that waits for the link, and the link ends with that.
                limits: Limits::default(),
                interrupted: interrupt::flag(),
            },
            cache: &cache,
            observer,
        };
        let cubin = link::link(&request, &tools, &mut link::Report::default())?;
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Ok(ObjectCode::from_blob(
            format!("<linked {}>", names.join(" ")),
            cubin,
        ))
    }
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    for device in &report.devices {
        if report.devices.len() > 1 {
            out.push_str(&format!("device {}: ", device.selector));
            out.push_str(
                &device
                    .device
                    .as_ref()
                    .map_or("unknown".into(), |info| sanitize(&info.name)),
            );
            out.push_str(if device.exit_code == 0 {
                "\n"
            } else {
                " failed\n"
            });
        }
        match (&device.results, &device.plan) {
            (Some(results), _) => out.push_str(&results_text(results, device)),
            (None, Some(plan)) if device.exit_code == 0 => out.push_str(&plan_text(plan)),
            _ => {}
        }
    }
    out
}

fn results_text(results: &Results, device: &DeviceReport) -> String {
    let mut out = String::new();
    for printed in &results.prints {
        let more = if (printed.values.len() as u64) < printed.shape.elements() {
            " …"
        } else {
            ""
        };
        out.push_str(&format!(
            "{} {}: {}{more}\n",
            printed.argument,
            printed.shape,
            printed.values.join(" ")
        ));
    }
    for global in &results.globals {
        out.push_str(&format!(
            "{} {}: {}\n",
            sanitize(&global.name),
            global.shape,
            global.values.join(" ")
        ));
    }
    for comparison in results
        .comparisons
        .iter()
        .filter(|comparison| comparison.equal)
    {
        out.push_str(&format!(
            "{} equals {}: {} elements (rtol {}, atol {})\n",
            comparison.argument,
            sanitize(&comparison.source),
            comparison.elements,
            comparison.tolerance.relative,
            comparison.tolerance.absolute
        ));
    }
    if let Some(timing) = &results.timing {
        out.push_str(&timing_text(timing, device));
    }
    out
}

fn timing_text(timing: &Timing, device: &DeviceReport) -> String {
    let mut out = format!(
        "{} launches: min {:.3} µs, median {:.3} µs, p95 {:.3} µs, max {:.3} µs",
        timing.launches, timing.min_us, timing.median_us, timing.p95_us, timing.max_us
    );
    if let Some(rate) = timing.gigabytes_per_s {
        out.push_str(&format!(", {rate:.1} GB/s"));
    }
    if let Some(rate) = timing.gigaflops {
        out.push_str(&format!(", {rate:.1} GFLOP/s"));
    }
    if let Some(info) = &device.device {
        out.push_str(&format!("; {}", sanitize(&info.name)));
        if let Some(clock) = info.clock_khz {
            out.push_str(&format!(" at up to {} MHz", clock / 1000));
        }
    }
    out.push('\n');
    out
}

/// What ran where, for stderr.
fn summary(device: &DeviceReport) -> Option<String> {
    let (plan, results) = (device.plan.as_ref()?, device.results.as_ref()?);
    Some(format!(
        "ran `{}` with {} on {} in {:.1} µs",
        plan.name(),
        plan.configuration(),
        plan.target.name,
        results.elapsed_us
    ))
}

fn plan_text(plan: &LaunchPlan) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mangled = if plan.demangled.is_some() {
        format!("  [{}]", plan.kernel)
    } else {
        String::new()
    };
    rows.push(("kernel", format!("{}{mangled}", plan.name())));
    let image = &plan.image;
    rows.push((
        "image",
        format!(
            "{}: {} for {}, {}",
            image.id,
            image.kind.as_str(),
            match image.kind {
                ImageKind::Ptx => image.arch.compute(),
                _ => image.arch.to_string(),
            },
            human_bytes(image.size)
        ),
    ));
    rows.extend(
        image
            .linked
            .iter()
            .map(|why| ("linked", format!("first, because {why}"))),
    );
    rows.push(("device", plan.target.name.clone()));
    let unit = if plan.blocks_are_clusters {
        " blocks (the driver is told clusters)"
    } else {
        ""
    };
    rows.push(("grid", format!("{}{unit}", plan.grid)));
    rows.push(("block", plan.block.to_string()));
    rows.extend(plan.cluster.map(|cluster| ("cluster", dims_text(cluster))));
    if plan.cooperative {
        rows.push(("cooperative", "yes".to_owned()));
    }
    if let Some(capacity) = plan.capacity {
        rows.push(("at once", format!("{} blocks", capacity.blocks)));
    }
    rows.extend(plan.attributes.iter().map(|attribute| {
        (
            "attribute",
            format!("{}={}", attribute.name, attribute.value),
        )
    }));
    let shared = &plan.shared;
    let fixed = shared
        .fixed
        .map_or("unknown".to_owned(), |bytes| bytes.to_string());
    let opt_in = if shared.opt_in { ", opted in" } else { "" };
    rows.push((
        "shared",
        format!(
            "{fixed} static + {} dynamic of {} bytes{opt_in}",
            shared.dynamic, shared.limit
        ),
    ));
    rows.extend(
        plan.registers
            .map(|registers| ("registers", registers.to_string())),
    );
    for global in &plan.globals {
        let set = global
            .set
            .as_ref()
            .map_or("read".to_owned(), |text| format!("set to {text}"));
        rows.push(("global", format!("{} {}, {set}", global.name, global.shape)));
    }
    let mut out: String = rows
        .iter()
        .map(|(name, value)| format!("{name:<12}{}\n", sanitize(value)))
        .collect();
    if !plan.arguments.is_empty() {
        out.push('\n');
        out.push_str(&arguments_text(plan));
    }
    out
}

/// Pairs of hexadecimal digits apart, so that nobody takes bytes in memory for a number.
fn spaced(hex: &str) -> String {
    let pairs: Vec<&str> = hex
        .as_bytes()
        .chunks(2)
        .filter_map(|pair| std::str::from_utf8(pair).ok())
        .collect();
    pairs.join(" ")
}

fn arguments_text(plan: &LaunchPlan) -> String {
    let mut table = Table::new([
        ">argument",
        ">offset",
        ">bytes",
        "spec",
        "contents or bytes",
    ]);
    for (number, argument) in plan.arguments.iter().enumerate() {
        let contents = match (&argument.buffer, &argument.value) {
            (Some(buffer), _) => format!("{}, {}", buffer.shape, human_bytes(buffer.bytes)),
            (None, Some(value)) => spaced(value),
            (None, None) => String::new(),
        };
        table.row([
            number.to_string(),
            argument.offset.to_string(),
            argument.size.to_string(),
            argument.spec.clone(),
            contents,
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_current() {
        crate::cli::tests::schema_is_current::<Report>("run.json");
    }
}
