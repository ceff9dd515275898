//! Which program wrote a file: the first line that tells decides, and its content counts more than its name.

use crate::Unreadable;
use crate::json::{Map, text};
use crate::lines::{Content, lines};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Codex,
    Gemini,
    OpenCode,
    Pi,
    Rollouts,
    Claude,
}

enum Tells {
    Surely(Family),
    /// A line that both write.
    Header {
        names_a_model: bool,
    },
    Maybe(Family),
    Nothing,
}

pub(crate) fn family_of(file_name: Option<&str>, bytes: &[u8]) -> Result<Family, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    if let Some(family) = crate::document::first(bytes).and_then(|document| family_of_document(&document)) {
        return Ok(family);
    }
    let mut guess = None;
    let (mut is_blank, mut has_object) = (true, false);
    for line in lines(bytes) {
        let Content::Object(map) = line.content else {
            is_blank &= matches!(line.content, Content::Blank);
            continue;
        };
        (is_blank, has_object) = (false, true);
        match tells(&map) {
            Tells::Surely(family) => return Ok(family),
            Tells::Header { names_a_model } => {
                let is_rollout = names_a_model || file_name.is_some_and(is_rollout_name);
                guess = guess.or(Some(if is_rollout { Family::Rollouts } else { Family::Pi }));
            }
            Tells::Maybe(family) => guess = guess.or(Some(family)),
            Tells::Nothing => {}
        }
    }
    guess.or_else(|| family_of_torn_document(bytes)).ok_or_else(|| {
        let reason = match (is_blank, has_object) {
            (true, _) => "it holds only blank lines",
            (false, false) => "no line of it is a JSON object",
            (false, true) => "no line of it is of a kind that a program we know writes",
        };
        Unreadable::NotASession(reason.to_owned())
    })
}

/// The same for the first lines of a file, of which no later line would change the answer.
pub(crate) fn sure_family_of(file_name: Option<&str>, lines_of_it: &[u8]) -> Option<Family> {
    let is_document = |document: Map| family_of_document(&document).is_some();
    let is_sure = !crate::document::first(lines_of_it).is_some_and(is_document)
        && lines(lines_of_it).any(|line| match line.content {
            Content::Object(map) => matches!(tells(&map), Tells::Surely(_)),
            Content::Blank | Content::Unreadable(_) | Content::Torn => false,
        });
    is_sure.then(|| family_of(file_name, lines_of_it).ok()).flatten()
}

/// A file that is one JSON document instead of lines.
fn family_of_document(document: &Map) -> Option<Family> {
    if crate::gemini::is_document(document) {
        Some(Family::Gemini)
    } else {
        crate::opencode::is_document(document).then_some(Family::OpenCode)
    }
}

/// A document that breaks off: its first keys tell.
fn family_of_torn_document(bytes: &[u8]) -> Option<Family> {
    let keys = crate::document::keys(bytes);
    let has = |name: &str| keys.iter().any(|key| key == name);
    if has("sessionId") && has("projectHash") {
        return Some(Family::Gemini);
    }
    let is_export = keys.first().is_some_and(|first| first == "info") && has("messages");
    is_export.then_some(Family::OpenCode)
}

/// Fields on lines of Claude Code that nobody else writes.
const CLAUDE_FIELDS: &[&str] = &["sessionId", "uuid", "messageId"];

fn tells(map: &Map) -> Tells {
    if crate::codex::is_line(map) {
        return Tells::Surely(Family::Codex);
    }
    if crate::gemini::is_line(map) {
        return Tells::Surely(Family::Gemini);
    }
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    match text(map, "type") {
        Some("user" | "assistant") if has(&["message"]) && has(CLAUDE_FIELDS) => {
            Tells::Surely(Family::Claude)
        }
        Some("summary") if has(&["leafUuid"]) => Tells::Surely(Family::Claude),
        Some(_) if has(&["parentUuid"]) => Tells::Surely(Family::Claude),
        Some(kind) if crate::claude::is_known_type(kind) && has(CLAUDE_FIELDS) => {
            Tells::Maybe(Family::Claude)
        }
        Some("session") if has(&["parent_id", "branch_point", "branch_reason", "branch_metadata"]) => {
            Tells::Surely(Family::Rollouts)
        }
        Some("session") if has(&["version", "parentSession", "branchedFrom", "modelId"]) => {
            Tells::Surely(Family::Pi)
        }
        Some("session") => Tells::Header { names_a_model: text(map, "model").is_some() },
        Some("message") if has(&["message"]) => Tells::Surely(Family::Pi),
        Some("message") if has(&["role"]) => Tells::Surely(Family::Rollouts),
        Some("config_change") => Tells::Surely(Family::Rollouts),
        Some(kind) if crate::pi::is_known_type(kind) => {
            if has(&["parentId"]) {
                Tells::Surely(Family::Pi)
            } else {
                Tells::Maybe(Family::Pi)
            }
        }
        Some(_) | None => Tells::Nothing,
    }
}

fn is_rollout_name(file_name: &str) -> bool {
    file_name.rsplit(['/', '\\']).next().is_some_and(|name| name.starts_with("session_"))
}
