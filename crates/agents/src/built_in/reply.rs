//! What is answered, decided without acting. The same branch and the same prompt always give the same steps.

use offshoot_session::asks::{Choice, Question};

use super::heard::Heard;
use super::requests::Request;
use super::words;

/// One thing after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Think(String),
    Say(String),
    /// Replaces the file, after asking if it exists. What is said then depends on how it went.
    Write {
        file: String,
        text: String,
        /// Said if the file is written.
        done: String,
    },
    Append {
        file: String,
        text: String,
    },
    Read {
        file: String,
    },
    /// Only if it is allowed.
    Run {
        command: String,
    },
    /// And then it says what was chosen.
    Ask(Question),
    Delegate {
        task: String,
        says: String,
    },
    Fail(String),
}

pub fn reply_to(heard: &Heard, prompt: &str) -> Vec<Step> {
    let say = |text: String| vec![Step::Say(text)];
    match Request::of(prompt) {
        Request::Help => say(words::help()),
        Request::Tour => say(words::tour(heard)),
        Request::WhatDidISay => say(words::what_was_said(heard)),
        Request::Write { file, text } => {
            vec![Step::Write { file: file.to_owned(), text: line_ended(text), done: words::wrote(file) }]
        }
        Request::Append { file, text } => {
            vec![Step::Append { file: file.to_owned(), text: line_ended(text) }]
        }
        Request::Read { file } => vec![Step::Read { file: file.to_owned() }],
        Request::Run { command } => vec![Step::Run { command: command.to_owned() }],
        Request::Ask => vec![Step::Ask(question())],
        Request::Think { about } => {
            vec![Step::Think(words::thoughts(about, heard)), Step::Say(words::thought(about))]
        }
        Request::Count { to } => say(counted(to)),
        Request::Delegate { task } => vec![
            Step::Say(words::DELEGATES.to_owned()),
            Step::Delegate { task: task.to_owned(), says: words::delegated(task) },
            Step::Say(words::DELEGATION_DONE.to_owned()),
        ],
        Request::Fail { after } => {
            let before = (!after.is_empty()).then(|| Step::Say(after.to_owned()));
            before.into_iter().chain([Step::Fail(words::FAILURE.to_owned())]).collect()
        }
        Request::Silence => Vec::new(),
        Request::Summary { conversation } => say(words::summary(conversation)),
        Request::Talk => say(words::talk(heard, prompt)),
    }
}

fn line_ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn counted(to: u32) -> String {
    (1..=to).map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

fn question() -> Question {
    let choices = words::CHOICES.iter().enumerate().map(|(place, (label, description))| Choice {
        label: (*label).to_owned(),
        description: Some((*description).to_owned()),
        suggested: place == 1,
    });
    Question { text: words::QUESTION.to_owned(), choices: choices.collect(), several: false }
}
