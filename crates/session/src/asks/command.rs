//! Which commands a wider rule may allow.
//!
//! A wider rule allows a program and its command (`cargo test`) with other names behind them. That is safe only if what
//! follows cannot change what is done: `rm a` becomes `rm a -rf ..`, `cat a` becomes `cat a /etc/shadow`, and `env`, `find`,
//! `xargs` or `sh` run whatever they are given. Therefore everything is listed: programs, their commands, and the
//! options that may follow. All other words must be names inside the working directory. An option that is missing here
//! costs one more question; one that is here by mistake runs something that was never agreed to.
//!
//! `cargo test` and `go test` run code too, but only that of the project, and what follows selects among its tests: agreeing to
//! the exact command is agreeing to that code as it will be. `npm test` is missing because what follows becomes part of a
//! shell command in `package.json` that we have not seen (`"test": "node"` runs any file), and `git commit` because it runs the
//! hooks of the repository, and which of them depends on the options.

/// A program that neither deletes, nor runs what it is given, nor takes scripts.
struct Program {
    name: &'static str,
    commands: &'static [&'static str],
    /// Options that neither name another program nor a place to write to. Git also takes the beginning of an option, so
    /// only whole ones count.
    options: &'static [&'static str],
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "cargo",
        commands: &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"],
        options: &[
            "--",
            "--all",
            "--all-features",
            "--all-targets",
            "--bench",
            "--benches",
            "--bin",
            "--bins",
            "--check",
            "--depth",
            "--doc",
            "--exact",
            "--example",
            "--examples",
            "--features",
            "--frozen",
            "--ignored",
            "--include-ignored",
            "--invert",
            "--keep-going",
            "--lib",
            "--list",
            "--locked",
            "--message-format",
            "--no-capture",
            "--no-default-features",
            "--no-deps",
            "--no-fail-fast",
            "--no-run",
            "--nocapture",
            "--offline",
            "--package",
            "--quiet",
            "--release",
            "--show-output",
            "--test",
            "--test-threads",
            "--tests",
            "--verbose",
            "--workspace",
            "-F",
            "-i",
            "-p",
            "-q",
            "-r",
            "-v",
            "-vv",
        ],
    },
    Program {
        name: "git",
        commands: &["add", "blame", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status"],
        options: &[
            "--",
            "--all",
            "--author",
            "--branch",
            "--cached",
            "--decorate",
            "--follow",
            "--graph",
            "--name-only",
            "--name-status",
            "--no-color",
            "--numstat",
            "--oneline",
            "--patch",
            "--porcelain",
            "--short",
            "--shortstat",
            "--since",
            "--staged",
            "--stat",
            "--until",
            "--update",
            "-A",
            "-a",
            "-b",
            "-m",
            "-n",
            "-p",
            "-s",
            "-u",
            "-w",
        ],
    },
    Program {
        name: "go",
        commands: &["build", "doc", "fmt", "list", "test", "vet"],
        options: &[
            "-all",
            "-bench",
            "-benchmem",
            "-count",
            "-cover",
            "-failfast",
            "-json",
            "-m",
            "-parallel",
            "-race",
            "-run",
            "-short",
            "-tags",
            "-timeout",
            "-v",
        ],
    },
    Program { name: "npm", commands: &["ls", "outdated"], options: PACKAGE_OPTIONS },
    Program { name: "pnpm", commands: &["list", "outdated"], options: PACKAGE_OPTIONS },
    Program { name: "yarn", commands: &["list", "outdated"], options: PACKAGE_OPTIONS },
];

const PACKAGE_OPTIONS: &[&str] = &["--", "--all", "--depth", "--json", "--long", "--silent", "-s"];

/// The words of a single command as a shell splits them. Returns `None` if a shell would do more than run it, or may see
/// other words than we do.
pub(super) fn simple_words(command: &str) -> Option<Vec<String>> {
    const MEANT_FOR_SHELLS: &[char] = &[
        ';', '|', '&', '`', '<', '>', '$', '(', ')', '{', '}', '\\', '#', '!', '*', '?', '[', ']', '~', '^',
    ];
    let is_plain = |c: char| c == '\t' || c == ' ' || !(c.is_control() || c.is_whitespace());
    if command.contains(MEANT_FOR_SHELLS) || !command.chars().all(is_plain) {
        return None;
    }
    shlex::split(command)
}

/// Whether a wider rule may allow these words.
pub(super) fn is_harmless(words: &[String]) -> bool {
    let [name, command, rest @ ..] = words else { return false };
    let program = PROGRAMS.iter().find(|one| one.name == name && one.commands.contains(&command.as_str()));
    program.is_some_and(|program| rest.iter().all(|word| is_harmless_word(program, word)))
}

fn is_harmless_word(program: &Program, word: &str) -> bool {
    if !word.starts_with('-') {
        return is_inside(word);
    }
    let (option, value) = word.split_once('=').unwrap_or((word, ""));
    let is_number = word.len() > 1 && word.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    is_number || (program.options.contains(&option) && is_inside(value))
}

/// A name that does not lead out of the working directory. Git compares any two files if one of them is outside.
fn is_inside(name: &str) -> bool {
    !name.starts_with('/') && !name.split(['/', ':', '=']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_offered(command: &str) -> bool {
        simple_words(command).is_some_and(|words| is_harmless(&words))
    }

    #[test]
    fn a_wider_rule_is_offered_for_what_runs_only_code_of_the_project() {
        for command in [
            "cargo test reload",
            "cargo clippy -p limiter",
            "go test -run Reload",
            "git diff --stat",
            "npm ls",
        ] {
            assert!(is_offered(command), "{command}");
        }
    }

    /// The words behind `npm test` go to a script, and hooks run with a commit.
    #[test]
    fn no_wider_rule_is_offered_for_what_runs_scripts_or_hooks() {
        for command in [
            "npm test",
            "npm test evil.js",
            "npm run build",
            "pnpm test",
            "yarn test",
            "git commit -m words",
            "git commit",
            "git push",
            "rm junk.txt",
            "find .",
        ] {
            assert!(!is_offered(command), "{command}");
        }
    }
}
