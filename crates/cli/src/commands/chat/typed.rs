//! What a line means that somebody typed.

use offshoot_api::request::{ForkTo, Step, Summary};
use offshoot_api::views::ModelView;
use offshoot_session::agent::THINKING_LEVELS;

use crate::naming::SHORT_ID;
use crate::words::chatting as words;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Nothing,
    Say(String),
    /// As a turn of its own, while another one runs.
    Beside(String),
    /// The prompt at the head is asked for an answer.
    Answer,
    Help,
    Quit,
    Tree,
    /// To any entry; to a prompt means before it, and its words come back.
    Go {
        to: String,
        summary: Summary,
    },
    Branches,
    /// A session of its own before the turn, or a branch of this one behind it.
    BranchAt {
        at: String,
        to: ForkTo,
    },
    Rewind(String),
    Attach(Attach),
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
    /// `None` takes it away.
    Label {
        at: LabelAt,
        text: Option<String>,
    },
    /// `None` takes it away.
    Rename(Option<String>),
    Agent(String),
    /// What is set now, and how to set it.
    Settings {
        usage: &'static str,
    },
    Model(ModelView),
    Thinking(String),
    /// Whether thoughts are told word for word.
    Thoughts(Thoughts),
    Tools(Vec<String>),
    Mode(String),
    Compact(Option<String>),
    Clear,
    Queue(Queue),
    Undo,
    Redo,
}

/// What is labelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LabelAt {
    /// The last turn.
    Last,
    Point(String),
    /// The first word if it names a point, else the last turn with all words as its label.
    PointOrLast {
        word: String,
        all: String,
    },
}

/// What waits to be said, by the numbers in which it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    List,
    Change {
        number: usize,
        text: String,
    },
    Cancel {
        number: usize,
    },
    /// What waits for an answer that did not come to its end.
    Send,
}

/// Files that go with the next message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attach {
    List,
    File(String),
    /// None of them goes along.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thoughts {
    Shown,
    Hidden,
}

impl Typed {
    /// Whether a conversation begins with it; everything else needs one that is there.
    pub(super) fn begins(&self) -> bool {
        match self {
            Self::Say(_)
            | Self::Beside(_)
            | Self::Rename(Some(_))
            | Self::Agent(_)
            | Self::Model(_)
            | Self::Thinking(_)
            | Self::Tools(_)
            | Self::Mode(_) => true,
            Self::Nothing
            | Self::Help
            | Self::Quit
            | Self::Tree
            | Self::Answer
            | Self::Attach(_)
            | Self::Go { .. }
            | Self::Branches
            | Self::Settings { .. }
            | Self::Thoughts(_)
            | Self::Rename(None)
            | Self::BranchAt { .. }
            | Self::Rewind(_)
            | Self::Queue(_)
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
    let alone = |typed: Typed| match rest {
        "" => Ok(typed),
        _ => Err(words::takes_nothing(name)),
    };
    let needed = |usage: &str| optional.clone().ok_or_else(|| words::needs(usage));
    Ok(match name.to_lowercase().as_str() {
        "help" | "?" => alone(Typed::Help)?,
        "quit" | "exit" => alone(Typed::Quit)?,
        "tree" => tree(rest)?,
        "branch" => branch(rest),
        "fork" => Typed::BranchAt { at: needed("/fork POINT")?, to: ForkTo::Here },
        "rewind" => Typed::Rewind(needed("/rewind POINT")?),
        "beside" => Typed::Beside(needed("/beside TEXT")?),
        "answer" if !rest.is_empty() => return Err(words::ANSWER_TAKES_NOTHING.to_owned()),
        "answer" => Typed::Answer,
        "queue" => Typed::Queue(queue(rest)?),
        "attach" => Typed::Attach(attach(rest)),
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
        "label" => label(&needed("/label [POINT] TEXT")?)?,
        "rename" => Typed::Rename(unless_dash(needed("/rename TITLE")?)),
        "agent" if rest.is_empty() => Typed::Settings { usage: "/agent NAME" },
        "agent" => Typed::Agent(one_word(rest, "/agent NAME")?),
        "model" if rest.is_empty() => Typed::Settings { usage: "/model PROVIDER/NAME" },
        "model" => Typed::Model(model(rest)?),
        "thinking" if rest.is_empty() => Typed::Settings { usage: "/thinking LEVEL" },
        "thinking" if rest == "show" => Typed::Thoughts(Thoughts::Shown),
        "thinking" if rest == "hide" => Typed::Thoughts(Thoughts::Hidden),
        "thinking" => Typed::Thinking(level(rest)?),
        "tools" if rest.is_empty() => Typed::Settings { usage: "/tools A,B" },
        "tools" => Typed::Tools(tools(rest)?),
        "mode" if rest.is_empty() => Typed::Settings { usage: "/mode MODE" },
        "mode" => Typed::Mode(one_word(rest, "/mode MODE")?),
        "compact" => Typed::Compact(optional),
        "clear" => alone(Typed::Clear)?,
        "undo" => alone(Typed::Undo)?,
        "redo" => alone(Typed::Redo)?,
        _ => return Err(words::unknown_command(name)),
    })
}

/// With nothing behind it the tree is drawn, else it is gone through.
fn tree(rest: &str) -> Result<Typed, String> {
    const USAGE: &str = "/tree POINT --summary [WORDS]";
    let (to, summary) = match rest.split_once("--summary") {
        None => (rest, Summary::None),
        Some((to, words)) => match words.trim() {
            "" => (to, Summary::Default),
            words => (to, Summary::With { instructions: words.to_owned() }),
        },
    };
    match (to.trim(), &summary) {
        ("", Summary::None) => Ok(Typed::Tree),
        ("", _) => Err(words::needs(USAGE)),
        (to, _) => Ok(Typed::Go { to: to.to_owned(), summary }),
    }
}

/// As pi does it: a point makes a session that begins before its turn.
fn branch(rest: &str) -> Typed {
    let at = rest.strip_suffix("--new-session").unwrap_or(rest).trim_end();
    match at {
        "" => Typed::Branches,
        at => Typed::BranchAt { at: at.to_owned(), to: ForkTo::NewSession },
    }
}

fn queue(rest: &str) -> Result<Queue, String> {
    let (what, rest) = first_word(rest);
    let (number, text) = first_word(rest);
    let numbered = |usage: &str| number.parse::<usize>().map_err(|_| words::needs(usage));
    match what {
        "" => Ok(Queue::List),
        "send" if number.is_empty() => Ok(Queue::Send),
        "send" => Err(words::takes_nothing("queue send")),
        "cancel" => Ok(Queue::Cancel { number: numbered("/queue cancel N")? }),
        "change" if text.is_empty() => Err(words::needs("/queue change N TEXT")),
        "change" => Ok(Queue::Change { number: numbered("/queue change N TEXT")?, text: text.to_owned() }),
        other => Err(words::unknown_queue_word(other)),
    }
}

/// A name may hold blanks; a terminal that is given a file puts it in quotation marks.
fn attach(rest: &str) -> Attach {
    let within = |mark: char| rest.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    match rest {
        "" => Attach::List,
        "--none" => Attach::Nothing,
        file => Attach::File(within('\'').or_else(|| within('"')).unwrap_or(file).to_owned()),
    }
}

fn label(rest: &str) -> Result<Typed, String> {
    let (word, text) = first_word(rest);
    // As in `offshoot label POINT TEXT` a number is a turn, also one that does not exist.
    let is_certain = is_number(word) || ["#", "id:", "m:"].iter().any(|kind| word.starts_with(kind));
    let (at, text) = match (is_certain, text) {
        (true, "") => return Err(words::needs("/label [POINT] TEXT")),
        (true, text) => (LabelAt::Point(word.to_owned()), text),
        (false, "") => (LabelAt::Last, rest),
        (false, text) if may_name_a_point(word) => {
            (LabelAt::PointOrLast { word: word.to_owned(), all: rest.to_owned() }, text)
        }
        (false, _) => (LabelAt::Last, rest),
    };
    Ok(Typed::Label { at, text: unless_dash(text.to_owned()) })
}

/// Words such as `bad` and `add` may be the beginning of an id, and are hardly ever meant so.
fn may_name_a_point(word: &str) -> bool {
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_hex || word.len() >= SHORT_ID
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// `-` removes a label or a title, and so does `""`, which a shell would pass on as nothing.
fn unless_dash(text: String) -> Option<String> {
    (!matches!(text.as_str(), "-" | "\"\"")).then_some(text)
}

/// Without a provider the agent knows whose it is. Names of models may hold slashes too.
pub(super) fn model(said: &str) -> Result<ModelView, String> {
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
    match THINKING_LEVELS.contains(&level.as_str()) {
        true => Ok(level),
        false => Err(words::no_level(said, &THINKING_LEVELS.join(", "))),
    }
}

fn tools(said: &str) -> Result<Vec<String>, String> {
    let tools: Vec<String> =
        said.split([',', ' ']).filter(|tool| !tool.is_empty()).map(str::to_owned).collect();
    if tools.is_empty() { Err(words::needs("/tools A,B")) } else { Ok(tools) }
}

fn one_word(said: &str, usage: &str) -> Result<String, String> {
    if said.contains(char::is_whitespace) { Err(words::one_word(said, usage)) } else { Ok(said.to_owned()) }
}

pub(super) fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
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
        assert_eq!((typed("/retry"), typed("/Retry")), (Ok(Typed::Retry(None)), Ok(Typed::Retry(None))));
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
        for line in ["/model", "/thinking ", "/tools", "/mode", "/agent"] {
            assert!(matches!(typed(line), Ok(Typed::Settings { .. })), "{line}");
        }
    }

    #[test]
    fn places_are_gone_to_and_begun_at() {
        let go = |to: &str, summary| Ok(Typed::Go { to: to.into(), summary });
        assert_eq!(typed("/tree"), Ok(Typed::Tree));
        assert_eq!(typed("/tree my label"), go("my label", Summary::None));
        assert_eq!(typed("/tree 2 --summary"), go("2", Summary::Default));
        let instructions = "the dead ends".to_owned();
        assert_eq!(typed("/tree 2 --summary the dead ends"), go("2", Summary::With { instructions }));
        let branch = |at: &str, to| Ok(Typed::BranchAt { at: at.into(), to });
        assert_eq!(typed("/branch a b"), branch("a b", ForkTo::NewSession));
        assert_eq!(typed("/branch 2 --new-session"), branch("2", ForkTo::NewSession));
        assert_eq!(typed("/fork 2"), branch("2", ForkTo::Here));
        assert_eq!(typed("/branch"), Ok(Typed::Branches));
        for line in ["/tree --summary", "/fork", "/rewind", "/beside"] {
            assert!(typed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_waits_is_named_by_its_number() {
        let text = "say  it".to_owned();
        assert_eq!(typed("/queue"), Ok(Typed::Queue(Queue::List)));
        assert_eq!(typed("/queue change 2 say  it"), Ok(Typed::Queue(Queue::Change { number: 2, text })));
        assert_eq!(typed("/queue cancel 1"), Ok(Typed::Queue(Queue::Cancel { number: 1 })));
        for line in ["/queue send 1", "/queue cancel", "/queue change 1", "/queue change x y", "/queue jump"]
        {
            assert!(typed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_file_is_named_as_it_is_or_in_quotation_marks() {
        let file = |name: &str| Ok(Typed::Attach(Attach::File(name.into())));
        assert_eq!(typed("/attach my notes.md"), file("my notes.md"));
        assert_eq!(typed("/attach '/tmp/my notes.md'"), file("/tmp/my notes.md"));
        assert_eq!(typed("/attach it's.md"), file("it's.md"));
        assert_eq!(typed("/attach "), Ok(Typed::Attach(Attach::List)));
        assert_eq!(typed("/attach --none"), Ok(Typed::Attach(Attach::Nothing)));
    }

    /// a label goes to any point; a word that names none is part of the label.
    #[test]
    fn a_label_is_put_on_any_point() {
        let label = |at: LabelAt, text: &str| Ok(Typed::Label { at, text: Some(text.into()) });
        let maybe = |word: &str, all: &str| LabelAt::PointOrLast { word: word.into(), all: all.into() };
        assert_eq!(typed("/label #2 good one"), label(LabelAt::Point("#2".into()), "good one"));
        assert_eq!(typed("/label m:3 here"), label(LabelAt::Point("m:3".into()), "here"));
        assert_eq!(typed("/label 7d8563 here"), label(maybe("7d8563", "7d8563 here"), "here"));
        // A15: as in `offshoot label`, a number is a turn.
        assert_eq!(typed("/label 2 tries"), label(LabelAt::Point("2".into()), "tries"));
        assert_eq!(typed("/label 2 \"\""), Ok(Typed::Label { at: LabelAt::Point("2".into()), text: None }));
        assert_eq!(typed("/label good one"), label(maybe("good", "good one"), "one"));
        assert_eq!(typed("/label bad idea"), label(LabelAt::Last, "bad idea"), "not the beginning of an id");
        assert_eq!(typed("/label good"), label(LabelAt::Last, "good"));
    }

    #[test]
    fn what_takes_nothing_is_not_done_with_something() {
        for line in ["/undo 2", "/redo all", "/clear this", "/help me", "/quit now", "/answer yes"] {
            assert!(typed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_dash_takes_away() {
        assert_eq!(typed("/rename -"), Ok(Typed::Rename(None)));
        let second = LabelAt::Point("#2".into());
        assert_eq!(typed("/label #2 -"), Ok(Typed::Label { at: second, text: None }));
    }

    #[test]
    fn help_lists_only_what_there_is_and_fits_a_usual_terminal() {
        let words_of_help = words::CHAT_HELP.split([' ', ',', '\n']);
        let is_command =
            |word: &&str| word.strip_prefix('/').is_some_and(|name| name.starts_with(char::is_alphabetic));
        let named: Vec<&str> = words_of_help.filter(is_command).collect();
        assert!(named.len() > 20, "{named:?}");
        for name in named {
            let is_unknown = typed(name) == Err(words::unknown_command(name.trim_start_matches('/')));
            assert!(!is_unknown, "{name}");
        }
        for line in words::CHAT_HELP.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
