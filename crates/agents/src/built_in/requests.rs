//! The plain requests that this agent understands.

use offshoot_session::render::prompts::SUMMARIZER;

/// What somebody wants, with the parts of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'p> {
    Help,
    Tour,
    WhatDidISay,
    Write {
        file: &'p str,
        text: &'p str,
    },
    Append {
        file: &'p str,
        text: &'p str,
    },
    Read {
        file: &'p str,
    },
    Run {
        command: &'p str,
    },
    Ask,
    Think {
        about: &'p str,
    },
    Count {
        to: u32,
    },
    Delegate {
        task: &'p str,
    },
    Fail {
        after: &'p str,
    },
    Silence,
    /// Not said by a person: a summary of this conversation is wanted.
    Summary {
        conversation: &'p str,
    },
    /// Anything else.
    Talk,
}

/// For `help`: what to write, and what happens.
pub const REQUESTS: &[(&str, &str)] = &[
    ("help", "this list"),
    ("show me around", "three things to try"),
    ("what did I say", "what I have heard on this branch"),
    ("write FILE: TEXT", "a file in the workspace"),
    ("append FILE: TEXT", "more at its end"),
    ("read FILE", "what is in it"),
    ("run COMMAND", "a command in the workspace, if you allow it"),
    ("ask me", "a question with three answers"),
    ("think about SOMETHING", "thoughts, then words"),
    ("count to NUMBER", "a long answer, good to interrupt"),
    ("delegate TASK", "a second agent does it"),
    ("fail", "an error, to see that nothing is lost"),
    ("fail after WORDS", "the same behind the beginning of an answer"),
    ("say nothing", "an answer without words"),
];

/// Nobody wants to hear more.
const HIGHEST: u32 = 100_000;

impl<'p> Request<'p> {
    /// Big and small letters are the same, and a dot at the end does not matter.
    pub fn of(prompt: &'p str) -> Self {
        if let Some(conversation) = prompt.strip_prefix(SUMMARIZER) {
            return Self::Summary { conversation };
        }
        let said = prompt.trim();
        let line = said.lines().next().unwrap_or_default().trim_end_matches(['.', '!', '?']);
        if let Some(request) = whole(line) {
            return request;
        }
        let rest = |words: &str| behind(said, words);
        let file_and_text = |words: &str| {
            let (file, text) = rest(words)?.split_once(':')?;
            let (file, text) = (file.trim(), text.strip_prefix(' ').unwrap_or(text));
            (!file.is_empty()).then_some((file, text))
        };
        if let Some((file, text)) = file_and_text("write") {
            return Self::Write { file, text };
        }
        if let Some((file, text)) = file_and_text("append") {
            return Self::Append { file, text };
        }
        let one_line = |words: &str| behind(line, words).filter(|rest| !rest.is_empty());
        if let Some(file) = one_line("read") {
            return Self::Read { file };
        }
        if let Some(command) = behind(said, "run").filter(|command| !command.is_empty()) {
            return Self::Run { command };
        }
        if let Some(about) = one_line("think about") {
            return Self::Think { about };
        }
        if let Some(to) = one_line("count to").and_then(|number| number.parse::<u32>().ok()) {
            return Self::Count { to: to.min(HIGHEST) };
        }
        if let Some(task) = one_line("delegate") {
            return Self::Delegate { task };
        }
        if let Some(after) = one_line("fail after") {
            return Self::Fail { after };
        }
        Self::Talk
    }
}

fn whole(line: &str) -> Option<Request<'static>> {
    let is = |words: &str| line.eq_ignore_ascii_case(words);
    Some(match () {
        () if is("help") => Request::Help,
        () if is(super::TOUR) || is("tour") => Request::Tour,
        () if is("what did I say") => Request::WhatDidISay,
        () if is("ask me") => Request::Ask,
        () if is("fail") => Request::Fail { after: "" },
        () if is("say nothing") => Request::Silence,
        () => return None,
    })
}

/// What stands behind these words, if it begins with them.
fn behind<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(words.len())?;
    (start.eq_ignore_ascii_case(words) && rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}
