//! One branch of a session file as a session of its own, in the lines that Claude Code wrote.
//!
//! Claude Code finds a message only on the active branch and after its last compaction. With a file that has nothing but
//! the branch it continues anywhere, and it sends the model exactly what it sent before.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use offshoot_session::{Body, EntryId, text_of};
use serde_json::{Value, json};

use super::Branches;
use crate::json::{entry_id, text};
use crate::lines::{Content, Line, json_text, lines};
use crate::patch;

/// Copies the lines of the branch that ends with `at` (`None`: the active branch) for the session `session`. Only
/// `sessionId` is changed. The backups of files for these messages and the title are copied too; what the program keeps
/// for itself, such as its requests and its queue, is not. `None`: there is no such branch.
pub fn extract(
    file_name: Option<&str>,
    bytes: &[u8],
    at: Option<&EntryId>,
    session: &str,
) -> Option<Vec<u8>> {
    let branches = Branches::read(file_name, bytes);
    let path = match at {
        Some(at) => branches.path_to(at)?,
        None => branches.active(),
    };
    let tip = path.iter().rfind(|entry| branches.in_file.contains(&entry.id))?.id.clone();
    let prompt = path.iter().rev().find_map(|entry| match &entry.body {
        Body::Prompt(prompt) => Some(text_of(&prompt.blocks)),
        _ => None,
    });
    let on_path =
        path.iter().map(|entry| entry.id.clone()).filter(|id| branches.in_file.contains(id)).collect();
    let rows = rows(bytes);
    let chain = with_parents(on_path, &rows);
    let mut copied = Vec::new();
    let mut taken = HashSet::new();
    for row in &rows {
        let is_kept = match &row.what {
            What::Chained { id, .. } => chain.contains(id) && taken.insert(id),
            What::FileHistory { of } => of.iter().any(|id| chain.contains(id)),
            What::Title { .. } => false,
        };
        if is_kept {
            copy(bytes.get(row.bytes.clone())?, session, &mut copied);
        }
    }
    let titles = || rows.iter().rev();
    let by_user = titles().find(|row| matches!(row.what, What::Title { by_user: true }));
    let title = by_user.or_else(|| titles().find(|row| matches!(row.what, What::Title { .. })));
    if let Some(title) = title {
        copy(bytes.get(title.bytes.clone())?, session, &mut copied);
    }
    let leaf = json!({
        "type": "last-prompt", "lastPrompt": prompt.unwrap_or_default(), "leafUuid": tip.as_str(), "sessionId": session,
    });
    copied.extend_from_slice(format!("{leaf}\n").as_bytes());
    Some(copied)
}

/// A line that may be copied.
struct Row {
    bytes: Range<usize>,
    what: What,
}

enum What {
    /// In the chain of ids.
    Chained {
        id: EntryId,
        parent: Option<EntryId>,
    },
    /// Says which backups belong to a message.
    FileHistory {
        of: Vec<EntryId>,
    },
    Title {
        by_user: bool,
    },
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    let mut end = 0;
    let rows = lines(bytes).filter_map(|line| {
        let start = end;
        end += line.raw.bytes().len();
        Some(Row { bytes: start..end, what: what(&line)? })
    });
    rows.collect()
}

fn what(line: &Line) -> Option<What> {
    let Content::Object(map) = &line.content else { return None };
    match text(map, "type")? {
        "custom-title" => return Some(What::Title { by_user: true }),
        "ai-title" => return Some(What::Title { by_user: false }),
        "file-history-snapshot" | "file-history-delta" => {
            let names = ["messageId", "snapshotMessageId"].into_iter();
            return Some(What::FileHistory { of: names.filter_map(|name| entry_id(map, name)).collect() });
        }
        _ => {}
    }
    let id = entry_id(map, "uuid")?;
    let parent = entry_id(map, "parentUuid").or_else(|| entry_id(map, "logicalParentUuid"));
    Some(What::Chained { id, parent })
}

/// The lines of a path and all that they hang below. The reader leaves lines that are no entries out of its paths, such as
/// reports of progress.
fn with_parents(path: HashSet<EntryId>, rows: &[Row]) -> HashSet<EntryId> {
    let mut parents: HashMap<&EntryId, &EntryId> = HashMap::new();
    for row in rows {
        if let What::Chained { id, parent: Some(parent) } = &row.what {
            parents.entry(id).or_insert(parent);
        }
    }
    let mut open: Vec<EntryId> = path.iter().cloned().collect();
    let mut chain = path;
    while let Some(id) = open.pop() {
        if let Some(parent) = parents.get(&id)
            && chain.insert((*parent).clone())
        {
            open.push((*parent).clone());
        }
    }
    chain
}

fn copy(line: &[u8], session: &str, copied: &mut Vec<u8>) {
    let line = json_text(line);
    match std::str::from_utf8(line) {
        Ok(line) => {
            let line = patch::change(line, "sessionId", |_| Value::from(session).to_string());
            copied.extend_from_slice(line.as_bytes());
        }
        Err(_) => copied.extend_from_slice(line),
    }
    copied.push(b'\n');
}
