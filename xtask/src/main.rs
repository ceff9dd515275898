//! Offshoot's own tasks, run as `cargo xtask TASK`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "tasks speak to the terminal")]

mod bench;
mod cases;
mod crash;
mod fuzz;
mod generate;
mod model;
mod programs;
mod test;
mod transcripts;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::test::Tier;

const USAGE: &str = "\
usage: cargo xtask test [--install] [--tier NAME]...
       cargo xtask cases [DIR]
       cargo xtask crash [--runs N]
       cargo xtask gen PRESET DIR [FORMAT]
       cargo xtask bench [--corpus] [--peers] [--check] [--only WORD] [--json FILE] [DIR]
       cargo xtask bench --against PROGRAM [--check] [--only WORD] [--json FILE] [DIR]
       cargo xtask transcripts DIR
       cargo xtask programs [--install] [--flow WORD]... [NAME]...
       cargo xtask model [PORT [LOG]]
       cargo xtask fuzz [TARGET] [SECONDS]

test         runs the tiers in order and counts; --install may add missing system packages
cases        runs every acceptance case file under DIR (default: ../shared/cases)
crash        runs the proofs of the store and the engine at full length, N times (default: once)
gen          writes sessions of a size: small, large, long, huge, deep-linear, bushy or corpus;
             in one format (pi, claude, offshoot) or in all
bench        measures long sessions under DIR, beside pi and oh-my-pi with --peers; with --only
             those figures whose operation, session or format contains WORD; with --check it
             fails when a figure misses what is asked;
             with --corpus five thousand sessions, beside oh-my-pi and rg; with --against the
             commands beside those of another build of Offshoot;
             with --only overhead what the engine costs beside Claude Code;
             with --only models what the agent for models adds to the time of a model;
             with --only scaling how the time of every command grows with wide and deep sessions
transcripts  reads every session file under DIR and counts what it finds
programs     holds conversations with real agents and a scripted model, and reads what they wrote;
             `driven` are those that offshoot holds with Claude Code, --flow chooses by a word
model        the scripted model alone, until it is interrupted; tells every request,
             and writes them to LOG
fuzz         gives the readers any bytes, SECONDS each (default: 60): by cargo-fuzz where there is a
             nightly compiler, else made by chance";

fn main() -> ExitCode {
    let task = match Task::parse(std::env::args_os().skip(1)) {
        Ok(task) => task,
        Err(problem) => {
            eprintln!("error: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let done = match task {
        Task::Help => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        Task::Test(request) => Ok(test::run(&request)),
        Task::Cases { dir } => cases::run(dir),
        Task::Crash { runs } => crash::run(runs),
        Task::Gen { preset, dir, format: Some(format) } => generate::run(&preset, &dir, &[&format]),
        Task::Gen { preset, dir, format: None } => generate::run(&preset, &dir, generate::FORMATS),
        Task::Bench(request) => bench::run(&request),
        Task::Transcripts { dir } => transcripts::run(&dir),
        Task::Programs(request) => programs::run(&request),
        Task::Model { port, log } => model::run(port, log.as_deref()),
        Task::Fuzz(request) => fuzz::run(&request),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

#[derive(Debug, PartialEq)]
enum Task {
    Help,
    Test(test::Request),
    Cases { dir: Option<PathBuf> },
    Crash { runs: u32 },
    Gen { preset: String, dir: PathBuf, format: Option<String> },
    Bench(bench::Request),
    Transcripts { dir: PathBuf },
    Programs(programs::Request),
    Model { port: u16, log: Option<PathBuf> },
    Fuzz(fuzz::Request),
}

impl Task {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let args: Vec<OsString> = args.into_iter().collect();
        // Whoever asks for help, wherever in the line, wants to read and not to run.
        if args.iter().any(|arg| arg == "-h" || arg == "--help") {
            return Ok(Self::Help);
        }
        let mut args = args.into_iter();
        let task = args.next().unwrap_or_default();
        match task.to_str() {
            Some("test") => parse_test(args).map(Self::Test),
            Some("gen") => {
                let preset = args.next().and_then(|preset| preset.into_string().ok());
                let dir = args.next().map(PathBuf::from);
                let format = args.next().and_then(|format| format.into_string().ok());
                refuse_more(args)?;
                match (preset, dir) {
                    (Some(preset), Some(dir)) => Ok(Self::Gen { preset, dir, format }),
                    _ => Err("`gen` needs a preset and a folder".to_owned()),
                }
            }
            Some("bench") => parse_bench(args).map(Self::Bench),
            Some("cases") => {
                let dir = args.next().map(PathBuf::from);
                refuse_more(args)?;
                Ok(Self::Cases { dir })
            }
            Some("crash") => parse_crash(args).map(|runs| Self::Crash { runs }),
            Some("transcripts") => {
                let dir = args.next().map(PathBuf::from).ok_or("`transcripts` needs a directory")?;
                refuse_more(args)?;
                Ok(Self::Transcripts { dir })
            }
            Some("programs") => parse_programs(args).map(Self::Programs),
            Some("model") => {
                let port = args.next().unwrap_or_else(|| "0".into());
                let log = args.next().map(PathBuf::from);
                refuse_more(args)?;
                let number = port.to_str().and_then(|port| port.parse().ok());
                let port = number.ok_or_else(|| format!("`{}` is no port", port.to_string_lossy()))?;
                Ok(Self::Model { port, log })
            }
            Some("fuzz") => parse_fuzz(args).map(Self::Fuzz),
            Some("" | "help") => Ok(Self::Help),
            _ => Err(format!("no task `{}`", task.to_string_lossy())),
        }
    }
}

fn parse_test(mut args: impl Iterator<Item = OsString>) -> Result<test::Request, String> {
    let mut request = test::Request::default();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--install") => request.install = true,
            Some("--tier") => {
                let name = args.next().unwrap_or_default();
                let tier = name.to_str().and_then(Tier::named);
                let known = Tier::ALL.map(Tier::name).join(", ");
                request.only.push(
                    tier.ok_or_else(|| format!("no tier `{}`; there are {known}", name.to_string_lossy()))?,
                );
            }
            _ => return Err(format!("unknown option `{}`", arg.to_string_lossy())),
        }
    }
    Ok(request)
}

fn parse_crash(mut args: impl Iterator<Item = OsString>) -> Result<u32, String> {
    let Some(option) = args.next() else { return Ok(1) };
    if option != "--runs" {
        return Err(format!("unknown option `{}`", option.to_string_lossy()));
    }
    let runs = args.next().unwrap_or_default();
    refuse_more(args)?;
    let number = runs.to_str().and_then(|runs| runs.parse().ok()).filter(|runs| *runs > 0);
    number.ok_or_else(|| format!("`{}` is no number of runs", runs.to_string_lossy()))
}

fn parse_bench(mut args: impl Iterator<Item = OsString>) -> Result<bench::Request, String> {
    let mut request = bench::Request::default();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--peers") => request.peers = true,
            Some("--corpus") => request.corpus = true,
            Some("--against") => {
                let program = args.next().map(PathBuf::from);
                request.against = Some(program.ok_or("`--against` needs a program")?);
            }
            Some("--check") => request.check = true,
            Some("--json") => {
                request.json = Some(args.next().map(PathBuf::from).ok_or("`--json` needs a file")?);
            }
            Some("--only") => {
                let word = args.next().and_then(|word| word.into_string().ok());
                request.only = Some(word.ok_or("`--only` needs a word")?);
            }
            Some(option) if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            _ if request.dir.is_none() => request.dir = Some(arg.into()),
            _ => return Err(format!("unexpected `{}`", arg.to_string_lossy())),
        }
    }
    Ok(request)
}

fn parse_programs(args: impl Iterator<Item = OsString>) -> Result<programs::Request, String> {
    let mut request = programs::Request::default();
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--install") => request.install = true,
            Some("--flow") => {
                let word = args.next().and_then(|word| word.into_string().ok());
                request.flows.push(word.ok_or("`--flow` needs a word")?);
            }
            Some(name) if !name.starts_with('-') => request.only.push(name.to_owned()),
            _ => return Err(format!("unknown option `{}`", arg.to_string_lossy())),
        }
    }
    Ok(request)
}

/// A target and a number, each of which may be left out.
fn parse_fuzz(args: impl Iterator<Item = OsString>) -> Result<fuzz::Request, String> {
    let mut request = fuzz::Request::default();
    for arg in args {
        match arg.to_str().map(|text| (text, text.parse::<u64>())) {
            Some((_, Ok(seconds))) if seconds > 0 => request.seconds = seconds,
            Some((name, Err(_))) if request.target.is_none() => request.target = Some(name.to_owned()),
            _ => return Err(format!("unexpected `{}`", arg.to_string_lossy())),
        }
    }
    Ok(request)
}

fn refuse_more(mut args: impl Iterator<Item = OsString>) -> Result<(), String> {
    match args.next() {
        Some(arg) => Err(format!("unexpected `{}`", arg.to_string_lossy())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Task, String> {
        Task::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_words_of_a_task_are_read() {
        for help in ["", "help", "--help", "-h", "bench --help", "test --tier fmt -h", "crash --runs --help"]
        {
            assert_eq!(parse(help), Ok(Task::Help), "`{help}`");
        }
        assert_eq!(parse("test"), Ok(Task::Test(test::Request::default())));
        assert_eq!(
            parse("test --tier fmt --install --tier docs"),
            Ok(Task::Test(test::Request { install: true, only: vec![Tier::Fmt, Tier::Docs] }))
        );
        assert_eq!(parse("cases"), Ok(Task::Cases { dir: None }));
        assert_eq!(parse("crash"), Ok(Task::Crash { runs: 1 }));
        assert_eq!(parse("crash --runs 3"), Ok(Task::Crash { runs: 3 }));
        assert_eq!(
            parse("bench --peers --only huge --json out.json data"),
            Ok(Task::Bench(bench::Request {
                peers: true,
                check: false,
                corpus: false,
                against: None,
                only: Some("huge".to_owned()),
                json: Some("out.json".into()),
                dir: Some("data".into())
            }))
        );
        assert_eq!(parse("fuzz"), Ok(Task::Fuzz(fuzz::Request::default())));
        assert_eq!(
            parse("fuzz claude 5"),
            Ok(Task::Fuzz(fuzz::Request { target: Some("claude".to_owned()), seconds: 5 }))
        );
        assert_eq!(parse("cases pi"), Ok(Task::Cases { dir: Some("pi".into()) }));
        assert_eq!(parse("model 8080"), Ok(Task::Model { port: 8080, log: None }));
        assert_eq!(
            parse("programs --install codex --flow edit pi"),
            Ok(Task::Programs(programs::Request {
                install: true,
                only: vec!["codex".into(), "pi".into()],
                flows: vec!["edit".into()]
            }))
        );
        assert_eq!(parse("transcripts here"), Ok(Task::Transcripts { dir: "here".into() }));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        assert_eq!(parse("tset"), Err("no task `tset`".to_owned()));
        assert_eq!(parse("test --fast"), Err("unknown option `--fast`".to_owned()));
        assert_eq!(parse("crash --runs none"), Err("`none` is no number of runs".to_owned()));
        assert_eq!(parse("crash --fast"), Err("unknown option `--fast`".to_owned()));
        assert_eq!(parse("cases pi omp"), Err("unexpected `omp`".to_owned()));
        assert_eq!(parse("transcripts"), Err("`transcripts` needs a directory".to_owned()));
        assert_eq!(parse("model here"), Err("`here` is no port".to_owned()));
        let no_tier = parse("test --tier lint").unwrap_err();
        assert!(no_tier.starts_with("no tier `lint`; there are fmt, clippy"), "{no_tier}");
    }
}
