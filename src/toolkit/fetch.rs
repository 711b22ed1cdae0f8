//! Downloads pinned wheels with pip, so that the user's mirrors, proxies and certificates are obeyed,
//! checks them, and unpacks the libraries into the store.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::pins::{Package, Wheel};
use super::store::{self, Installed, Lock, MANIFEST, STAGING};
use super::{Component, Environment, Platform, Settings, names};
use crate::error::{Category, Code, Diagnostic, Error, Result};
use crate::observe::{Observer, Progress};

/// How often the growing file is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How many of pip's last lines are shown when it fails.
const SHOWN_LINES: usize = 20;

/// Downloads and installs those of the packages that are not here yet.
///
/// # Errors
/// `fetch-failed`; nothing is then half installed.
pub(super) fn install(
    packages: &[&'static Package],
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Vec<Installed>> {
    let environment = &settings.environment;
    let folder = store::create(environment)?;
    let lock = Lock::acquire(&folder, observer);
    let _lock = lock.map_err(|error| unwritable(&folder, &error))?;
    packages
        .iter()
        .map(|package| {
            let target = target(&folder, package);
            match store::read_manifest(&target) {
                Some(installed) if installed.version == package.version => {
                    observer.status(&format!(
                        "{} {} is already in `{}`",
                        titles(package.components),
                        package.version,
                        target.display()
                    ));
                    Ok(installed)
                }
                _ => install_one(package, &folder, &target, environment, observer),
            }
        })
        .collect()
}

/// Those of the packages that [`install`] would have to download.
pub(super) fn absent(
    packages: &[&'static Package],
    environment: &Environment,
) -> Vec<&'static Package> {
    let folder = store::folder(environment);
    let is_here = |package: &Package| {
        let manifest = folder.as_ref().map(|folder| target(folder, package));
        manifest
            .and_then(|target| store::read_manifest(&target))
            .is_some_and(|installed| installed.version == package.version)
    };
    let absent = packages.iter().filter(|package| !is_here(package));
    absent.copied().collect()
}

fn target(folder: &Path, package: &Package) -> PathBuf {
    folder
        .join(package.release.to_string())
        .join(package.folder)
}

fn install_one(
    package: &'static Package,
    folder: &Path,
    target: &Path,
    environment: &Environment,
    observer: &dyn Observer,
) -> Result<Installed> {
    let platform = environment.platform;
    let wheel = package.wheel(platform).ok_or_else(|| {
        let message = format!(
            "NVIDIA ships no `{}` for {} on {}",
            package.name, platform.os, platform.cpu
        );
        Error::missing(Code::FetchFailed, message)
    })?;
    observer.status(&format!(
        "fetching {} {} ({}, Python package `{}`)",
        titles(package.components),
        package.version,
        megabytes(wheel.size),
        package.name
    ));
    let stage = tempfile::Builder::new()
        .prefix(STAGING)
        .tempdir_in(folder)
        .map_err(|error| unwritable(folder, &error))?;
    let download = Download {
        package,
        wheel,
        stage: stage.path(),
        environment,
        observer,
    };
    let unpacked = stage.path().join("package");
    let size = match download.run()? {
        Fetched::Wheel(path) => {
            download.verify(&path)?;
            unzip(&path, package, platform, &unpacked)
        }
        Fetched::Tree(path) => copy_tree(&path, package, platform, &unpacked),
    };
    let size = size.map_err(|error| unwritable(folder, &error))?;
    download.check_complete(&unpacked, platform)?;
    let installed = Installed {
        release: package.release,
        package: package.name.to_owned(),
        version: package.version,
        components: package.components.to_vec(),
        sha256: wheel.sha256.to_owned(),
        size,
        path: target.to_owned(),
    };
    publish(&installed, &unpacked, target).map_err(|error| unwritable(folder, &error))?;
    observer.status(&format!(
        "installed {} {} in `{}`",
        titles(package.components),
        package.version,
        target.display()
    ));
    Ok(installed)
}

/// Writes the manifest and puts the folder in its place with one rename.
fn publish(installed: &Installed, unpacked: &Path, target: &Path) -> io::Result<()> {
    let manifest = serde_json::to_vec_pretty(installed).map_err(io::Error::other)?;
    fs::write(unpacked.join(MANIFEST), manifest)?;
    if let Some(release) = target.parent() {
        fs::create_dir_all(release)?;
    }
    if target.exists()
        && store::read_manifest(target).is_none_or(|old| old.version != installed.version)
    {
        // Another version of the package, or something that is none.
        fs::remove_dir_all(target)?;
    }
    match fs::rename(unpacked, target) {
        // Where locks are unknown, another process may have been faster; its copy is as good.
        Err(_) if store::read_manifest(target).is_some() => Ok(()),
        renamed => renamed,
    }
}

/// What a downloader left in the staging folder.
enum Fetched {
    Wheel(PathBuf),
    /// uv has no way to download a wheel; it checks the hash and unpacks.
    Tree(PathBuf),
}

/// One way to start a downloader.
struct Downloader {
    program: &'static str,
    arguments: &'static [&'static str],
    is_uv: bool,
}

impl Downloader {
    fn name(&self) -> String {
        let words = [&[self.program], self.arguments].concat();
        words.join(" ")
    }
}

const fn pip(program: &'static str, arguments: &'static [&'static str]) -> Downloader {
    Downloader {
        program,
        arguments,
        is_uv: false,
    }
}

/// Tried in this order until one is there.
const DOWNLOADERS: &[Downloader] = &[
    pip("python3", &["-m", "pip"]),
    pip("python", &["-m", "pip"]),
    pip("pip3", &[]),
    Downloader {
        program: "uv",
        arguments: &["pip"],
        is_uv: true,
    },
];

/// Whether a download can be tried; a Python without pip is only noticed then.
pub(super) fn has_downloader(environment: &Environment) -> bool {
    let mut all = DOWNLOADERS.iter();
    all.any(|downloader| environment.program(downloader.program).is_some())
}

struct Download<'a> {
    package: &'static Package,
    wheel: &'static Wheel,
    stage: &'a Path,
    environment: &'a Environment,
    observer: &'a dyn Observer,
}

impl Download<'_> {
    fn run(&self) -> Result<Fetched> {
        let failed = |error| self.unwritable(&error);
        let requirement = format!(
            "{}=={} --hash=sha256:{}\n",
            self.package.name, self.package.version, self.wheel.sha256
        );
        fs::write(self.stage.join("requirements.txt"), requirement).map_err(failed)?;
        fs::create_dir(self.stage.join("tmp")).map_err(failed)?;
        let mut tried = Vec::new();
        for downloader in DOWNLOADERS {
            let Some(program) = self.environment.program(downloader.program) else {
                tried.push(format!("`{}` is not on PATH", downloader.program));
                continue;
            };
            let (success, output) = self.start(downloader, &program)?;
            if success {
                return self.result(downloader);
            }
            if !lacks_pip(&output) {
                return Err(self.failure(downloader, &output));
            }
            tried.push(format!("`{}` has no pip", program.display()));
        }
        let error = Diagnostic::error(
            Code::FetchFailed,
            format!(
                "`{}` cannot be downloaded: there is neither pip nor uv",
                self.package.name
            ),
        );
        let error = tried.into_iter().fold(error, Diagnostic::detail);
        Err(Error::new(
            Category::Missing,
            error.hint("install pip (`python3 -m ensurepip`) or uv, or name a library that is here with `--nvjitlink PATH` or `--toolkit DIR`"),
        ))
    }

    /// Runs a downloader and watches the file grow; returns whether it succeeded and what it said.
    fn start(&self, downloader: &Downloader, program: &Path) -> Result<(bool, String)> {
        let failed = |error: io::Error| {
            let message = format!("cannot run `{}`: {error}", program.display());
            Error::missing(Code::FetchFailed, message)
        };
        // One pipe keeps the order of what is said; a file would be cut short on a full disk.
        let (reader, writer) = io::pipe().map_err(failed)?;
        let arguments = self.arguments(downloader);
        self.observer.detail(&format!(
            "running {} {}",
            program.display(),
            arguments.join(OsStr::new(" ")).display()
        ));
        let mut command = Command::new(program);
        command
            .args(arguments)
            // `python3 -m pip` would run a `pip.py` that lies in the user's folder.
            .current_dir(self.stage)
            .env_clear()
            .envs(self.environment.variables())
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env("PIP_NO_INPUT", "1")
            .stdin(Stdio::null())
            .stderr(writer.try_clone().map_err(failed)?)
            .stdout(writer);
        // The download is to grow where we can watch it, and on the disk it is meant for.
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, self.stage.join("tmp"));
        }
        let mut child = command.spawn().map_err(failed)?;
        // It holds the writing ends of the pipe, which would keep the reader waiting.
        drop(command);
        let words = std::thread::spawn(move || read_words(reader));
        let status = self.watch(downloader, &mut child).map_err(failed)?;
        let words = words.join().unwrap_or_default();
        words.lines().for_each(|line| self.observer.detail(line));
        Ok((status.success(), words))
    }

    /// Shows the growing download until the downloader ends.
    fn watch(&self, downloader: &Downloader, child: &mut Child) -> io::Result<ExitStatus> {
        // uv keeps its downloads to itself.
        let total = (!downloader.is_uv).then_some(self.wheel.size);
        let what = format!("{} {}", self.package.name, self.package.version);
        let progress = self.observer.progress(&what, total);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            self.report(&*progress);
            std::thread::sleep(TICK);
        }
    }

    fn arguments(&self, downloader: &Downloader) -> Vec<OsString> {
        let fixed: &[&str] = if downloader.is_uv {
            &[
                "install",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--no-progress",
            ]
        } else {
            // The platform is named so that the interpreter's own, which may be another, does not count;
            // `py3-none` fits every Python 3.
            &[
                "download",
                "--no-deps",
                "--only-binary=:all:",
                "--require-hashes",
                "--progress-bar",
                "off",
                "--python-version",
                "3",
                "--implementation",
                "py",
                "--abi",
                "none",
                "--platform",
                self.wheel.tag,
            ]
        };
        let fixed = downloader.arguments.iter().chain(fixed);
        let mut arguments: Vec<OsString> = fixed.map(OsString::from).collect();
        arguments.push(
            if downloader.is_uv {
                "--target"
            } else {
                "--dest"
            }
            .into(),
        );
        arguments.push(self.stage.join("download").into());
        arguments.push("-r".into());
        arguments.push(self.stage.join("requirements.txt").into());
        arguments
    }

    /// The largest file in the downloader's folders is the one being downloaded.
    fn report(&self, progress: &dyn Progress) {
        let folders = ["tmp", "download"].map(|folder| largest(&self.stage.join(folder), 4));
        progress.set(folders[0].max(folders[1]).min(self.wheel.size));
    }

    fn result(&self, downloader: &Downloader) -> Result<Fetched> {
        let folder = self.stage.join("download");
        if downloader.is_uv {
            return Ok(Fetched::Tree(folder));
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut wheels = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
        wheels.next().map(Fetched::Wheel).ok_or_else(|| {
            let message = format!(
                "`{}` reported success but left no wheel of `{}`",
                downloader.name(),
                self.package.name
            );
            Error::missing(Code::FetchFailed, message)
        })
    }

    /// The pin is checked here as well, whatever the downloader was.
    fn verify(&self, path: &Path) -> Result<()> {
        let hash = sha256(path).map_err(|error| self.unwritable(&error))?;
        if hash == self.wheel.sha256 {
            return Ok(());
        }
        Err(self
            .wrong_hash()
            .detail(format!("expected sha256 {}", self.wheel.sha256))
            .detail(format!("     got sha256 {hash}")))
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        unwritable(self.stage.parent().unwrap_or(self.stage), error)
    }

    fn wrong_hash(&self) -> Error {
        let message = format!(
            "what was downloaded as `{}` {} is not the file that it should be, and was thrown away",
            self.package.name, self.package.version
        );
        Error::missing(Code::FetchFailed, message)
            .hint("look at which index or mirror pip uses (`pip config list`); a proxy may have cut the download short")
    }

    fn failure(&self, downloader: &Downloader, output: &str) -> Error {
        let error =
            if output.contains("DO NOT MATCH THE HASHES") || output.contains("Hash mismatch") {
                self.wrong_hash()
            } else {
                let message = format!(
                    "`{}` could not download `{}` {}",
                    downloader.name(),
                    self.package.name,
                    self.package.version
                );
                let error = Error::missing(Code::FetchFailed, message);
                match reason(output) {
                    Some(hint) => error.hint(hint),
                    None => error,
                }
            };
        let lines: Vec<&str> = output
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let shown = lines.len().saturating_sub(SHOWN_LINES);
        lines[shown..]
            .iter()
            .fold(error, |error, line| error.detail(*line))
    }

    /// Whether every component has arrived: a pinned file cannot lack one, a tree made by uv could.
    fn check_complete(&self, unpacked: &Path, platform: Platform) -> Result<()> {
        for &component in self.package.components {
            let folders = names::folders(component, platform).iter();
            let mut files = folders
                .filter_map(|folder| fs::read_dir(unpacked.join(folder)).ok())
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            if !files.any(|name| is_file_of(component, platform, &name)) {
                let message = format!("`{}` holds no {}", self.package.name, component.title());
                return Err(Error::missing(Code::FetchFailed, message));
            }
        }
        Ok(())
    }
}

/// Whether the program is there but pip is not. The last is Windows' stand-in for a missing Python.
fn lacks_pip(output: &str) -> bool {
    [
        "No module named pip",
        "No module named 'pip'",
        "Python was not found",
    ]
    .iter()
    .any(|words| output.contains(words))
}

/// A hint for the usual failures.
fn reason(output: &str) -> Option<&'static str> {
    const NETWORK: &[&str] = &[
        "NewConnectionError",
        "ConnectTimeout",
        "name resolution",
        "Name or service not known",
        "Max retries exceeded",
        "ProxyError",
        "ReadTimeoutError",
        "Connection refused",
        "error sending request",
        "dns error",
    ];
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    if says(&["No space left", "Disk quota exceeded"]) {
        Some("make room, or name another folder with `CUDALINK_DATA_DIR`")
    } else if says(&["CERTIFICATE_VERIFY_FAILED", "certificate"]) {
        Some("give pip the certificate of your proxy (`pip config set global.cert FILE`)")
    } else if says(NETWORK) {
        Some(
            "check the network and the proxy, or name a library that is here with `--nvjitlink PATH` or `--toolkit DIR`",
        )
    } else if says(&[
        "No matching distribution",
        "no version of",
        "not found in the package registry",
    ]) {
        Some("the index that pip uses has no such package; check `pip config list`")
    } else {
        None
    }
}

/// What a program says, as text, even if it stops in the middle.
fn read_words(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is kept.
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn largest(folder: &Path, depth: u32) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(match metadata.is_dir() {
                true if depth > 0 => largest(&entry.path(), depth - 1),
                true => 0,
                false => metadata.len(),
            })
        })
        .max()
        .unwrap_or(0)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn is_file_of(component: Component, platform: Platform, name: &str) -> bool {
    let mut patterns = names::file_names(component, platform.os).iter();
    patterns.any(|pattern| names::matches(pattern, name))
}

/// Where a file of the wheel goes, or `None` for what is not needed. Inside a wheel the toolkit lies
/// below `nvidia/cu13` or, up to CUDA 12, below `nvidia/<package>`.
fn destination(name: &str, package: &Package, platform: Platform) -> Option<PathBuf> {
    let (folder, file) = name.rsplit_once('/')?;
    if folder.contains(".dist-info") {
        return file
            .to_ascii_lowercase()
            .starts_with("license")
            .then(|| file.into());
    }
    let (_, inside) = folder.strip_prefix("nvidia/")?.split_once('/')?;
    let wanted = package.components.iter().any(|&component| {
        names::folders(component, platform).contains(&inside)
            && is_file_of(component, platform, file)
    });
    wanted.then(|| Path::new(inside).join(file))
}

/// Unpacks what is needed of a verified wheel; returns the bytes written.
fn unzip(path: &Path, package: &Package, platform: Platform, to: &Path) -> io::Result<u64> {
    let mut archive = zip::ZipArchive::new(File::open(path)?).map_err(io::Error::other)?;
    let mut written = 0;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(io::Error::other)?;
        let name = entry.name().map_err(io::Error::other)?.into_owned();
        if let Some(destination) = destination(&name, package, platform) {
            written += write_file(&mut entry, &to.join(destination))?;
        }
    }
    Ok(written)
}

fn copy_tree(from: &Path, package: &Package, platform: Platform, to: &Path) -> io::Result<u64> {
    fn walk(
        folder: &Path,
        name: &str,
        visit: &mut dyn FnMut(&Path, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(own) = entry.file_name().into_string() else {
                continue;
            };
            let name = if name.is_empty() {
                own
            } else {
                format!("{name}/{own}")
            };
            match entry.file_type()? {
                kind if kind.is_dir() => walk(&entry.path(), &name, visit)?,
                _ => visit(&entry.path(), &name)?,
            }
        }
        Ok(())
    }
    let mut written = 0;
    walk(from, "", &mut |path, name| {
        if let Some(destination) = destination(name, package, platform) {
            written += write_file(&mut File::open(path)?, &to.join(destination))?;
        }
        Ok(())
    })?;
    Ok(written)
}

fn write_file(from: &mut dyn Read, to: &Path) -> io::Result<u64> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(to)?;
    let written = io::copy(from, &mut file)?;
    // The rename that makes it count must not reach the disk before the bytes do.
    file.sync_all()?;
    Ok(written)
}

fn unwritable(folder: &Path, error: &io::Error) -> Error {
    Error::new(
        Category::Missing,
        Diagnostic::error(
            Code::FetchFailed,
            format!("cannot install to `{}`: {error}", folder.display()),
        )
        .hint("make room there, or name another folder with `CUDALINK_DATA_DIR`"),
    )
}

pub(super) fn titles(components: &[Component]) -> String {
    let titles: Vec<_> = components
        .iter()
        .map(|component| component.title())
        .collect();
    titles.join(" and ")
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::observe::Silent;
    use crate::toolkit::tests::{Listener, Tree, settings, skip};
    use crate::toolkit::{self, Needs, Source, Version, VersionRequest};

    /// A wheel like NVIDIA's, with more in it than is needed.
    fn wheel(library: &[u8]) -> Vec<u8> {
        let mut bytes = io::Cursor::new(Vec::new());
        let mut zip = zip::ZipWriter::new(&mut bytes);
        let files: [(&str, &[u8]); 5] = [
            ("nvidia/cu13/lib/libnvJitLink.so.13", library),
            ("nvidia/cu13/include/nvJitLink.h", b"// not needed"),
            (
                "nvidia/cu13/lib/../../../../escaped/libnvJitLink.so.13",
                library,
            ),
            (
                "nvidia_nvjitlink-13.5.37.dist-info/licenses/License.txt",
                b"the licence",
            ),
            ("nvidia_nvjitlink-13.5.37.dist-info/RECORD", b""),
        ];
        for (name, content) in files {
            zip.start_file(name, zip::write::SimpleFileOptions::default())
                .unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap();
        bytes.into_inner()
    }

    /// A package whose wheel is made here, since the real ones are large.
    fn package(bytes: &[u8]) -> &'static Package {
        let hash: String = Sha256::digest(bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Package::for_test(&hash, bytes.len() as u64)
    }

    fn elf() -> Vec<u8> {
        let mut bytes = vec![0; 1000];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = 0x3e;
        bytes
    }

    /// A file system with a wheel in it and programs on `PATH` that stand for pip.
    struct Machine {
        tree: Tree,
        package: &'static Package,
        settings: Settings,
    }

    impl Machine {
        fn new() -> Self {
            let tree = Tree::new();
            let bytes = wheel(&elf());
            tree.file("wheel.whl", &bytes);
            let path = format!("{}:/usr/bin:/bin", tree.at("bin"));
            // Only what is put there counts as a downloader; the script's own tools lie elsewhere.
            let variables = [
                ("PATH", &*tree.at("bin")),
                ("TOOLS", &path),
                ("CUDALINK_DATA_DIR", &tree.at("data")),
            ];
            let settings = settings(&tree, &variables);
            Self {
                package: package(&bytes),
                settings,
                tree,
            }
        }

        /// Puts a program on `PATH`: a shell script that finds the wheel, the folder to leave it in and
        /// the requirements in variables.
        fn program(&self, name: &str, script: &str) -> &Self {
            let text = format!(
                "#!/bin/sh\nPATH=$TOOLS\nwheel='{}'\ncount='{}'\necho x >> \"$count\"\n\
                 while [ $# -gt 0 ]; do case $1 in --dest|--target) dest=$2;; -r) requirements=$2;; esac; shift; done\n{script}\n",
                self.tree.at("wheel.whl"),
                self.tree.at("count"),
            );
            let path = self.tree.file(&format!("bin/{name}"), text.as_bytes());
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            self
        }

        fn install(&self) -> Result<Vec<Installed>> {
            install(&[self.package], &self.settings, &Silent)
        }

        fn failure(&self) -> Diagnostic {
            let error = self.install().unwrap_err();
            assert_eq!(error.category, Category::Missing);
            let finding = error.diagnostics.into_iter().next().unwrap();
            assert_eq!(finding.code, Code::FetchFailed);
            self.assert_nothing_is_left();
            finding
        }

        fn assert_nothing_is_left(&self) {
            assert!(store::installed(&self.settings.environment).is_empty());
            let root = store::folder(&self.settings.environment).unwrap();
            let left: Vec<_> = fs::read_dir(root)
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().file_name())
                .filter(|name| name != ".lock")
                .collect();
            assert!(left.is_empty(), "{left:?}");
        }

        fn calls(&self) -> usize {
            let text = fs::read_to_string(self.tree.path("count")).unwrap_or_default();
            text.lines().count()
        }
    }

    const COPY: &str = "mkdir -p \"$dest\"; cp \"$wheel\" \"$dest/a.whl\"";

    #[test]
    fn what_is_needed_is_installed_and_found() {
        let machine = Machine::new();
        machine.program("python3", COPY);
        let installed = machine.install().unwrap().remove(0);
        assert_eq!(installed.version, Version::with_patch(13, 5, 37));
        let mut files: Vec<_> = walk(&installed.path);
        files.sort();
        assert_eq!(files, ["License.txt", "lib/libnvJitLink.so.13", MANIFEST]);
        assert_eq!(
            store::installed(&machine.settings.environment),
            std::slice::from_ref(&installed)
        );
        assert!(!machine.tree.path("data/escaped").exists());

        let found = toolkit::locate(Component::NvJitLink, &machine.settings, &Needs::default());
        let chosen = found.chosen.unwrap();
        assert_eq!(chosen.source, Source::Fetched);
        assert_eq!(chosen.version, Some(installed.version));
        assert!(chosen.path.starts_with(&installed.path));

        machine.install().unwrap();
        assert_eq!(machine.calls(), 1, "what is here is not downloaded again");

        let request: VersionRequest = "13.5".parse().unwrap();
        let environment = &machine.settings.environment;
        let other = store::remove(environment, Some("12".parse().unwrap()), &[], &Silent).unwrap();
        assert!(other.is_empty());
        let removed = store::remove(environment, Some(request), &[], &Silent).unwrap();
        assert_eq!(removed, [installed]);
        machine.assert_nothing_is_left();
    }

    fn walk(folder: &Path) -> Vec<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() {
                names.extend(
                    walk(&entry.path())
                        .into_iter()
                        .map(|inner| format!("{name}/{inner}")),
                );
            } else {
                names.push(name);
            }
        }
        names
    }

    #[test]
    fn pip_is_told_the_pin_and_the_platform() {
        let machine = Machine::new();
        let script = format!(
            "cp \"$requirements\" {}; pwd > {}; {COPY}",
            machine.tree.at("seen"),
            machine.tree.at("where")
        );
        machine.program("python3", &script).install().unwrap();
        let seen = fs::read_to_string(machine.tree.path("seen")).unwrap();
        let hash = machine
            .package
            .wheel(machine.settings.environment.platform)
            .unwrap()
            .sha256;
        assert_eq!(
            seen,
            format!("nvidia-nvjitlink==13.5.37 --hash=sha256:{hash}\n")
        );
        let folder = fs::read_to_string(machine.tree.path("where")).unwrap();
        assert!(folder.contains(STAGING), "{folder}");
    }

    #[test]
    fn a_wrong_file_is_thrown_away() {
        let machine = Machine::new();
        machine.program("python3", "mkdir -p \"$dest\"; echo junk > \"$dest/a.whl\"");
        let finding = machine.failure();
        assert!(
            finding
                .message
                .contains("is not the file that it should be"),
            "{finding:?}"
        );
        assert!(finding.details[0].starts_with("expected sha256"));

        machine.program(
            "python3",
            "echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.'; exit 1",
        );
        let finding = machine.failure();
        assert!(
            finding
                .message
                .contains("is not the file that it should be"),
            "{finding:?}"
        );
        assert!(finding.details[0].contains("DO NOT MATCH"));
    }

    #[test]
    fn a_failing_pip_is_quoted_and_explained() {
        let machine = Machine::new();
        let cases = [
            (
                "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
                "check the network",
            ),
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
                "make room",
            ),
            (
                "ERROR: No matching distribution found for nvidia-nvjitlink==13.5.37",
                "the index that pip uses",
            ),
            (
                "SSLError: CERTIFICATE_VERIFY_FAILED",
                "give pip the certificate",
            ),
        ];
        for (words, hint) in cases {
            let script = format!(
                "mkdir -p \"$dest\"; echo half > \"$dest/a.whl\"; echo '{words}' >&2; exit 1"
            );
            let finding = machine.program("python3", &script).failure();
            assert_eq!(
                finding.message,
                "`python3 -m pip` could not download `nvidia-nvjitlink` 13.5.37"
            );
            assert_eq!(finding.details, [words]);
            assert!(finding.hints[0].starts_with(hint), "{finding:?}");
        }
        let finding = machine.program("python3", "exit 0").failure();
        assert!(finding.message.contains("left no wheel"), "{finding:?}");
    }

    #[test]
    fn the_next_downloader_is_tried_only_where_pip_is_missing() {
        let machine = Machine::new();
        let finding = machine.failure();
        assert!(
            finding.message.ends_with("there is neither pip nor uv"),
            "{finding:?}"
        );
        assert_eq!(finding.details[0], "`python3` is not on PATH");

        machine.program(
            "python3",
            "echo '/usr/bin/python3: No module named pip' >&2; exit 1",
        );
        let finding = machine.failure();
        assert!(finding.details[0].ends_with("has no pip"), "{finding:?}");

        machine.program("pip3", COPY);
        machine.install().unwrap();
    }

    #[test]
    fn uv_leaves_a_tree() {
        let machine = Machine::new();
        let script = "mkdir -p \"$dest/nvidia/cu13/lib\"; cp \"$wheel\" \"$dest/nvidia/cu13/lib/libnvJitLink.so.13\"";
        machine.program("uv", script);
        let installed = machine.install().unwrap().remove(0);
        assert!(installed.path.join("lib/libnvJitLink.so.13").is_file());

        let machine = Machine::new();
        machine.program("uv", "mkdir -p \"$dest\"");
        let finding = machine.failure();
        assert_eq!(finding.message, "`nvidia-nvjitlink` holds no nvJitLink");
    }

    #[test]
    fn two_at_once_download_once() {
        let machine = Machine::new();
        machine.program("python3", &format!("sleep 0.3; {COPY}"));
        let paths = std::thread::scope(|scope| {
            let both = [(); 2].map(|()| scope.spawn(|| machine.install().unwrap().remove(0).path));
            both.map(|thread| thread.join().unwrap())
        });
        assert_eq!(paths[0], paths[1]);
        assert_eq!(machine.calls(), 1);
    }

    #[test]
    fn leftovers_of_a_killed_process_neither_count_nor_stay() {
        let machine = Machine::new();
        let root = store::folder(&machine.settings.environment).unwrap();
        let staging = root.join(format!("{STAGING}abc/package/lib"));
        fs::create_dir_all(&staging).unwrap();
        fs::write(staging.join("libnvJitLink.so.13"), elf()).unwrap();
        // A folder without its manifest is no package, whoever made it.
        let broken = root.join("13.5/nvjitlink/lib");
        fs::create_dir_all(&broken).unwrap();
        fs::write(broken.join("libnvJitLink.so.13"), b"half").unwrap();
        assert!(store::installed(&machine.settings.environment).is_empty());

        machine.program("python3", COPY).install().unwrap();
        assert!(!root.join(format!("{STAGING}abc")).exists());
        let library = fs::read(broken.join("libnvJitLink.so.13")).unwrap();
        assert_eq!(library, elf());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let mut machine = Machine::new();
        machine.tree.file("file", b"");
        let folder = machine.tree.at("file/data");
        machine.settings = settings(&machine.tree, &[("CUDALINK_DATA_DIR", &folder)]);
        let error = machine.install().unwrap_err();
        assert_eq!(error.category, Category::Missing);
        assert!(error.to_string().contains(&folder), "{error}");

        machine.settings = settings(&machine.tree, &[]);
        let error = machine.install().unwrap_err();
        assert!(error.to_string().contains("no home is set"), "{error}");
    }

    #[test]
    fn offline_nothing_is_downloaded_and_the_command_is_named() {
        let machine = Machine::new();
        machine.program("python3", COPY);
        let parts = [Component::NvJitLink];
        let error =
            toolkit::obtain(parts, &machine.settings, &Needs::default(), &Silent).unwrap_err();
        assert_eq!(error.category, Category::Missing);
        let finding = &error.diagnostics[0];
        assert!(finding.hints[0].contains("cudalink toolkit install 13.5 --component nvjitlink"));
        let error = toolkit::install(None, &parts, &machine.settings, &Silent).unwrap_err();
        assert_eq!(error.category, Category::Missing);
        assert_eq!(machine.calls(), 0);
    }

    #[test]
    fn an_explicit_choice_that_fails_is_not_replaced_by_a_download() {
        let mut machine = Machine::new();
        machine.program("python3", COPY);
        machine.settings.offline = false;
        machine.settings.toolkit = Some(machine.tree.at("nowhere").into());
        let parts = [Component::NvJitLink];
        toolkit::obtain(parts, &machine.settings, &Needs::default(), &Silent).unwrap_err();
        assert_eq!(machine.calls(), 0);
    }

    /// The real thing, with the smallest of the packages and the pip of this machine.
    #[test]
    fn a_real_package_is_fetched() {
        let tree = Tree::new();
        let mut settings = Settings::from_process(false);
        let data = tree.at("data");
        let data = ("CUDALINK_DATA_DIR".into(), data.into());
        let all = settings
            .environment
            .variables()
            .map(|(k, v)| (k.clone(), v.clone()));
        settings.environment = Environment::of(
            "/",
            all.chain([data]).collect::<Vec<(OsString, OsString)>>(),
        );
        let listener = Listener::default();
        let parts = [Component::Cudadevrt];
        match toolkit::install(None, &parts, &settings, &listener) {
            Ok(installed) => {
                assert_eq!(installed.len(), 1);
                let library = toolkit::locate(Component::Cudadevrt, &settings, &Needs::default());
                assert_eq!(library.chosen.unwrap().source, Source::Fetched);
                let lines = listener.lines.lock().unwrap();
                assert!(
                    lines
                        .iter()
                        .any(|line| line.starts_with("fetching libcudadevrt 13.5.37 (2.4 MiB"))
                );
            }
            Err(error) => skip(&format!("no package index can be reached: {error}")),
        }
    }
}
