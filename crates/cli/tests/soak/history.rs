//! What a worker asked for, what it was told, and when.

use std::process::Output;

use offshoot_session::{EntryId, OperationId, SessionId, TurnId};
use serde_json::Value;

use crate::home::Lengths;
use crate::journal::{Journal, Window, in_short};

/// A command that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) session: SessionId,
    pub(crate) what: What,
    pub(crate) answer: Answer,
    pub(crate) before: Lengths,
    pub(crate) after: Lengths,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Append { texts: Vec<String>, steps: AppendSteps },
    Edit { at: EntryId, text: String },
    Undo,
    Redo,
    Fork { at: EntryId },
    ForkToNewSession { at: Option<EntryId> },
    Label { at: EntryId, label: String },
    Rename { title: String },
    Send { text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendSteps {
    Each,
    One,
}

/// What was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Steps that were acknowledged.
    pub(crate) steps: Vec<Acknowledged>,
    pub(crate) reply: Option<Reply>,
    pub(crate) new_session: Option<NewSession>,
    /// Why nothing was done, or nothing more.
    pub(crate) refusal: Option<Refusal>,
    /// Not one of the answers that the command is known to have.
    pub(crate) oddity: Option<String>,
}

/// A step by what it did: [`crate::acknowledged`] finds it in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) step: StepKey,
    /// Where the head was before and after, where the command says so.
    pub(crate) heads: Option<[Option<EntryId>; 2]>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StepKey {
    Append(Vec<(EntryId, String)>),
    Edit(EntryId, String),
    Send(EntryId, String),
    Undo(OperationId),
    Redo(OperationId),
    Fork {
        from: Option<EntryId>,
        to: Option<EntryId>,
    },
    ForkToNewSession(SessionId),
    Label(EntryId, String),
    Rename(String),
    /// The engine compacts a branch that has become long by itself.
    Compact,
    Other(String),
}

/// What the agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) turn: TurnId,
    pub(crate) prompt: EntryId,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewSession {
    pub(crate) id: SessionId,
    pub(crate) head: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is so already: nothing to change.
    Unchanged,
    NothingToUndo,
    NothingToRedo,
    /// The agent is answering.
    Running,
    SameText,
    NoSuchPoint,
    /// The session is undone.
    TakenBack,
    /// The session that the step began, by the first digits of its id.
    HasGoneOn {
        child: String,
    },
}

impl Ran {
    pub(crate) fn window(&self, journal: &Journal) -> Window {
        let length = |lengths: &Lengths| lengths.get(&journal.session).copied().unwrap_or_default();
        journal.window(length(&self.before), length(&self.after))
    }

    pub(crate) fn oddity(&self) -> Option<String> {
        self.answer.oddity.as_ref().map(|oddity| format!("{}: {oddity}", self.described()))
    }

    /// The command as a failure names it.
    pub(crate) fn described(&self) -> String {
        let length = |lengths: &Lengths| lengths.get(&self.session).copied().unwrap_or_default();
        let what = format!("{:?}", self.what);
        let what: String = what.chars().take(200).collect();
        format!(
            "{what} in `{}`, whose journal had {} bytes before and {} after",
            self.session,
            length(&self.before),
            length(&self.after)
        )
    }

    /// What is counted together.
    pub(crate) fn kind(&self) -> String {
        let is_long = |text: &String| text.len() > 4 * 1024 * 1024;
        let what = match &self.what {
            What::Append { texts, .. } if texts.iter().any(is_long) => "append of a line over 4 MiB",
            What::Append { .. } => "append",
            What::Edit { .. } => "edit",
            What::Undo => "undo",
            What::Redo => "redo",
            What::Fork { .. } => "fork",
            What::ForkToNewSession { .. } => "fork to a new session",
            What::Label { .. } => "label",
            What::Rename { .. } => "rename",
            What::Send { .. } => "send",
        };
        match &self.answer.refusal {
            None => what.to_owned(),
            Some(Refusal::HasGoneOn { .. }) => format!("{what}, refused: HasGoneOn"),
            Some(refusal) => format!("{what}, refused: {refusal:?}"),
        }
    }
}

impl Answer {
    pub(crate) fn of(what: &What, output: &Output) -> Self {
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let answered = match output.status.code() {
            Some(0) => acknowledged(what, &printed),
            Some(code) => refused(what, code, &printed, &errors),
            None => None,
        };
        let odd = || {
            let told: String = format!("{printed}{errors}").chars().take(400).collect();
            Self { oddity: Some(format!("{}: {told}", output.status)), ..Self::default() }
        };
        answered.unwrap_or_else(odd)
    }
}

fn acknowledged(what: &What, printed: &str) -> Option<Answer> {
    let json = || serde_json::from_str::<Value>(printed).ok();
    let (step, heads) = match what {
        What::Append { .. } => return appended(what, printed),
        What::Send { text } => return replied(text, &json()?),
        What::ForkToNewSession { .. } => return began(&json()?),
        What::Edit { text, .. } => {
            let json = json()?;
            (StepKey::Edit(id(&json["id"])?, in_short(text)), heads(&json))
        }
        What::Undo => {
            let json = json()?;
            (StepKey::Undo(json["operation"]["id"].as_str()?.into()), heads(&json))
        }
        What::Redo => {
            let json = json()?;
            (StepKey::Redo(json["operation"]["id"].as_str()?.into()), heads(&json))
        }
        What::Fork { .. } => {
            let json = json()?;
            if json["changed"] == false {
                return unchanged();
            }
            let (from, to) = (id(&json["head_before"]), id(&json["head"]));
            (StepKey::Fork { from, to }, heads(&json))
        }
        What::Label { .. } | What::Rename { .. } if printed == "Nothing to change.\n" => return unchanged(),
        What::Label { at, label } => {
            first_line(printed).ends_with(&format!(" is labelled [{label}]")).then_some(())?;
            (StepKey::Label(at.clone(), label.clone()), None)
        }
        What::Rename { title } => {
            first_line(printed).ends_with(&format!(" is called {title}")).then_some(())?;
            (StepKey::Rename(title.clone()), None)
        }
    };
    Some(Answer { steps: vec![Acknowledged { step, heads }], ..Answer::default() })
}

/// Further lines say in which session it happened.
fn first_line(printed: &str) -> &str {
    printed.lines().next().unwrap_or_default()
}

fn unchanged() -> Option<Answer> {
    Some(Answer { refusal: Some(Refusal::Unchanged), ..Answer::default() })
}

/// The lines that were acknowledged; the others are not there.
fn appended(what: &What, printed: &str) -> Option<Answer> {
    let What::Append { texts, steps } = what else { return None };
    let ids: Option<Vec<EntryId>> =
        printed.lines().map(|line| id(&serde_json::from_str::<Value>(line).ok()?["id"])).collect();
    let entries = ids?.into_iter().zip(texts.iter().map(|text| in_short(text)));
    let steps = match steps {
        AppendSteps::Each => entries.map(|entry| StepKey::Append(vec![entry])).collect(),
        AppendSteps::One => vec![StepKey::Append(entries.collect())],
    };
    let steps = steps.into_iter().map(|step| Acknowledged { step, heads: None }).collect();
    Some(Answer { steps, ..Answer::default() })
}

fn replied(text: &str, json: &Value) -> Option<Answer> {
    (json["end"]["how"] == "done").then_some(())?;
    let prompt = id(&json["prompt"])?;
    let step = StepKey::Send(prompt.clone(), in_short(text));
    let turn = json["turn"].as_str()?.into();
    let reply = Reply { turn, prompt, text: json["text"].as_str()?.to_owned() };
    let steps = vec![Acknowledged { step, heads: None }];
    Some(Answer { steps, reply: Some(reply), ..Answer::default() })
}

fn began(json: &Value) -> Option<Answer> {
    let new = NewSession { id: json["id"].as_str()?.into(), head: id(&json["head"]) };
    let step = StepKey::ForkToNewSession(new.id.clone());
    let steps = vec![Acknowledged { step, heads: None }];
    Some(Answer { steps, new_session: Some(new), ..Answer::default() })
}

fn id(json: &Value) -> Option<EntryId> {
    json.as_str().map(EntryId::from)
}

fn heads(json: &Value) -> Option<[Option<EntryId>; 2]> {
    Some([id(&json["head_before"]), id(&json["head"])])
}

fn refused(what: &What, code: i32, printed: &str, errors: &str) -> Option<Answer> {
    let sentence = errors.lines().find_map(|line| line.strip_prefix("error: "))?;
    let refusal = match code {
        3 if sentence.starts_with("no entry, label or branch is called ") => Refusal::NoSuchPoint,
        3 if sentence.ends_with(" was taken back") => Refusal::TakenBack,
        4 if sentence == "there is no step to undo" => Refusal::NothingToUndo,
        4 if sentence == "there is no step to redo" => Refusal::NothingToRedo,
        4 if sentence.starts_with("the built-in agent is still answering on this branch") => Refusal::Running,
        4 if sentence.starts_with("this is the same text as version ") => Refusal::SameText,
        4 => {
            let child = sentence.strip_prefix("session `")?;
            let child = child.strip_suffix("` has gone on since it was forked")?.to_owned();
            Refusal::HasGoneOn { child }
        }
        _ => return None,
    };
    let before = appended(what, printed).unwrap_or_default();
    let steps = before.steps.into_iter().filter(|before| before.step != StepKey::Append(Vec::new()));
    Some(Answer { steps: steps.collect(), refusal: Some(refusal), ..Answer::default() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn answer(what: &What, code: i32, printed: &str, errors: &str) -> Answer {
        let status = ExitStatus::from_raw(code << 8);
        Answer::of(what, &Output { status, stdout: printed.into(), stderr: errors.into() })
    }

    #[test]
    fn a_refusal_is_known_by_its_code_and_its_sentence() {
        let nothing = "error: there is no step to undo\n";
        assert_eq!(answer(&What::Undo, 4, "", nothing).refusal, Some(Refusal::NothingToUndo));
        assert!(answer(&What::Undo, 1, "", nothing).oddity.is_some(), "the code is another one");
        assert!(answer(&What::Undo, 4, "", "error: no\n").oddity.is_some(), "the sentence is not known");
        assert!(answer(&What::Undo, 5, "", "error: locked\n").oddity.is_some());
        assert!(answer(&What::Undo, 101, "", "").oddity.is_some(), "a panic");
        assert!(answer(&What::Undo, 0, "done", "").oddity.is_some(), "not what it prints");
    }

    #[test]
    fn lines_before_a_refused_one_are_acknowledged() {
        let what = What::Append { texts: vec!["one".into(), "two".into()], steps: AppendSteps::Each };
        let running = "error: the built-in agent is still answering on this branch at `#2`\n";
        let answer = answer(&what, 4, "{\"id\":\"u1\"}\n", running);
        let step = StepKey::Append(vec![("u1".into(), "one".into())]);
        assert_eq!(answer.steps, [Acknowledged { step, heads: None }]);
        assert_eq!(answer.refusal, Some(Refusal::Running));
    }
}
