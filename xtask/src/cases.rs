//! Runs acceptance cases: files of inputs and the facts expected of them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;

pub(crate) fn run(dir: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    match dir {
        Some(dir) => bail!("no cases runner yet for `{}`", dir.display()),
        None => bail!("no cases runner yet"),
    }
}
