//! The plan of a launch as plain data, and everything about it that can be wrong before a device is touched.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compare::Tolerance;
use super::data::Data;
use super::program::Program;
use super::shape::Shape;
use super::spec::{
    ArgumentSpec, ArgumentValue, Direction, Expect, Extent, GetGlobal, Print, Save, SetGlobal,
    attribute_name,
};
use super::target::Target;
use super::timing::Work;
use super::types::Type;
use super::{files, lookup};
use crate::code::{Arch, ImageKind, Kernel, demangled};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::ffi::driver::{Attribute, AttributeKind};

/// What the user asked for, parsed but not yet held against a kernel.
#[derive(Debug, Clone)]
pub struct Request {
    pub grid: Extent,
    /// `None` takes the kernel's only block shape, or one thread.
    pub block: Option<Extent>,
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub cooperative: bool,
    /// All other attributes.
    pub attributes: Vec<Attribute>,
    pub arguments: Vec<ArgumentSpec>,
    pub set_globals: Vec<SetGlobal>,
    pub get_globals: Vec<GetGlobal>,
    pub saves: Vec<Save>,
    pub prints: Vec<Print>,
    pub expects: Vec<Expect>,
    pub rtol: Option<f64>,
    pub atol: Option<f64>,
    pub repeat: u32,
    pub warmup: u32,
    pub flush_l2: bool,
    pub work: Work,
}

/// The plan as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchPlan {
    /// Mangled.
    pub kernel: String,
    pub demangled: Option<String>,
    pub image: ImagePlan,
    pub target: Target,
    /// Blocks, or `max` until the device is asked.
    pub grid: Size,
    /// Threads of a block, or `max` until the device is asked.
    pub block: Size,
    /// Blocks of a cluster; null without clusters.
    pub cluster: Option<[u32; 3]>,
    /// The driver's grid counts clusters for this kernel.
    pub blocks_are_clusters: bool,
    pub cooperative: bool,
    pub attributes: Vec<AttributePlan>,
    pub shared: SharedPlan,
    /// Registers of a thread; null until the driver has compiled PTX.
    pub registers: Option<u32>,
    /// Whether the kernel synchronises its whole grid; null when unknown.
    pub uses_grid_sync: Option<bool>,
    pub parameter_bytes: u32,
    pub arguments: Vec<ArgumentPlan>,
    pub globals: Vec<GlobalPlan>,
    /// Blocks that run at once; null until the device is asked, which it is where it matters.
    pub capacity: Option<Capacity>,
}

/// Three dimensions, or as many as there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Size {
    Dims([u32; 3]),
    Max(MaxWord),
}

/// The word `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MaxWord {
    Max,
}

impl From<Extent> for Size {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Dims(dims) => Self::Dims(dims),
            Extent::Max => Self::Max(MaxWord::Max),
        }
    }
}

impl Size {
    pub fn dims(self) -> Option<[u32; 3]> {
        match self {
            Self::Dims(dims) => Some(dims),
            Self::Max(_) => None,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dims(dims) => f.write_str(&dims_text(*dims)),
            Self::Max(_) => f.write_str("max"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePlan {
    pub id: String,
    pub kind: ImageKind,
    pub arch: Arch,
    pub size: u64,
    /// Why the inputs were linked; null when the image is loaded as it is.
    pub linked: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributePlan {
    /// As `--attr` spells it.
    pub name: String,
    pub value: String,
}

/// Bytes of shared memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedPlan {
    /// Null until the driver has compiled PTX.
    #[serde(rename = "static")]
    pub fixed: Option<u32>,
    pub dynamic: u32,
    /// The most that a block may have in all.
    pub limit: u32,
    /// Whether it is more than what every kernel gets.
    pub opt_in: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArgumentPlan {
    /// As written.
    pub spec: String,
    /// Where the parameter lies and its bytes.
    pub offset: u32,
    pub size: u32,
    /// The bytes of a scalar or struct in hexadecimal; null for addresses, which the device gives.
    pub value: Option<String>,
    pub buffer: Option<BufferPlan>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BufferPlan {
    pub direction: Direction,
    #[serde(flatten)]
    pub shape: Shape,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GlobalPlan {
    /// Mangled.
    pub name: String,
    /// What it is set to; null when it is only read.
    pub set: Option<String>,
    #[serde(flatten)]
    pub shape: Shape,
}

/// How many blocks run at once, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    pub blocks: u64,
    /// Of one multiprocessor; null with clusters.
    pub blocks_per_sm: Option<u32>,
    pub sms: Option<u32>,
    /// Clusters that run at once; null without clusters.
    pub clusters: Option<u32>,
}

/// The plan with what carrying it out needs: code and data.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub plan: LaunchPlan,
    pub image: crate::bytes::Blob,
    /// The cluster shape that the launch has to name; none where the kernel was compiled with one.
    pub cluster_to_ask_for: Option<[u32; 3]>,
    pub attributes: Vec<Attribute>,
    pub arguments: Vec<Argument>,
    pub set_globals: Vec<(String, Data)>,
    pub get_globals: Vec<(String, Shape)>,
    pub saves: Vec<Save>,
    pub prints: Vec<Print>,
    pub expects: Vec<Expected>,
    pub repeat: u32,
    pub warmup: u32,
    pub flush_l2: bool,
    pub work: Work,
}

/// One parameter's value.
#[derive(Debug, Clone)]
pub struct Argument {
    pub offset: u32,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    Bytes(Vec<u8>),
    DeviceOrdinal(Type),
    Buffer(Direction, Data),
    /// The buffer of that argument.
    Ref(usize),
}

#[derive(Debug, Clone)]
pub struct Expected {
    /// Whose buffer.
    pub argument: usize,
    pub text: String,
    pub data: Data,
    pub tolerance: Tolerance,
}

/// Bytes of a device address.
const ADDRESS: u32 = 8;
/// Bytes of parameters that every driver passes; more needs CUDA 12.1 and sm_70.
const SMALL_PARAMETERS: u32 = 4096;

impl Prepared {
    /// Holds the request against the kernel and the target.
    ///
    /// # Errors
    /// `launch-refused` with everything that keeps the plan from being launched.
    pub fn new(request: &Request, program: Program, target: Target) -> Result<Self> {
        let kernel = &program.kernel;
        let arguments = arguments(request, kernel)?;
        let set_globals = set_globals(request, &program)?;
        let get_globals = get_globals(request, &program)?;
        let prepared = Self {
            plan: LaunchPlan::new(
                request,
                &program,
                target,
                &arguments,
                &set_globals,
                &get_globals,
            ),
            expects: expects(request, &arguments)?,
            saves: request.saves.clone(),
            prints: request.prints.clone(),
            cluster_to_ask_for: request.cluster.filter(|_| kernel.cluster.is_none()),
            attributes: request.attributes.clone(),
            image: program.bytes.clone(),
            arguments,
            set_globals,
            get_globals,
            repeat: request.repeat,
            warmup: request.warmup,
            flush_l2: request.flush_l2,
            work: request.work,
        };
        prepared.check_outputs()?;
        let problems = prepared.plan.problems(kernel, request);
        match Error::from_diagnostics(Category::Failed, problems) {
            Some(error) => Err(error),
            None => Ok(prepared),
        }
    }

    /// The argument whose buffer argument `number` is.
    pub fn buffer(&self, number: usize) -> Option<(usize, &Data)> {
        buffer(&self.arguments, number)
    }

    /// `--save` and `--print` name buffers, and files that can be there.
    fn check_outputs(&self) -> Result<()> {
        for save in &self.saves {
            buffer_or_refuse(&self.arguments, save.argument, "--save")?;
            files::check_target(&save.path)?;
        }
        for print in &self.prints {
            buffer_or_refuse(&self.arguments, print.argument, "--print")?;
        }
        Ok(())
    }
}

fn buffer(arguments: &[Argument], number: usize) -> Option<(usize, &Data)> {
    match &arguments.get(number)?.value {
        Value::Buffer(_, data) => Some((number, data)),
        // References lead to buffers, never to references.
        Value::Ref(other) => match &arguments.get(*other)?.value {
            Value::Buffer(_, data) => Some((*other, data)),
            _ => None,
        },
        _ => None,
    }
}

fn buffer_or_refuse<'a>(
    arguments: &'a [Argument],
    number: usize,
    flag: &str,
) -> Result<(usize, &'a Data)> {
    buffer(arguments, number).ok_or_else(|| {
        let what = if number < arguments.len() {
            "is no buffer"
        } else {
            "is not there"
        };
        Error::usage(format!("`{flag} {number}`: argument {number} {what}"))
            .hint("arguments count from 0, and all of them count")
    })
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::LaunchRefused, message)
}

/// Values in the parameters' layout.
fn arguments(request: &Request, kernel: &Kernel) -> Result<Vec<Argument>> {
    let given = request.arguments.len();
    let name = shown(&kernel.name);
    if given != kernel.params.len() {
        let sizes: Vec<String> = kernel
            .params
            .iter()
            .map(|param| param.size.to_string())
            .collect();
        let mut found = refused(format!(
            "`{name}` takes {} arguments, but {given} are given",
            kernel.params.len()
        ));
        if !sizes.is_empty() {
            found = found.detail(format!("bytes of its parameters: {}", sizes.join(", ")));
        }
        return Err(Error::new(
            Category::Failed,
            found.hint("give one `--arg` for each parameter, in order"),
        ));
    }
    let mut out = Vec::new();
    for (number, (spec, param)) in request.arguments.iter().zip(&kernel.params).enumerate() {
        let value = argument_value(request, number, spec)?;
        let size = match &value {
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::DeviceOrdinal(kind) => kind.size() as u64,
            Value::Buffer(..) | Value::Ref(_) => ADDRESS.into(),
        };
        if size != u64::from(param.size) {
            let message = format!(
                "argument {number} (`{}`) has {size} bytes, but parameter {number} of `{name}` has {}",
                spec.text, param.size
            );
            return Err(Error::new(
                Category::Failed,
                with_size_hint(refused(message), spec, param.size),
            ));
        }
        out.push(Argument {
            offset: param.offset,
            value,
        });
    }
    Ok(out)
}

fn with_size_hint(found: Diagnostic, spec: &ArgumentSpec, size: u32) -> Diagnostic {
    match &spec.value {
        ArgumentValue::Scalar { kind, .. } => {
            let fitting: Vec<&str> = Type::ALL
                .iter()
                .filter(|other| other.size() as u32 == size && *other != kind)
                .map(|k| k.as_str())
                .collect();
            if fitting.is_empty() {
                return found.hint(format!("pass a struct as `bytes:HEX`, {size} bytes"));
            }
            found.hint(format!("types of {size} bytes: {}", fitting.join(" ")))
        }
        _ if size == ADDRESS => found,
        ArgumentValue::Bytes(_) | ArgumentValue::BytesOf(_) => found,
        _ => {
            found.hint("a buffer is passed as an address of 8 bytes; pass a struct as `bytes:HEX`")
        }
    }
}

fn argument_value(request: &Request, number: usize, spec: &ArgumentSpec) -> Result<Value> {
    Ok(match &spec.value {
        ArgumentValue::Scalar { bytes, .. } => Value::Bytes(bytes.clone()),
        ArgumentValue::Bytes(bytes) => Value::Bytes(bytes.clone()),
        ArgumentValue::BytesOf(path) => Value::Bytes(crate::bytes::open(path)?.to_vec()),
        ArgumentValue::DeviceOrdinal(kind) => Value::DeviceOrdinal(*kind),
        ArgumentValue::Null => Value::Bytes(vec![0; ADDRESS as usize]),
        ArgumentValue::Buffer(direction, source) => Value::Buffer(*direction, Data::open(source)?),
        ArgumentValue::Ref(other) => {
            let is_buffer = request
                .arguments
                .get(*other)
                .is_some_and(|spec| matches!(spec.value, ArgumentValue::Buffer(..)));
            if !is_buffer {
                return Err(Error::usage(format!(
                    "argument {number} (`{}`): argument {other} is no buffer",
                    spec.text
                ))
                .hint("arguments count from 0, and all of them count"));
            }
            Value::Ref(*other)
        }
    })
}

/// The variable that `name` means, and its bytes.
fn variable(program: &Program, name: &str) -> Result<(String, u64)> {
    let names = program
        .variables
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let found = lookup::find("variable", &names, name)?;
    let bytes = program
        .variables
        .iter()
        .find(|(name, _)| name == found)
        .map_or(0, |(_, bytes)| *bytes);
    Ok((found.to_owned(), bytes))
}

fn check_variable(name: &str, bytes: u64, shape: &Shape) -> Result<()> {
    if bytes == shape.bytes() {
        return Ok(());
    }
    let message = format!(
        "variable `{}` has {bytes} bytes, but {shape} has {}",
        shown(name),
        shape.bytes()
    );
    Err(Error::new(Category::Failed, refused(message)))
}

fn set_globals(request: &Request, program: &Program) -> Result<Vec<(String, Data)>> {
    let one = |set: &SetGlobal| {
        let (name, bytes) = variable(program, &set.name)?;
        let data = Data::open(&set.source)?;
        check_variable(&name, bytes, &data.shape)?;
        Ok((name, data))
    };
    request.set_globals.iter().map(one).collect()
}

fn get_globals(request: &Request, program: &Program) -> Result<Vec<(String, Shape)>> {
    let one = |get: &GetGlobal| {
        let (name, bytes) = variable(program, &get.name)?;
        check_variable(&name, bytes, &get.shape)?;
        Ok((name, get.shape.clone()))
    };
    request.get_globals.iter().map(one).collect()
}

fn expects(request: &Request, arguments: &[Argument]) -> Result<Vec<Expected>> {
    let one = |expect: &Expect| {
        let (_, buffer) = buffer_or_refuse(arguments, expect.argument, "--expect")?;
        let data = Data::open(&expect.source)?;
        if data.shape != buffer.shape {
            let message = format!(
                "argument {} is {}, but `{}` is {}",
                expect.argument, buffer.shape, expect.text, data.shape
            );
            return Err(Error::failed(Code::ResultDiffers, message));
        }
        let default = Tolerance::default_for(data.shape.kind);
        let tolerance = Tolerance {
            relative: request.rtol.unwrap_or(default.relative),
            absolute: request.atol.unwrap_or(default.absolute),
        };
        Ok(Expected {
            argument: expect.argument,
            text: expect.text.clone(),
            data,
            tolerance,
        })
    };
    request.expects.iter().map(one).collect()
}

/// A name as messages show it.
pub(super) fn shown(name: &str) -> String {
    demangled(name).unwrap_or_else(|| name.to_owned())
}

/// `4,6,1` is `4,6`, and `4,1,1` is `4`.
pub fn dims_text([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x},{y}"),
        _ => format!("{x},{y},{z}"),
    }
}

/// How many there are of three dimensions.
pub(super) fn volume(dims: [u32; 3]) -> u64 {
    dims.iter()
        .map(|&dim| u64::from(dim))
        .fold(1, u64::saturating_mul)
}

/// Whether each of `dims` is a multiple of its part in `of`.
pub(super) fn is_multiple(dims: [u32; 3], of: [u32; 3]) -> bool {
    dims.iter()
        .zip(of)
        .all(|(&dim, part)| part != 0 && dim.is_multiple_of(part))
}

impl LaunchPlan {
    fn new(
        request: &Request,
        program: &Program,
        target: Target,
        arguments: &[Argument],
        set_globals: &[(String, Data)],
        get_globals: &[(String, Shape)],
    ) -> Self {
        let kernel = &program.kernel;
        let block = match (request.block, kernel.required_threads) {
            (Some(Extent::Max) | None, Some(only)) => Size::Dims(only),
            (Some(block), _) => block.into(),
            (None, None) => Size::Dims([1, 1, 1]),
        };
        let mut plan = Self {
            kernel: kernel.name.clone(),
            demangled: demangled(&kernel.name),
            image: ImagePlan {
                id: program.id.clone(),
                kind: program.kind,
                arch: program.arch,
                size: program.bytes.len() as u64,
                linked: program.linked.clone(),
            },
            grid: request.grid.into(),
            block,
            cluster: kernel.cluster.or(request.cluster),
            blocks_are_clusters: kernel.blocks_are_clusters,
            cooperative: request.cooperative,
            attributes: request.attributes.iter().map(AttributePlan::new).collect(),
            shared: SharedPlan {
                fixed: static_shared(kernel, program.arch),
                dynamic: request.shared,
                limit: target.limits.shared_opt_in,
                opt_in: false,
            },
            registers: kernel.resources.registers,
            uses_grid_sync: kernel.uses_grid_sync,
            parameter_bytes: kernel.param_bytes,
            arguments: request
                .arguments
                .iter()
                .zip(&kernel.params)
                .zip(arguments)
                .map(|((spec, param), argument)| ArgumentPlan {
                    spec: spec.text.clone(),
                    offset: param.offset,
                    size: param.size,
                    value: argument.value.hex(),
                    buffer: argument.value.buffer(),
                })
                .collect(),
            globals: globals(request, set_globals, get_globals),
            capacity: None,
            target,
        };
        plan.shared.opt_in = plan.shared.total() > plan.target.limits.shared;
        plan
    }

    /// The name as messages show it.
    pub fn name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.kernel)
    }

    /// `grid 64, block 256, cluster 2, 1024 bytes of dynamic shared memory, cooperative`.
    pub fn configuration(&self) -> String {
        let mut text = format!("grid {}, block {}", self.grid, self.block);
        if let Some(cluster) = self.cluster {
            text.push_str(&format!(", cluster {}", dims_text(cluster)));
        }
        if self.shared.dynamic > 0 {
            text.push_str(&format!(
                ", {} bytes of dynamic shared memory",
                self.shared.dynamic
            ));
        }
        if self.cooperative {
            text.push_str(", cooperative");
        }
        text
    }

    /// Everything that keeps it from being launched, as far as can be told without the device.
    fn problems(&self, kernel: &Kernel, request: &Request) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        self.check_block(kernel, &mut out);
        self.check_grid(&mut out);
        self.check_cluster(kernel, request, &mut out);
        self.check_shared(&mut out);
        self.check_cooperation(&mut out);
        self.check_parameters(&mut out);
        out.into_iter()
            .map(|found| found.input(&self.image.id).symbol(&self.kernel))
            .collect()
    }

    fn check_block(&self, kernel: &Kernel, out: &mut Vec<Diagnostic>) {
        let Some(block) = self.block.dims() else {
            return;
        };
        let limits = &self.target.limits;
        let (threads, name) = (volume(block), self.name());
        let text = dims_text(block);
        if let Some(only) = kernel.required_threads.filter(|only| *only != block) {
            let message = format!(
                "`{name}` can be launched with block {} only, not {text}",
                dims_text(only)
            );
            out.push(refused(message));
            return;
        }
        let mut bounds = vec![(
            u64::from(limits.block_threads),
            format!("{} takes", self.target.name),
        )];
        if let Some(bound) = kernel.max_threads {
            bounds.push((volume(bound), format!("`{name}` was compiled for")));
        }
        if let Some(registers) = self.registers {
            let most = self.target.threads_for_registers(registers).into();
            bounds.push((
                most,
                format!("`{name}`, with {registers} registers a thread, takes"),
            ));
        }
        // The tightest bound is the one to name.
        bounds.sort_by_key(|(most, _)| *most);
        let tightest = bounds
            .into_iter()
            .next()
            .filter(|(most, _)| threads > *most);
        if let Some((most, who)) = tightest {
            out.push(refused(format!(
                "block {text} has {threads} threads, but {who} at most {most}"
            )));
        } else if let Some(at) = (0..3).find(|&at| block[at] > limits.block[at]) {
            let message = format!(
                "block {text} is over {} in {}",
                dims_text(limits.block),
                ["x", "y", "z"][at]
            );
            out.push(refused(message));
        }
    }

    fn check_grid(&self, out: &mut Vec<Diagnostic>) {
        let Some(grid) = self.grid.dims() else { return };
        let limits = self.target.limits.grid;
        if let Some(at) = (0..3).find(|&at| grid[at] > limits[at]) {
            let message = format!(
                "grid {} has {} blocks in {}, but {} takes at most {}",
                dims_text(grid),
                grid[at],
                ["x", "y", "z"][at],
                self.target.name,
                limits[at]
            );
            out.push(refused(message));
        }
    }

    fn check_cluster(&self, kernel: &Kernel, request: &Request, out: &mut Vec<Diagnostic>) {
        let name = self.name();
        let Some(cluster) = self.cluster else {
            if kernel.explicit_cluster {
                out.push(
                    refused(format!("`{name}` needs a cluster shape"))
                        .hint("give `--cluster X[,Y,Z]`"),
                );
            }
            return;
        };
        let text = dims_text(cluster);
        if let Some(given) = request.cluster.filter(|given| *given != cluster) {
            let message = format!(
                "`{name}` has clusters of {text}, not of {}",
                dims_text(given)
            );
            out.push(refused(message).hint("leave `--cluster` out"));
            return;
        }
        let limits = &self.target.limits;
        let most = limits.cluster_non_portable;
        let blocks = volume(cluster);
        if most == 0 {
            out.push(refused(format!(
                "{} has no clusters, which came with sm_90",
                self.target.name
            )));
        } else if blocks > most.into() {
            let message = format!(
                "cluster {text} has {blocks} blocks, but {} takes at most {most}",
                self.target.name
            );
            out.push(refused(message));
        }
        if let Some(bound) = kernel
            .max_cluster_rank
            .filter(|&bound| bound != 0 && blocks > bound.into())
        {
            let message = format!(
                "cluster {text} has {blocks} blocks, but `{name}` was compiled for at most {bound}"
            );
            out.push(refused(message));
        }
        self.check_multiple("cluster", cluster, out);
        let preferred = request
            .attributes
            .iter()
            .find(|a| a.kind == AttributeKind::PreferredCluster);
        if let Some(preferred) = preferred {
            if !is_multiple(preferred.value, cluster) {
                let message = format!(
                    "the preferred cluster {} is no multiple of cluster {text}",
                    dims_text(preferred.value)
                );
                out.push(refused(message));
            }
            self.check_multiple("preferred cluster", preferred.value, out);
        }
    }

    fn check_multiple(&self, what: &str, part: [u32; 3], out: &mut Vec<Diagnostic>) {
        let Some(grid) = self.grid.dims().filter(|grid| !is_multiple(*grid, part)) else {
            return;
        };
        let up: [u32; 3] = std::array::from_fn(|at| {
            grid[at]
                .checked_next_multiple_of(part[at])
                .unwrap_or(grid[at])
        });
        let message = format!(
            "grid {} is no multiple of {what} {}; the grid counts blocks",
            dims_text(grid),
            dims_text(part)
        );
        out.push(refused(message).hint(format!("the next one is `--grid {}`", dims_text(up))));
    }

    fn check_shared(&self, out: &mut Vec<Diagnostic>) {
        let shared = &self.shared;
        if shared.total() > shared.limit {
            out.push(self.shared_overflow());
        }
    }

    /// Too much shared memory, with the arithmetic.
    pub(super) fn shared_overflow(&self) -> Diagnostic {
        let shared = &self.shared;
        refused(format!(
            "{} bytes of static and {} of dynamic shared memory are {}, but {} takes at most {}",
            shared.fixed.unwrap_or(0),
            shared.dynamic,
            u64::from(shared.fixed.unwrap_or(0)) + u64::from(shared.dynamic),
            self.target.name,
            shared.limit
        ))
    }

    fn check_cooperation(&self, out: &mut Vec<Diagnostic>) {
        if self.cooperative && !self.target.cooperative {
            out.push(refused(format!(
                "{} has no cooperative launches",
                self.target.name
            )));
        }
        if self.uses_grid_sync == Some(true) && !self.cooperative {
            let message = format!(
                "`{}` synchronises its grid, which only a cooperative launch can",
                self.name()
            );
            out.push(refused(message).hint("add `--cooperative`"));
        }
    }

    fn check_parameters(&self, out: &mut Vec<Diagnostic>) {
        let Some(driver) = self
            .target
            .driver
            .filter(|_| self.parameter_bytes > SMALL_PARAMETERS)
        else {
            return;
        };
        let large = crate::ffi::driver::DriverVersion(12010);
        if driver < large {
            let message = format!(
                "`{}` has {} bytes of parameters, but drivers before CUDA {large} pass at most {SMALL_PARAMETERS}",
                self.name(),
                self.parameter_bytes
            );
            out.push(refused(message));
        }
    }
}

impl SharedPlan {
    /// As far as known.
    pub fn total(&self) -> u32 {
        self.fixed.unwrap_or(0).saturating_add(self.dynamic)
    }
}

impl AttributePlan {
    fn new(attribute: &Attribute) -> Self {
        let value = match attribute.kind {
            AttributeKind::PreferredCluster | AttributeKind::Cluster => dims_text(attribute.value),
            AttributeKind::Priority => (attribute.value[0] as i32).to_string(),
            _ => attribute.value[0].to_string(),
        };
        Self {
            name: attribute_name(attribute.kind).to_owned(),
            value,
        }
    }
}

impl Value {
    fn hex(&self) -> Option<String> {
        match self {
            Self::Bytes(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            _ => None,
        }
    }

    fn buffer(&self) -> Option<BufferPlan> {
        match self {
            Self::Buffer(direction, data) => Some(BufferPlan {
                direction: *direction,
                shape: data.shape.clone(),
                bytes: data.shape.bytes(),
            }),
            _ => None,
        }
    }
}

/// A cubin for sm_90 and later counts the kilobyte that the system keeps; the user does not.
fn static_shared(kernel: &Kernel, arch: Arch) -> Option<u32> {
    const KEPT: u64 = 1024;
    let shared = kernel.resources.shared?;
    let own = if arch.number >= 90 {
        shared.saturating_sub(KEPT)
    } else {
        shared
    };
    u32::try_from(own).ok()
}

fn globals(request: &Request, set: &[(String, Data)], get: &[(String, Shape)]) -> Vec<GlobalPlan> {
    let set = request
        .set_globals
        .iter()
        .zip(set)
        .map(|(asked, (name, data))| GlobalPlan {
            name: name.clone(),
            set: Some(asked.text.clone()),
            shape: data.shape.clone(),
        });
    let get = get.iter().map(|(name, shape)| GlobalPlan {
        name: name.clone(),
        set: None,
        shape: shape.clone(),
    });
    set.chain(get).collect()
}
