//! Every hour, also while nobody calls Offshoot: a timer of systemd for this user, else a line for cron.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::here::{Here, agent_home};
use crate::words::keep as words;

const NAME: &str = "offshoot-keep";
/// How our line is known among those of others.
const MARK: &str = "# offshoot keep";

#[derive(Debug)]
pub(super) enum Schedule {
    /// Files of systemd, with what they say.
    Timer(Vec<(PathBuf, String)>),
    Cron(String),
}

impl Schedule {
    pub(super) fn for_this_machine(here: &Here) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::failed(words::no_program(&error)))?;
        let home = here.store()?.home().root().to_owned();
        if let Some(folder) = units().filter(|_| has_systemd()) {
            let [service, timer] = [service(&program, &home), timer()];
            return Ok(Self::Timer(vec![
                (folder.join(format!("{NAME}.service")), service),
                (folder.join(format!("{NAME}.timer")), timer),
            ]));
        }
        let line = cron_line(&program, &home);
        match crontab() {
            Err(_) => Err(Failure::failed(words::NO_SCHEDULER).hint(words::no_scheduler_hint(&line))),
            Ok(_) => Ok(Self::Cron(line)),
        }
    }

    /// What will be there, for the person to read.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Timer(files) => {
                files.iter().map(|(path, text)| format!("{}\n{}\n", path.display(), indented(text))).collect()
            }
            Self::Cron(line) => format!("crontab\n{}\n", indented(line)),
        }
    }

    pub(super) fn install(&self) -> Result<(), Failure> {
        match self {
            Self::Timer(files) => {
                for (path, text) in files {
                    let folder = path.parent().unwrap_or(path);
                    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
                    written
                        .map_err(|error| Failure::failed(crate::words::reading::not_written(path, &error)))?;
                }
                let timer = format!("{NAME}.timer");
                run("systemctl", &["--user", "daemon-reload"])?;
                run("systemctl", &["--user", "enable", "--now", &timer])
            }
            Self::Cron(line) => set_crontab(&format!("{}{line}\n", crontab_of_others(&crontab()?))),
        }
    }

    /// Whether there was anything to take away.
    pub(super) fn uninstall(_: &Here) -> Result<bool, Failure> {
        let files: Vec<PathBuf> = unit_files().into_iter().filter(|file| file.exists()).collect();
        if !files.is_empty() {
            let timer = format!("{NAME}.timer");
            // one that does not run any more only has to lose its files
            let _ = run("systemctl", &["--user", "disable", "--now", &timer]);
            for file in &files {
                std::fs::remove_file(file)
                    .map_err(|error| Failure::failed(crate::words::reading::not_written(file, &error)))?;
            }
            let _ = run("systemctl", &["--user", "daemon-reload"]);
            // folders that were made for them; one that holds something else stays
            let folders = units()
                .into_iter()
                .flat_map(|folder| folder.ancestors().take(2).map(Path::to_owned).collect::<Vec<_>>());
            for folder in folders {
                let _ = std::fs::remove_dir(folder);
            }
        }
        let has_line = crontab().unwrap_or_default().lines().any(|line| line.ends_with(MARK));
        if has_line {
            set_crontab(&crontab_of_others(&crontab()?))?;
        }
        Ok(has_line || !files.is_empty())
    }

    /// What keeps by itself now.
    pub(super) fn installed() -> Option<String> {
        let timer = unit_files()
            .into_iter()
            .find(|file| file.exists() && file.extension().is_some_and(|end| end == "timer"));
        let line =
            || crontab().unwrap_or_default().lines().find(|line| line.ends_with(MARK)).map(str::to_owned);
        timer.map(|file| file.to_string_lossy().into_owned()).or_else(line)
    }
}

fn units() -> Option<PathBuf> {
    Some(agent_home("XDG_CONFIG_HOME", ".config")?.join("systemd/user"))
}

fn unit_files() -> Vec<PathBuf> {
    let of = |folder: PathBuf| ["service", "timer"].map(|end| folder.join(format!("{NAME}.{end}"))).to_vec();
    units().map(of).unwrap_or_default()
}

/// Whether systemd runs things for this user.
fn has_systemd() -> bool {
    output("systemctl", &["--user", "show-environment"], None).is_ok()
}

fn service(program: &Path, home: &Path) -> String {
    let command = format!("{} --home {} keep --now", quoted_for_systemd(program), quoted_for_systemd(home));
    format!(
        "[Unit]\nDescription=Keep the sessions of coding agents\n\n[Service]\nType=oneshot\nNice=10\nExecStart={command}\n"
    )
}

fn timer() -> String {
    "[Unit]\nDescription=Keep the sessions of coding agents, every hour\n\n[Timer]\nOnCalendar=hourly\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n".to_owned()
}

fn cron_line(program: &Path, home: &Path) -> String {
    let quoted =
        |path: &Path| format!("'{}'", path.display().to_string().replace('\'', "'\\''").replace('%', "\\%"));
    format!("17 * * * * {} --home {} keep --now >/dev/null 2>&1 {MARK}", quoted(program), quoted(home))
}

fn quoted_for_systemd(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('%', "%%").replace('$', "$$"))
}

/// The lines that are set now. A table that is there and could not be read must not be taken for an empty one: what is
/// set next takes its place.
fn crontab() -> Result<String, Failure> {
    match output("crontab", &["-l"], None) {
        Err(why) if says_there_is_none(&why) => Ok(String::new()),
        Err(why) => Err(Failure::failed(words::did_not_work("crontab", &why))),
        Ok(lines) => Ok(lines),
    }
}

/// `crontab -l` fails where nothing is set, each in its own words.
fn says_there_is_none(why: &str) -> bool {
    let why = why.to_lowercase();
    why.contains("no crontab") || (why.contains("can't open") && why.contains("no such file"))
}

fn crontab_of_others(lines: &str) -> String {
    let others = lines.lines().filter(|line| !line.trim_end().ends_with(MARK));
    others.map(|line| format!("{line}\n")).collect()
}

fn set_crontab(text: &str) -> Result<(), Failure> {
    let words = if text.is_empty() { ["-r"] } else { ["-"] };
    output("crontab", &words, Some(text).filter(|text| !text.is_empty()))
        .map(drop)
        .map_err(|why| Failure::failed(words::did_not_work("crontab", &why)))
}

fn run(program: &str, words: &[&str]) -> Result<(), Failure> {
    output(program, words, None).map(drop).map_err(|why| Failure::failed(words::did_not_work(program, &why)))
}

/// What a program prints, or why it did not.
fn output(program: &str, words: &[&str], input: Option<&str>) -> Result<String, String> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut command = Command::new(program);
    // what it says is compared
    command.env("LC_ALL", "C").args(words).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(input.as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
