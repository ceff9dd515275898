//! Claude Code's own files: transcripts, titles, file backups and status files.
//!
//! [`ClaudeHome`] only adds files and title lines: a line that Claude Code wrote is never changed. Links are not followed
//! out of its folder, and FIFOs and devices are not opened. Everything here blocks.

mod end;
mod files;
mod status;
mod titles;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::agent::{EntryIter, Environment, PathSource};
use offshoot_session::turn::CaughtUp;
use offshoot_session::{
    AgentSessionId, Body, Entry, EntryId, Missing, Record, SessionHeader, SessionId, SessionTree,
};
pub(super) use offshoot_transcripts::claude::Point;
use offshoot_transcripts::claude::{
    BranchReading, Branches, extract, project_folder, write_below, write_branch,
};
use offshoot_transcripts::{Destination, HandedOver, Loss};
use thiserror::Error;

use crate::{Elsewhere, Look, ReadTranscript, Seen};

/// The folder in which Claude Code keeps everything: `CLAUDE_CONFIG_DIR`, otherwise `.claude` in the home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClaudeHome {
    folder: PathBuf,
}

/// How far a transcript reaches, beside a message of the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It ends with the message.
    There,
    /// It continues behind the message, or elsewhere.
    Further,
    /// It does not have the message: Claude Code was killed before it wrote it, or never got it.
    Short,
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
    #[error("the transcript `{}` has no messages", .path.display())]
    Empty { path: PathBuf },
    #[error("there is nothing to write into session `{session}`")]
    NothingToWrite { session: AgentSessionId },
    #[error("`{session}` cannot be the name of a session file")]
    BadName { session: AgentSessionId },
}

impl ClaudeHome {
    pub(super) fn of(environment: &Environment) -> Option<Self> {
        let given = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = given("CLAUDE_CONFIG_DIR").or_else(|| Some(given("HOME")?.join(".claude")))?;
        Some(Self { folder })
    }

    /// The transcript of a session, in the folder of any project. Where several folders have one, the newest.
    pub(super) fn transcript(&self, session: &AgentSessionId) -> Option<PathBuf> {
        let name = file_name(session)?;
        let folders = std::fs::read_dir(self.projects()).ok()?.flatten();
        let found = folders.filter_map(|folder| {
            let path = folder.path().join(&name);
            let about = files::about(&self.folder, &path).ok()?;
            Some((about.modified().ok(), path))
        });
        found.max().map(|(_, path)| path)
    }

    /// Where Claude Code would write a new session that works in this folder.
    pub(super) fn new_transcript(&self, session: &AgentSessionId, workspace: &Path) -> PathBuf {
        let folder = project_folder(&workspace.to_string_lossy());
        self.projects().join(folder).join(format!("{session}.jsonl"))
    }

    /// Where a message is in the transcript of a session. A transcript that cannot be read has no messages.
    pub(super) fn point(&self, session: &AgentSessionId, at: &EntryId) -> Point {
        self.branches(session).map_or(Point::Missing, |branches| branches.point(at))
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
        let path = self.transcript(from).ok_or_else(|| NotWritten::NoTranscript { session: from.clone() })?;
        let bytes = files::read(&self.folder, &path).map_err(failed("read", &path))?;
        let name = path.file_name().map(|name| name.to_string_lossy());
        let lines = extract(name.as_deref(), &bytes, at, to.as_str()).ok_or_else(|| match at {
            Some(at) => NotWritten::NoMessage { path: path.clone(), at: at.clone() },
            None => NotWritten::Empty { path: path.clone() },
        })?;
        self.write(to, workspace, &lines)?;
        self.link_backups(from, to);
        Ok(())
    }

    /// Writes the branch as the new session `to`: the lines of `from` as far as it has the branch, then the entries that it
    /// lacks. Returns what Claude Code is not told of those.
    pub(super) fn complete(
        &self,
        from: &AgentSessionId,
        branch: &dyn PathSource,
        to: &AgentSessionId,
        workspace: &Path,
    ) -> Result<Missing, NotWritten> {
        let path = self.transcript(from).ok_or_else(|| NotWritten::NoTranscript { session: from.clone() })?;
        let bytes = files::read(&self.folder, &path).map_err(failed("read", &path))?;
        let name = path.file_name().map(|name| name.to_string_lossy());
        let branches = Branches::read(name.as_deref(), &bytes);
        let entries: Vec<Arc<Entry>> = branch.entries().collect();
        let has = |entry: &Arc<Entry>| branches.path_to(&branch.delivered_as(&entry.id)).is_some();
        let empty = || NotWritten::Empty { path: path.clone() };
        let last = entries.iter().rposition(has).ok_or_else(empty)?;
        let (known, lacking) = entries.split_at(last + 1);
        let above = known.last().map(|entry| branch.delivered_as(&entry.id)).ok_or_else(empty)?;
        let mut lines = extract(name.as_deref(), &bytes, Some(&above), to.as_str())
            .ok_or_else(|| NotWritten::NoMessage { path: path.clone(), at: above.clone() })?;
        let mut missing = Missing::default();
        if let Some((tree, leaf)) = line_of(Box::new(lacking.iter().cloned()), to) {
            let rest = write_below(&above, &tree, &leaf, &destination(&tree, &leaf, to, workspace));
            lines.extend_from_slice(&rest.bytes);
            missing = left_out(&rest);
        }
        self.write(to, workspace, &lines)?;
        self.link_backups(from, to);
        Ok(missing)
    }

    /// Writes entries of any agents, root first, as the new session `to`. Returns what Claude Code is not told.
    pub(super) fn rebuild(
        &self,
        entries: EntryIter<'_>,
        to: &AgentSessionId,
        workspace: &Path,
    ) -> Result<Missing, NotWritten> {
        let nothing = || NotWritten::NothingToWrite { session: to.clone() };
        let (tree, last) = line_of(entries, to).ok_or_else(nothing)?;
        let written = write_branch(&tree, &last, &destination(&tree, &last, to, workspace));
        self.write(to, workspace, &written.bytes)?;
        Ok(left_out(&written))
    }

    /// A process that runs the session and that `is_ours` does not know.
    pub(super) fn elsewhere(
        &self,
        session: &AgentSessionId,
        is_ours: &dyn Fn(u32) -> bool,
    ) -> Option<Elsewhere> {
        status::running(&self.folder, session).into_iter().find(|running| !is_ours(running.pid))
    }

    /// How far the transcript of a session reaches.
    pub(super) fn reach(&self, session: &AgentSessionId, at: &EntryId) -> Reach {
        let Some(branches) = self.branches(session) else { return Reach::Short };
        match branches.point(at) {
            Point::Missing => Reach::Short,
            Point::Active if branches.behind(Some(at)).entries.iter().all(|entry| is_aside(&entry.body)) => {
                Reach::There
            }
            Point::Active | Point::OtherBranch | Point::BeforeCompaction => Reach::Further,
        }
    }

    /// Appends a title to the transcript of a session that no process runs. Returns whether anything was written.
    pub(super) fn set_title(&self, session: &AgentSessionId, title: &str) -> Result<bool, NotWritten> {
        let path =
            self.transcript(session).ok_or_else(|| NotWritten::NoTranscript { session: session.clone() })?;
        titles::write_title(&self.folder, &path, session, title)
    }

    /// What [`crate::Agent::look`] returns. `is_ours` tells whether a process was started by us.
    pub(super) fn look(&self, look: &Look<'_>, is_ours: &dyn Fn(u32) -> bool) -> Seen {
        let elsewhere = self.elsewhere(look.session, is_ours);
        let is_end_known = || {
            let path = self.transcript(look.session);
            let last = path.and_then(|path| end::last_message(&self.folder, &path).ok().flatten());
            last.is_some_and(|last| (look.is_known)(&last))
        };
        if look.transcript == ReadTranscript::UnlessEndIsKnown && is_end_known() {
            return Seen { elsewhere, ..Seen::default() };
        }
        let Some(branches) = self.branches(look.session) else {
            return Seen { elsewhere, ..Seen::default() };
        };
        let is_off = look.after.is_some_and(|after| branches.point(after) == Point::OtherBranch);
        let is_new = |entry: &&Arc<Entry>| entry.body.is_prompt() && !(look.is_known)(&entry.id);
        let has_left = is_off && branches.active().iter().any(is_new);
        Seen { elsewhere, has_left, caught_up: unknown(branches.behind(look.after), look.is_known) }
    }

    fn projects(&self) -> PathBuf {
        self.folder.join("projects")
    }

    fn branches(&self, session: &AgentSessionId) -> Option<Branches> {
        let path = self.transcript(session)?;
        let mut reading = BranchReading::default();
        files::read_in_chunks(&self.folder, &path, |chunk| reading.push(chunk)).ok()?;
        Some(reading.finish(path.file_name().map(|name| name.to_string_lossy()).as_deref()))
    }

    fn write(&self, session: &AgentSessionId, workspace: &Path, lines: &[u8]) -> Result<(), NotWritten> {
        if file_name(session).is_none() {
            return Err(NotWritten::BadName { session: session.clone() });
        }
        let path = self.new_transcript(session, workspace);
        files::write_new(&self.folder, &path, lines).map_err(failed("write", &path))
    }

    /// Gives a session the backups of files that another one has. Without them only Claude Code's own rewind of files lacks
    /// something, so a failure is not reported.
    fn link_backups(&self, from: &AgentSessionId, to: &AgentSessionId) {
        let backups = self.folder.join("file-history");
        let _ = files::link_all(&self.folder, &backups.join(from.as_str()), &backups.join(to.as_str()));
    }
}

/// The same for a transcript anywhere.
pub(super) fn write_title(file: &Path, session: &AgentSessionId, title: &str) -> Result<bool, NotWritten> {
    let file = std::path::absolute(file).map_err(failed("find", file))?;
    titles::write_title(file.parent().unwrap_or(&file), &file, session, title)
}

/// Not a part of the conversation that a branch could lack: a command such as `/exit` with its output, or the mark of an
/// interruption.
fn is_aside(body: &Body) -> bool {
    matches!(body, Body::CustomMessage(_) | Body::Interrupted(_))
}

/// Ids come from journals and transcripts, so they must not lead out of the folder.
fn file_name(session: &AgentSessionId) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_name = !session.as_str().is_empty() && session.as_str().chars().all(is_plain);
    is_name.then(|| format!("{session}.jsonl"))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> NotWritten {
    move |source| NotWritten::File { doing, path: path.to_owned(), source }
}

fn destination(tree: &SessionTree, last: &EntryId, to: &AgentSessionId, workspace: &Path) -> Destination {
    Destination {
        id: SessionId::from(to.as_str()),
        project: workspace.to_string_lossy().into_owned(),
        opened_at: tree.entry(last).map_or(Timestamp::UNIX_EPOCH, |entry| entry.written_at),
        lineage: None,
    }
}

fn left_out(written: &HandedOver) -> Missing {
    let count = |what: Loss| {
        let counts = written.report.left_out.iter().filter(|lost| lost.what == what);
        usize::try_from(counts.map(|lost| lost.count).sum::<u64>()).unwrap_or(usize::MAX)
    };
    Missing {
        tool_results: count(Loss::ResultsWithoutCall),
        thoughts: count(Loss::Thinking),
        images: count(Loss::Images),
        forgotten: count(Loss::Forgotten),
    }
}

/// Entries of a branch as a tree of one line, and its last entry.
fn line_of(entries: EntryIter<'_>, session: &AgentSessionId) -> Option<(SessionTree, EntryId)> {
    let mut last: Option<Arc<Entry>> = None;
    let mut records = vec![];
    for entry in entries {
        let parent = last.as_ref().map(|last| last.id.clone());
        if last.is_none() {
            let id = SessionId::from(session.as_str());
            records.push(Record::opened(SessionHeader::new(id, entry.written_at)));
        }
        records.push(Record::entry(Entry { parent, ..Entry::clone(&entry) }));
        last = Some(entry);
    }
    let (tree, _) = SessionTree::replay(records);
    Some((tree, last?.id.clone()))
}

/// Without what is known, and without the hidden context between known entries: nothing hangs below it any more.
fn unknown(behind: CaughtUp, is_known: &dyn Fn(&EntryId) -> bool) -> CaughtUp {
    let CaughtUp { entries, is_complete, is_running } = behind;
    let last_known = entries.iter().rposition(|entry| is_known(&entry.id));
    let is_new = |at: usize, body: &Body| {
        let is_hidden = matches!(body, Body::CustomMessage(message) if !message.display);
        !is_hidden || last_known.is_none_or(|last| at > last)
    };
    let entries = entries.into_iter().enumerate();
    let entries = entries.filter(|(at, entry)| !is_known(&entry.id) && is_new(*at, &entry.body));
    CaughtUp { entries: entries.map(|(_, entry)| entry).collect(), is_complete, is_running }
}

#[cfg(test)]
mod tests;
