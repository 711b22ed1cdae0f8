use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::bytes::STDIN_NAME;
use crate::code::ObjectCode;
use crate::error::{Category, Error, Result};
use crate::format::Kind;
use crate::link::search;

/// Inputs and libraries in the order of the command line, which decides which of several weak definitions wins.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    list: Vec<Named>,
    pub folders: Vec<PathBuf>,
    kinds: Vec<(Kind, PathBuf)>,
    name: Option<String>,
}

#[derive(Debug, Clone)]
enum Named {
    File(PathBuf),
    /// `-l`
    Library(String),
}

impl Inputs {
    /// Opens all of them. Every one that cannot be opened is told of.
    pub fn open(&self) -> Result<Vec<ObjectCode>> {
        let added = self.kinds.iter().map(|(_, path)| path).filter(|path| {
            !self
                .list
                .iter()
                .any(|named| matches!(named, Named::File(file) if file == *path))
        });
        let added: Vec<Named> = added.cloned().map(Named::File).collect();
        let mut opened = Vec::new();
        let mut failed: Option<Error> = None;
        for named in self.list.iter().chain(&added) {
            match self.open_one(named) {
                Ok(code) => opened.push(code),
                Err(error) => match &mut failed {
                    Some(failed) => failed.diagnostics.extend(error.diagnostics),
                    None => failed = Some(error),
                },
            }
        }
        match failed {
            Some(error) => Err(error),
            None if opened.iter().filter(|code| code.path.is_none()).count() > 1 => {
                Err(Error::usage("standard input can be named once"))
            }
            None => Ok(opened),
        }
    }

    fn open_one(&self, named: &Named) -> Result<ObjectCode> {
        let path = match named {
            Named::File(path) => path.clone(),
            Named::Library(name) => search::library(name, &self.folders)?,
        };
        let mut code = ObjectCode::open(&path)?;
        if code.name == STDIN_NAME
            && let Some(name) = &self.name
        {
            code.name.clone_from(name);
        }
        let kind = self.kinds.iter().rfind(|(_, file)| *file == path);
        Ok(match kind {
            Some((kind, _)) => code.with_kind(*kind),
            None => code,
        })
    }
}

impl clap::FromArgMatches for Inputs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut inputs = Self::default();
        inputs.update_from_arg_matches(matches)?;
        Ok(inputs)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let mut list: Vec<(usize, Named)> = Vec::new();
        let places = |id| matches.indices_of(id).into_iter().flatten();
        let files = matches.get_many::<PathBuf>("input").into_iter().flatten();
        list.extend(places("input").zip(files.cloned().map(Named::File)));
        let libraries = matches.get_many::<String>("library").into_iter().flatten();
        list.extend(places("library").zip(libraries.cloned().map(Named::Library)));
        list.sort_by_key(|(place, _)| *place);
        self.list = list.into_iter().map(|(_, named)| named).collect();
        let all = |id| {
            matches
                .get_many::<PathBuf>(id)
                .into_iter()
                .flatten()
                .cloned()
        };
        self.folders = all("library_path").collect();
        let kinds = matches
            .get_many::<(Kind, PathBuf)>("kind")
            .into_iter()
            .flatten();
        self.kinds = kinds.cloned().collect();
        self.name = matches.get_one::<String>("name").cloned();
        Ok(())
    }
}

impl clap::Args for Inputs {
    fn augment_args(command: Command) -> Command {
        command
            .arg(
                Arg::new("input")
                    .value_name("INPUT")
                    .help("Cubins, PTX, LTO-IR, fatbins, host objects and libraries, archives; `-` is standard input, `@FILE` holds arguments")
                    .value_parser(value_parser!(PathBuf))
                    .num_args(0..)
                    .action(ArgAction::Append),
            )
            .arg(
                Arg::new("library")
                    .short('l')
                    .long("library")
                    .value_name("NAME")
                    .help("Link libNAME.a or NAME.lib, or exactly FILE with `-l:FILE`")
                    .action(ArgAction::Append),
            )
            .arg(
                Arg::new("library_path")
                    .short('L')
                    .long("library-path")
                    .value_name("DIR")
                    .help("Look for libraries here, in the order given")
                    .value_parser(value_parser!(PathBuf))
                    .action(ArgAction::Append),
            )
            .arg(
                Arg::new("kind")
                    .long("kind")
                    .value_name("KIND=FILE")
                    .help("Take FILE for an input of this kind, whatever its content looks like; `-` is standard input")
                    .value_parser(parse_kind)
                    .action(ArgAction::Append),
            )
            .arg(
                Arg::new("name")
                    .long("name")
                    .value_name("NAME")
                    .help("What messages and reports call standard input"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn parse_kind(text: &str) -> Result<(Kind, PathBuf), String> {
    let (kind, file) = text
        .split_once('=')
        .ok_or("expected KIND=FILE, such as `ptx=-`")?;
    let kinds = Kind::ALL.iter().filter(|kind| can_be_said(**kind));
    let found = kinds.clone().find(|known| known.as_str() == kind);
    let kind = found.ok_or_else(|| {
        let names: Vec<&str> = kinds.map(|kind| kind.as_str()).collect();
        format!("`{kind}` is no kind; expected one of {}", names.join(", "))
    })?;
    Ok((*kind, PathBuf::from(OsString::from(file))))
}

fn can_be_said(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Wheel
            | Kind::Zip
            | Kind::Tar
            | Kind::Gzip
            | Kind::Directory
            | Kind::Empty
            | Kind::Unknown
    )
}

/// Refuses an output that is one of the inputs: linkers are run again, and then it would be linked with itself.
pub fn refuse_as_output(inputs: &[ObjectCode], output: &Path) -> Result<()> {
    let Ok(output_file) = output.canonicalize() else {
        return Ok(());
    };
    let same = |code: &&ObjectCode| {
        code.path
            .as_ref()
            .and_then(|path| path.canonicalize().ok())
            .is_some_and(|path| path == output_file)
    };
    match inputs.iter().find(same) {
        Some(code) => {
            let mut error =
                Error::usage(format!("the output `{}` is an input too", output.display()))
                    .input(&code.name)
                    .hint("name another output with `-o`");
            error.category = Category::Usage;
            Err(error)
        }
        None => Ok(()),
    }
}
