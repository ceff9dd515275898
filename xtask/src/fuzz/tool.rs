//! cargo-fuzz: the one that is installed, or one of our own in the target folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

const VERSION: &str = "0.13.2";

/// The compiler that builds this task is not the one that is asked for.
const NOT_OURS: [&str; 4] = ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "CARGO_MANIFEST_DIR"];

#[derive(Debug)]
pub(super) struct Tool {
    /// Where our own is; it comes first on the path.
    bin: PathBuf,
    folder: PathBuf,
}

impl Tool {
    /// Fetches it where it is not there. What is missing is told as the reason why not.
    pub(super) fn ready(folder: &Path) -> Result<Self> {
        let this = std::env::current_exe().context("where is this program?")?;
        let target = this.parent().and_then(Path::parent).context("this program lies in no target folder")?;
        let root = target.join("tools");
        let tool = Self { bin: root.join("bin"), folder: folder.to_owned() };
        if !answers(&mut tool.cargo(["+nightly", "--version"])) {
            bail!("no nightly compiler; `rustup toolchain install nightly` brings one");
        }
        if !answers(&mut tool.command(["--version"])) {
            println!("fetching cargo-fuzz {VERSION}");
            let mut install =
                tool.cargo(["install", "cargo-fuzz", "--locked", "--version", VERSION, "--root"]);
            let output = install.arg(&root).output().context("cannot run cargo")?;
            if !output.status.success() {
                bail!("it cannot be fetched: {}", last_line(&output.stderr));
            }
        }
        Ok(tool)
    }

    /// All targets at once, so that none waits for a compiler when its time runs.
    pub(super) fn build(&self) -> Result<()> {
        let status = self.command(["build"]).status().context("cannot run cargo-fuzz")?;
        if !status.success() {
            bail!("the targets cannot be built");
        }
        Ok(())
    }

    /// `cargo fuzz` with these words.
    pub(super) fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut cargo = self.cargo(["+nightly", "fuzz"]);
        cargo.args(words);
        cargo
    }

    fn cargo<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args(words).current_dir(&self.folder).stdin(Stdio::null());
        for variable in NOT_OURS {
            cargo.env_remove(variable);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.bin.clone()).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            cargo.env("PATH", path);
        }
        cargo
    }
}

fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn last_line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).lines().last().unwrap_or_default().trim().to_owned()
}
