use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Context;
use super::link::refuse_as_output;
use crate::code::{Arch, ExpandOptions, ImageKind, ObjectCode};
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::link::artifact;
use crate::observe::Observer;
use crate::pack::{Codec, HostTarget, Packable, pack, symbol_from_name, write_object};
use crate::ui::Printer;

/// Make a fatbin of images, or a host object that carries one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cudalink pack a.sm_80.cubin a.sm_90a.cubin a.ptx -o a.fatbin
  cudalink pack sm_100f=a.cubin -o a.fatbin          a family, which cubins do not always tell of themselves
  cudalink pack --emit object a.fatbin -o a.o        for a C program: extern const char a[]; cuModuleLoadData(&m, a)

LTO-IR is stored as it is, since only NVIDIA's tools know how they compress it.")]
pub struct Opts {
    /// Cubins, PTX, LTO-IR, or files that hold them, each with `ARCH=` before it where it does not tell; `-` is
    /// standard input
    #[arg(value_name = "[ARCH=]IMAGE", required = true)]
    images: Vec<String>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What to make
    #[arg(long, value_name = "KIND", value_enum, default_value_t)]
    emit: Emit,
    /// How images are stored
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    compress: Codec,
    #[command(flatten)]
    object: ObjectFlags,
}

/// Flags of `--emit object`.
#[derive(Debug, clap::Args)]
pub struct ObjectFlags {
    /// The symbol that stands for the fatbin in an object [default: from the output's name]
    #[arg(long, value_name = "NAME")]
    symbol: Option<String>,
    /// What an object is for, such as x86_64-linux or aarch64-windows [default: this machine]
    #[arg(long, value_name = "TARGET")]
    host_target: Option<HostTarget>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    #[default]
    Fatbin,
    /// A host object with the fatbin in `.nv_fatbin`
    Object,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let printer = context.printer;
        if self.emit != Emit::Object {
            self.object.refuse()?;
        }
        let (inputs, images) = self.read(printer)?;
        refuse_as_output(&inputs, &self.output)?;
        let fatbin = pack(&images, self.compress)?;
        let bytes = match self.emit {
            Emit::Fatbin => fatbin,
            Emit::Object => self.object.write(&fatbin, &self.output)?,
        };
        if self.output == Path::new("-") {
            printer.binary(&bytes)?;
        } else {
            artifact::write(&self.output, &bytes)?;
        }
        let images: Vec<String> = images.iter().map(Packable::describe).collect();
        printer.status(&format!("packed {}", images.join(", ")));
        Ok(ExitCode::SUCCESS)
    }

    fn read(&self, printer: Printer) -> Result<(Vec<ObjectCode>, Vec<Packable>)> {
        let mut inputs = Vec::new();
        let mut images = Vec::new();
        for image in &self.images {
            let (arch, path) = split(image);
            let input = ObjectCode::open(path)?;
            images.extend(packable(&input, arch, printer)?);
            inputs.push(input);
        }
        Ok((inputs, images))
    }
}

/// `sm_90a=FILE`, unless there is a file of all that.
fn split(text: &str) -> (Option<Arch>, &Path) {
    let said = text.split_once('=').filter(|_| !Path::new(text).exists());
    let said = said.and_then(|(arch, path)| Some((arch.parse().ok()?, path)));
    match said {
        Some((arch, path)) => (Some(arch), Path::new(path)),
        None => (None, Path::new(text)),
    }
}

fn packable(input: &ObjectCode, arch: Option<Arch>, printer: Printer) -> Result<Vec<Packable>> {
    let expansion = input.expand(&ExpandOptions::default());
    let (errors, others): (Vec<Diagnostic>, Vec<_>) = expansion
        .problems
        .into_iter()
        .partition(|problem| problem.severity == Severity::Error);
    others
        .iter()
        .for_each(|problem| printer.diagnostic(problem));
    if let Some(error) = Error::from_diagnostics(Category::Damaged, errors) {
        return Err(error);
    }
    // An index describes the images beside it and is made for them.
    let images = expansion
        .images
        .iter()
        .filter(|image| image.kind != ImageKind::Index);
    let images: Vec<Packable> = images
        .map(|image| Packable::new(image, arch))
        .collect::<Result<_>>()?;
    if images.is_empty() {
        return Err(Error::failed(Code::NoDeviceCode, "no device code").input(&input.name));
    }
    Ok(images)
}

impl ObjectFlags {
    /// Refuses the flags where no object is made.
    pub fn refuse(&self) -> Result<()> {
        let given = [
            (self.symbol.is_some(), "--symbol"),
            (self.host_target.is_some(), "--host-target"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Error::usage(format!("`{flag}` is for `--emit object`"))),
            None => Ok(()),
        }
    }

    /// The object that carries a fatbin.
    pub fn write(&self, fatbin: &[u8], output: &Path) -> Result<Vec<u8>> {
        let target = match self.host_target {
            Some(target) => target,
            None => HostTarget::current()?,
        };
        let symbol = match &self.symbol {
            Some(symbol) if is_identifier(symbol) => symbol.clone(),
            Some(symbol) => {
                return Err(Error::usage(format!("`{symbol}` is no C identifier")));
            }
            None if output == Path::new("-") => {
                return Err(Error::usage("an object for stdout needs `--symbol NAME`"));
            }
            None => symbol_from_name(output),
        };
        write_object(fatbin, &symbol, target)
    }
}

fn is_identifier(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty() && text.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_may_stand_before_a_file() {
        assert_eq!(
            split("sm_100f=a.cubin"),
            (Some(Arch::family(100)), Path::new("a.cubin"))
        );
        assert_eq!(split("a=b.cubin"), (None, Path::new("a=b.cubin")));
        assert_eq!(split("a.cubin"), (None, Path::new("a.cubin")));
        assert!(
            is_identifier("_a1")
                && !is_identifier("1a")
                && !is_identifier("")
                && !is_identifier("a-b")
        );
    }
}
