//! What a change did to the head, in the few lines that every such command prints.

use offshoot_session::address::{self, active_branch, short_id};
use offshoot_session::outline::{Turn, one_line, turns_of};
use offshoot_session::versions::versions_of;
use offshoot_session::{EntryId, SessionId, SessionTree};
use serde_json::{Value, json};

use super::json::printed_object;
use crate::args::JsonShape;
use crate::failure::Failure;
use crate::here::Here;
use crate::look::{Look, Sign};
use crate::opened::point;
use crate::stored::Changed;
use crate::{Answer, text, which, words};

/// `  head   #5 → #3, version 4`; nothing where the head stayed.
pub(super) fn head_line(changed: &Changed, look: &Look) -> String {
    let Changed { before, after, .. } = changed;
    if before.main_head() == after.main_head() {
        return String::new();
    }
    let arrow = look.sign(Sign::GoesTo);
    let to = text::harmless_line(&place_in_full(after), look.ascii);
    format!("  head   {} {arrow} {to}\n", place(before))
}

/// `#5`
pub(super) fn place(tree: &SessionTree) -> String {
    match last_turn(tree) {
        Some(turn) => format!("#{}", turn.number),
        None => words::BEFORE_FIRST.to_owned(),
    }
}

/// `#3, version 4`, `#8 on keep-bucket`
fn place_in_full(tree: &SessionTree) -> String {
    let mut place = place(tree);
    let prompt = last_turn(tree).and_then(|turn| turn.prompt());
    let branch = active_branch(tree);
    let version = prompt.and_then(|prompt| version_of(tree, &prompt.id));
    if let Some((version, _)) = version.filter(|(_, of)| *of > 1) {
        place.push_str(&words::comma_version(version));
    }
    if let Some(branch) = branch {
        place.push_str(&words::on_branch(branch));
    }
    let stands_on_prompt = prompt.map(|prompt| &prompt.id) == tree.main_head();
    if let Some(prompt) = prompt.filter(|_| stands_on_prompt)
        && tree.children(Some(&prompt.id)).iter().any(|child| !child.body.is_prompt())
    {
        place.push_str(words::BEFORE_ITS_ANSWER);
    }
    place
}

fn last_turn(tree: &SessionTree) -> Option<Turn<'_>> {
    turns_of(tree, tree.main_head()).pop().filter(|turn| turn.number > 0)
}

/// Which of how many, counted from 1.
pub(super) fn version_of(tree: &SessionTree, prompt: &EntryId) -> Option<(usize, usize)> {
    let versions = versions_of(tree, prompt);
    let at = versions.iter().position(|version| version.id == *prompt)?;
    Some((at + 1, versions.len()))
}

/// The number of the turn an entry belongs to; `None` before the first prompt.
pub(super) fn turn_number(tree: &SessionTree, at: &EntryId) -> Option<usize> {
    turns_of(tree, Some(at)).last().map(|turn| turn.number).filter(|number| *number > 0)
}

/// `#8  d2c7f0  Hold the lock only while refilling`: the turn that the head is in.
pub(super) fn turn_line(tree: &SessionTree, look: &Look) -> String {
    match last_turn(tree).and_then(|turn| turn.prompt()) {
        Some(prompt) => prompt_line(tree, &prompt.id, "", look),
        None => format!("{}\n", words::BEFORE_FIRST),
    }
}

/// The same for any prompt, with `about` between its id and what it says.
pub(super) fn prompt_line(tree: &SessionTree, prompt: &EntryId, about: &str, look: &Look) -> String {
    let number = turn_number(tree, prompt).unwrap_or_default();
    let id = text::harmless_line(&short_id(tree, prompt), look.ascii);
    let lead = format!("#{number}  {id}  {about}");
    let said = tree.entry(prompt).map(|entry| one_line(&entry.body)).unwrap_or_default();
    let said = text::harmless_line(&said, look.ascii);
    let said = match look.width {
        Some(width) => text::cut(&said, width.saturating_sub(text::width(&lead)), look.sign(Sign::Cut)),
        None => said,
    };
    format!("{}\n", format!("{lead}{said}").trim_end())
}

/// `  text   Write a failing test first.`: what was said there, to be said otherwise.
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

/// Where the head goes for whoever names a point.
pub(super) fn destination(tree: &SessionTree, named: &str) -> Result<EntryId, Failure> {
    Ok(address::destination_of(tree, named, point(tree, named)?))
}

/// What to type to take the change back; whoever named the session has to name it again.
pub(super) fn with_session(here: &Here, command: &str, named: Option<&str>, id: &SessionId) -> String {
    match named {
        Some(_) => format!("offshoot {command} {}", which::short(here, id)),
        None => format!("offshoot {command}"),
    }
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
        if look.for_a_person && !look.quiet && !self.hint.is_empty() {
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

/// The same for scripts: the session, where its head is now, and what the command adds.
pub(super) fn as_json(id: &SessionId, changed: &Changed, more: Value) -> Answer {
    let mut object = json!({
        "session": id.as_str(),
        "head": changed.after.main_head().map(|head| head.as_str()),
        "head_before": changed.before.main_head().map(|head| head.as_str()),
        "changed": changed.is_change,
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
