//! The `cudalink` command; see the library's documentation.

fn main() -> std::process::ExitCode {
    cudalink::cli::main(std::env::args_os())
}
