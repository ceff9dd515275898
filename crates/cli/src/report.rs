//! A panic is a mistake of ours. It is told in a file for whoever mends it, and to the person in one sentence.
//!
//! What panicked says of itself may quote what was said to an agent, so quoted texts are left out ([`said`]), and so are
//! the texts of the command line (`command`). The process ends as the panic would end it: in the main thread with code
//! 101; in a task of the engine the task is lost, and whoever waited for it is told.

mod command;
mod said;

use std::backtrace::Backtrace;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

pub(crate) use self::command::{command, command_name};
use crate::log;
use crate::words::reports as words;

const FOLDER: &str = "reports";
/// Older ones are deleted.
const REPORTS: usize = 20;
const LOG_LINES: usize = 40;
const BACKTRACE_LINES: usize = 200;

/// Makes every panic leave a report in `home`; without one it is only told.
pub(crate) fn on_panic(home: Option<PathBuf>, command: String) {
    std::panic::set_hook(Box::new(move |panic| {
        let at = Timestamp::now();
        let report = told(panic, at, &command, home.as_deref());
        let kept = home.as_ref().map(|home| keep(home, at, &report));
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tell(&match kept {
            Some(Ok(path)) => words::broke(&path),
            Some(Err(error)) => words::broke_untold(&place, &error),
            None => words::broke_without_home(&place),
        });
    }));
}

/// The newest first.
pub(crate) fn reports(home: &Path) -> Vec<PathBuf> {
    let names = std::fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten();
    let is_report = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("panic-") && name.ends_with(".txt")
    };
    let mut reports: Vec<PathBuf> = names.map(|name| name.path()).filter(is_report).collect();
    // Names begin with the time.
    reports.sort();
    reports.reverse();
    reports
}

fn told(panic: &PanicHookInfo<'_>, at: Timestamp, command: &str, home: Option<&Path>) -> String {
    let payload = panic.payload();
    let message = payload.downcast_ref::<&str>().copied();
    let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = panic.location().map_or_else(|| words::UNKNOWN.to_owned(), ToString::to_string);
    let thread = std::thread::current();
    let rows = [
        ("program", crate::about::program()),
        ("system", crate::about::system()),
        ("at", at.to_string()),
        ("command", command.to_owned()),
        ("thread", thread.name().unwrap_or(words::UNKNOWN).to_owned()),
        ("place", place),
        ("message", said::without_texts(message.unwrap_or(words::UNKNOWN))),
    ];
    let mut text = format!("{}\n\n", words::REPORT_HEAD);
    for (name, value) in rows {
        text.push_str(&format!("{name:<9} {value}\n"));
    }
    text.push_str(&format!("\n{}\n{}", words::BACKTRACE, backtrace()));
    let lines = home.map(|home| log::last_lines(home, LOG_LINES)).unwrap_or_default();
    text.push_str(&format!("\n{}\n", words::LAST_LOG_LINES));
    for line in lines {
        text.push_str(&format!("{line}\n"));
    }
    log::without_secrets(&text)
}

fn backtrace() -> String {
    let trace = Backtrace::force_capture().to_string();
    // A shipped program does not know the names of its functions.
    if trace.lines().all(|line| line.ends_with("<unknown>")) {
        return format!("{}\n", words::NO_BACKTRACE);
    }
    trace.lines().take(BACKTRACE_LINES).map(|line| format!("{line}\n")).collect()
}

fn keep(home: &Path, at: Timestamp, report: &str) -> io::Result<PathBuf> {
    let folder = home.join(FOLDER);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    for old in reports(home).into_iter().skip(REPORTS.saturating_sub(1)) {
        // One that stays is deleted the next time.
        let _ = std::fs::remove_file(old);
    }
    let time = at.strftime("%Y%m%dT%H%M%S");
    // Two threads may panic in the same moment.
    for number in 0..100 {
        let path = folder.join(format!("panic-{time}-{}-{number:02}.txt", std::process::id()));
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => return file.write_all(report.as_bytes()).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// On a line of its own, whatever stood on the terminal.
fn tell(sentence: &str) {
    let mut stderr = io::stderr().lock();
    let before = if stderr.is_terminal() { "\n" } else { "" };
    // Who cannot read it any more does not miss it.
    let _ = writeln!(stderr, "{before}error: {sentence}");
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Output};

    use super::*;

    const HOME: &str = "OFFSHOOT_TEST_PANIC_HOME";

    /// Runs one of the tests below in a process of its own, where it finds a home and panics.
    fn child(test: &str, home: &Path) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&format!("report::tests::{test}"), "--exact", "--ignored", "--nocapture"]);
        command.env(HOME, home).env("SOME_API_KEY", "marked-value-of-a-variable").output().unwrap()
    }

    fn begin() -> Option<PathBuf> {
        let home = std::env::var_os(HOME).map(PathBuf::from)?;
        on_panic(Some(home.clone()), command(["chat", "--agent", "marked-word"].map(Into::into)));
        Some(home)
    }

    #[test]
    #[ignore = "a child of the tests below"]
    fn panics_in_the_main_thread() {
        let Some(home) = begin() else { return };
        std::fs::create_dir(home.join("log")).unwrap();
        std::fs::write(home.join("log/offshoot.log"), "the last line\n").unwrap();
        let text = "marked words of a conversation, größer";
        let _ = &text[..text.len() - 3];
    }

    #[test]
    #[ignore = "a child of the tests below"]
    fn panics_in_a_task() {
        if begin().is_none() {
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ended = runtime.block_on(async {
            tokio::spawn(async { panic!("api_key=marked-key marked-value-of-a-variable") }).await
        });
        assert!(ended.unwrap_err().is_panic());
        // Beside what the test harness itself prints.
        let _ = writeln!(io::stderr(), "and works on");
    }

    fn only_report(home: &Path) -> String {
        let reports = reports(home);
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::read_to_string(&reports[0]).unwrap()
    }

    #[test]
    fn a_panic_leaves_a_report_without_texts_and_one_sentence() {
        let dir = tempfile::tempdir().unwrap();
        let output = child("panics_in_the_main_thread", dir.path());
        assert_eq!(output.status.code(), Some(101));
        let report = only_report(dir.path());
        for part in ["offshoot 0.", "chat --agent ...", "src/report.rs:", "char boundary", "the last line"] {
            assert!(report.contains(part), "no `{part}` in {report}");
        }
        assert!(!report.contains("marked"), "{report}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with("error: ") && told.contains("/reports/panic-"), "{told}");
    }

    #[test]
    fn a_panic_in_a_task_is_told_and_the_process_works_on() {
        let dir = tempfile::tempdir().unwrap();
        let output = child("panics_in_a_task", dir.path());
        assert_eq!(output.status.code(), Some(0));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.starts_with("error: ") && told.ends_with("and works on\n"), "{told}");
        let report = only_report(dir.path());
        assert!(report.contains("api_key=[secret] [secret]"), "{report}");
        assert!(!report.contains("marked"), "{report}");
    }

    #[test]
    fn reports_do_not_pile_up() {
        let dir = tempfile::tempdir().unwrap();
        let second = |number: i64| Timestamp::from_second(1_700_000_000 + number).unwrap();
        for number in 0..30_i64 {
            keep(dir.path(), second(number), &number.to_string()).unwrap();
        }
        let kept = reports(dir.path());
        assert_eq!(kept.len(), REPORTS);
        assert_eq!(std::fs::read_to_string(&kept[0]).unwrap(), "29");
    }
}
