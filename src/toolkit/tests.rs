//! The search over made-up file systems with made-up environments.

use std::path::PathBuf;
use std::sync::Mutex;

use super::*;
use crate::error::Category;
use crate::observe::{Observer, Progress, Silent};

/// Says why a test does nothing; under `CUDALINK_TEST_STRICT=1` that is a failure.
pub(super) fn skip(reason: &str) {
    assert!(
        std::env::var_os("CUDALINK_TEST_STRICT").is_none(),
        "skipped: {reason}"
    );
    let line = format!("skipped: {reason}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// A temporary file system.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// The path as text, for variables.
    pub(super) fn at(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    pub(super) fn folder(&self, path: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    pub(super) fn file(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Something that looks like a library for x86-64.
    fn library(&self, path: &str) -> PathBuf {
        self.file(path, &elf(0x3e))
    }

    fn archive(&self, path: &str) -> PathBuf {
        self.file(path, b"!<arch>\n")
    }
}

fn elf(machine: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18] = machine;
    bytes
}

pub(super) fn environment(tree: &Tree, variables: &[(&str, &str)]) -> Environment {
    let mut environment = Environment::of(tree.path(""), variables.iter().copied());
    environment.platform = Platform {
        os: Os::Linux,
        cpu: Cpu::X86_64,
    };
    environment
}

pub(super) fn settings(tree: &Tree, variables: &[(&str, &str)]) -> Settings {
    Settings {
        nvjitlink: None,
        toolkit: None,
        offline: true,
        environment: environment(tree, variables),
    }
}

fn find(component: Component, settings: &Settings) -> Located {
    survey(component, settings, &Needs::default())
}

fn chosen(component: Component, settings: &Settings) -> Option<Candidate> {
    find(component, settings).chosen
}

fn error(component: Component, settings: &Settings) -> Diagnostic {
    let error = obtain([component], settings, &Needs::default(), &Silent).unwrap_err();
    assert_eq!(error.category, Category::Missing);
    error.diagnostics.into_iter().next().unwrap()
}

/// Keeps what it is told.
#[derive(Default)]
pub(super) struct Listener {
    pub(super) findings: Mutex<Vec<Diagnostic>>,
    pub(super) lines: Mutex<Vec<String>>,
}

impl Observer for Listener {
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.findings.lock().unwrap().push(diagnostic.clone());
    }

    fn detail(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn status(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }

    fn progress(&self, _: &str, _: Option<u64>) -> Box<dyn Progress> {
        Box::new(Silent)
    }
}

#[test]
fn wheel_then_conda_then_cuda_home() {
    let tree = Tree::new();
    let variables = [
        ("VIRTUAL_ENV", &*tree.at("venv")),
        ("CONDA_PREFIX", &tree.at("conda")),
        ("CUDA_HOME", &tree.at("cuda")),
    ];
    let settings = settings(&tree, &variables);
    let site = "venv/lib/python3.12/site-packages";
    let files = [
        (
            tree.archive(&format!("{site}/nvidia/cu13/lib/libcudadevrt.a")),
            Source::Wheel,
        ),
        (
            tree.archive(&format!("{site}/nvidia/cuda_runtime/lib/libcudadevrt.a")),
            Source::Wheel,
        ),
        (tree.archive("conda/lib/libcudadevrt.a"), Source::Conda),
        (
            tree.archive("cuda/targets/x86_64-linux/lib/libcudadevrt.a"),
            Source::CudaHome,
        ),
        (
            tree.archive("usr/local/cuda-12.9/lib64/libcudadevrt.a"),
            Source::System,
        ),
    ];
    let located = find(Component::Cudadevrt, &settings);
    let order: Vec<_> = located.candidates.iter().map(|c| c.path.clone()).collect();
    assert_eq!(order, files.each_ref().map(|(path, _)| path.clone()));
    for (path, source) in files {
        let winner = chosen(Component::Cudadevrt, &settings).unwrap();
        assert_eq!((&winner.path, winner.source), (&path, source));
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(chosen(Component::Cudadevrt, &settings), None);
}

#[test]
fn a_failed_search_says_where_it_looked_and_what_is_there() {
    let tree = Tree::new();
    tree.file("cuda/lib64/libother.so", b"");
    let home = tree.at("cuda");
    let finding = error(
        Component::NvJitLink,
        &settings(&tree, &[("CUDA_HOME", &home)]),
    );
    assert_eq!(finding.message, "nvJitLink was not found");
    let has = |line: &str| finding.details.iter().any(|detail| detail == line);
    assert!(has(&format!("in `{home}/lib64`: it has libother.so")));
    assert!(has(&format!("in `{home}/lib`: no such folder")));
    assert!(has(
        "looked for libnvJitLink.so.13, libnvJitLink.so.12, libnvJitLink.so"
    ));
    assert!(!has("CUDA_PATH and CUDA_HOME are not set"));
    assert_eq!(
        finding.hints[0],
        "run `cudalink toolkit install 13.5 --component nvjitlink`, which downloads it"
    );

    let nothing = error(Component::NvJitLink, &settings(&tree, &[]));
    let unset = "CUDA_PATH and CUDA_HOME are not set".to_owned();
    assert!(nothing.details.contains(&unset), "{nothing:?}");
}

#[test]
fn cuda_path_comes_before_cuda_home_and_a_difference_is_told() {
    let tree = Tree::new();
    tree.library("a/lib64/libnvJitLink.so.13");
    tree.library("b/lib64/libnvJitLink.so.13");
    std::os::unix::fs::symlink(tree.path("a"), tree.path("link")).unwrap();
    let (a, b, link) = (tree.at("a"), tree.at("b"), tree.at("link"));
    let slash = format!("{a}/");
    let outcome = |path: &str, home: &str| {
        let settings = settings(&tree, &[("CUDA_PATH", path), ("CUDA_HOME", home)]);
        let located = find(Component::NvJitLink, &settings);
        let source = located.chosen.map(|candidate| candidate.source);
        (source, located.warnings.len())
    };
    assert_eq!(outcome("", ""), (None, 0));
    assert_eq!(outcome("", &b), (Some(Source::CudaHome), 0));
    assert_eq!(outcome(&a, &b), (Some(Source::CudaPath), 1));
    assert_eq!(outcome(&a, &slash), (Some(Source::CudaPath), 0));
    assert_eq!(outcome(&a, &link), (Some(Source::CudaPath), 0));
    let settings = settings(&tree, &[("CUDA_PATH", &a), ("CUDA_HOME", &b)]);
    let warning = &find(Component::NvJitLink, &settings).warnings[0];
    assert!(warning.message.contains(&a) && warning.message.contains(&b));
}

#[test]
fn tools_are_searched_in_toolkits_and_on_path_last() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new();
    let variables = [
        ("VIRTUAL_ENV", &*tree.at("venv")),
        ("CONDA_PREFIX", &tree.at("conda")),
        ("CUDA_PATH", &tree.at("cuda")),
        ("PATH", &tree.at("bin")),
    ];
    let settings = settings(&tree, &variables);
    let paths = [
        "venv/lib/python3.12/site-packages/nvidia/cu13/bin/ptxas",
        "venv/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas",
        "conda/bin/ptxas",
        "cuda/bin/ptxas",
        "bin/ptxas",
    ];
    let paths = paths.map(|path| tree.file(path, b"#!"));
    let located = find(Component::Ptxas, &settings);
    let found: Vec<_> = located.candidates.iter().map(|c| c.path.clone()).collect();
    assert_eq!(found, paths);
    assert_eq!(located.chosen, None);
    assert_eq!(
        located.candidates[0].verdict,
        Verdict::Unsuitable("it is no executable file".to_owned())
    );
    let runs = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&paths[3], runs).unwrap();
    let winner = chosen(Component::Ptxas, &settings).unwrap();
    assert_eq!(winner.path, paths[3]);

    tree.library("bin/libnvJitLink.so.13");
    assert_eq!(chosen(Component::NvJitLink, &settings), None);
}

#[test]
fn an_explicit_choice_is_used_or_is_an_error() {
    let tree = Tree::new();
    let good = tree.library("cuda/lib64/libnvJitLink.so.13");
    let other = tree.library("other/lib/libnvJitLink.so.12.9.86");
    let foreign = tree.file("arm/libnvJitLink.so.13", &elf(0xb7));
    let home = tree.at("cuda");
    let mut settings = settings(&tree, &[("CUDA_HOME", &home)]);

    settings.nvjitlink = Some(other.clone());
    let winner = chosen(Component::NvJitLink, &settings).unwrap();
    assert_eq!((&winner.path, winner.source), (&other, Source::Flag));
    assert_eq!(winner.version, Some(Version::with_patch(12, 9, 86)));
    assert_eq!(winner.root, tree.path("other"));

    let needs = Needs::default().at_least(Version::new(13, 5), "`a.ltoir` was made by CUDA 13.5");
    let refused = obtain([Component::NvJitLink], &settings, &needs, &Silent).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "`--nvjitlink` names `{}`, which cannot be used: 12.9.86 is older than 13.5, and `a.ltoir` was made by CUDA 13.5",
            other.display()
        )
    );

    settings.nvjitlink = Some(foreign);
    let finding = error(Component::NvJitLink, &settings);
    assert!(
        finding
            .message
            .ends_with("it is built for aarch64, and this is x86_64"),
        "{}",
        finding.message
    );
    settings.nvjitlink = Some(tree.path("gone.so"));
    let finding = error(Component::NvJitLink, &settings);
    assert!(
        finding.message.contains("it cannot be read"),
        "{}",
        finding.message
    );
    settings.nvjitlink = Some(tree.folder("cuda/lib64"));
    assert!(
        error(Component::NvJitLink, &settings)
            .message
            .contains("regular file")
    );

    settings.nvjitlink = None;
    settings.toolkit = Some(tree.at("cuda").into());
    assert_eq!(chosen(Component::NvJitLink, &settings).unwrap().path, good);
    let finding = error(Component::Nvrtc, &settings);
    assert_eq!(
        finding.message,
        format!("`--toolkit` names `{home}`, which has no NVRTC")
    );
    settings.toolkit = Some(tree.at("gone").into());
    assert!(
        error(Component::NvJitLink, &settings)
            .message
            .contains("`--toolkit` names")
    );
}

#[test]
fn flags_come_before_variables() {
    let tree = Tree::new();
    let [a, b, c] =
        ["a", "b", "c"].map(|root| tree.library(&format!("{root}/lib/libnvJitLink.so.13")));
    let variables = [
        ("CUDALINK_NVJITLINK", a.to_str().unwrap()),
        ("CUDALINK_TOOLKIT", &tree.at("b")),
    ];
    let mut settings = settings(&tree, &variables);
    let path = |settings: &Settings| chosen(Component::NvJitLink, settings).unwrap().path;
    assert_eq!(path(&settings), a);
    settings.toolkit = Some(tree.at("b").into());
    assert_eq!(path(&settings), b);
    settings.nvjitlink = Some(c.clone());
    assert_eq!(path(&settings), c);
}

#[test]
fn a_toolkit_is_taken_in_any_layout() {
    let tree = Tree::new();
    let cases = [
        (
            "site/nvidia/cu13/lib/libnvJitLink.so.13",
            ["site", "site/nvidia/cu13"],
        ),
        (
            "old/nvidia/nvjitlink/lib/libnvJitLink.so.12",
            ["old", "old/nvidia"],
        ),
        ("flat/libnvJitLink.so.12", ["flat", "flat"]),
        (
            "fetched/nvjitlink/lib/libnvJitLink.so.13",
            ["fetched", "fetched"],
        ),
    ];
    tree.file("fetched/nvjitlink/package.json", b"{}");
    for (file, roots) in cases {
        let path = tree.library(file);
        for root in roots {
            let mut settings = settings(&tree, &[]);
            settings.toolkit = Some(tree.at(root).into());
            let winner = chosen(Component::NvJitLink, &settings);
            assert_eq!(winner.unwrap().path, path, "{root}");
        }
    }
}

#[test]
fn a_release_may_be_asked_for() {
    let tree = Tree::new();
    tree.library("usr/local/cuda-13.5/lib64/libnvJitLink.so.13.5.37");
    tree.library("usr/local/cuda-12.9/lib64/libnvJitLink.so.12.9.86");
    for version in ["13.5", "12.9"] {
        let lib = tree.path(&format!("usr/local/cuda-{version}/lib64"));
        let major = &version[..2];
        let full = std::fs::read_dir(&lib)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        std::os::unix::fs::symlink(full, lib.join(format!("libnvJitLink.so.{major}"))).unwrap();
    }
    let version = |request: Option<&str>| {
        let mut settings = settings(&tree, &[]);
        settings.toolkit = request.map(Into::into);
        chosen(Component::NvJitLink, &settings).map(|winner| winner.version.unwrap().to_string())
    };
    assert_eq!(version(None).as_deref(), Some("13.5.37"));
    assert_eq!(version(Some("12")).as_deref(), Some("12.9.86"));
    assert_eq!(version(Some("12.9.86")).as_deref(), Some("12.9.86"));
    assert_eq!(version(Some("12.4")), None);

    let mut settings = settings(&tree, &[]);
    settings.toolkit = Some("12.4".into());
    let finding = error(Component::NvJitLink, &settings);
    assert_eq!(
        finding.message,
        "no nvJitLink that is on this machine can be used"
    );
    assert!(finding.details[0].ends_with("it is 13.5.37, and `--toolkit` asks for 12.4"));
    assert!(finding.hints[0].contains("toolkit install 12.4 --component nvjitlink"));
}

#[test]
fn the_first_that_suits_wins_and_the_search_stops_there() {
    let tree = Tree::new();
    tree.library("conda/lib/libnvJitLink.so.13.5.37");
    tree.library("conda/lib/libnvJitLink.so.12.9.86");
    for (link, to) in [("13", "13.5.37"), ("12", "12.9.86")] {
        std::os::unix::fs::symlink(
            format!("libnvJitLink.so.{to}"),
            tree.path(&format!("conda/lib/libnvJitLink.so.{link}")),
        )
        .unwrap();
    }
    tree.library("cuda/lib64/libnvJitLink.so.13");
    let variables = [
        ("CONDA_PREFIX", &*tree.at("conda")),
        ("CUDA_HOME", &tree.at("cuda")),
    ];
    let settings = settings(&tree, &variables);
    let any = locate(Component::NvJitLink, &settings, &Needs::default());
    assert_eq!(
        any.chosen.unwrap().version,
        Some(Version::with_patch(13, 5, 37))
    );
    assert_eq!(
        any.candidates.len(),
        2,
        "the folder of the winner is judged, and no other"
    );

    let old = Needs::default().below(Version::new(13, 0), "CUDA 13 no longer knows sm_70");
    let located = survey(Component::NvJitLink, &settings, &old);
    assert_eq!(
        located.chosen.unwrap().version,
        Some(Version::with_patch(12, 9, 86))
    );
    let reasons: Vec<_> = located
        .candidates
        .iter()
        .map(|c| c.verdict.reason())
        .collect();
    assert_eq!(
        reasons,
        [
            "13.5.37 is not older than 13.0, and CUDA 13 no longer knows sm_70",
            "it is the first that suits",
            "its version is unknown, and CUDA 13 no longer knows sm_70",
        ]
    );
}

#[test]
fn the_loader_is_asked_by_soname_and_gives_real_paths() {
    let tree = Tree::new();
    let cached = tree.library("usr/lib/x/libnvJitLink.so.12.4.127");
    std::os::unix::fs::symlink(&cached, tree.path("usr/lib/x/libnvJitLink.so.12")).unwrap();
    let cache = loader::tests::cache(&[(
        0x0303,
        "libnvJitLink.so.12",
        "/usr/lib/x/libnvJitLink.so.12",
    )]);
    tree.file("etc/ld.so.cache", &cache);
    let winner = chosen(Component::NvJitLink, &settings(&tree, &[])).unwrap();
    assert_eq!((&winner.path, &*winner.origin), (&cached, "ld.so.cache"));
    assert_eq!(winner.version, Some(Version::with_patch(12, 4, 127)));

    let first = tree.library("here/libnvJitLink.so.12");
    let path = format!("relative:{}", tree.at("here"));
    let winner = chosen(
        Component::NvJitLink,
        &settings(&tree, &[("LD_LIBRARY_PATH", &path)]),
    );
    assert_eq!(winner.unwrap().path, first);
}

#[test]
fn the_driver_is_the_systems_and_never_a_stub_of_a_toolkit() {
    let tree = Tree::new();
    tree.library("cuda/lib64/stubs/libcuda.so.1");
    tree.library("cuda/lib64/libcuda.so.1");
    let mut settings = settings(&tree, &[("CUDA_HOME", &tree.at("cuda"))]);
    settings.toolkit = Some(tree.at("cuda").into());
    assert_eq!(chosen(Component::Driver, &settings), None);
    assert_eq!(
        error(Component::Driver, &settings).hints,
        ["install NVIDIA's driver; linking and inspecting work without it"]
    );
    let wsl = tree.library("usr/lib/wsl/lib/libcuda.so.1");
    assert_eq!(chosen(Component::Driver, &settings).unwrap().path, wsl);

    let own = tree.library("own/libcuda.so");
    settings.environment = environment(&tree, &[("CUDALINK_LIBCUDA", own.to_str().unwrap())]);
    assert_eq!(chosen(Component::Driver, &settings).unwrap().path, own);
}

#[test]
fn parts_come_from_one_toolkit_where_one_has_them_all() {
    let tree = Tree::new();
    tree.library("conda/lib/libnvJitLink.so.13");
    tree.file("conda/version.json", br#"{"cuda": {"version": "13.5.0"}}"#);
    tree.library("cuda/lib64/libnvJitLink.so.12");
    tree.library("cuda/lib64/libnvrtc.so.12");
    tree.file(
        "cuda/version.json",
        br#"{"cuda": {"version": "12.9.1"}, "cuda_nvrtc": {"version": "12.9.86"}}"#,
    );
    let variables = [
        ("CONDA_PREFIX", &*tree.at("conda")),
        ("CUDA_HOME", &tree.at("cuda")),
    ];
    let mut settings = settings(&tree, &variables);
    let parts = [Component::NvJitLink, Component::Nvrtc];
    let listener = Listener::default();
    let needs = Needs::default();
    let [linker, compiler] = obtain(parts, &settings, &needs, &listener).unwrap();
    assert_eq!(linker.root, tree.path("cuda"));
    assert_eq!(compiler.version, Some(Version::with_patch(12, 9, 86)));
    assert!(listener.findings.lock().unwrap().is_empty());
    let lines = listener.lines.lock().unwrap().join("\n");
    assert!(lines.contains("not taken, since `"), "{lines}");
    assert!(
        lines.contains("chosen, since its toolkit has all the parts"),
        "{lines}"
    );

    // Alone, the first place wins as before.
    let [linker] = obtain([Component::NvJitLink], &settings, &needs, &Silent).unwrap();
    assert_eq!(linker.root, tree.path("conda"));

    // Beside a linker that is named, the other parts of its toolkit come first.
    tree.library("usr/local/cuda/lib64/libnvrtc.so.13");
    settings.nvjitlink = Some(tree.path("cuda/lib64/libnvJitLink.so.12"));
    let [_, compiler] = obtain(parts, &settings, &needs, &Silent).unwrap();
    assert_eq!(
        (compiler.source, &compiler.root),
        (Source::Beside, &tree.path("cuda"))
    );
}

#[test]
fn a_mixed_toolkit_is_told() {
    let tree = Tree::new();
    tree.library("conda/lib/libnvJitLink.so.13");
    tree.file(
        "conda/version.json",
        br#"{"libnvjitlink": {"version": "13.5.37"}}"#,
    );
    tree.library("cuda/lib64/libnvrtc.so.12");
    tree.file(
        "cuda/version.json",
        br#"{"cuda_nvrtc": {"version": "12.9.86"}}"#,
    );
    let variables = [
        ("CONDA_PREFIX", &*tree.at("conda")),
        ("CUDA_HOME", &tree.at("cuda")),
    ];
    let settings = settings(&tree, &variables);
    let listener = Listener::default();
    let parts = [Component::NvJitLink, Component::Nvrtc];
    let [linker, _] = obtain(parts, &settings, &Needs::default(), &listener).unwrap();
    let findings = std::mem::take(&mut *listener.findings.lock().unwrap());
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code, Code::ToolkitMixed);
    assert!(findings[0].details[0].starts_with("nvJitLink 13.5.37 (CONDA_PREFIX, "));
    assert!(findings[0].details[1].starts_with("NVRTC 12.9.86 (CUDA_HOME, "));

    // A part that is looked for later is held against the one chosen before.
    let needs = Needs::default().beside(&linker);
    let _ = obtain([Component::Nvrtc], &settings, &needs, &listener).unwrap();
    assert_eq!(
        listener.findings.lock().unwrap()[0].code,
        Code::ToolkitMixed
    );
}

#[test]
fn contradicting_needs_are_told_before_any_search() {
    let tree = Tree::new();
    let needs = Needs::default()
        .at_least(Version::new(13, 5), "`a.ltoir` was made by CUDA 13.5")
        .below(Version::new(13, 0), "CUDA 13 no longer knows sm_70");
    let error = obtain(
        [Component::NvJitLink],
        &settings(&tree, &[]),
        &needs,
        &Silent,
    )
    .unwrap_err();
    assert_eq!(error.category, Category::Failed);
    assert!(error.to_string().contains("sm_70"), "{error}");
}

#[test]
fn wheels_tell_their_version_by_their_metadata() {
    let tree = Tree::new();
    let site = "venv/lib/python3.12/site-packages";
    tree.folder(&format!("{site}/nvidia_nvjitlink_cu12-12.9.86.dist-info"));
    tree.folder(&format!("{site}/nvidia_nvjitlink-13.5.37.dist-info"));
    tree.library(&format!("{site}/nvidia/cu13/lib/libnvJitLink.so.13"));
    tree.library(&format!("{site}/nvidia/nvjitlink/lib/libnvJitLink.so.12"));
    let located = find(
        Component::NvJitLink,
        &settings(&tree, &[("VIRTUAL_ENV", &tree.at("venv"))]),
    );
    let versions: Vec<_> = located
        .candidates
        .iter()
        .filter_map(|c| c.version)
        .collect();
    assert_eq!(
        versions,
        [
            Version::with_patch(13, 5, 37),
            Version::with_patch(12, 9, 86)
        ]
    );
}

#[test]
fn one_file_found_twice_is_one_candidate_with_a_reason() {
    let tree = Tree::new();
    tree.library("usr/local/cuda-13.5/lib64/libnvJitLink.so.13");
    std::os::unix::fs::symlink("cuda-13.5", tree.path("usr/local/cuda")).unwrap();
    let located = find(Component::NvJitLink, &settings(&tree, &[]));
    assert_eq!(located.candidates.len(), 2);
    assert_eq!(located.candidates[0].version, Some(Version::new(13, 5)));
    assert!(
        located.candidates[1]
            .verdict
            .reason()
            .starts_with("it is the file that")
    );
}

#[test]
fn macos_says_that_there_is_nothing_to_find() {
    let tree = Tree::new();
    let mut settings = settings(&tree, &[]);
    settings.environment.platform.os = Os::MacOs;
    let finding = error(Component::NvJitLink, &settings);
    assert!(
        finding
            .details
            .contains(&"NVIDIA ships no nvJitLink for macos".to_owned())
    );
}

/// A link must cost only milliseconds more than the library.
#[test]
fn the_search_on_this_machine_is_quick() {
    let settings = Settings::from_process(true);
    let start = std::time::Instant::now();
    for _ in 0..20 {
        locate(Component::NvJitLink, &settings, &Needs::default());
    }
    let each = start.elapsed() / 20;
    // Measured well below 1 ms in a debug build; a busy machine gets ten times that.
    assert!(each.as_millis() < 20, "{each:?}");
}
