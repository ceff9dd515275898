//! `cargo xtask bench --only models`: what the agent `llm` adds to the time of a model, with the released program and the
//! scripted model: from a word of the model to the terminal, and in a turn of many tool calls.
//!
//! The scripted model takes [`REPLY`] for each reply. That is less than real models take to their first word, so the share
//! that is measured is an upper limit. All the rest of the turn counts as ours: the tools, the journal and its syncs, the
//! start of `send`, and the scripted server itself.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use offshoot_testkit::model::{ModelServer, Script};

use super::table::median;
use super::{Scratch, corpus};

const TURNS: usize = 21;
/// With the answer that is a hundred requests, which is the limit of a turn.
const ROUNDS: usize = 99;
const REPLY: Duration = Duration::from_millis(200);

/// Milliseconds from the model's word to the terminal, not more than this.
const FIRST_WORD: f64 = 10.0;
/// Of the time of a turn, not more than this.
const SHARE: f64 = 0.02;

pub(super) fn run(is_checked: bool) -> Result<ExitCode> {
    let bench = Bench::begin(corpus::build()?)?;
    bench.send("Begin.")?;
    let times = (0..TURNS).map(|turn| bench.first_word(turn)).collect::<Result<Vec<f64>>>()?;
    let first_word = median(&times).context("nothing was measured")?;
    println!(
        "first word from the model to the terminal: {first_word:.2} ms in the median of {TURNS}; at most {FIRST_WORD} ms"
    );
    let turn = bench.tool_rounds()?;
    let waited = REPLY * u32::try_from(ROUNDS + 1)?;
    let ours = turn.saturating_sub(waited);
    let share = ours.as_secs_f64() / turn.as_secs_f64();
    println!(
        "{ROUNDS} tool calls: {:.2} % of {:.1} s are not the model's ({:.2} ms for each call); at most {} %",
        share * 100.0,
        turn.as_secs_f64(),
        ours.as_secs_f64() * 1e3 / ROUNDS as f64,
        SHARE * 100.0
    );
    let is_met = first_word <= FIRST_WORD && share <= SHARE;
    Ok(if is_met || !is_checked { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Bench {
    program: PathBuf,
    scratch: Scratch,
    model: ModelServer,
}

impl Bench {
    fn begin(program: PathBuf) -> Result<Self> {
        let scratch = Scratch::new()?;
        std::fs::create_dir_all(scratch.0.join("workspace"))?;
        std::fs::write(scratch.0.join("workspace/a"), "text\n".repeat(200))?;
        let model = ModelServer::start(Script::new()).context("cannot start the model")?;
        let bench = Self { program, scratch, model };
        let begun = bench.command(&["new", "Bench"]).output()?;
        ensure!(begun.status.success(), "{}", String::from_utf8_lossy(&begun.stderr));
        Ok(bench)
    }

    fn command(&self, words: &[&str]) -> Command {
        let root: &Path = &self.scratch.0;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(root.join("workspace")).env_clear().stdin(Stdio::null());
        command.env("HOME", root).env("OFFSHOOT_HOME", root.join("home")).env("OFFSHOOT_AUTO_SYNC", "false");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("OPENAI_BASE_URL", self.model.url() + "/v1").env("OPENAI_API_KEY", "sk-dummy");
        command
    }

    fn sending(&self, prompt: &str) -> Command {
        self.command(&["send", "Bench", "--agent", "llm", "--model", "openai/scripted", prompt])
    }

    fn send(&self, prompt: &str) -> Result<String> {
        let sent = self.sending(prompt).output()?;
        ensure!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        Ok(String::from_utf8_lossy(&sent.stdout).into_owned())
    }

    /// The milliseconds from the moment in which the model may speak.
    fn first_word(&self, turn: usize) -> Result<f64> {
        let gate = format!("gate-{turn}");
        let prompt = format!("Turn {turn}.\n%gate {gate}\n%say Now.");
        let mut sending = self.sending(&prompt).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut output = sending.stdout.take().context("it has no output")?;
        ensure!(self.model.wait_at(&gate), "the model was not asked");
        let since = Instant::now();
        self.model.open(&gate);
        let read = output.read(&mut [0; 16])?;
        let took = since.elapsed();
        std::io::copy(&mut output, &mut std::io::sink())?;
        ensure!(sending.wait()?.success() && read > 0, "the turn failed");
        Ok(took.as_secs_f64() * 1e3)
    }

    /// The time of a turn in which the model calls a tool again and again.
    fn tool_rounds(&self) -> Result<Duration> {
        let wait = format!("%wait {}\n", REPLY.as_millis());
        let round = format!("{wait}%call read {{\"path\": \"a\"}}\n%then\n");
        let prompt = format!("Read.\n{}{wait}%say Done.", round.repeat(ROUNDS));
        let since = Instant::now();
        let answer = self.send(&prompt)?;
        let took = since.elapsed();
        ensure!(answer.trim_end().ends_with("Done."), "the turn ended with `{answer}`");
        Ok(took)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // An engine without a home ends by itself.
        let _ = self.command(&["engine", "stop", "--force"]).output();
    }
}
