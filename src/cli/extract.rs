use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Context;
use super::inspect::{Select, nothing_selected, unknown_kernel};
use crate::bytes::Blob;
use crate::code::{Arch, ExpandOptions, Image, ImageData, ImageKind, ObjectCode, Visitor};
use crate::error::{Category, Code, Diagnostic, Error, Result, Severity};
use crate::format::compress::Limits;
use crate::format::fatbin::single_entry_container;
use crate::inspect::{Selection, has_function};
use crate::observe::Observer;
use crate::ui::Printer;

/// Write the images in a file out as files of their own
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cudalink extract libfoo.so -o images             libfoo.1.sm_80.cubin, libfoo.2.sm_90.cubin, ...
  cudalink extract --arch sm_90 --kind cubin libfoo.so -o - > foo.cubin

LTO-IR that is stored compressed only NVIDIA's libraries can unpack; it is written as a fatbin of one
image, which they take.")]
pub struct Opts {
    /// Files, archives, wheels or folders; `-` is standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    select: Select,
    /// The folder to write to, made if it is not there; `-` writes the one selected image to stdout
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Overwrite files that are there already
    #[arg(long)]
    force: bool,
}

impl Opts {
    pub fn run(self, context: &Context) -> Result<ExitCode> {
        let printer = context.printer;
        let mut target: Box<dyn Target> = if self.output == Path::new("-") {
            Box::new(Stdout {
                printer,
                image: None,
            })
        } else {
            Box::new(Folder::new(&self.output, self.force)?)
        };
        let selection = self.select.selection();
        let mut job = Job {
            selection: &selection,
            printer,
            target: &mut *target,
            stem: String::new(),
            stems: HashMap::new(),
            number: 0,
            archs: BTreeSet::new(),
            taken: 0,
            written: 0,
            damaged: false,
            failed: None,
        };
        for path in &self.inputs {
            job.input(path);
            if let Some(error) = job.failed.take() {
                return Err(error);
            }
        }
        job.finish()
    }
}

/// Where images go.
trait Target {
    fn write(&mut self, name: &str, bytes: Blob) -> Result<()>;
    /// All images were written, `count` of them.
    fn finish(&mut self, count: usize, printer: Printer) -> Result<()>;
}

struct Folder {
    path: PathBuf,
    force: bool,
}

impl Folder {
    fn new(path: &Path, force: bool) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(|error| Error::io(path, "create", &error))?;
        Ok(Self {
            path: path.to_owned(),
            force,
        })
    }
}

impl Target for Folder {
    /// Under its name at once and whole, or not at all.
    fn write(&mut self, name: &str, bytes: Blob) -> Result<()> {
        let path = self.path.join(name);
        let failed = |error: &std::io::Error| Error::io(&path, "write", error);
        let mut file = new_file(&self.path).map_err(|e| failed(&e))?;
        file.write_all(&bytes).map_err(|e| failed(&e))?;
        let kept = if self.force {
            file.persist(&path)
        } else {
            file.persist_noclobber(&path)
        };
        match kept {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::failed(
                    Code::OutputUnwritable,
                    format!("`{}` is there already", path.display()),
                )
                .hint("choose another folder, or overwrite with `--force`"))
            }
            Err(error) => Err(failed(&error.error)),
        }
    }

    fn finish(&mut self, count: usize, printer: Printer) -> Result<()> {
        let images = if count == 1 { "image" } else { "images" };
        printer.status(&format!(
            "{count} {images} written to {}",
            self.path.display()
        ));
        Ok(())
    }
}

/// A temporary file that gets, once kept, the permissions of any new file.
fn new_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".cudalink-").tempfile_in(folder)
}

/// Holds the image back until it is known to be the only one.
struct Stdout {
    printer: Printer,
    image: Option<Blob>,
}

impl Target for Stdout {
    fn write(&mut self, _: &str, bytes: Blob) -> Result<()> {
        match self.image.replace(bytes) {
            None => Ok(()),
            Some(_) => Err(
                Error::usage("stdout takes one image, but several are selected")
                    .hint("select one with `--arch` and `--kind`, or name a folder with `-o`"),
            ),
        }
    }

    fn finish(&mut self, _: usize, _: Printer) -> Result<()> {
        match self.image.take() {
            Some(bytes) => self.printer.binary(&bytes),
            None => Ok(()),
        }
    }
}

struct Job<'j> {
    selection: &'j Selection,
    printer: Printer,
    target: &'j mut dyn Target,
    /// Start of the file names for the input at hand.
    stem: String,
    /// How many inputs had this stem so far.
    stems: HashMap<String, usize>,
    /// Of the image in its input, from 1, counting those that are not selected.
    number: usize,
    archs: BTreeSet<Arch>,
    /// Images that the selection took by architecture and kind.
    taken: usize,
    written: usize,
    damaged: bool,
    failed: Option<Error>,
}

impl Job<'_> {
    fn input(&mut self, path: &Path) {
        match ObjectCode::open(path) {
            Ok(object) => {
                self.stem = self.unused_stem(&object.name);
                self.number = 0;
                object.visit(&ExpandOptions::default(), self);
                if self.number == 0 && !self.damaged {
                    let note = Diagnostic::note(Code::NoDeviceCode, "no device code");
                    self.printer.diagnostic(&note.input(&object.name));
                }
            }
            Err(error) => {
                self.printer.error(&error);
                self.damaged = true;
            }
        }
    }

    /// Inputs of one name from several folders must not end in one file.
    fn unused_stem(&mut self, name: &str) -> String {
        let stem = stem(name);
        let count = self.stems.entry(stem.clone()).or_default();
        *count += 1;
        match *count {
            1 => stem,
            count => format!("{stem}-{count}"),
        }
    }

    fn take(&mut self, image: &Image) -> Result<()> {
        let bytes = match &image.data {
            ImageData::Opaque { entry } => single_entry_container(entry, &[]).into(),
            _ => image.unpack(Limits::default())?,
        };
        if !self.selection.kernels.is_empty() && !has_function(image, &bytes, self.selection)? {
            return Ok(());
        }
        self.written += 1;
        self.target.write(&self.file_name(image), bytes)
    }

    /// `libfoo.3.sm_90.cubin`. Names in the input take no part but as its own stem, made harmless.
    fn file_name(&self, image: &Image) -> String {
        let arch = image.arch.map_or(String::new(), |arch| format!(".{arch}"));
        let extension = match (&image.data, image.kind) {
            (ImageData::Opaque { .. }, _) => "fatbin",
            (_, ImageKind::Cubin) => "cubin",
            (_, ImageKind::Ptx) => "ptx",
            (_, ImageKind::LtoIr) => "ltoir",
            (_, ImageKind::NvvmIr) => "bc",
            (_, ImageKind::TileIr) => "tileir",
            (_, ImageKind::Index | ImageKind::Unknown) => "bin",
        };
        format!("{}.{}{arch}.{extension}", self.stem, self.number)
    }

    fn finish(self) -> Result<ExitCode> {
        if self.written == 0 && !self.damaged {
            if !self.archs.is_empty() && self.taken == 0 {
                return Err(nothing_selected(&self.archs));
            }
            if self.taken > 0 {
                return Err(unknown_kernel(self.selection));
            }
        }
        self.target.finish(self.written, self.printer)?;
        if self.damaged {
            return Ok(ExitCode::from(Category::Damaged.exit_code()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Visitor for Job<'_> {
    fn image(&mut self, image: Image) {
        self.number += 1;
        self.archs.extend(image.arch);
        if self.failed.is_some() || !self.selection.takes_image(image.kind, image.arch) {
            return;
        }
        self.taken += 1;
        match self.take(&image) {
            Ok(()) => {}
            // The other images may be whole.
            Err(error) if error.category == Category::Damaged => {
                self.printer.error(&error);
                self.damaged = true;
            }
            Err(error) => self.failed = Some(error),
        }
    }

    fn problem(&mut self, problem: Diagnostic) {
        self.damaged |= problem.severity == Severity::Error;
        self.printer.diagnostic(&problem);
    }
}

/// The name of a file without its extensions, as far as it is harmless in every file system.
fn stem(name: &str) -> String {
    const LONGEST: usize = 64;
    let name = name.rsplit(['/', '\\']).find(|part| !part.is_empty());
    let name = name.unwrap_or_default().trim_matches(['<', '>']);
    // `libfoo.so.12` as well as `foo.cubin`.
    let stem = name
        .split('.')
        .find(|part| !part.is_empty())
        .unwrap_or("image");
    stem.chars()
        .take(LONGEST)
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_+".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_harmless() {
        for (name, expected) in [
            ("dir/libfoo.so.12", "libfoo"),
            ("<stdin>", "stdin"),
            ("../..", "image"),
            ("C:\\a b\\kern\u{e4}l.cubin", "kern_l"),
            ("dir/", "dir"),
            ("", "image"),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
