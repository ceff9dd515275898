//! A terminal that is closed: its front end gets SIGHUP, the turn keeps running and a request can still be answered.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};

use offshoot_testkit::deadline::{BoundedChild, BoundedReader, until};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::home::{Home, PROGRAM};

/// From util-linux: makes a process the leader of a session with its input as the terminal. It cannot be done here,
/// because code between `fork` and `exec` is `unsafe`.
const SETSID: &str = "/usr/bin/setsid";

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn has_setsid(test: &str) -> bool {
    let has_it = std::path::Path::new(SETSID).exists();
    if !has_it {
        println!("skipped: {test} (there is no `{SETSID}`)");
    }
    has_it
}

/// A command in a terminal of its own.
struct Terminal {
    screen: BoundedReader<std::fs::File>,
    child: Child,
    shown: String,
}

impl Terminal {
    fn begin(home: &Home, words: &[&str]) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("own terminal");
        let name = ptsname(&master, Vec::new()).expect("own terminal").into_string().expect("a path");
        let slave = std::fs::File::options().read(true).write(true).open(name).expect("own terminal");
        let wanted = home.command(words);
        let mut command = Command::new(SETSID);
        command.args(["--ctty", "--wait", PROGRAM]).args(words).env_clear().current_dir(home.directory());
        command.envs(wanted.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let other = || slave.try_clone().expect("own terminal");
        let child = command.stdin(other()).stdout(other()).stderr(other()).spawn().expect("it starts");
        Self { screen: BoundedReader(master.into()), child, shown: String::new() }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.screen.0, "{line}").expect("own terminal");
    }

    fn until(&mut self, words: &str) {
        let mut bytes = [0; 1024];
        while !self.shown.contains(words) {
            match self.screen.read(&mut bytes) {
                Ok(count) if count > 0 => self.shown.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                end => panic!("{end:?} before `{words}`: {}", self.shown),
            }
        }
    }

    /// Closes the window. `send` ends by the signal; `chat` handles it, or sees the end of its input first.
    fn close(mut self) {
        drop(self.screen);
        let end = self.child.bounded_wait();
        let is_hung_up = end.signal() == Some(Signal::HUP.as_raw());
        assert!(is_hung_up || matches!(end.code(), Some(0 | 130)), "{end:?}");
    }
}

fn is_running(home: &Home) -> bool {
    home.done(&["status"]).contains("running")
}

#[test]
fn a_turn_completes_after_the_terminal_of_its_command_is_closed() {
    if !has_setsid("a_turn_completes_after_the_terminal_of_its_command_is_closed") {
        return;
    }
    for words in [["send", "count to 250"].as_slice(), &["chat"]] {
        let home = Home::with_session("Closed");
        let mut terminal = Terminal::begin(&home, words);
        if words == ["chat"] {
            terminal.say("count to 250");
        }
        terminal.until(" 12 13 ");
        terminal.close();
        assert!(is_running(&home), "{words:?}: it was closed in the middle");
        until("the answer", || !is_running(&home));
        let shown = home.done(&["show"]);
        assert!(shown.contains(" 249 250") && !shown.contains("interrupted"), "{words:?}: {shown}");
    }
}

#[test]
fn a_permission_can_be_answered_after_the_terminal_that_shows_it_is_closed() {
    if !has_setsid("a_permission_can_be_answered_after_the_terminal_that_shows_it_is_closed") {
        return;
    }
    let run = "run echo allowed > proof";
    for words in [["send", run].as_slice(), &["chat"]] {
        let home = Home::with_session("Closed");
        let mut terminal = Terminal::begin(&home, words);
        if words == ["chat"] {
            terminal.say(run);
        }
        terminal.until("May it");
        let engine = home.engine();
        terminal.close();
        assert!(home.done(&["status"]).contains("waiting"), "{words:?}");
        home.done(&["answer", "allow"]);
        until("the answer", || home.done(&["status"]) == "Nothing runs.\n");
        let proof = std::fs::read_to_string(home.directory().join("proof"));
        assert_eq!(proof.expect("the command ran"), "allowed\n", "{words:?}");
        assert_eq!(home.engine(), engine, "the engine is the same one");
    }
}
