//! `offshoot chat` as a person meets it: in a real terminal, with keys. Needs tmux, and says so where there is none.
//!
//! What the program prints is read from the pane as it comes, so nothing is waited for by the clock; a test that never
//! sees what it waits for fails after [`PATIENCE`].

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};

use offshoot_testkit::deadline::{BoundedCommand, PATIENCE, within};

use crate::support::Folder;

struct Terminal {
    socket: PathBuf,
    arrived: Receiver<Vec<u8>>,
    /// What came and was not waited for yet.
    unread: String,
    folder: Folder,
}

fn has_tmux() -> bool {
    Command::new("tmux").arg("-V").bounded_output().is_ok_and(|output| output.status.success())
}

impl Terminal {
    /// `None`, and a line that says so, where there is no tmux.
    fn open(test: &str, folder: Folder, words: &str) -> Option<Self> {
        if !has_tmux() {
            println!("skipped: {test} (tmux is not installed)");
            return None;
        }
        let (sender, arrived) = channel();
        let socket = folder.path().join("tmux.sock");
        let pipe = folder.path().join("pane");
        let _ = std::fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).bounded_status().expect("mkfifo").success());
        let terminal = Self { socket, arrived, unread: String::new(), folder };
        // The program starts when the pane is listened to.
        let program = format!(
            "tmux -S '{}' wait-for heard; exec '{}' {words}",
            terminal.socket.display(),
            env!("CARGO_BIN_EXE_offshoot")
        );
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            "sh",
            "-c",
            &program,
        ]);
        terminal.tmux(&["pipe-pane", "-O", &format!("cat > '{}'", pipe.display())]);
        let mut pane = within("the pane", || std::fs::File::open(pipe)).expect("a pipe");
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = pane.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        terminal.tmux(&["wait-for", "-S", "heard"]);
        Some(terminal)
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket).args(words).current_dir(self.folder.path());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color");
        command.env("OFFSHOOT_HOME", self.folder.home()).env("TZ", "UTC").env("OFFSHOOT_AUTO_SYNC", "false");
        let output = command.bounded_output().expect("tmux runs");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn type_line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Waits for these words and returns what came before them.
    fn until(&mut self, words: &str) -> String {
        loop {
            if let Some(at) = self.unread.find(words) {
                let before = self.unread[..at].to_owned();
                self.unread.drain(..at + words.len());
                return before;
            }
            match self.arrived.recv_timeout(PATIENCE) {
                Ok(bytes) => self.unread.push_str(&plain(&String::from_utf8_lossy(&bytes))),
                Err(why) => panic!("`{words}` did not come ({why}), but: {}", self.unread),
            }
        }
    }

    /// Waits until the program has ended, and returns what it still said.
    fn until_gone(&mut self) -> String {
        loop {
            match self.arrived.recv_timeout(PATIENCE) {
                Ok(bytes) => self.unread.push_str(&plain(&String::from_utf8_lossy(&bytes))),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
                    return std::mem::take(&mut self.unread);
                }
                Err(why) => panic!("it did not end ({why}), but: {}", self.unread),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A server that has ended with its last pane need not be ended.
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").bounded_output();
    }
}

/// Without colours and returns.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => drop(signs.by_ref().skip(1).find(char::is_ascii_alphabetic)),
            '\r' => {}
            sign => plain.push(sign),
        }
    }
    plain
}

#[test]
fn a_person_takes_the_tour_and_talks() {
    let Some(mut terminal) = Terminal::open("a_person_takes_the_tour_and_talks", Folder::new(), "chat")
    else {
        return;
    };
    // The first run says what this is, and what to say.
    terminal.until("nothing is lost: `/help`");
    terminal.until("Say `show me around` or `help`.\n> ");
    terminal.type_line("show me around");
    terminal.until("Three things to try");
    terminal.until("that I understand.\n> ");

    // Words come one after the other, and Ctrl-C keeps those that came.
    terminal.type_line("count to 5000");
    terminal.until(" 20");
    terminal.type_line("/edit 1 hello");
    terminal.until("error: the built-in agent is still answering on this branch at `#2`\n");
    terminal.until("hint: wait, or interrupt it with Ctrl-C\n");
    terminal.press("C-c");
    let before = terminal.until("Interrupting. Ctrl-C again leaves.");
    assert!(!before.contains("4999"), "it was complete before it was interrupted");
    terminal.until("Response interrupted\n> ");

    // A permission is asked for and answered.
    terminal.type_line("run echo from-the-shell");
    terminal.until("May it use shell?");
    terminal.until("p: in this project\n> ");
    terminal.type_line("perhaps");
    terminal.until("is none of the answers: y, n, c, a, p, A, P\n> ");
    terminal.type_line("y");
    terminal.until("→ from-the-shell\n> ");

    // What the tour tells to do can be done.
    terminal.type_line("/edit 1 hello you");
    terminal.until("Version 2 of 2.");
    terminal.until("You said “hello you”.");
    terminal.until("say `help`.\n> ");
    terminal.type_line("/tree");
    let tree = terminal.until("> ");
    assert!(tree.contains("hello you  ← head  ") && tree.contains("2/2\n"), "{tree}");
    terminal.type_line("/prev");
    terminal.until("Version 1 of 2.\n");
    terminal.until("your next message goes below it.\n> ");
    terminal.type_line("/rewind 1");
    terminal.until("Rewound to #1; `/undo` takes it back.\n");
    terminal.until("  show me around\n> ");
    terminal.type_line("/undo");
    terminal.until("Taken back: ");
    terminal.until("\n> ");

    // In a smaller window the tree is drawn smaller.
    terminal.type_line(&format!("/edit 1 a long message that does not fit {}", "at all ".repeat(12)));
    terminal.until("say `help`.\n> ");
    terminal.tmux(&["resize-window", "-x", "40", "-y", "15"]);
    terminal.type_line("/tree");
    terminal.until("/tree\n");
    let tree = terminal.until("\n> ");
    assert!(tree.lines().all(|line| line.chars().count() <= 40), "{tree}");
    assert!(tree.contains('…'), "{tree}");
    terminal.type_line("/help");
    terminal.until("/help\n");
    let help = terminal.until("\n> ");
    assert!(help.lines().all(|line| line.chars().count() <= 40), "{help}");
    assert!(help.contains("\n  /clear\n      the agent forgets; the\n      conversation stays\n"), "{help}");
    terminal.type_line("/dance");
    terminal.until("error: there is no `/dance`; `/help`\nlists what there is\n> ");

    // Ctrl-C at rest says how to leave; once more leaves, and says how to come back.
    terminal.press("C-c");
    terminal.until("Ctrl-C again leaves; so does `/quit`.\n> ");
    terminal.press("C-c");
    let said = terminal.until_gone();
    assert!(said.contains("\nGo on with: offshoot chat "), "{said}");
}

#[test]
fn a_person_comes_back_and_leaves_by_ending_the_input() {
    let folder = Folder::new();
    folder.run_with("chat", "hello there\n");
    let test = "a_person_comes_back_and_leaves_by_ending_the_input";
    let Some(mut terminal) = Terminal::open(test, folder, "chat --continue") else { return };
    terminal.until("Session ");
    terminal.until("> hello there\nYou said “hello there”.");
    terminal.until("say `help`.\n> ");
    terminal.type_line("and on");
    terminal.until("This is turn 2");
    terminal.until("say `help`.\n> ");
    terminal.press("C-d");
    let said = terminal.until_gone();
    assert!(said.starts_with("\nGo on with: offshoot chat "), "{said:?}");
}

#[test]
fn what_is_typed_while_an_answer_comes_waits_and_is_let_go() {
    let test = "what_is_typed_while_an_answer_comes_waits_and_is_let_go";
    let Some(mut terminal) = Terminal::open(test, Folder::new(), "chat") else { return };
    terminal.until("or `help`.\n> ");
    terminal.type_line("count to 5000");
    terminal.until(" 20");
    terminal.type_line("say it later");
    terminal.until("It waits until the answer is complete.");
    terminal.press("C-c");
    terminal.until("Response interrupted");
    terminal.until("What waits is said before your next message; `/queue send` says it now.");
    terminal.until("> ");
    terminal.type_line("/queue");
    terminal.until("  1. say it later  held: the answer before it did not come to its end\n> ");
    terminal.type_line("/queue send");
    terminal.until("> say it later\n");
    terminal.until("You said “say it later”.");
    terminal.until("say `help`.\n> ");
    // Ctrl-C at rest, after an answer, does not leave by itself.
    terminal.press("C-c");
    terminal.until("Ctrl-C again leaves");
    terminal.until("> ");
    terminal.type_line("think about trees");
    terminal.until("Thinking…");
    terminal.until(" Thought for ");
    terminal.until("as well as I can.\n> ");
    terminal.press("C-d");
    terminal.until_gone();
}

#[test]
fn several_pasted_lines_are_one_message() {
    let test = "several_pasted_lines_are_one_message";
    let Some(mut terminal) = Terminal::open(test, Folder::new(), "chat") else { return };
    terminal.until("or `help`.\n> ");
    terminal.tmux(&["set-buffer", "one\ntwo\nthree\n"]);
    terminal.tmux(&["paste-buffer"]);
    let before = terminal.until("3 lines pasted. Enter sends them as one message, Ctrl-C drops them.\n… ");
    assert!(!before.contains('…'), "nobody is invited in the middle: {before}");
    terminal.press("C-c");
    terminal.until("What was typed is dropped.\n> ");
    // A1: the last line counts without an end too, and is still being typed.
    terminal.tmux(&["set-buffer", "one\ntwo\nthree"]);
    terminal.tmux(&["paste-buffer"]);
    terminal.until("three\n3 lines pasted.");
    terminal.type_line(" and a half");
    terminal.until("You said “one…”. This is turn 1");
    terminal.until("say `help`.\n> ");
    terminal.type_line("/tree");
    terminal.until("one two three and a half  ← head");
    terminal.until("> ");
    terminal.type_line("a long\\");
    terminal.until("… ");
    terminal.type_line("story");
    terminal.until("You said “a long…”. This is turn 2");
    terminal.until("say `help`.\n> ");
    terminal.press("C-d");
    terminal.until_gone();
}

/// A1: a line of 9000 characters was sent as one of 4095, and pasted lines of 5000 characters lost their ends.
#[test]
fn a_line_that_the_terminal_cuts_is_refused() {
    let test = "a_line_that_the_terminal_cuts_is_refused";
    let Some(mut terminal) = Terminal::open(test, Folder::new(), "chat") else { return };
    terminal.until("or `help`.\n> ");
    let (one, two) = ("x".repeat(9000), format!("{}\n{}\nend", "a".repeat(5000), "b".repeat(5000)));
    for (pasted, with_enter) in [(one, true), (two, false)] {
        terminal.folder.write("pasted", pasted.as_bytes());
        let file = terminal.folder.path().join("pasted");
        terminal.tmux(&["load-buffer", &file.display().to_string()]);
        terminal.tmux(&["paste-buffer"]);
        if with_enter {
            terminal.press("Enter");
        }
        terminal.until("\nerror: the terminal cut a line after 4095 bytes, so nothing was sent\n");
        terminal.until("hint: put the text into a file: `offshoot send ");
        terminal.until("> ");
    }
    terminal.type_line("/tree");
    terminal.until("Nothing has been said yet.\n> ");
    terminal.press("C-d");
    terminal.until_gone();
}

#[test]
fn a_summary_that_takes_long_is_called_off_and_nothing_has_moved() {
    let test = "a_summary_that_takes_long_is_called_off_and_nothing_has_moved";
    let folder = Folder::new();
    if has_tmux() {
        let many: String = (1..=40).map(|number| format!("this is message number {number}\n")).collect();
        folder.run_with("chat", &many);
    }
    let Some(mut terminal) = Terminal::open(test, folder, "chat --continue") else { return };
    terminal.until("say `help`.\n> ");
    terminal.type_line("/tree 1 --summary");
    terminal.until("This takes a moment. Ctrl-C calls it off.");
    terminal.press("C-c");
    terminal.until("Called off. Nothing has changed.\n> ");
    terminal.type_line("and on");
    terminal.until("You said “and on”. This is turn 41 of its branch.");
    // So many turns fill the context.
    terminal.until("say `help`.\ncontext ");
    terminal.until(" of 64k (4 %)\n> ");
    terminal.press("C-d");
    terminal.until_gone();
}
