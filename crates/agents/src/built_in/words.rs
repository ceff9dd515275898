//! All sentences of this agent.

use offshoot_session::{Block, Prompt};

use super::heard::Heard;
use super::requests::REQUESTS;

pub(super) const WHO: &str = "I am a small offline agent inside Offshoot, a demonstration.";

/// It names what every way of talking has: lines that begin with a slash.
pub(super) fn tour(heard: &Heard) -> String {
    let turn = heard.prompts.len() + 1;
    format!(
        "{WHO} Three things to try:\n\n\
         1. **Edit** what you just said with `/edit {turn} hello`: a second version appears, and this one stays.\n\
         2. **Go back** with `/prev`: this answer is still there, and `/tree` shows both.\n\
         3. **Rewind** with `/rewind {turn}`: you are before it again, and your words come back. `/undo` takes any step back.\n\n\
         Say `help` for all that I understand."
    )
}

pub(super) fn help() -> String {
    let mut text = format!("{WHO} I understand these requests:\n\n");
    for (request, what) in REQUESTS {
        text.push_str(&format!("- `{request}`: {what}\n"));
    }
    text.push_str("\nTo anything else I answer with what I have heard on this branch.");
    text
}

/// Different on every branch: it tells the branch.
pub(super) fn talk(heard: &Heard, prompt: &str) -> String {
    let turn = heard.prompts.len() + 1;
    let before = match heard.prompts.last() {
        None => "Nothing was said on this branch before.".to_owned(),
        Some(last) => format!("Before it I heard {}.", quoted(last)),
    };
    format!(
        "You said {}. This is turn {turn} of its branch. {before} {WHO} I cannot work on your code, but I can show you \
         what a branch is: say `help`.",
        quoted(prompt)
    )
}

/// `None`: nothing but words.
pub(super) fn came_with(prompt: &Prompt) -> Option<String> {
    let images = prompt.blocks.iter().filter(|block| matches!(block, Block::Image { .. })).count();
    let images = match images {
        0 => None,
        1 => Some("1 image".to_owned()),
        images => Some(format!("{images} images")),
    };
    let files = prompt.attachments.iter().map(|name| format!("`{name}`"));
    let came: Vec<String> = images.into_iter().chain(files).collect();
    (!came.is_empty()).then(|| format!("With it came {}; I have not looked into that.", came.join(", ")))
}

pub(super) fn what_was_said(heard: &Heard) -> String {
    if heard.prompts.is_empty() {
        return "Nothing yet: this is the first turn of its branch.".to_owned();
    }
    let mut text = "On this branch I have heard:\n\n".to_owned();
    for (number, prompt) in heard.prompts.iter().enumerate() {
        text.push_str(&format!("{}. {}\n", number + 1, quoted(prompt)));
    }
    text
}

pub(super) fn thoughts(about: &str, heard: &Heard) -> String {
    format!(
        "{about}: I am asked to think about it in turn {}. I have no thoughts of my own, so I count the letters: {}.",
        heard.prompts.len() + 1,
        about.chars().filter(|letter| letter.is_alphabetic()).count()
    )
}

pub(super) fn thought(about: &str) -> String {
    format!("I have thought about {about}, as well as I can.")
}

pub(super) fn delegated(task: &str) -> String {
    format!("I am the second agent. My task is {}, and saying so is all I can do.", quoted(task))
}

/// It cannot summarise, so it lists what the person said and what an earlier summary says.
pub(super) fn summary(conversation: &str) -> String {
    let earlier = between(conversation, "<previous-summary>\n", "\n</previous-summary>");
    let said = between(conversation, "<conversation>\n", "\n</conversation>").unwrap_or_default();
    let mut text = match earlier {
        Some(earlier) => format!("{}\n", earlier.trim_end()),
        None => "The built-in agent cannot summarise; this is what the person said:\n".to_owned(),
    };
    for prompt in said.split("\n\n").filter_map(|part| part.strip_prefix("[User]: ")) {
        text.push_str(&format!("- {}\n", quoted(prompt)));
    }
    text
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

pub(super) const DELEGATES: &str = "I give this to a second agent.";
pub(super) const DELEGATION_DONE: &str = "The second agent is done.";
pub(super) const QUESTION: &str = "Which way shall we go?";
pub(super) const CHOICES: [(&str, &str); 3] = [
    ("Up", "back to an earlier turn"),
    ("Down", "on from here"),
    ("Sideways", "another version of this turn"),
];
pub(super) const NO_ANSWER: &str = "You did not choose; that is an answer too.";
pub(super) const FAILURE: &str = "the built-in agent was asked to fail, and did";
pub(super) const NOT_ALLOWED: &str = "denied by user";

pub(super) fn tool_is_off(tool: &str) -> String {
    format!("the tool `{tool}` is not among the tools in force")
}

pub(super) fn plans_only(tool: &str) -> String {
    format!("the permission mode is `plan`, in which `{tool}` changes nothing")
}

pub(super) fn did_not(reason: &str) -> String {
    format!("I did nothing: {reason}.")
}
pub(super) const NO_WORKSPACE: &str = "this session has no workspace";

pub(super) fn chosen(choices: &[String]) -> String {
    match choices {
        [] => NO_ANSWER.to_owned(),
        [one] => format!("You chose {one}."),
        several => format!("You chose {}.", several.join(" and ")),
    }
}

pub(super) fn wrote(file: &str) -> String {
    format!("`{file}` is written.")
}

/// The reason names the file.
pub(super) fn not_written(reason: &str) -> String {
    format!("I could not write it: {reason}.")
}

pub(super) const REPLACES: &str = "the file exists and would be replaced";

pub(super) fn was_denied(message: Option<&str>) -> String {
    match message {
        Some(message) => format!("You did not allow it: {}", message.trim()),
        None => "You did not allow it, so I did nothing.".to_owned(),
    }
}

/// The first words of something, in quotes.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let line = text.trim().lines().next().unwrap_or_default();
    let mut shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    format!("“{shown}”")
}
