use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::code::{
    Arch, Common, Compression, Function, ImageKind, Kernel, Loadable, Producer, Resources, Symbol,
};
use crate::error::{Diagnostic, Result};
use crate::format::Kind;

/// The version of the JSON layout. Keys may be added under one version; none is renamed or reused.
pub const SCHEMA_VERSION: u32 = 1;

/// What `cudalink inspect --format json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    pub schema_version: u32,
    pub tool: Tool,
    pub inputs: Vec<Input>,
}

impl Report {
    /// The JSON schema of what is written: keys that are always there are required, null or not.
    pub fn schema() -> schemars::Schema {
        schemars::generate::SchemaSettings::draft2020_12()
            .for_serialize()
            .into_generator()
            .into_root_schema_for::<Self>()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

impl Tool {
    pub fn this() -> Self {
        Self {
            name: "cudalink".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// One file, archive, package or folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Input {
    #[serde(flatten)]
    pub source: Source,
    pub images: Vec<ImageReport>,
    /// Findings about the input as a whole; those about one image stand with it.
    pub warnings: Vec<Diagnostic>,
}

/// What is known of an input before its images are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// As given on the command line, `<stdin>` for standard input.
    pub path: String,
    pub kind: Kind,
    /// The variant within the kind: `ELF64 x86-64`.
    pub format: String,
    /// The architecture of the host code around the device code.
    pub host_arch: Option<String>,
    /// In bytes.
    pub size: u64,
}

/// One image. What was not asked for, or its kind does not have, is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImageReport {
    /// Unique within the input: `libx.a(b.o):.nv_fatbin[3]`.
    pub id: String,
    /// Path of containers inside the input, outermost first.
    pub member: Option<String>,
    /// Section of the host file.
    pub section: Option<String>,
    /// Of the fatbin entry or the image, in the innermost file.
    pub offset: u64,
    pub kind: ImageKind,
    /// The number of a kind without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind_number: Option<u16>,
    pub arch: Option<Arch>,
    /// Which part of the file told the architecture.
    pub arch_source: Option<String>,
    pub loadable: Loadable,
    /// Whether it is input for a device link; null when only its own bytes, which were not read, tell.
    pub relocatable: Option<bool>,
    pub compression: Compression,
    /// Bytes in the file, padding included.
    pub stored_size: u64,
    /// Bytes once unpacked.
    pub size: u64,
    /// The identifier recorded with it, often a source path.
    pub name: Option<String>,
    /// The options recorded with it.
    pub options: Option<String>,
    pub debug: bool,
    pub producer: Producer,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Vec<Kernel>>,
    /// Device functions that were not inlined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<Function>>,
    /// What all its functions share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common: Option<Common>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Vec<Symbol>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<SectionReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relocations: Option<Vec<RelocationReport>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Diagnostic>,
}

/// A kernel or a device function.
#[derive(Debug, Clone, Copy)]
pub struct AnyFunction<'a> {
    pub name: &'a str,
    pub demangled: Option<&'a str>,
    pub is_kernel: bool,
    pub resources: &'a Resources,
    order: u32,
}

impl ImageReport {
    /// Kernels and device functions as the file has them, as far as they were asked for.
    pub fn in_file_order(&self) -> Vec<AnyFunction<'_>> {
        let kernels = self.kernels.iter().flatten().map(|kernel| AnyFunction {
            name: &kernel.name,
            demangled: kernel.demangled.as_deref(),
            is_kernel: true,
            resources: &kernel.resources,
            order: kernel.order,
        });
        let functions = self.functions.iter().flatten().map(|function| AnyFunction {
            name: &function.name,
            demangled: function.demangled.as_deref(),
            is_kernel: false,
            resources: &function.resources,
            order: function.order,
        });
        let mut all: Vec<_> = kernels.chain(functions).collect();
        all.sort_by_key(|function| function.order);
        all
    }
}

/// A section of a cubin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionReport {
    pub index: u32,
    pub name: String,
    /// `PROGBITS`, `CUDA_INFO`; a type without a name is a number such as `0x70000083`.
    #[serde(rename = "type")]
    pub kind: String,
    pub flags: u64,
    pub offset: u64,
    /// In memory; zero-fill sections have no bytes in the file.
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RelocationReport {
    /// The section that is relocated.
    pub section: Arc<str>,
    pub offset: u64,
    /// `R_CUDA_ABS32_LO_32`; a type without a name is a number.
    #[serde(rename = "type")]
    pub kind: String,
    pub symbol: Arc<str>,
    /// Absent where the instruction holds it.
    pub addend: Option<i64>,
}

/// Receives a report piece by piece, in the order of the inputs and of the images in them.
pub trait Sink {
    fn source(&mut self, source: &Source) -> Result<()>;
    fn image(&mut self, image: ImageReport) -> Result<()>;
    /// The input that [`Sink::source`] began is done.
    fn end(&mut self, warnings: Vec<Diagnostic>) -> Result<()>;
}

impl Default for Report {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool: Tool::this(),
            inputs: Vec::new(),
        }
    }
}

impl Sink for Report {
    fn source(&mut self, source: &Source) -> Result<()> {
        self.inputs.push(Input {
            source: source.clone(),
            images: Vec::new(),
            warnings: Vec::new(),
        });
        Ok(())
    }

    fn image(&mut self, image: ImageReport) -> Result<()> {
        if let Some(input) = self.inputs.last_mut() {
            input.images.push(image);
        }
        Ok(())
    }

    fn end(&mut self, warnings: Vec<Diagnostic>) -> Result<()> {
        if let Some(input) = self.inputs.last_mut() {
            input.warnings = warnings;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A plain image of which nothing was read.
    pub(in crate::inspect) fn image(id: &str) -> ImageReport {
        ImageReport {
            id: id.to_owned(),
            member: None,
            section: None,
            offset: 0,
            kind: ImageKind::Cubin,
            kind_number: None,
            arch: None,
            arch_source: None,
            loadable: Loadable::Yes,
            relocatable: None,
            compression: Compression::None,
            stored_size: 1,
            size: 1,
            name: None,
            options: None,
            debug: false,
            producer: Producer::default(),
            kernels: None,
            functions: None,
            common: None,
            symbols: None,
            sections: None,
            relocations: None,
            warnings: Vec::new(),
        }
    }
}
