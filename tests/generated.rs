//! Files that are made from the command line's definition are current. `BLESS=1 cargo test --test generated`
//! makes them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use clap_complete::Shell;

#[test]
fn completions_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    for (shell, file) in [
        (Shell::Bash, "cudalink.bash"),
        (Shell::Zsh, "_cudalink"),
        (Shell::Fish, "cudalink.fish"),
        (Shell::PowerShell, "_cudalink.ps1"),
        (Shell::Elvish, "cudalink.elv"),
    ] {
        let mut script = Vec::new();
        clap_complete::generate(
            shell,
            &mut cudalink::cli::command(),
            "cudalink",
            &mut script,
        );
        let path = folder.join(file);
        if bless {
            std::fs::write(&path, &script).unwrap();
        }
        let on_disk = std::fs::read(&path).unwrap_or_default();
        assert!(
            on_disk == script,
            "{} is stale; run `BLESS=1 cargo test --test generated`",
            path.display()
        );
    }
}
