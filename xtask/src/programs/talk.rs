//! A program that is spoken to in lines of JSON, for as long as one likes.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::isolated::{PATIENCE, kill_group};

pub(super) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Talk {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("it cannot be started")?;
        let output = child.stdout.take().context("it has no output")?;
        let input = child.stdin.take();
        let (sender, lines) = channel();
        // Ends with the output of the child, which this owns.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or(Value::Null);
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    pub(super) fn send(&mut self, message: &Value) -> Result<()> {
        let input = self.input.as_mut().context("it listens no more")?;
        writeln!(input, "{message}").context("it listens no more")
    }

    /// The next line that fits; others are passed over.
    pub(super) fn wait(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if fits(&line) => return Ok(line),
                Ok(_) => {}
                Err(_) => bail!("no {what} came"),
            }
        }
    }

    /// A request of the kind that pi and oh-my-pi take; its data comes back.
    pub(super) fn ask(&mut self, request: &Value) -> Result<Value> {
        self.send(request)?;
        let command = request["type"].as_str().unwrap_or_default();
        let answer = self.wait(command, |line| line["type"] == "response" && line["command"] == command)?;
        if answer["success"] != true {
            bail!("`{command}` was refused: {answer}");
        }
        Ok(answer["data"].clone())
    }

    /// Says nothing more, and waits until the program has gone.
    pub(super) fn close(mut self) -> Result<()> {
        self.input = None;
        while self.lines.recv_timeout(PATIENCE).is_ok() {}
        if self.child.try_wait()?.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        Ok(())
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        kill_group(&mut self.child);
    }
}
