//! What a prompt makes the program do: its lines that begin with `%`, in order. `offshoot_testkit::fake_claude` lists the
//! words.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Say(String),
    Think(String),
    Call {
        name: String,
        input: Value,
    },
    Agent(Value),
    /// Says the time, for measuring how long words take to their reader.
    Time,
    Wait(Duration),
    Silence,
    Deaf,
    Void(String),
    Retry,
    Fail(u16),
    Compact,
    Garbage(String),
    Big(usize),
    Flood(usize),
    Unknown,
    Twice,
    CloseStdin,
    Exit(u8),
    Kill,
    KillAfter(u64),
}

/// The steps of a prompt; none where no line is one.
pub(super) fn steps(prompt: &str) -> Vec<Step> {
    prompt.lines().filter_map(|line| step(line.trim().strip_prefix('%')?)).collect()
}

fn step(line: &str) -> Option<Step> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!({}));
    Some(match word {
        "say" => Step::Say(rest.to_owned()),
        "think" => Step::Think(rest.to_owned()),
        "call" => {
            let (name, input) = rest.split_once(' ').unwrap_or((rest, ""));
            Step::Call { name: name.to_owned(), input: json(input) }
        }
        "agent" => Step::Agent(json(rest)),
        "time" => Step::Time,
        "wait" => Step::Wait(Duration::from_millis(rest.parse().ok()?)),
        "silence" => Step::Silence,
        "deaf" => Step::Deaf,
        "void" => Step::Void(rest.to_owned()),
        "retry" => Step::Retry,
        "fail" => Step::Fail(rest.parse().ok()?),
        "compact" => Step::Compact,
        "garbage" => Step::Garbage(rest.to_owned()),
        "big" => Step::Big(rest.parse().ok()?),
        "flood" => Step::Flood(rest.parse().ok()?),
        "unknown" => Step::Unknown,
        "twice" => Step::Twice,
        "close-stdin" => Step::CloseStdin,
        "exit" => Step::Exit(rest.parse().ok()?),
        "kill" => Step::Kill,
        "kill-after" => Step::KillAfter(rest.parse().ok()?),
        _ => return None,
    })
}
