use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the libraries that tests use are kept, fetched by cudalink itself.
pub fn data_dir() -> PathBuf {
    let given = std::env::var_os("CUDALINK_TEST_DATA").map(PathBuf::from);
    given.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("data"))
}

/// cudalink in an environment that holds nothing of this machine but its programs, so that tests see the libraries
/// of [`data_dir`] alone.
pub fn cudalink() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudalink"));
    command.env_clear();
    for name in [
        "PATH",
        "HOME",
        "TMPDIR",
        "PIP_INDEX_URL",
        "PIP_CONFIG_FILE",
        "PIP_CERT",
        "HTTPS_PROXY",
        "https_proxy",
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
    ] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("CUDALINK_DATA_DIR", data_dir()).env(
        "CUDALINK_CACHE_DIR",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
    );
    command
}

/// Fetches nvJitLink of a release once.
pub fn install(release: &str, component: &str) {
    let out = cudalink()
        .args(["toolkit", "install", release, "--component", component])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// nvJitLink 13.5 is there.
pub static NVJITLINK: LazyLock<()> = LazyLock::new(|| install("13.5", "nvjitlink"));
