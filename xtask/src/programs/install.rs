//! Programs from npm, in a cache that stays.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::catalog::Program;

/// What starts a program: itself, or its runtime and its script.
pub(super) struct Installed {
    pub(super) words: Vec<PathBuf>,
}

/// The program in the version asked for, or the reason why it is not there.
pub(super) fn installed(program: &Program, may_install: bool, cache: &Path) -> Result<Installed> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        bail!("only its package for Linux on x86-64 is known here");
    }
    let folder = cache.join(format!("{}-{}", program.name, program.version));
    let modules = folder.join("node_modules");
    let runtime = program.runtime.as_ref().map(|runtime| modules.join(runtime.entry));
    let words: Vec<PathBuf> = runtime.into_iter().chain([modules.join(program.entry)]).collect();
    if !words.iter().all(|word| word.exists()) {
        if !may_install {
            bail!("not installed; `--install` fetches it from npm");
        }
        fetch(program, &folder)?;
    }
    if let Some(missing) = words.iter().find(|word| !word.exists()) {
        bail!("npm brought no `{}`", missing.display());
    }
    let came = version_in(&modules.join(program.package).join("package.json"))?;
    if came != program.version {
        bail!("version {came} came instead");
    }
    let says = says_version(&words, &folder.join("home"))?;
    if !says.contains(program.version) {
        bail!("it calls itself `{says}`");
    }
    Ok(Installed { words })
}

fn fetch(program: &Program, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    std::fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
    npm.arg(format!("{}@{}", program.package, program.version));
    npm.args(program.runtime.as_ref().map(|runtime| runtime.package));
    let output = npm.stdin(Stdio::null()).output().context("cannot run npm")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("npm error")).take(3).collect();
        bail!("{}", errors.join("; "));
    }
    Ok(())
}

fn version_in(package: &Path) -> Result<String> {
    let bytes = std::fs::read(package).with_context(|| format!("cannot read `{}`", package.display()))?;
    let package: Value = serde_json::from_slice(&bytes)?;
    Ok(package.get("version").and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// A program that cannot start here says so now.
fn says_version(words: &[PathBuf], home: &Path) -> Result<String> {
    let (first, more) = words.split_first().context("nothing to start")?;
    std::fs::create_dir_all(home).with_context(|| format!("cannot create `{}`", home.display()))?;
    let output = Command::new(first)
        .args(more)
        .arg("--version")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .stdin(Stdio::null())
        .output()
        .context("it cannot be started")?;
    if !output.status.success() {
        bail!("it cannot be started: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
