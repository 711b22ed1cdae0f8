//! Carries a plan out on a device: load, check against what the driver says, copy in, launch, copy out.

use std::collections::BTreeMap;

use super::compare::Comparer;
use super::fault;
use super::files::{self, Output};
use super::plan::{Capacity, LaunchPlan, Prepared, Size, Value, dims_text, is_multiple, volume};
use super::report::{Printed, PrintedGlobal, Results, Saved};
use super::shape::Shape;
use super::timing::Timing;
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::ffi::driver::{
    Arguments, Attribute, AttributeKind, Buffer, Context, DeviceInfo, DriverError, Function,
    FunctionFacts, LaunchConfig, Module, Stream,
};
use crate::observe::Observer;

/// Where a plan is carried out, and who hears of it.
#[expect(missing_debug_implementations, reason = "an observer has none")]
pub struct Session<'a> {
    pub context: &'a Context,
    pub device: &'a DeviceInfo,
    /// Its details tell what is being done from now on, for the message when that never ends.
    pub observer: &'a dyn Observer,
    /// Whether other devices run the same plan, so that files need names of their own.
    pub is_one_of_several: bool,
}

/// What every launch of a run has in common.
struct Launch<'a, 'c> {
    plan: &'a LaunchPlan,
    function: &'a Function<'a>,
    stream: &'a Stream<'c>,
    config: LaunchConfig,
    arguments: Arguments,
}

/// Device memory by the number of the argument that it belongs to.
type Buffers<'c> = BTreeMap<usize, Buffer<'c>>;

impl Session<'_> {
    /// Loads the image and completes the plan with what only the driver knows; launches nothing.
    pub fn complete(&self, prepared: &mut Prepared) -> Result<()> {
        self.context.make_current()?;
        let module = self.load(prepared)?;
        complete(prepared, &module.function(&prepared.plan.kernel)?)
    }

    /// Carries the plan out. What it learns of the device goes into `prepared`.
    pub fn run(&self, prepared: &mut Prepared) -> Result<Results> {
        self.context.make_current()?;
        let module = self.load(prepared)?;
        let function = module.function(&prepared.plan.kernel)?;
        complete(prepared, &function)?;
        let stream = self.context.stream()?;
        self.observer.detail("copying to the device");
        let buffers = self.buffers(prepared, &stream)?;
        for (name, data) in &prepared.set_globals {
            stream.upload(&module.global(name)?, |at, out| {
                data.fill(at, out);
                Ok::<_, DriverError>(())
            })?;
        }
        let launch = Launch {
            plan: &prepared.plan,
            function: &function,
            stream: &stream,
            config: config(prepared)?,
            arguments: self.arguments(prepared, &buffers),
        };
        self.observer.detail(&format!(
            "running `{}` with {}",
            prepared.plan.name(),
            prepared.plan.configuration()
        ));
        let mut results = Results {
            elapsed_us: self.first(&launch)?,
            ..Results::default()
        };
        self.observer.detail("copying from the device");
        self.collect(prepared, &buffers, &stream, &mut results)?;
        for (name, shape) in &prepared.get_globals {
            results
                .globals
                .push(read_global(&module, &stream, name, shape)?);
        }
        self.observer.detail(&format!(
            "repeating `{}` with {}",
            prepared.plan.name(),
            prepared.plan.configuration()
        ));
        results.timing = self.time(prepared, &launch)?;
        Ok(results)
    }

    fn load(&self, prepared: &Prepared) -> Result<Module<'_>> {
        self.observer.detail("loading the image");
        self.context
            .load(&prepared.image)
            .map_err(|error| fault::load(&error, &prepared.plan))
    }

    /// Allocates and fills every buffer.
    fn buffers<'c>(&'c self, prepared: &Prepared, stream: &Stream<'_>) -> Result<Buffers<'c>> {
        let all = prepared.arguments.iter().enumerate();
        let wanted: Vec<_> = all
            .filter_map(|(number, argument)| match &argument.value {
                Value::Buffer(_, data) => Some((number, data)),
                _ => None,
            })
            .collect();
        let total = wanted.iter().map(|(_, data)| data.shape.bytes()).sum();
        let progress = self.observer.progress("to the device", Some(total));
        let mut before = 0;
        let mut buffers = Buffers::new();
        for (number, data) in wanted {
            let bytes = data.shape.bytes();
            let buffer = self
                .context
                .allocate(bytes)
                .map_err(|error| no_memory(error, number, &data.shape, total))?;
            match data.pattern() {
                Some(pattern) => stream.set(&buffer, &pattern)?,
                None => stream.upload(&buffer, |at, out| {
                    data.fill(at, out);
                    progress.set(before + at);
                    Ok::<_, DriverError>(())
                })?,
            }
            before += bytes;
            progress.set(before);
            buffers.insert(number, buffer);
        }
        Ok(buffers)
    }

    fn arguments(&self, prepared: &Prepared, buffers: &Buffers<'_>) -> Arguments {
        let mut out = Arguments {
            bytes: vec![0; prepared.plan.parameter_bytes as usize],
            offsets: Vec::new(),
        };
        for (number, argument) in prepared.arguments.iter().enumerate() {
            let bytes = match &argument.value {
                Value::Bytes(bytes) => bytes.clone(),
                Value::DeviceOrdinal(kind) => {
                    u64::from(self.device.ordinal).to_le_bytes()[..kind.size()].to_vec()
                }
                Value::Buffer(..) | Value::Ref(_) => {
                    let owner = prepared
                        .buffer(number)
                        .and_then(|(owner, _)| buffers.get(&owner));
                    owner.map_or(0, Buffer::address).to_le_bytes().to_vec()
                }
            };
            let at = argument.offset as usize;
            let end = at + bytes.len();
            if out.bytes.len() < end {
                out.bytes.resize(end, 0);
            }
            out.bytes[at..end].copy_from_slice(&bytes);
            out.offsets.push(argument.offset);
        }
        out
    }

    /// The launch whose results are checked, and its time in microseconds.
    fn first(&self, launch: &Launch<'_, '_>) -> Result<f64> {
        let (start, end) = (self.context.event()?, self.context.event()?);
        launch.stream.synchronize()?;
        launch.stream.record(&start)?;
        launch.go()?;
        launch
            .stream
            .record(&end)
            .map_err(|error| fault::launch(&error, launch.plan))?;
        launch.wait()?;
        Ok(f64::from(end.since(&start)?) * 1e3)
    }

    /// Warm-ups and timed launches, on from where the first one left the buffers.
    fn time(&self, prepared: &Prepared, launch: &Launch<'_, '_>) -> Result<Option<Timing>> {
        /// Launches between two waits, so that any number of them needs few events.
        const BATCH: u32 = 512;
        if prepared.repeat == 0 {
            return Ok(None);
        }
        let context = self.context;
        let flush = match prepared.flush_l2 {
            // Twice the cache, so that nothing of before is left in it.
            true => Some(context.allocate(self.device.l2 * 2)?),
            false => None,
        };
        let before = || match &flush {
            Some(buffer) => launch.stream.set(buffer, &[0]),
            None => Ok(()),
        };
        for _ in 0..prepared.warmup {
            before()?;
            launch.go()?;
        }
        launch.wait()?;
        let count = prepared.repeat.min(BATCH);
        let events = (0..count)
            .map(|_| Ok((context.event()?, context.event()?)))
            .collect::<Result<Vec<_>, DriverError>>()?;
        let mut samples = Vec::new();
        while samples.len() < prepared.repeat as usize {
            let batch = &events[..events.len().min(prepared.repeat as usize - samples.len())];
            for (start, end) in batch {
                before()?;
                launch.stream.record(start)?;
                launch.go()?;
                launch.stream.record(end)?;
            }
            launch.wait()?;
            for (start, end) in batch {
                samples.push(f64::from(end.since(start)?) * 1e3);
            }
        }
        Ok(Timing::new(
            samples,
            prepared.warmup,
            prepared.flush_l2,
            prepared.work,
        ))
    }

    /// Copies back what is compared, saved or printed, each buffer once.
    fn collect(
        &self,
        prepared: &Prepared,
        buffers: &Buffers<'_>,
        stream: &Stream<'_>,
        results: &mut Results,
    ) -> Result<()> {
        for (number, buffer) in buffers {
            let Some((_, data)) = prepared.buffer(*number) else {
                continue;
            };
            let mut outlets = self.outlets(prepared, *number, &data.shape)?;
            let Some(total) = outlets.bytes(&data.shape) else {
                continue;
            };
            let progress = self.observer.progress("from the device", Some(total));
            stream.download(buffer, total, |at, bytes| {
                progress.set(at + bytes.len() as u64);
                outlets.consume(at, bytes)
            })?;
            outlets.finish(results)?;
        }
        Ok(())
    }

    fn outlets(&self, prepared: &Prepared, number: usize, shape: &Shape) -> Result<Outlets> {
        let is_this = |argument: usize| {
            prepared
                .buffer(argument)
                .is_some_and(|(owner, _)| owner == number)
        };
        let mut outlets = Outlets::default();
        for save in prepared.saves.iter().filter(|save| is_this(save.argument)) {
            let path = match self.is_one_of_several {
                true => files::with_device(&save.path, self.device.ordinal),
                false => save.path.clone(),
            };
            let saved = Saved {
                argument: save.argument,
                path: path.display().to_string(),
                bytes: shape.bytes(),
            };
            outlets.saves.push((saved, Output::create(&path, shape)?));
        }
        for expected in prepared
            .expects
            .iter()
            .filter(|expected| is_this(expected.argument))
        {
            let comparer = Comparer::new(expected.data.clone(), expected.tolerance);
            outlets
                .compares
                .push((expected.argument, expected.text.clone(), comparer));
        }
        for print in prepared
            .prints
            .iter()
            .filter(|print| is_this(print.argument))
        {
            let printed = Printed {
                argument: print.argument,
                shape: shape.clone(),
                values: Vec::new(),
            };
            outlets
                .prints
                .push((print.count.min(shape.elements()), printed));
        }
        Ok(outlets)
    }
}

impl Launch<'_, '_> {
    fn go(&self) -> Result<()> {
        self.function
            .launch(self.stream, &self.config, &self.arguments)
            .map_err(|error| fault::launch(&error, self.plan))
    }

    fn wait(&self) -> Result<()> {
        self.stream
            .synchronize()
            .map_err(|error| fault::launch(&error, self.plan))
    }
}

/// Who wants a buffer's contents.
#[derive(Default)]
struct Outlets {
    saves: Vec<(Saved, Output)>,
    compares: Vec<(usize, String, Comparer)>,
    prints: Vec<(u64, Printed)>,
}

impl Outlets {
    /// How much of the buffer is wanted; `None` when nobody wants any.
    fn bytes(&self, shape: &Shape) -> Option<u64> {
        if !self.saves.is_empty() || !self.compares.is_empty() {
            return Some(shape.bytes());
        }
        self.prints
            .iter()
            .map(|(count, _)| count * shape.kind.size() as u64)
            .max()
    }

    fn consume(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        for (_, output) in &mut self.saves {
            output.write(bytes)?;
        }
        for (_, _, comparer) in &mut self.compares {
            comparer.consume(at, bytes);
        }
        for (count, printed) in &mut self.prints {
            let kind = printed.shape.kind;
            let missing = *count as usize - printed.values.len();
            printed.values.extend(
                bytes
                    .chunks_exact(kind.size())
                    .take(missing)
                    .map(|element| kind.text(element)),
            );
        }
        Ok(())
    }

    fn finish(self, results: &mut Results) -> Result<()> {
        for (saved, output) in self.saves {
            output.finish()?;
            results.saved.push(saved);
        }
        let compared = self.compares.into_iter();
        results
            .comparisons
            .extend(compared.map(|(argument, text, comparer)| comparer.finish(argument, text)));
        results
            .prints
            .extend(self.prints.into_iter().map(|(_, printed)| printed));
        Ok(())
    }
}

fn read_global(
    module: &Module<'_>,
    stream: &Stream<'_>,
    name: &str,
    shape: &Shape,
) -> Result<PrintedGlobal> {
    let mut values = Vec::new();
    stream.download(&module.global(name)?, shape.bytes(), |_, bytes| {
        values.extend(
            bytes
                .chunks_exact(shape.kind.size())
                .map(|element| shape.kind.text(element)),
        );
        Ok::<_, DriverError>(())
    })?;
    Ok(PrintedGlobal {
        name: name.to_owned(),
        shape: shape.clone(),
        values,
    })
}

fn no_memory(error: DriverError, number: usize, shape: &Shape, total: u64) -> Error {
    Error::from(error).detail(format!(
        "argument {number} is {shape}, {} bytes; all buffers together have {total}",
        shape.bytes()
    ))
}

/// Puts into the plan what the driver knows of the loaded kernel, and checks it again.
fn complete(prepared: &mut Prepared, function: &Function<'_>) -> Result<()> {
    check_parameters(prepared, function)?;
    let facts = function.facts()?;
    let plan = &mut prepared.plan;
    plan.registers = Some(facts.registers);
    plan.shared.fixed = Some(facts.shared);
    plan.shared.opt_in = plan.shared.total() > plan.target.limits.shared;
    if plan.block.dims().is_none() {
        plan.block = Size::Dims([facts.max_threads, 1, 1]);
    }
    check_facts(plan, facts)?;
    if plan.shared.opt_in {
        function.allow_dynamic_shared(plan.shared.dynamic)?;
    }
    if let Some(cluster) = plan.cluster {
        check_cluster(prepared, function, volume(cluster))?;
    }
    if prepared.plan.cooperative || prepared.plan.grid.dims().is_none() {
        fit_grid(prepared, function)?;
    }
    Ok(())
}

/// The driver's own list of the parameters has to be the one that the arguments were laid out by.
fn check_parameters(prepared: &Prepared, function: &Function<'_>) -> Result<()> {
    let Some(told) = function.parameters(prepared.plan.arguments.len())? else {
        return Ok(());
    };
    let planned: Vec<(u32, u32)> = prepared
        .plan
        .arguments
        .iter()
        .map(|argument| (argument.offset, argument.size))
        .collect();
    if told == planned {
        return Ok(());
    }
    Err(Error::failed(
        Code::Internal,
        format!(
            "the driver's parameters of `{}` are not those of the image",
            prepared.plan.name()
        ),
    )
    .input(&prepared.plan.image.id)
    .detail(format!("offset and size by the driver: {told:?}"))
    .detail(format!("offset and size by the image: {planned:?}")))
}

fn refused(plan: &LaunchPlan, found: Diagnostic) -> Error {
    Error::new(
        Category::Failed,
        found.input(&plan.image.id).symbol(&plan.kernel),
    )
}

fn check_facts(plan: &LaunchPlan, facts: FunctionFacts) -> Result<()> {
    let block = plan.block.dims().unwrap_or([1; 3]);
    if volume(block) > facts.max_threads.into() {
        let message = format!(
            "block {} has {} threads, but `{}`, with {} registers a thread, takes at most {}",
            dims_text(block),
            volume(block),
            plan.name(),
            facts.registers,
            facts.max_threads
        );
        return Err(refused(
            plan,
            Diagnostic::error(Code::LaunchRefused, message),
        ));
    }
    if plan.shared.total() > plan.shared.limit {
        return Err(refused(plan, plan.shared_overflow()));
    }
    Ok(())
}

/// Opts in to clusters beyond the portable size, and asks for the largest that the kernel can have.
fn check_cluster(prepared: &Prepared, function: &Function<'_>, blocks: u64) -> Result<()> {
    let plan = &prepared.plan;
    if blocks > plan.target.limits.cluster.into() {
        function.allow_non_portable_clusters()?;
    }
    let config = sized(prepared, plan.cluster.unwrap_or([1; 3]));
    let most = function.max_cluster_size(&config)?;
    if blocks > most.into() {
        let message = format!(
            "a cluster has {blocks} blocks, but {} takes at most {most} of `{}` as it is launched",
            plan.target.name,
            plan.name()
        );
        return Err(refused(
            plan,
            Diagnostic::error(Code::LaunchRefused, message),
        ));
    }
    Ok(())
}

/// How many blocks run at once; sets `--grid max` and refuses a cooperative grid that is larger.
fn fit_grid(prepared: &mut Prepared, function: &Function<'_>) -> Result<()> {
    let capacity = capacity(prepared, function)?;
    let plan = &mut prepared.plan;
    plan.capacity = Some(capacity);
    let arithmetic = capacity.arithmetic();
    let Some(grid) = plan.grid.dims() else {
        let preferred = prepared
            .attributes
            .iter()
            .find(|a| a.kind == AttributeKind::PreferredCluster);
        let part = preferred
            .map(|a| a.value)
            .or(plan.cluster)
            .unwrap_or([1; 3]);
        let [x, y, z] = part;
        // One cluster high and deep, as wide as there is room.
        let wide = capacity.blocks / volume(part);
        let wide = u32::try_from(wide)
            .unwrap_or(u32::MAX)
            .saturating_mul(x)
            .min(plan.target.limits.grid[0] / x * x);
        if wide == 0 {
            let message = format!("not even one block of `{}` fits: {arithmetic}", plan.name());
            return Err(refused(
                plan,
                Diagnostic::error(Code::LaunchRefused, message),
            ));
        }
        plan.grid = Size::Dims([wide, y, z]);
        return Ok(());
    };
    if volume(grid) > capacity.blocks {
        let message = format!(
            "grid {} has {} blocks, but a cooperative launch of `{}` takes at most {arithmetic}",
            dims_text(grid),
            volume(grid),
            plan.name()
        );
        let found = Diagnostic::error(Code::LaunchRefused, message)
            .hint("`--grid max` is the largest that fits");
        return Err(refused(plan, found));
    }
    Ok(())
}

fn capacity(prepared: &Prepared, function: &Function<'_>) -> Result<Capacity> {
    let plan = &prepared.plan;
    let sms = plan.target.sms;
    if let Some(cluster) = plan.cluster {
        let clusters = function.active_clusters(&sized(prepared, cluster))?;
        let blocks = u64::from(clusters) * volume(cluster);
        return Ok(Capacity {
            blocks,
            blocks_per_sm: None,
            sms,
            clusters: Some(clusters),
        });
    }
    let threads = volume(plan.block.dims().unwrap_or([1; 3])) as u32;
    let per_sm = function.blocks_per_sm(threads, plan.shared.dynamic)?;
    let blocks = u64::from(per_sm) * u64::from(sms.unwrap_or(0));
    Ok(Capacity {
        blocks,
        blocks_per_sm: Some(per_sm),
        sms,
        clusters: None,
    })
}

impl Capacity {
    /// `2112 = 16 of each SM × 132 SMs`.
    fn arithmetic(&self) -> String {
        match (self.blocks_per_sm, self.clusters) {
            (Some(blocks), _) => format!(
                "{} = {blocks} of each SM × {} SMs",
                self.blocks,
                self.sms.unwrap_or(0)
            ),
            (None, Some(clusters)) => {
                format!(
                    "{} = {clusters} clusters × {} blocks",
                    self.blocks,
                    self.blocks / u64::from(clusters.max(1))
                )
            }
            (None, None) => self.blocks.to_string(),
        }
    }
}

/// The configuration with a grid of one cluster, for questions about the device.
fn sized(prepared: &Prepared, grid: [u32; 3]) -> LaunchConfig {
    let plan = &prepared.plan;
    LaunchConfig {
        grid: plan.grid.dims().unwrap_or(grid),
        block: plan.block.dims().unwrap_or([1; 3]),
        shared: plan.shared.dynamic,
        attributes: plan.cluster.map(cluster_attribute).into_iter().collect(),
    }
}

fn cluster_attribute(value: [u32; 3]) -> Attribute {
    Attribute {
        kind: AttributeKind::Cluster,
        value,
    }
}

/// The launch as the driver takes it.
fn config(prepared: &Prepared) -> Result<LaunchConfig> {
    let plan = &prepared.plan;
    let (Some(mut grid), Some(block)) = (plan.grid.dims(), plan.block.dims()) else {
        return Err(Error::failed(
            Code::Internal,
            "the grid was not settled before the launch",
        ));
    };
    let cluster = plan.cluster.unwrap_or([1; 3]);
    if plan.blocks_are_clusters && is_multiple(grid, cluster) {
        grid = std::array::from_fn(|at| grid[at] / cluster[at]);
    }
    let mut attributes = Vec::new();
    if plan.cooperative {
        attributes.push(Attribute::new(AttributeKind::Cooperative, 1));
    }
    // What was compiled into the kernel must not be said again.
    if let Some(cluster) = prepared.cluster_to_ask_for {
        attributes.push(cluster_attribute(cluster));
    }
    attributes.extend(prepared.attributes.iter().copied());
    Ok(LaunchConfig {
        grid,
        block,
        shared: plan.shared.dynamic,
        attributes,
    })
}
