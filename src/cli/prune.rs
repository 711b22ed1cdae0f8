use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Context;
use super::link::refuse_as_output;
use crate::code::{ExpandOptions, Image, ObjectCode};
use crate::error::{Code, Diagnostic, Error, Result};
use crate::link::artifact;
use crate::observe::Observer;
use crate::pack::{Keep, Pruned, prune};
use crate::ui::table::human_bytes;

/// Drop images from a file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cudalink prune libfoo.a --keep sm_80,sm_90,compute_90 -o small/libfoo.a
  cudalink prune app.fatbin --keep 9.0 -o app.90.fatbin       everything for 9.0: cubins, PTX, LTO-IR

sm_90 keeps cubins, compute_90 PTX, lto_90 LTO-IR, and 90 or 9.0 all of them; a suffix is a part of the name. Fatbins,
objects and archives get smaller. Executables and shared libraries keep their size, with zeros for what was dropped,
which a wheel or a file with holes stores for nothing; their signatures, if any, are no longer right.")]
pub struct Opts {
    /// A fatbin, an object, an archive, an executable or a shared library; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The images to keep, by architecture
    #[arg(long, value_name = "ARCH", value_delimiter = ',', required = true)]
    keep: Vec<Keep>,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let printer = context.printer;
        let input = ObjectCode::open(&self.input)?;
        refuse_as_output(std::slice::from_ref(&input), &self.output)?;
        let pruned = prune(&input, &self.keep)?;
        let stay = verify(&input, &pruned, &self.keep)?;
        if stay > 0 {
            let message = format!(
                "{stay} images outside of fatbin sections or stored together with others stay"
            );
            printer.diagnostic(&Diagnostic::warning(Code::UnusedInput, message).input(&input.name));
        }
        if pruned.emptied > 0 {
            let message = format!("{} fatbins have no image left", pruned.emptied);
            let finding = Diagnostic::warning(Code::ArchMissing, message).input(&input.name);
            printer.diagnostic(&finding.hint("their kernels cannot be launched on any device"));
        }
        if self.output == Path::new("-") {
            printer.binary(&pruned.bytes)?;
        } else {
            artifact::write(&self.output, &pruned.bytes)?;
        }
        let (before, after) = (input.blob.len() as u64, pruned.bytes.len() as u64);
        let size = match pruned.in_place {
            true if before == after => {
                format!("{}, with zeros for what was dropped", human_bytes(after))
            }
            _ => format!("{} instead of {}", human_bytes(after), human_bytes(before)),
        };
        printer.status(&format!(
            "kept {} of {} images: {size}",
            pruned.kept,
            pruned.kept + pruned.dropped
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes sure that all that was to be kept is there, unchanged, and counts what is there beside it.
fn verify(input: &ObjectCode, pruned: &Pruned, keep: &[Keep]) -> Result<usize> {
    let output = ObjectCode::from_blob(&input.name, pruned.bytes.clone().into());
    let (before, after) = (images(input), images(&output));
    let is_kept = |image: &&Image| keep.iter().any(|rule| rule.takes(image.kind, image.arch));
    let told = |image: &Image| {
        (
            image.kind,
            image.arch,
            image.size,
            image.stored_size,
            image.name.clone(),
        )
    };
    let wanted: Vec<_> = before.iter().filter(is_kept).map(told).collect();
    let there: Vec<_> = after.iter().filter(is_kept).map(told).collect();
    if wanted != there {
        return Err(
            Error::failed(Code::Internal, "images were lost; nothing is written")
                .input(&input.name),
        );
    }
    Ok(after.len() - there.len())
}

fn images(object: &ObjectCode) -> Vec<Image> {
    object.expand(&ExpandOptions::default()).images
}
