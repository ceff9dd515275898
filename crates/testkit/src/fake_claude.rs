//! A fake Claude Code: a small program that speaks the stdio protocol of the real one and keeps session files like it.
//!
//! [`program`] is its path. Set `OFFSHOOT_AGENTS_CLAUDE_CODE_PATH` (or `Host::program` in a test of the driver) to it and
//! give it a private `HOME` or `CLAUDE_CONFIG_DIR`. The build script of this crate *is* the program (see `build.rs`), so
//! every test that depends on this crate can start it and no test builds anything.
//!
//! What the model knows is what the session file holds: a prompt without instructions is answered with the JSON list of
//! all prompts in the context, and [`prompts_of`] reads that list from the file. Ids are hashes of the session, the
//! number of the start and a counter; time in the file is a count of lines.
//!
//! # Instructions in a prompt
//!
//! Lines that begin with `%`, performed in order:
//!
//! | Line | Effect |
//! |---|---|
//! | `%say TEXT`, `%think TEXT` | a text or a thought, streamed in pieces of 12 characters every 2 ms |
//! | `%call NAME JSON` | a call; all but `Read`, `Glob` and `Grep` ask for permission. `Bash`, `Write`, `Edit`, `Read`, `AskUserQuestion` and `ExitPlanMode` work; `Bash` runs in a session of its own, with `"run_in_background": true` as a background shell |
//! | `%agent JSON` | a background sub-agent: `{"description", "prompt", "report", "wait": MS, "asks": INPUT OF BASH}`; its end starts a turn |
//! | `%time` | the time in microseconds, in one delta |
//! | `%wait MS` | nothing for so long |
//! | `%silence` | nothing until an interrupt |
//! | `%deaf` | nothing at all, whatever comes |
//! | `%void TEXT` | streamed text that no line confirms |
//! | `%retry` | an `api_retry` line |
//! | `%fail STATUS` | the error of an API: 401 is retried until an interrupt, 400 not at all |
//! | `%compact` | an automatic compaction |
//! | `%garbage TEXT` | a line that is not JSON |
//! | `%big BYTES` | an answer of so many bytes in one line, without deltas |
//! | `%flood N` | an answer in N deltas (at most about 5000) |
//! | `%unknown` | lines of unknown types and shapes |
//! | `%twice` | every line from here on, deltas aside, is written twice |
//! | `%close-stdin` | standard input is closed: writes to it fail |
//! | `%exit CODE`, `%kill` | the process ends, by itself or by SIGKILL; `%call Bash {"command": "kill -9 $PPID"}` kills it in a tool |
//! | `%kill-after N` | SIGKILL before line N + 1 of the output |
//!
//! After a call that ends the script comes the list of known prompts, as a model always answers a result.
//!
//! # Faults of a start
//!
//! [`configure`] writes them into the configuration folder, for every start from then on: `version` (an older one lacks
//! what 2.1.197 lacks), `refuses_to_start` (a text), `is_silent` (no request is answered), `is_signed_out`,
//! `kill_after` (SIGKILL after so many lines), `refuses` (texts by the number of the start, such as
//! `{"2": "No message found with message.uuid of: x"}`).
//!
//! # Limitations
//!
//! SIGINT and SIGTERM end it at once and leave its tools running, as SIGTERM does with 2.1.197.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The program, ready to run.
#[must_use]
pub fn program() -> &'static Path {
    Path::new(concat!(env!("OUT_DIR"), "/fake-claude"))
}

/// Sets the faults of all starts that use this configuration folder (`CLAUDE_CONFIG_DIR`, or `.claude` in the home).
///
/// # Errors
///
/// When the file cannot be written.
pub fn configure(folder: &Path, faults: &Value) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("fake-claude.json"), faults.to_string())
}

/// How often the program was started with this configuration folder.
#[must_use]
pub fn starts(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("fake-claude.starts")).map_or(0, |file| file.len())
}

/// The file of a session, in any project of this configuration folder.
#[must_use]
pub fn session_file(folder: &Path, session: &str) -> Option<PathBuf> {
    transcript::find(folder, session)
}

/// The prompts that a session's model sees, read from its file: those of the active branch.
///
/// # Errors
///
/// When there is no such file or it cannot be read.
pub fn prompts_of(folder: &Path, session: &str) -> io::Result<Vec<String>> {
    let file = session_file(folder, session).ok_or(io::ErrorKind::NotFound)?;
    Ok(transcript::Transcript::read(session, file)?.prompts())
}

mod messages;

pub use messages::{Message, messages_of};

#[path = "../fake-claude/transcript.rs"]
#[expect(dead_code, reason = "the program writes the files that tests only read")]
mod transcript;
