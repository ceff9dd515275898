//! Claude's own interface in tmux: a session that began there is continued by `offshoot`, and the other way round.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::flows::{agent_session, code, provenance_in};
use super::person::{KEY, Person};
use super::prefix::{order, same_above_of_claude, texts};
use crate::programs::Check;

const SESSION: &str = "0f000000-0000-4000-8000-0000000000aa";

struct Terminal {
    socket: String,
}

impl Terminal {
    fn start(person: &Person, words: &[&str]) -> Result<Self> {
        let socket = format!(
            "offshoot-{}",
            person.project.parent().and_then(|root| root.file_name()).context("a root")?.to_string_lossy()
        );
        let terminal = Self { socket };
        let mut tmux = terminal.tmux();
        person.prepare(&mut tmux);
        tmux.args(["new-session", "-d", "-s", "claude", "-x", "110", "-y", "40"])
            .arg(&person.claude)
            .args(words);
        if !tmux.status().context("cannot run tmux")?.success() {
            bail!("tmux could not start Claude");
        }
        Ok(terminal)
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket]).stdin(Stdio::null()).stderr(Stdio::null());
        tmux
    }

    fn screen(&self) -> String {
        let shown = self.tmux().args(["capture-pane", "-p", "-t", "claude"]).output();
        shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    /// Types a line when the input box is there.
    fn say(&self, person: &Person, text: &str) -> Result<()> {
        person
            .await_some("the input box", || {
                Ok(self.screen().lines().any(|line| line.starts_with('❯')).then_some(()))
            })
            .with_context(|| self.screen())?;
        self.tmux().args(["send-keys", "-t", "claude", "-l", text]).status()?;
        person.await_some("the typed text", || Ok(self.screen().contains(text).then_some(())))?;
        self.tmux().args(["send-keys", "-t", "claude", "Enter"]).status()?;
        Ok(())
    }

    fn await_text(&self, person: &Person, text: &str) -> Result<()> {
        person
            .await_some(text, || Ok(self.screen().contains(text).then_some(())))
            .with_context(|| self.screen())
    }

    fn quit(self, person: &Person) -> Result<()> {
        self.tmux().args(["send-keys", "-t", "claude", "-l", "/exit"]).status()?;
        person.await_some("the typed text", || Ok(self.screen().contains("/exit").then_some(())))?;
        self.tmux().args(["send-keys", "-t", "claude", "Enter"]).status()?;
        person.await_some("the end of Claude", || {
            Ok((!self.tmux().args(["has-session", "-t", "claude"]).status()?.success()).then_some(()))
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended is gone already.
        let _ = self.tmux().arg("kill-server").status();
    }
}

/// Answers of its own for the questions of a first start.
fn configure(person: &Person) -> Result<()> {
    let approved = KEY.get(KEY.len() - 20..).unwrap_or(KEY);
    let project = person.project.display().to_string();
    let settings = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": "2.1.325", "theme": "dark",
        "customApiKeyResponses": {"approved": [approved], "rejected": []},
        "projects": {project: {"hasTrustDialogAccepted": true}},
    });
    std::fs::create_dir_all(&person.config)?;
    std::fs::write(person.config.join(".claude.json"), settings.to_string())?;
    Ok(())
}

pub(super) fn there_and_back(person: &Person) -> Result<Vec<Check>> {
    configure(person)?;
    let begun = Terminal::start(person, &["--session-id", SESSION])?;
    begun.say(person, "Begun there.")?;
    begun.await_text(person, "You said: Begun there.")?;
    begun.quit(person)?;

    let answer = person.answered(&["send", SESSION, "--agent", "claude-code", "Continued here."])?;
    let asked = person.request("Continued here.")?;
    let all = ["Begun there.", "Continued here.", "Said here.", "And there again."];

    person.send("Said here.")?;
    let own = agent_session(person)?;
    person.run(&["engine", "stop", "--force"])?;
    let resumed = Terminal::start(person, &["--resume", &own])?;
    resumed.say(person, "And there again.")?;
    resumed.await_text(person, "You said: And there again.")?;
    resumed.quit(person)?;
    let there = person.request("And there again.")?;
    let back = person.send("Last.")?;
    let last = person.request("Last.")?;
    let said = list_of(&last);
    Ok(vec![
        Check::new("a session of the interface is continued here", answer, "You said: Continued here."),
        Check::new("with what was said there", order(&asked, &all), "Begun there. | Continued here."),
        Check::new(
            "a session from here is resumed there",
            order(&there, &all),
            "Said here. | And there again.",
        ),
        Check::new("and continued here again", back, "You said: Last."),
        Check::new("with what was said meanwhile", said.contains("And there again.").to_string(), "true"),
    ])
}

/// The process of `offshoot` waits for the next message all the time.
pub(super) fn meanwhile(person: &Person) -> Result<Vec<Check>> {
    configure(person)?;
    person.send("Said here.")?;
    let own = agent_session(person)?;
    let waiting = person.claude_process()?;
    let there = Terminal::start(person, &["--resume", &own])?;
    there.say(person, "Said there.")?;
    there.await_text(person, "You said: Said there.")?;
    let refused = person.run(&["send", &person.session, "Too early."])?;
    there.quit(person)?;
    let answer = person.send("Said later.")?;
    let asked = person.request("Said later.")?;
    let all = ["Said here.", "Said there.", "Too early.", "Said later."];
    // The process that waited may have marked its own end as the active one when it ended; then the session is forked.
    let again = Terminal::start(person, &["--resume", &agent_session(person)?])?;
    again.say(person, "And there again.")?;
    again.await_text(person, "You said: And there again.")?;
    again.quit(person)?;
    let last = person.request("And there again.")?;
    Ok(vec![
        Check::new("what runs there gets no message", code(&refused), "4"),
        Check::new("because of it", refused.err.contains("in another process").to_string(), "true"),
        Check::new("the next one is answered", answer, "You said: Said later."),
        Check::new("with what was said there", order(&asked, &all), "Said here. | Said there. | Said later."),
        Check::new(
            "which the session has, too",
            person.texts("user")?.join(" | "),
            "Said here. | Said there. | Said later.",
        ),
        Check::new("by another process", (person.claude_process()? != waiting).to_string(), "true"),
        Check::new(
            "which goes on there",
            order(&last, &["Said later.", "And there again."]),
            "Said later. | And there again.",
        ),
    ])
}

/// A message of a session that began there is asked differently here.
pub(super) fn edited(person: &Person) -> Result<Vec<Check>> {
    configure(person)?;
    let begun = Terminal::start(person, &["--session-id", SESSION])?;
    for prompt in ["One.", "Two.", "Three."] {
        begun.say(person, prompt)?;
        begun.await_text(person, &format!("You said: {prompt}"))?;
    }
    begun.quit(person)?;
    let old = person.request("Three.")?;
    let answer =
        person.answered(&["send", SESSION, "--agent", "claude-code", "--edit", "3", "Three again."])?;
    let new = person.request("Three again.")?;
    let all = ["One.", "Two.", "Three.", "Three again."];
    let shown = person.json(&["show", SESSION, "--json"])?;
    let mut checks = same_above_of_claude(person, (&old, "Three."), (&new, "Three again."))?;
    checks.extend([
        Check::new("the answer", answer, "You said: Three again."),
        Check::new("the old text is gone", order(&new, &all), "One. | Two. | Three again."),
        Check::new("how Claude came to know it", provenance_in(&shown, "Three again.")?, "forked_at_message"),
    ]);
    Ok(checks)
}

fn list_of(request: &offshoot_testkit::model::Request) -> String {
    super::person::list(&request.body["messages"]).iter().flat_map(texts).collect::<Vec<_>>().join("\n")
}
