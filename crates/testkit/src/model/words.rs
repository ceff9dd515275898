//! A script in the words of a prompt; [`Script`](super::Script) lists them.

use std::time::Duration;

use serde_json::{Value, json};

use super::script::{Failure, Part, Reply, call, fail, gate, say, think, wait};

/// The replies that the lines of a prompt ask for; `None` where none does.
pub(super) fn replies(prompt: &str) -> Option<Vec<Reply>> {
    let mut replies = vec![Vec::new()];
    let mut is_script = false;
    for line in prompt.lines() {
        let Some(instruction) = line.trim().strip_prefix('%') else { continue };
        let (word, rest) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let rest = rest.trim();
        if word == "then" {
            replies.push(Vec::new());
        } else if let (Some(part), Some(parts)) = (part(word, rest), replies.last_mut()) {
            parts.push(part);
        } else {
            continue;
        }
        is_script = true;
    }
    is_script.then(|| replies.into_iter().map(Reply::from).collect())
}

fn part(word: &str, rest: &str) -> Option<Part> {
    match word {
        "say" => Some(say(rest)),
        "think" => Some(think(rest)),
        "call" => {
            let (name, input) = rest.split_once(' ').unwrap_or((rest, ""));
            Some(call(name, serde_json::from_str::<Value>(input).unwrap_or_else(|_| json!({}))))
        }
        "wait" => rest.parse().ok().map(|milliseconds| wait(Duration::from_millis(milliseconds))),
        "gate" => Some(gate(rest)),
        "fail" => failure(rest).map(fail),
        _ => None,
    }
}

fn failure(name: &str) -> Option<Failure> {
    match name {
        "error" => Some(Failure::Error),
        "drop" => Some(Failure::Drop),
        "silence" => Some(Failure::Silence),
        "json" => Some(Failure::BadJson),
        "long" => Some(Failure::TooLong),
        "cut" => Some(Failure::Cut),
        "torn" => Some(Failure::Torn),
        "page" => Some(Failure::Page),
        "endless" => Some(Failure::Endless),
        "flood" => Some(Failure::Flood),
        "429" => Some(Failure::rate_limited(1)),
        code => code.parse().ok().filter(|code| (400..600).contains(code)).map(Failure::status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_can_be_a_script() {
        let prompt =
            "Please:\n%think Hm.\n%call Bash {\"command\": \"ls\"}\n%then\n%wait 5\n%say Done.\n%fail 529";
        let expected: Vec<Reply> = vec![
            [think("Hm."), call("Bash", json!({"command": "ls"}))].into(),
            [wait(Duration::from_millis(5)), say("Done."), fail(Failure::status(529))].into(),
        ];
        assert_eq!(replies(prompt), Some(expected));
    }

    #[test]
    fn a_prompt_that_only_looks_like_one_is_none() {
        assert_eq!(replies("100 %\n%percent\n%fail never"), None);
    }
}
