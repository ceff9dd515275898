//! What a line means that somebody typed.

use offshoot_api::request::Step;
use offshoot_api::views::{AnswerView, AskingView, ModelView, QuestionView, ScopeView};

use crate::words::talking as words;

/// How much an agent may think, by the words that agents use.
const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    Say(String),
    Help,
    Quit,
    Tree,
    Branches,
    /// The next message begins a branch there.
    BranchAt(String),
    Edit {
        at: String,
        text: String,
    },
    /// The last prompt where no point is named.
    Retry(Option<String>),
    Version {
        at: Option<String>,
        step: Step,
    },
    Label {
        at: Option<String>,
        text: String,
    },
    Rename(String),
    /// What is set now, and how to set it.
    Settings {
        usage: &'static str,
    },
    Model(ModelView),
    Thinking(String),
    Tools(Vec<String>),
    Mode(String),
    Compact(Option<String>),
    Clear,
    Undo,
    Redo,
}

impl Typed {
    /// Whether a conversation begins with it; everything else needs one that is there.
    pub(super) fn begins(&self) -> bool {
        match self {
            Self::Say(_)
            | Self::Rename(_)
            | Self::Model(_)
            | Self::Thinking(_)
            | Self::Tools(_)
            | Self::Mode(_) => true,
            Self::Nothing
            | Self::Help
            | Self::Quit
            | Self::Tree
            | Self::Branches
            | Self::Settings { .. }
            | Self::BranchAt(_)
            | Self::Edit { .. }
            | Self::Retry(_)
            | Self::Version { .. }
            | Self::Label { .. }
            | Self::Compact(_)
            | Self::Clear
            | Self::Undo
            | Self::Redo => false,
        }
    }
}

/// The message says what is wrong with it.
pub(super) fn typed(line: &str) -> Result<Typed, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Typed::Nothing);
    }
    let Some(command) = line.strip_prefix('/') else { return Ok(Typed::Say(line.to_owned())) };
    if command.starts_with('/') {
        return Ok(Typed::Say(command.to_owned()));
    }
    let (name, rest) = first_word(command);
    let optional = (!rest.is_empty()).then(|| rest.to_owned());
    let needed = |usage: &str| optional.clone().ok_or_else(|| words::needs(usage));
    Ok(match name {
        "help" | "?" => Typed::Help,
        "quit" | "exit" => Typed::Quit,
        "tree" => Typed::Tree,
        "branch" => optional.map_or(Typed::Branches, Typed::BranchAt),
        "edit" => {
            let (at, text) = first_word(rest);
            if text.is_empty() {
                return Err(words::needs("/edit POINT TEXT"));
            }
            Typed::Edit { at: at.to_owned(), text: text.to_owned() }
        }
        "retry" => Typed::Retry(optional),
        "prev" => Typed::Version { at: optional, step: Step::Previous },
        "next" => Typed::Version { at: optional, step: Step::Next },
        "label" => label(&needed("/label [#N] TEXT")?)?,
        "rename" => Typed::Rename(needed("/rename TITLE")?),
        "model" if rest.is_empty() => Typed::Settings { usage: "/model PROVIDER/NAME" },
        "model" => Typed::Model(model(rest)?),
        "thinking" if rest.is_empty() => Typed::Settings { usage: "/thinking LEVEL" },
        "thinking" => Typed::Thinking(level(rest)?),
        "tools" if rest.is_empty() => Typed::Settings { usage: "/tools A,B" },
        "tools" => Typed::Tools(tools(rest)?),
        "mode" if rest.is_empty() => Typed::Settings { usage: "/mode MODE" },
        "mode" => Typed::Mode(one_word(rest, "/mode MODE")?),
        "compact" => Typed::Compact(optional),
        "clear" => Typed::Clear,
        "undo" => Typed::Undo,
        "redo" => Typed::Redo,
        other => return Err(words::unknown_command(other)),
    })
}

/// An answer to what is asked.
pub(super) fn answer(line: &str, asking: &AskingView) -> Result<AnswerView, String> {
    let (word, rest) = first_word(line.trim());
    match asking {
        AskingView::Permission { .. } => match word.to_lowercase().as_str() {
            "y" | "yes" | "allow" => Ok(AnswerView::Allow { input: None }),
            "a" | "always" => Ok(AnswerView::AllowAlways { scope: ScopeView::Session }),
            "n" | "no" | "deny" => {
                Ok(AnswerView::Deny { message: (!rest.is_empty()).then(|| rest.to_owned()) })
            }
            _ => Err(words::not_a_choice(word)),
        },
        AskingView::Question { questions } => {
            // Several questions are answered in one line, with `;` between.
            let mut said = line.split(';').map(str::trim);
            let chosen = |question: &QuestionView| match said.next() {
                None | Some("") => Vec::new(),
                Some(said) if question.several => {
                    said.split(',').map(|one| choice(one.trim(), question)).collect()
                }
                Some(said) => vec![choice(said, question)],
            };
            Ok(AnswerView::Choose { chosen: questions.iter().map(chosen).collect() })
        }
    }
}

/// A number stands for the choice, anything else for itself.
fn choice(said: &str, question: &QuestionView) -> String {
    let by_number =
        said.parse::<usize>().ok().and_then(|number| question.choices.get(number.checked_sub(1)?));
    by_number.map_or_else(|| said.to_owned(), |choice| choice.label.clone())
}

fn label(rest: &str) -> Result<Typed, String> {
    match first_word(rest) {
        (at, "") if at.starts_with('#') => Err(words::needs("/label [#N] TEXT")),
        (at, text) if at.starts_with('#') => {
            Ok(Typed::Label { at: Some(at.to_owned()), text: text.to_owned() })
        }
        _ => Ok(Typed::Label { at: None, text: rest.to_owned() }),
    }
}

/// Without a provider the agent knows whose it is. Names of models may hold slashes too.
fn model(said: &str) -> Result<ModelView, String> {
    let said = one_word(said, "/model PROVIDER/NAME")?;
    let (provider, name) = match said.split_once('/') {
        Some(("", _) | (_, "")) => return Err(words::needs("/model PROVIDER/NAME")),
        Some(parts) => parts,
        None => ("", said.as_str()),
    };
    Ok(ModelView { provider: provider.to_owned(), name: name.to_owned() })
}

fn level(said: &str) -> Result<String, String> {
    let level = said.to_lowercase();
    if LEVELS.contains(&level.as_str()) { Ok(level) } else { Err(words::no_level(said, &LEVELS.join(", "))) }
}

fn tools(said: &str) -> Result<Vec<String>, String> {
    let tools: Vec<String> =
        said.split([',', ' ']).filter(|tool| !tool.is_empty()).map(str::to_owned).collect();
    if tools.is_empty() { Err(words::needs("/tools A,B")) } else { Ok(tools) }
}

fn one_word(said: &str, usage: &str) -> Result<String, String> {
    if said.contains(char::is_whitespace) { Err(words::one_word(said, usage)) } else { Ok(said.to_owned()) }
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use offshoot_api::views::ChoiceView;

    use super::*;

    #[test]
    fn a_line_is_said_unless_it_begins_with_one_slash() {
        assert_eq!(typed("  \t "), Ok(Typed::Nothing));
        assert_eq!(typed(" hello /there "), Ok(Typed::Say("hello /there".into())));
        assert_eq!(typed("//tmp is full"), Ok(Typed::Say("/tmp is full".into())));
        assert!(typed("/dance").is_err_and(|why| why.contains("/dance")));
    }

    #[test]
    fn commands_take_what_they_need() {
        let edit = Typed::Edit { at: "2".into(), text: "say  it".into() };
        assert_eq!(typed("/edit 2   say  it"), Ok(edit));
        assert!(typed("/edit 2").is_err() && typed("/label #2").is_err() && typed("/rename").is_err());
        assert_eq!(typed("/retry"), Ok(Typed::Retry(None)));
        assert_eq!(
            typed("/label #2 good one"),
            Ok(Typed::Label { at: Some("#2".into()), text: "good one".into() })
        );
        assert_eq!(typed("/label good one"), Ok(Typed::Label { at: None, text: "good one".into() }));
        assert_eq!(typed("/tools read, write"), Ok(Typed::Tools(vec!["read".into(), "write".into()])));
    }

    #[test]
    fn settings_are_refused_where_they_cannot_be_meant() {
        let model = |provider: &str, name: &str| {
            Ok(Typed::Model(ModelView { provider: provider.into(), name: name.into() }))
        };
        assert_eq!(typed("/model anthropic/opus"), model("anthropic", "opus"));
        assert_eq!(typed("/model openrouter/qwen/qwen3"), model("openrouter", "qwen/qwen3"));
        assert_eq!(typed("/model opus"), model("", "opus"));
        assert_eq!(typed("/thinking HIGH"), Ok(Typed::Thinking("high".into())));
        for line in
            ["/model /opus", "/model anthropic/", "/model big one", "/thinking hard", "/tools ,", "/mode a b"]
        {
            assert!(typed(line).is_err(), "{line}");
        }
        for line in ["/model", "/thinking ", "/tools", "/mode"] {
            assert!(matches!(typed(line), Ok(Typed::Settings { .. })), "{line}");
        }
    }

    #[test]
    fn a_question_is_answered_by_number_or_in_own_words() {
        let choices = ["Up", "Down"];
        let choices =
            choices.map(|label| ChoiceView { label: label.into(), description: None, suggested: false });
        let question = |several| QuestionView { text: "Where?".into(), choices: choices.to_vec(), several };
        let asking = AskingView::Question { questions: vec![question(false), question(true)] };
        let chosen = |line: &str| match answer(line, &asking) {
            Ok(AnswerView::Choose { chosen }) => chosen,
            other => vec![vec![format!("{other:?}")]],
        };
        assert_eq!(chosen("2; 1, home"), [vec!["Down"], vec!["Up", "home"]]);
        assert_eq!(chosen("0"), [vec!["0"], vec![]]);
        assert_eq!(chosen("99999999999999999999999"), [vec!["99999999999999999999999"], vec![]]);
    }
}
