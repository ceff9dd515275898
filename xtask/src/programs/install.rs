//! Programs from npm, in a cache that stays.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::catalog::{Program, Source};

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
    let package = format!("{}@{}", program.package, program.version);
    let mut wanted: Vec<&str> = program.runtime.iter().map(|runtime| runtime.package).collect();
    match program.source {
        Source::Installed => wanted.push(&package),
        Source::Packed { with } => wanted.extend(with),
    }
    let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"];
    npm(folder, options.into_iter().chain(wanted))?;
    // npm removes what it did not bring, so this comes last
    match program.source {
        Source::Installed => Ok(()),
        Source::Packed { .. } => unpack(&package, folder, &folder.join("node_modules").join(program.package)),
    }
}

/// Fetches one package without its dependencies.
pub(crate) fn unpack(package: &str, folder: &Path, into: &Path) -> Result<()> {
    let told = npm(folder, ["pack", "--json", package])?;
    let told: Value = serde_json::from_str(&told).context("npm told nothing of the package")?;
    let file = told.pointer("/0/filename").and_then(Value::as_str).context("npm packed no file")?;
    let file = folder.join(file);
    std::fs::create_dir_all(into).with_context(|| format!("cannot create `{}`", into.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&file).arg("--strip-components=1").arg("-C").arg(into);
    if !tar.status().context("cannot run tar")?.success() {
        bail!("`{}` could not be unpacked", file.display());
    }
    std::fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))
}

fn npm<'w>(folder: &Path, words: impl IntoIterator<Item = &'w str>) -> Result<String> {
    let mut npm = Command::new("npm");
    npm.current_dir(folder).args(words);
    let output = npm.stdin(Stdio::null()).output().context("cannot run npm")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("npm error")).take(3).collect();
        bail!("{}", errors.join("; "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
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
