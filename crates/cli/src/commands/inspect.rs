//! `offshoot inspect FILE…`: what session files hold, and what is odd about them. Also what journals do.

mod listing;

use std::path::Path;

use jiff::Timestamp;
use offshoot_session::outline::TurnOutline;
use offshoot_session::{Body, ForeignSource, SessionTree};
use serde_json::{Value, json};

use self::listing::Listing;
use super::json::{lineage, model_name, printed};
use super::{reason_of, title_of};
use crate::args::{InspectArgs, JsonShape};
use crate::database::{self, InDatabase};
use crate::failure::Failure;
use crate::here::Here;
use crate::look::{Ink, Look, Sign};
use crate::numbers::{counted, grouped, moment};
use crate::session_file::{SessionFile, journal, open};
use crate::which::{Which, which};
use crate::{Answer, light, text};

/// More oddities than these are counted, not listed.
const LISTED: usize = 10;
const LABEL_COLUMNS: usize = 10;

pub(crate) fn run(args: &InspectArgs, here: &Here) -> Result<Answer, Failure> {
    let look = &here.look;
    let opened: Vec<Result<Looked, Failure>> = args.files.iter().map(|file| looked_at(here, file)).collect();
    let text = match args.json.json {
        Some(shape) => as_json(args, &opened, shape),
        None => {
            let blocks = opened.iter().filter_map(|file| file.as_ref().ok());
            let block = |looked: &Looked| match looked {
                Looked::Session(file) => block(file, args.all, look),
                Looked::Database(listing) => listing.block(look),
            };
            blocks.map(block).collect::<Vec<_>>().join("\n")
        }
    };
    let notes = opened.iter().filter_map(|file| match file {
        Ok(Looked::Database(listing)) => listing.note(),
        Ok(Looked::Session(_)) | Err(_) => None,
    });
    let notes = notes.filter(|_| !look.quiet).collect();
    let failures = opened.into_iter().filter_map(Result::err).collect();
    Ok(Answer { text, notes, failures, ..Answer::default() })
}

enum Looked {
    Session(Box<SessionFile>),
    /// More than one session.
    Database(Listing),
}

fn looked_at(here: &Here, file: &Path) -> Result<Looked, Failure> {
    if let Some(InDatabase { path, session: None }) = database::named(file) {
        let sessions = database::listed(&path)?;
        if sessions.len() > 1 {
            return Ok(Looked::Database(Listing { path, sessions }));
        }
    }
    Ok(Looked::Session(Box::new(opened(here, file)?)))
}

/// A file, or the journal of a stored session.
fn opened(here: &Here, file: &Path) -> Result<SessionFile, Failure> {
    match file.to_str().filter(|_| here.store().is_ok()).map(|text| which(here, Some(text))) {
        Some(Ok(Which::Stored(id))) => journal(here, &id),
        Some(Ok(Which::File(path))) => {
            let shape = light::file(here, &Which::File(path.clone()));
            shape.map_or_else(|| open(here, &path), Ok)
        }
        // What names nothing is told of as a file that is not there.
        Some(Err(_)) | None => open(here, file),
    }
}

/// What there is to count in a session.
struct Counts {
    roots: usize,
    leaves: usize,
    branches: usize,
    prompts: usize,
    replies: usize,
    tool_calls: usize,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Counts {
    fn of(tree: &SessionTree) -> Self {
        let outline = TurnOutline::of(tree);
        let replies = || {
            tree.entries().filter_map(|entry| match &entry.body {
                Body::Reply(reply) => Some(reply),
                _ => None,
            })
        };
        Self {
            roots: tree.roots().len(),
            leaves: tree.entries().filter(|entry| !tree.has_children(&entry.id)).count(),
            branches: outline.branches,
            prompts: outline.prompts,
            replies: replies().count(),
            tool_calls: replies().map(|reply| reply.tool_uses().count()).sum(),
            first: tree.entries().map(|entry| entry.written_at).min(),
            last: tree.entries().map(|entry| entry.written_at).max(),
        }
    }
}

/// The file of another program in which the session begins.
fn goes_on_with(tree: &SessionTree) -> Option<&ForeignSource> {
    tree.header().and_then(|header| header.foreign.as_deref())
}

fn block(file: &SessionFile, all: bool, look: &Look) -> String {
    let tree = &file.tree;
    let counts = Counts::of(tree);
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let mut block = look.paint(Ink::Bold, &harmless(&file.path.display().to_string()));
    block.push('\n');
    let mut fact = |label: &str, value: String| {
        let label = look.paint(Ink::Faint, &text::padded(label, LABEL_COLUMNS));
        let room = look.width.map_or(usize::MAX, |width| width.saturating_sub(LABEL_COLUMNS + 2));
        block.push_str(&format!("  {label}{}\n", text::cut(&value, room, look.sign(Sign::Cut))));
    };
    fact("format", file.dialect.clone());
    if let Some(header) = tree.header() {
        fact("session", harmless(header.id.as_str()));
    }
    if let Some(source) = goes_on_with(tree) {
        fact("goes on", format!("with {}", harmless(&source.path)));
    }
    fact("title", title_of(tree, look));
    if let Some(lineage) = tree.header().and_then(|header| header.lineage.as_ref()) {
        fact("parent", harmless(&lineage.parent));
        reason_of(lineage, look).into_iter().for_each(|reason| fact("reason", reason));
    }
    if let Some(project) = tree.header().and_then(|header| header.project.as_deref()) {
        fact("project", harmless(project));
    }
    if let (Some(first), Some(last)) = (counts.first, counts.last) {
        fact("written", format!("{} to {}", moment(first, look), moment(last, look)));
    }
    fact(
        "size",
        format!("{}, {}", counted(file.bytes, "byte", "bytes"), counted(file.lines, "line", "lines")),
    );
    fact(
        "tree",
        [
            counted(tree.len(), "entry", "entries"),
            counted(counts.roots, "root", "roots"),
            counted(counts.leaves, "leaf", "leaves"),
            counted(counts.branches, "branch", "branches"),
        ]
        .join(", "),
    );
    fact(
        "said",
        [
            counted(counts.prompts, "prompt", "prompts"),
            counted(counts.replies, "reply", "replies"),
            counted(counts.tool_calls, "tool call", "tool calls"),
        ]
        .join(", "),
    );
    if !file.unknown_types.is_empty() {
        let times = look.sign(Sign::Times);
        let kinds =
            file.unknown_types.iter().map(|(kind, count)| format!("{count} {times} {}", harmless(kind)));
        fact("unknown", kinds.collect::<Vec<_>>().join(", "));
    }
    match file.oddities.len() {
        0 => fact("oddities", "none".to_owned()),
        count => fact("oddities", grouped(count)),
    }
    let listed = if all { file.oddities.len() } else { LISTED };
    for oddity in file.oddities.iter().take(listed) {
        block.push_str(&format!("    {}\n", harmless(&oddity.text)));
    }
    let more = file.oddities.len().saturating_sub(listed);
    if more > 0 {
        block.push_str(&format!("    and {} more; --all lists them\n", grouped(more)));
    }
    block
}

fn as_json(args: &InspectArgs, opened: &[Result<Looked, Failure>], shape: JsonShape) -> String {
    let mut files: Vec<Value> = Vec::new();
    for (path, file) in args.files.iter().zip(opened) {
        files.push(match file {
            Ok(Looked::Session(file)) => facts(file),
            Ok(Looked::Database(listing)) => listing.as_json(),
            Err(failure) => json!({"file": path.to_string_lossy(), "error": failure.message()}),
        });
    }
    match (files.as_slice(), shape) {
        ([only], JsonShape::Object) if opened.iter().all(Result::is_ok) => printed(only.clone(), "", shape),
        ([_], JsonShape::Object) => String::new(), // the error itself says it all
        _ => printed(json!({ "files": files }), "files", shape),
    }
}

fn facts(file: &SessionFile) -> Value {
    let tree = &file.tree;
    let counts = Counts::of(tree);
    let header = tree.header();
    let unknown: serde_json::Map<String, Value> =
        file.unknown_types.iter().map(|(kind, count)| (kind.clone(), json!(count))).collect();
    let oddities: Vec<Value> =
        file.oddities.iter().map(|oddity| json!({"line": oddity.line, "text": oddity.text})).collect();
    json!({
        "file": file.path.to_string_lossy(),
        "dialect": file.dialect,
        "session": header.map(|header| header.id.as_str()),
        "goes_on_with": goes_on_with(tree).map(|source| source.path.as_str()),
        "title": tree.title(),
        "project": header.and_then(|header| header.project.as_deref()),
        "agent": header.and_then(|header| header.agent.as_deref()),
        "model": header.and_then(|header| header.model.as_ref()).map(model_name),
        "lineage": lineage(header.and_then(|header| header.lineage.as_ref())),
        "head": tree.main_head().map(|head| head.as_str()),
        "first_at": counts.first.map(|at| at.to_string()),
        "last_at": counts.last.map(|at| at.to_string()),
        "bytes": file.bytes,
        "lines": file.lines,
        "entries": tree.len(),
        "roots": counts.roots,
        "leaves": counts.leaves,
        "branches": counts.branches,
        "prompts": counts.prompts,
        "replies": counts.replies,
        "tool_calls": counts.tool_calls,
        "unknown_types": unknown,
        "oddities": oddities,
    })
}
