//! Permission rules: what is offered as "always", and what such a rule then allows.

use offshoot_session::asks::{Offer, Permission, Reach, Rule, RuleId, RulePattern, Rules};
use serde_json::{Value, json};

/// A line is a command, or the input of a tool as JSON.
pub const REQUESTS: &[&str] = &[
    "cargo test -p x\ncargo test -p y\ncargo  test\t--all\ngit status\ngit log -1 --output=x\nnpm test\n",
    "rm junk.txt\nrm junk.txt -rf ../victim\nfind . -delete\ncat a.txt /etc/shadow\nsudo x\nenv x\nsh file\n",
    "cargo test; rm -rf ~\ncargo test && x\ncargo test | sh\ncargo test $(x)\ncargo test `x`\ncargo\u{a0}test\ncargo test > /etc/x\n",
    "{\"command\":\"git diff\"}\n{\"command\":[\"git\",\"diff\"]}\n{\"cmd\":\"git diff\"}\n{\"file_path\":\"a.txt\"}\n{\"path\":\"a\",\"command\":\"b\"}\n",
];

/// What a shell gives a meaning, and what looks like a blank and is none.
const MEANINGFUL: &[char] =
    &[';', '|', '&', '`', '<', '>', '$', '(', ')', '\n', '\r', '\u{a0}', '\u{b}', '\u{2028}', '\\'];

/// "Always" allows the request it was given for. Between two requests, an exact rule allows only the same one, and a wider
/// one no command that a shell would take for more than one.
pub fn rules(bytes: &[u8]) {
    let requests: Vec<Permission> =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(12).map(request).collect();
    for asked in &requests {
        for offer in Offer::all(asked) {
            let rules = Rules::new([rule(asked, &offer)]);
            assert!(rules.allow(asked).is_some(), "{offer:?} does not allow what it was offered for");
            let _ = offer.pattern.to_string();
            for other in requests.iter().filter(|other| rules.allow(other).is_some()) {
                assert_eq!(asked.tool, other.tool);
                match offer.reach {
                    Reach::Exact => assert!(is_same(asked, other), "{asked:?} allowed {other:?}"),
                    Reach::Wider => assert!(is_one_command(other), "{:?} allowed {other:?}", offer.pattern),
                }
            }
        }
    }
}

fn request(line: &[u8]) -> Permission {
    let text = String::from_utf8_lossy(line);
    let input = match serde_json::from_str::<Value>(&text) {
        Ok(input @ Value::Object(_)) => input,
        _ => json!({ "command": text }),
    };
    Permission { tool: "tool".to_owned(), input, call: None, reason: None, suggestions: Vec::new() }
}

fn rule(asked: &Permission, offer: &Offer) -> Rule {
    Rule {
        id: RuleId::named("r"),
        scope: offer.scope,
        session: "s".into(),
        project: None,
        tool: asked.tool.clone(),
        pattern: offer.pattern.clone(),
        made_at: Default::default(),
    }
}

/// The exact rule of both is the same.
fn is_same(one: &Permission, other: &Permission) -> bool {
    RulePattern::exact(one) == RulePattern::exact(other)
}

fn is_one_command(permission: &Permission) -> bool {
    match permission.input.get("command").and_then(Value::as_str) {
        Some(command) => !command.contains(MEANINGFUL),
        None => true,
    }
}
