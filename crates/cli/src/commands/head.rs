//! What a change did to the head, in the few lines that every such command prints.

use std::io::IsTerminal;

use offshoot_api::response::Changed;
use offshoot_api::views::{PlaceView, SessionBrief, VersionBrief};
use offshoot_session::SessionId;
use serde_json::{Value, json};

use super::json::printed_object;
use crate::args::JsonShape;
use crate::here::Here;
use crate::look::{Look, Sign};
use crate::{Answer, text, which, words};

/// `  head   #5 → #3, version 4`; nothing where the head stayed.
pub(super) fn head_line(changed: &Changed, look: &Look) -> String {
    if changed.head_before.at == changed.head.at {
        return String::new();
    }
    let arrow = look.sign(Sign::GoesTo);
    let to = text::harmless_line(&place_in_full(changed.head.place.as_ref()), look.ascii);
    format!("  head   {} {arrow} {to}\n", place(changed.head_before.place.as_ref()))
}

/// `#5`
pub(super) fn place(at: Option<&PlaceView>) -> String {
    match at.map(|place| place.number).filter(|number| *number > 0) {
        Some(number) => format!("#{number}"),
        None => words::BEFORE_FIRST.to_owned(),
    }
}

/// `#3, version 4`, `#8 on keep-bucket`
fn place_in_full(at: Option<&PlaceView>) -> String {
    let mut told = place(at);
    let Some(at) = at else { return told };
    if let Some(version) = at.version.as_ref().filter(|_| at.number > 0) {
        told.push_str(&words::comma_version(version.index));
    }
    if let Some(branch) = &at.branch {
        told.push_str(&words::on_branch(branch));
    }
    if at.before_answer {
        told.push_str(words::BEFORE_ITS_ANSWER);
    }
    told
}

/// Which version of its prompt the change is about; the only one where there is no other.
pub(super) fn version_of(changed: &Changed) -> VersionBrief {
    let only = VersionBrief { edit_group: String::new(), index: 1, total: 1 };
    changed.version.clone().unwrap_or(only)
}

pub(super) fn version_json(version: VersionBrief) -> Value {
    json!({"number": version.index, "of": version.total})
}

/// The short id of the entry at a place.
pub(crate) fn short_of(place: Option<&PlaceView>, look: &Look) -> String {
    text::harmless_line(place.and_then(|place| place.short.as_deref()).unwrap_or_default(), look.ascii)
}

/// `#8  d2c7f0  Hold the lock only while refilling`: the turn that the head is in.
pub(super) fn turn_line(head: Option<&PlaceView>, look: &Look) -> String {
    match head.filter(|place| place.number > 0) {
        Some(place) => prompt_line(Some(place), "", look),
        None => format!("{}\n", words::BEFORE_FIRST),
    }
}

/// The same for the turn at any place, with `about` between the prompt's id and its text.
pub(super) fn prompt_line(place: Option<&PlaceView>, about: &str, look: &Look) -> String {
    let number = place.map_or(0, |place| place.number);
    let id = place.and_then(|place| place.prompt_short.as_deref()).unwrap_or_default();
    let lead = format!("#{number}  {}  {about}", text::harmless_line(id, look.ascii));
    let said = text::harmless_line(place.map_or("", |place| &place.text), look.ascii);
    let said = match look.width {
        Some(width) => text::cut(&said, width.saturating_sub(text::width(&lead)), look.sign(Sign::Cut)),
        None => said,
    };
    format!("{}\n", format!("{lead}{said}").trim_end())
}

/// `  text   Write a failing test first.`: the text of a prompt that was picked, to be edited.
pub(super) fn words_back(said: Option<&str>, look: &Look) -> String {
    let Some(said) = said else { return String::new() };
    let said = text::harmless_line(&said.split_whitespace().collect::<Vec<_>>().join(" "), look.ascii);
    let lead = "  text   ";
    let said = match look.width {
        Some(width) => text::cut(&said, width.saturating_sub(text::width(lead)), look.sign(Sign::Cut)),
        None => said,
    };
    format!("{lead}{said}\n")
}

/// `  in     b33801  The importer loses the last row`: the session that was changed.
pub(super) fn session_line(here: &Here, session: &SessionBrief) -> String {
    format!("  in     {}\n", session_in_full(here, session, text::width("  in     ")))
}

/// `b33801  The importer loses the last row`, cut to what is left of a line behind so many columns.
fn session_in_full(here: &Here, session: &SessionBrief, lead: usize) -> String {
    let look = &here.look;
    let (short, listed) = which::named(here, &session.id.as_str().into());
    let name = session.title.clone().or(listed);
    let told = format!("{short}  {}", name.unwrap_or_default());
    let told = text::harmless_line(told.trim_end(), look.ascii);
    match look.width {
        Some(width) => text::cut(&told, width.saturating_sub(lead), look.sign(Sign::Cut)),
        None => told,
    }
}

/// `In b33801  The importer loses the last row`: the note of commands whose output is read by scripts. It is printed only
/// if a person watches.
pub(super) fn session_note(here: &Here, session: &SessionId) -> Option<String> {
    let is_wanted = !here.look.quiet && std::io::stderr().is_terminal();
    let brief = SessionBrief { id: session.to_string(), title: None };
    is_wanted.then(|| format!("In {}", session_in_full(here, &brief, text::width("In "))))
}

/// What to type to take the change back; whoever named the session has to name it again.
pub(super) fn with_session(here: &Here, command: &str, named: Option<&str>, id: &SessionId) -> String {
    match named {
        Some(_) if shows_hints(&here.look) => format!("offshoot {command} {}", which::short(here, id)),
        // The shortest unique id is in the catalog, and opening that takes longer than many a change.
        Some(_) => format!("offshoot {command} {}", which::beginning_of(id)),
        None => format!("offshoot {command}"),
    }
}

fn shows_hints(look: &Look) -> bool {
    look.for_a_person && !look.quiet
}

/// The first line is the answer; the rest explains it, and is left out by `--quiet`. The last line is for a person.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) first: String,
    pub(super) rest: String,
    pub(super) hint: String,
}

impl Told {
    pub(super) fn answer(self, look: &Look) -> Answer {
        let mut text = self.first;
        if !look.quiet {
            text.push_str(&self.rest);
        }
        if shows_hints(look) && !self.hint.is_empty() {
            let joins = !text.ends_with('\n');
            text.push_str(if joins { " " } else { "" });
            text.push_str(&self.hint);
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Answer { text, ..Answer::default() }
    }
}

/// What was done in a session, in one sentence, and which session that is.
pub(super) fn said_of(here: &Here, session: &SessionId, sentence: &str) -> Answer {
    let brief = SessionBrief { id: session.to_string(), title: None };
    Told { first: sentence.to_owned(), rest: session_line(here, &brief), ..Told::default() }
        .answer(&here.look)
}

/// The same for scripts: the session, where its head is now, and what the command adds.
pub(super) fn as_json(changed: &Changed, more: Value) -> Answer {
    let mut object = json!({
        "session": changed.session.id,
        "head": changed.head.at,
        "head_before": changed.head_before.at,
        "changed": changed.changed,
    });
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    Answer { text: printed_object(object), ..Answer::default() }
}

/// Whether scripts ask.
pub(super) fn wants_json(json: Option<JsonShape>) -> bool {
    json.is_some()
}
