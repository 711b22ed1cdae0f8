//! make and ninja build with the depfiles that `link` writes: a result is made again when one of its files changes, and
//! not otherwise. ninja comes with `tests/tools.sh`; where one of the two is missing its test is skipped.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use common::env;

/// A project: a source with two headers, an archive, a thin archive with its member, and a response file.
struct Project {
    folder: tempfile::TempDir,
    /// Each change is later than all before.
    clock: SystemTime,
}

const FILES: [&str; 7] = [
    "k.cu",
    "own.h",
    "in c/deep.h",
    "libscale.a",
    "libthin.a",
    "mirror.o",
    "args",
];

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let write = |name: &str, text: &str| fs::write(place.join(name), text).unwrap();
        fs::create_dir(place.join("in c")).unwrap();
        write(
            "k.cu",
            "#include \"own.h\"\nextern __device__ float scale(float);\n\
             __global__ void k(float *p) { *p = own(scale(*p)); }\n",
        );
        write(
            "own.h",
            "#include <deep.h>\n__device__ float own(float x) { return deep(x); }\n",
        );
        write(
            "in c/deep.h",
            "__device__ float deep(float x) { return x; }\n",
        );
        write(
            "args",
            "-I 'in c' k.cu libscale.a libthin.a --allow unused-input",
        );
        let fixtures = env::root().join("fixtures");
        for name in ["libscale.a", "libmirror.a"] {
            fs::copy(fixtures.join(name), place.join(name)).unwrap();
        }
        fs::copy(fixtures.join("axpy.o"), place.join("mirror.o")).unwrap();
        let archived = Command::new("ar")
            .args(["rcT", "libthin.a", "mirror.o"])
            .current_dir(place)
            .status()
            .unwrap();
        assert!(archived.success());
        let mut project = Self {
            folder,
            clock: SystemTime::now() - Duration::from_secs(100_000),
        };
        FILES.iter().for_each(|name| project.touch(name));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn touch(&mut self, name: &str) {
        self.clock += Duration::from_secs(100);
        let file = File::options().append(true).open(self.path(name)).unwrap();
        file.set_modified(self.clock).unwrap();
    }

    /// Runs the build tool; tells whether anything was made.
    fn builds(&mut self, tool: &Path) -> bool {
        let made = self.path("made");
        let _ = fs::remove_file(&made);
        let mut command = env::cudalink();
        let program = command.get_program().to_owned();
        command = {
            let mut build = Command::new(tool);
            build.envs(
                command
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            build
        };
        let out = command
            .env("CUDALINK", program)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        assert!(out.status.success(), "{out:?}");
        if !made.exists() {
            return false;
        }
        for result in ["out put.cubin", "made"] {
            if self.path(result).exists() {
                self.touch(result);
            }
        }
        true
    }

    fn rebuilds_exactly_when_a_file_changes(mut self, tool: &Path) {
        assert!(self.builds(tool), "the first time");
        assert!(!self.builds(tool), "nothing changed");
        for name in FILES {
            self.touch(name);
            assert!(self.builds(tool), "{name} changed");
            assert!(!self.builds(tool), "nothing changed after {name}");
        }
        self.touch("libmirror.a");
        assert!(!self.builds(tool), "what changed is no input");
        // A header that is gone and no longer included is no error.
        fs::remove_file(self.path("in c/deep.h")).unwrap();
        fs::write(
            self.path("own.h"),
            "__device__ float own(float x) { return x; }\n",
        )
        .unwrap();
        self.touch("own.h");
        assert!(self.builds(tool), "a header is gone");
        assert!(!self.builds(tool), "nothing changed without it");
    }
}

fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no {name} on the path");
    }
    found
}

fn needs() {
    env::install("13.5", "nvjitlink");
    env::install("13.5", "nvrtc");
}

#[test]
fn make_builds_what_changed() {
    let Some(make) = tool("make") else { return };
    needs();
    let project = Project::new();
    fs::write(
        project.path("Makefile"),
        "out\\ put.cubin:\n\t$(CUDALINK) link -q @args --arch sm_90 -o \"$@\" -MD -MF out.d -MP\n\ttouch made\n\
         -include out.d\n",
    )
    .unwrap();
    project.rebuilds_exactly_when_a_file_changes(&make);
}

#[test]
fn ninja_builds_what_changed() {
    let Some(ninja) = tool("ninja") else { return };
    needs();
    let project = Project::new();
    fs::write(
        project.path("build.ninja"),
        "rule link\n  command = $$CUDALINK link -q @args --arch sm_90 -o \"$out_name\" --depfile out.d && touch made\n  \
         depfile = out.d\n  deps = gcc\nbuild out$ put.cubin: link\n  out_name = out put.cubin\n",
    )
    .unwrap();
    project.rebuilds_exactly_when_a_file_changes(&ninja);
}
