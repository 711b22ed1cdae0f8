//! What a result depends on, as a rule for make and ninja (`--depfile`, `-MD -MF -MT -MP`).

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::link::artifact;

/// Which rule is written where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Depfile {
    path: PathBuf,
    /// As they stand in the file.
    targets: Vec<String>,
    phony: bool,
}

/// The options, as they were given.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Build systems")]
pub struct DepfileFlags {
    /// Write the files that the result depends on as a rule for make and ninja (-MF)
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    /// The same, into a file named like the output, with `.d` (-MD)
    #[arg(long = "MD")]
    beside_output: bool,
    /// The target of that rule, as it is to stand there (-MT) [default: the output]
    #[arg(long = "MT", value_name = "TARGET")]
    target: Vec<String>,
    /// Add an empty rule for each file, so that one that is gone is no error (-MP)
    #[arg(long = "MP")]
    phony: bool,
}

impl DepfileFlags {
    pub fn is_wanted(&self) -> bool {
        self.depfile.is_some() || self.beside_output
    }

    /// Whether a depfile is wanted, and which.
    pub fn depfile(&self, output: &Path) -> Result<Option<Depfile>> {
        let to_stdout = output == Path::new("-");
        let path = match (&self.depfile, self.beside_output) {
            (None, false) if self.phony || !self.target.is_empty() => {
                return Err(
                    Error::usage("`-MT` and `-MP` shape a depfile, and none is written")
                        .hint("add `-MD` or `--depfile FILE`"),
                );
            }
            (None, false) => return Ok(None),
            (Some(path), _) => path.clone(),
            (None, true) if to_stdout => {
                return Err(
                    Error::usage("the output has no name, so its depfile has none")
                        .hint("name it with `--depfile FILE`"),
                );
            }
            (None, true) => output.with_extension("d"),
        };
        let targets = match &self.target[..] {
            [] if to_stdout => {
                return Err(Error::usage(
                    "the output has no name that a depfile could give a rule for",
                )
                .hint("say what depends on the inputs with `-MT TARGET`"));
            }
            [] => vec![escaped(output)?],
            given => given.to_vec(),
        };
        Ok(Some(Depfile {
            path,
            targets,
            phony: self.phony,
        }))
    }
}

impl Depfile {
    /// Writes the rule. Call it when the output is there.
    pub fn write(&self, files: &[PathBuf]) -> Result<()> {
        artifact::write(&self.path, self.text(files)?.as_bytes())
    }

    fn text(&self, files: &[PathBuf]) -> Result<String> {
        let files = files
            .iter()
            .map(|file| escaped(file))
            .collect::<Result<Vec<String>>>()?;
        // For make, `out: a=b` sets a variable; behind another name it does not.
        let Some(first) = files.iter().position(|file| !file.contains('=')) else {
            return Err(Error::usage(
                "every input has a `=` in its name, so no rule of make can name them",
            ));
        };
        let mut text = self.targets.join(" ") + ":";
        for file in files[first..].iter().chain(&files[..first]) {
            text += &format!(" \\\n  {file}");
        }
        text.push('\n');
        if self.phony {
            // Without its main input there is nothing to make.
            for file in files.iter().skip(1) {
                text += &format!("\n{file}:\n");
            }
        }
        Ok(text)
    }
}

/// A name as make and ninja both read it (tried with GNU make 4.3 and ninja 1.13): blanks, the backslashes before them,
/// `#` and `:` behind a backslash, `$` doubled. With `;`, `|`, or a backslash before `#` or `:` make stops and ninja always
/// builds, and nothing is out of date.
fn escaped(path: &Path) -> Result<String> {
    let unwritable = |why: &str| {
        let name = path.display().to_string();
        Error::usage(format!(
            "`{}` {why}, so no depfile can name it",
            name.escape_debug()
        ))
    };
    let name = path
        .to_str()
        .ok_or_else(|| unwritable("is not valid UTF-8"))?;
    let mut out = String::with_capacity(name.len());
    let mut backslashes = 0;
    for (index, c) in name.char_indices() {
        let is_drive = cfg!(windows) && index == 1;
        match c {
            '\n' | '\r' | '\0' => return Err(unwritable("holds a line break")),
            ' ' | '\t' => {
                out.extend(std::iter::repeat_n('\\', backslashes + 1));
            }
            '#' => out.push('\\'),
            ':' if !is_drive => out.push('\\'),
            '$' => out.push('$'),
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(phony: bool, target: &[&str]) -> DepfileFlags {
        DepfileFlags {
            beside_output: true,
            phony,
            target: target.iter().map(|&target| target.to_owned()).collect(),
            ..DepfileFlags::default()
        }
    }

    fn text(flags: &DepfileFlags, files: &[&str]) -> Result<String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let depfile = flags.depfile(Path::new("o ut.cubin")).unwrap().unwrap();
        assert_eq!(depfile.path, Path::new("o ut.d"));
        depfile.text(&files)
    }

    #[test]
    fn rules() {
        assert_eq!(
            text(&flags(false, &[]), &["a.o", "b c.h"]).unwrap(),
            "o\\ ut.cubin: \\\n  a.o \\\n  b\\ c.h\n"
        );
        assert_eq!(
            text(&flags(true, &["$(X)", "y"]), &["a.o", "b.h"]).unwrap(),
            "$(X) y: \\\n  a.o \\\n  b.h\n\nb.h:\n"
        );
        assert_eq!(
            text(&flags(false, &["x"]), &["a=b", "c", "d=e"]).unwrap(),
            "x: \\\n  c \\\n  d=e \\\n  a=b\n"
        );
        assert!(text(&flags(false, &[]), &["a=b"]).is_err());
        assert!(text(&flags(false, &[]), &["a", "b\nc"]).is_err());
    }

    #[test]
    fn names_are_escaped() {
        let escaped = |name: &str| escaped(Path::new(name)).unwrap();
        assert_eq!(escaped("a#b$c:d"), "a\\#b$$c\\:d");
        assert_eq!(escaped("a\\b \\ c"), "a\\b\\ \\\\\\ c");
    }

    #[test]
    fn standard_output_has_no_name() {
        let depfile = |flags: &DepfileFlags| flags.depfile(Path::new("-"));
        assert_eq!(depfile(&DepfileFlags::default()).unwrap(), None);
        assert!(depfile(&flags(false, &["x"])).is_err());
        let named = DepfileFlags {
            depfile: Some("d".into()),
            ..DepfileFlags::default()
        };
        assert!(depfile(&named).is_err());
    }
}
