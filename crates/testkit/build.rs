//! Makes the program `fake-claude` for tests of every crate.
//!
//! Cargo builds no binaries of a dependency, but it does build and run the build script, so the script is the program:
//! run by Cargo it copies itself to `OUT_DIR/fake-claude`, and under that name it is the fake CLI.

#[path = "fake-claude/program.rs"]
mod program;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const NAME: &str = "fake-claude";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let called = arguments.first().map(Path::new).and_then(Path::file_name);
    if called.is_some_and(|name| name == NAME) {
        return Ok(program::run(arguments.get(1..).unwrap_or_default()));
    }
    copy_to(&PathBuf::from(std::env::var("OUT_DIR")?).join(NAME))?;
    Ok(ExitCode::SUCCESS)
}

fn copy_to(target: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    // A running program cannot be written to; a test of an earlier build may still run it.
    match std::fs::remove_file(target) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    std::fs::copy(std::env::current_exe()?, target)?;
    Ok(())
}
