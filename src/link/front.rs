//! Inputs that are compiled before they are linked: CUDA C++ and NVVM IR.

use rayon::prelude::*;

use crate::bytes::Blob;
use crate::code::{Arch, ExpandOptions, ObjectCode};
use crate::compile::{
    self, CodeOptions, Compiled, CudaOptions, Module, NvvmOptions, Output, Program,
};
use crate::error::{Code, Error, Result};
use crate::format::Kind;
use crate::link::options::Options;
use crate::link::picked::Picked;

/// Options of CUDA C++ alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// Folders of headers (`-I`).
    pub include: Vec<std::path::PathBuf>,
    /// `-D`
    pub define: Vec<String>,
    /// `-U`
    pub undefine: Vec<String>,
    pub std: Option<String>,
    pub name_expressions: Vec<String>,
    /// `-Xnvrtc`
    pub nvrtc: Vec<String>,
}

impl SourceOptions {
    /// The options that are given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            (!self.include.is_empty(), "-I"),
            (!self.define.is_empty(), "-D"),
            (!self.undefine.is_empty(), "-U"),
            (self.std.is_some(), "--std"),
            (!self.name_expressions.is_empty(), "--name-expression"),
            (!self.nvrtc.is_empty(), "-Xnvrtc"),
        ];
        options
            .into_iter()
            .filter_map(|(given, option)| given.then_some(option))
    }
}

/// Whether an input must be compiled first.
pub(super) fn is_source(kind: Kind) -> bool {
    matches!(kind, Kind::CudaSource | Kind::NvvmIr)
}

/// How sources are compiled for one link.
pub(super) struct FrontEnd<'a> {
    pub target: Arch,
    pub lto: bool,
    pub options: &'a Options,
    pub sources: &'a SourceOptions,
    pub tools: compile::Tools<'a>,
}

/// What was compiled, and what came of it.
pub(super) struct FromSource {
    pub picked: Picked,
    pub compiled: Compiled,
}

impl FrontEnd<'_> {
    fn output(&self) -> Output {
        match self.lto {
            true => Output::LtoIr,
            false => Output::Ptx,
        }
    }

    fn code(&self) -> CodeOptions {
        let options = self.options;
        CodeOptions {
            debug: options.debug,
            ftz: options.ftz,
            prec_div: options.prec_div,
            prec_sqrt: options.prec_sqrt,
            fma: options.fma,
            jump_table_density: options.jump_table_density,
        }
    }

    /// Compiles the CUDA C++ among the inputs, side by side. Every error of every source is told.
    pub fn cuda(&self, inputs: &[ObjectCode]) -> Result<Vec<FromSource>> {
        let options = CudaOptions {
            code: self.code(),
            lineinfo: self.options.lineinfo,
            include: self.sources.include.clone(),
            define: self.sources.define.clone(),
            undefine: self.sources.undefine.clone(),
            std: self.sources.std.clone(),
            name_expressions: self.sources.name_expressions.clone(),
            nvrtc: self.sources.nvrtc.clone(),
        };
        let sources: Vec<(usize, &ObjectCode)> = inputs
            .iter()
            .enumerate()
            .filter(|(_, input)| input.kind() == Kind::CudaSource)
            .collect();
        let compile = |&(index, input): &(usize, &ObjectCode)| {
            let source = compile::Source {
                name: &input.name,
                text: &input.blob,
            };
            let compiled =
                compile::cuda(source, self.target, self.output(), &options, &self.tools)?;
            from_source(index, &input.name, compiled)
        };
        // The first may fetch the compiler; the others then find it.
        let Some((first, others)) = sources.split_first() else {
            return Ok(Vec::new());
        };
        let mut results = vec![compile(first)];
        results.par_extend(others.par_iter().map(compile));
        all(results)
    }

    /// Compiles the NVVM IR among the inputs as one program. What has no kernels gives only what the other inputs lack,
    /// unless there are no others.
    pub fn nvvm(&self, inputs: &[ObjectCode], wanted: &[String]) -> Result<Option<FromSource>> {
        let all: Vec<(usize, &ObjectCode)> = inputs
            .iter()
            .enumerate()
            .filter(|(_, input)| input.kind() == Kind::NvvmIr)
            .collect();
        let Some(&(first, _)) = all.first() else {
            return Ok(None);
        };
        let alone = all.len() == inputs.len()
            && all
                .iter()
                .all(|(_, input)| compile::is_library(&input.blob));
        let (libraries, modules): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|(_, input)| !alone && compile::is_library(&input.blob));
        let module = |(_, input): &(usize, &ObjectCode)| -> (String, Blob) {
            (input.name.clone(), input.blob.clone())
        };
        let (libraries, modules): (Vec<_>, Vec<_>) = (
            libraries.iter().map(module).collect(),
            modules.iter().map(module).collect(),
        );
        let program = Program {
            modules: &as_modules(&modules),
            libraries: &as_modules(&libraries),
            wanted,
        };
        let options = NvvmOptions {
            code: self.code(),
            optimize: self.options.optimize,
            nvvm_latest: self.options.nvvm_latest,
            drop_unused_variables: self.options.drop_unused_variables,
            nvvm: self.options.nvvm.clone(),
        };
        let compiled = compile::nvvm(&program, self.target, self.output(), &options, &self.tools)?;
        let name: Vec<&str> = all.iter().map(|(_, input)| input.name.as_str()).collect();
        compiled
            .map(|compiled| from_source(first, &name.join(" + "), compiled))
            .transpose()
    }
}

fn as_modules(modules: &[(String, Blob)]) -> Vec<Module<'_>> {
    modules
        .iter()
        .map(|(name, bytes)| Module { name, bytes })
        .collect()
}

fn from_source(input: usize, name: &str, compiled: Compiled) -> Result<FromSource> {
    let code = ObjectCode::from_blob(name, compiled.code.clone());
    let image = code
        .expand(&ExpandOptions::default())
        .images
        .into_iter()
        .next();
    let image = image.ok_or_else(|| {
        Error::failed(Code::Internal, "what the compiler made holds no image").input(name)
    })?;
    let picked = Picked {
        name: name.to_owned(),
        input,
        bytes: compiled.code.clone(),
        image,
    };
    Ok(FromSource { picked, compiled })
}

/// All results, or all errors in one.
fn all(results: Vec<Result<FromSource>>) -> Result<Vec<FromSource>> {
    let mut made = Vec::new();
    let mut failed: Option<Error> = None;
    for result in results {
        match (result, &mut failed) {
            (Ok(one), _) => made.push(one),
            (Err(error), None) => failed = Some(error),
            (Err(error), Some(failed)) => {
                failed.category = failed.category.max(error.category);
                failed.diagnostics.extend(error.diagnostics);
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(made),
    }
}
