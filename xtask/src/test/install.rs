//! What may be added to a fresh machine, only when asked for.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use super::process;

/// A program some tier needs, and the Debian package that brings it.
const PACKAGES: &[(&str, &str)] = &[("npm", "npm"), ("tmux", "tmux")];

/// A cargo command some tier needs, and the part of the toolchain that brings it.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

pub(crate) fn install_missing() -> anyhow::Result<()> {
    for line in lines(&absent(COMPONENTS, process::has_cargo_command), &absent(PACKAGES, is_on_path)) {
        let Some((program, args)) = line.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        if !process::succeeded(&mut command)? {
            bail!("`{}` failed", line.join(" "));
        }
    }
    Ok(())
}

fn absent<'n>(needs: &[(&str, &'n str)], is_there: impl Fn(&str) -> bool) -> Vec<&'n str> {
    needs.iter().filter(|(program, _)| !is_there(program)).map(|(_, brought_by)| *brought_by).collect()
}

/// The commands that bring what is absent; none where nothing is.
fn lines<'n>(components: &[&'n str], packages: &[&'n str]) -> Vec<Vec<&'n str>> {
    let mut lines = Vec::new();
    if !components.is_empty() {
        lines.push([&["rustup", "component", "add"], components].concat());
    }
    if !packages.is_empty() {
        lines.push(vec!["apt-get", "update"]);
        lines.push([&["apt-get", "install", "--yes", "--no-install-recommends"], packages].concat());
    }
    lines
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(Path::new(program)).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_absent_is_installed() {
        let needs = [("tmux", "tmux"), ("chrome", "chromium")];
        assert_eq!(absent(&needs, |program| program == "tmux"), ["chromium"]);
        let lines = lines(&[], &["chromium"]).into_iter().map(|line| line.join(" ")).collect::<Vec<_>>();
        assert_eq!(lines, ["apt-get update", "apt-get install --yes --no-install-recommends chromium"]);
    }

    #[test]
    fn a_complete_machine_is_left_alone() {
        assert!(lines(&[], &[]).is_empty());
    }
}
