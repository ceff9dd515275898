//! Agents of other makers: which are known, where they are found, and which version they say they are.
//!
//! Their sessions are read; to be asked from here each needs a bridge of its own, and until it has one it is only listed.
//! In which folders programs lie is for somebody else to say.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use offshoot_session::agent::{Environment, canonical_name};
use rustix::process::{Pid, Signal, kill_process_group};

/// An agent that people use.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    /// As its sessions name it.
    pub name: &'static str,
    /// As people call it.
    pub title: &'static str,
    /// What is typed to start it.
    command: &'static str,
    /// How to get it.
    pub install: &'static str,
}

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "claude-code",
        title: "Claude Code",
        command: "claude",
        install: "npm i -g @anthropic-ai/claude-code",
    },
    Program { name: "codex", title: "Codex", command: "codex", install: "npm i -g @openai/codex" },
    Program { name: "pi", title: "pi", command: "pi", install: "npm i -g @earendil-works/pi-coding-agent" },
    Program {
        name: "oh-my-pi",
        title: "oh-my-pi",
        command: "omp",
        install: "bun install -g @oh-my-pi/pi-coding-agent",
    },
    Program {
        name: "gemini",
        title: "Gemini CLI",
        command: "gemini",
        install: "npm i -g @google/gemini-cli",
    },
    Program { name: "opencode", title: "opencode", command: "opencode", install: "npm i -g opencode-ai" },
];

/// A program that asks the network or a person before it says its version is not waited for any longer.
const VERSION_LIMIT: Duration = Duration::from_secs(3);

/// More than a version is not read.
const VERSION_BYTES: u64 = 4096;

/// By its own name, or as people write it.
pub fn named(name: &str) -> Option<&'static Program> {
    let name = canonical_name(name);
    let is_it = |program: &&Program| {
        [program.name, program.title, program.command].iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    PROGRAMS.iter().find(is_it)
}

impl Program {
    /// Where it is, in the first of these folders that has it.
    pub fn found_in(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        let files =
            folders.iter().filter(|folder| folder.is_absolute()).map(|folder| folder.join(self.command));
        files.into_iter().find(|file| is_executable(file))
    }
}

/// One of them, on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub program: &'static Program,
    /// `None`: it is not installed.
    pub file: Option<PathBuf>,
    pub version: Option<String>,
}

/// All that are known. They are asked for their version at once: one that is slow keeps nobody waiting but itself. This may
/// block for a few seconds.
pub fn look_in(folders: &[PathBuf], environment: &Environment) -> Vec<Found> {
    let asked: Vec<_> = PROGRAMS
        .iter()
        .map(|program| {
            let file = program.found_in(folders);
            let asked = file.as_deref().and_then(|file| ask_version(file, environment, VERSION_LIMIT));
            (program, file, asked)
        })
        .collect();
    let heard = asked.into_iter().map(|(program, file, asked)| Found {
        program,
        file,
        version: asked.and_then(|asked| asked.stated().version()),
    });
    heard.collect()
}

/// Whether this is a file that can be run.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// What a program that was asked for its version has said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stated {
    Version(String),
    /// Something else, or nothing.
    NoVersion,
    /// It was too slow: its version may be any.
    Late,
}

impl Stated {
    fn version(self) -> Option<String> {
        match self {
            Self::Version(version) => Some(version),
            Self::NoVersion | Self::Late => None,
        }
    }
}

/// The version that a program states within this time. Blocks.
pub(crate) fn version_of(file: &Path, environment: &Environment, limit: Duration) -> Stated {
    ask_version(file, environment, limit).map_or(Stated::NoVersion, Asked::stated)
}

/// A program that is asked for its version.
struct Asked {
    child: Child,
    told: Receiver<String>,
    until: Instant,
}

/// `None`: it cannot be started.
fn ask_version(file: &Path, environment: &Environment, limit: Duration) -> Option<Asked> {
    let mut command = Command::new(file);
    command.env_clear().envs(environment.iter());
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // What was said before it broke off may have the version in it.
        let _ = stdout.take(VERSION_BYTES).read_to_end(&mut text);
        let _ = tell.send(String::from_utf8_lossy(&text).into_owned());
    });
    Some(Asked { child, told, until: Instant::now() + limit })
}

impl Asked {
    /// What it says, as far as it says it in time.
    fn stated(mut self) -> Stated {
        let told = self.told.recv_timeout(self.until.saturating_duration_since(Instant::now()));
        // It has said what there was to say, or it is too slow; what it has started goes with it.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        match told {
            Ok(told) => version_in(&told).map_or(Stated::NoVersion, Stated::Version),
            Err(_) => Stated::Late,
        }
    }
}

/// `codex-cli 0.166.0`, `2.0.1 (Claude Code)`, `v1.2.3`
fn version_in(told: &str) -> Option<String> {
    let words = told.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')' | '/'));
    let versions = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    versions.into_iter().find(is_version).map(|word| word.chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_say() {
        for (told, version) in [
            ("2.0.1 (Claude Code)\n", Some("2.0.1")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("omp/18.2.3\n", Some("18.2.3")),
            ("v1.2.3-beta.1", Some("1.2.3-beta.1")),
            ("A new version is there\n0.61.0\n", Some("0.61.0")),
            ("no version", None),
        ] {
            assert_eq!(version_in(told).as_deref(), version, "{told}");
        }
    }

    #[test]
    fn what_lies_in_a_folder_is_found_with_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        for (name, script, mode) in
            [("codex", "#!/bin/sh\necho codex-cli 1.2.3\n", 0o755), ("claude", "no program", 0o644)]
        {
            let file = folder.path().join(name);
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let found = look_in(&[PathBuf::from("relative"), folder.path().to_owned()], &Environment::default());
        assert_eq!(found.len(), PROGRAMS.len());
        let there: Vec<_> = found.iter().filter(|found| found.file.is_some()).collect();
        let [codex] = there.as_slice() else { panic!("{there:?}") };
        assert_eq!((codex.program.name, codex.version.as_deref()), ("codex", Some("1.2.3")));
    }

    #[test]
    fn an_agent_is_known_by_each_of_its_names() {
        for name in ["claude-code", "Claude Code", "claude", "claude_code"] {
            assert_eq!(named(name).map(|program| program.name), Some("claude-code"));
        }
        assert_eq!(named("nobody"), None);
    }
}
