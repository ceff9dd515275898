//! Claude Code's own files: transcripts, titles, file backups and status files.
//!
//! [`ClaudeHome`] only adds files and title lines: a line that Claude Code wrote is never changed. Links are not followed
//! out of its folder, and FIFOs and devices are not opened. Everything here blocks.

use std::path::{Path, PathBuf};

use offshoot_session::agent::{EntryIter, Environment};
use offshoot_session::{AgentSessionId, EntryId, Missing};
pub(super) use offshoot_transcripts::claude::Point;
use thiserror::Error;

use crate::{Elsewhere, Look, Seen};

/// The folder in which Claude Code keeps everything: `CLAUDE_CONFIG_DIR`, otherwise `.claude` in the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaudeHome {
    folder: PathBuf,
}

/// A session file could not be written.
#[derive(Debug, Error)]
pub(super) enum NotWritten {
    #[error("could not {doing} `{}`", .path.display())]
    File { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("Claude Code has no transcript of session `{session}`")]
    NoTranscript { session: AgentSessionId },
    #[error("the transcript `{}` has no message `{at}`", .path.display())]
    NoMessage { path: PathBuf, at: EntryId },
    #[error("the transcript `{}` has no message", .path.display())]
    Empty { path: PathBuf },
}

impl ClaudeHome {
    pub(super) fn of(environment: &Environment) -> Option<Self> {
        let _ = environment;
        None
    }

    /// The transcript of a session, in the folder of any project.
    pub(super) fn transcript(&self, session: &AgentSessionId) -> Option<PathBuf> {
        let _ = session;
        None
    }

    /// Where Claude Code would write a new session that works in this folder.
    pub(super) fn new_transcript(&self, session: &AgentSessionId, workspace: &Path) -> PathBuf {
        let _ = (session, workspace);
        self.folder.clone()
    }

    /// Where a message is in the transcript of a session. A transcript that cannot be read has no messages.
    pub(super) fn point(&self, session: &AgentSessionId, at: &EntryId) -> Point {
        let _ = (session, at);
        Point::Missing
    }

    /// Writes the branch of `from` that ends with `at` (`None`: its active branch) as the new session `to`, line by line
    /// as Claude Code wrote it.
    pub(super) fn extract(
        &self,
        from: &AgentSessionId,
        at: Option<&EntryId>,
        to: &AgentSessionId,
        workspace: &Path,
    ) -> Result<(), NotWritten> {
        let _ = (at, to, workspace);
        Err(NotWritten::NoTranscript { session: from.clone() })
    }

    /// Writes entries of any agents, root first, as the new session `to`. Returns what Claude Code is not told.
    pub(super) fn rebuild(
        &self,
        entries: EntryIter<'_>,
        to: &AgentSessionId,
        workspace: &Path,
    ) -> Result<Missing, NotWritten> {
        let _ = (entries, workspace);
        Err(NotWritten::NoTranscript { session: to.clone() })
    }

    /// A process that runs the session and that `is_ours` does not know.
    pub(super) fn elsewhere(
        &self,
        session: &AgentSessionId,
        is_ours: &dyn Fn(u32) -> bool,
    ) -> Option<Elsewhere> {
        let _ = (session, is_ours);
        None
    }

    /// Appends a title to the transcript of a session that no process runs. Returns whether anything was written.
    pub(super) fn set_title(&self, session: &AgentSessionId, title: &str) -> Result<bool, NotWritten> {
        let _ = title;
        Err(NotWritten::NoTranscript { session: session.clone() })
    }

    /// What [`crate::Agent::look`] returns.
    pub(super) fn look(&self, look: &Look<'_>, is_ours: &dyn Fn(u32) -> bool) -> Seen {
        let _ = (look, is_ours);
        Seen::default()
    }
}
