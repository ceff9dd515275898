//! D13: what looks at every version of a prompt takes as long as there are versions, and not as long as there are pairs of
//! them.

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::json;

use crate::support::Folder;

/// A prompt with so many versions, each with a reply that was paid for.
fn with_versions(folder: &Folder, name: &str, count: usize) {
    let message = |id: String, parent: Option<String>, message: serde_json::Value| json!({"type":"message","id":id,"parentId":parent,"timestamp":"2025-03-04T14:00:02.000Z","message":message});
    let asked = |id: String, parent: Option<String>| {
        let said = json!({"role":"user","content":format!("ask {id}")});
        message(id, parent, said)
    };
    let answered = |id: String, parent: String| {
        let usage = json!({"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"totalTokens":940,"cost":{"total":0.012}});
        let said = json!({"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","stopReason":"stop","usage":usage,"content":[{"type":"text","text":"Yes."}]});
        message(id, Some(parent), said)
    };
    let header = json!({"type":"session","version":3,"id":name,"timestamp":"2025-03-04T14:00:00.000Z","cwd":"/home/dev/gatehouse"});
    let mut lines = vec![header, asked("u".into(), None), answered("a".into(), "u".into())];
    for number in 0..count {
        lines.push(asked(format!("u{number}"), Some("a".into())));
        lines.push(answered(format!("a{number}"), format!("u{number}")));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    folder.write(&format!("{name}.jsonl"), text.as_bytes());
}

/// The time that a processor spent on a command, in hundredths of a second: other processes do not count. The shell tells it
/// as `0m1.23s 0m0.04s`, its own on the first line and that of the command on the second.
fn spent(folder: &Folder, line: &str) -> u32 {
    let script = format!("\"$1\" {line} > printed || exit 1; times");
    let output = folder.command_in_shell(&script).bounded_output().expect("a shell");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let hundredths = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        let (whole, part) = seconds.split_once('.')?;
        let part: u32 = part.get(..2)?.parse().ok()?;
        Some(minutes.parse::<u32>().ok()? * 6_000 + whole.parse::<u32>().ok()? * 100 + part)
    };
    let times = told.lines().nth(1).expect("the times of the command").split_whitespace();
    times.map(|time| hundredths(time).expect("a time")).sum()
}

#[test]
fn commands_that_look_at_all_versions_grow_with_their_number() {
    let folder = Folder::new();
    for count in [400, 1_500, 1_600, 6_000] {
        with_versions(&folder, &count.to_string(), count);
    }
    for (command, few, many) in [
        ("cost FILE.jsonl --by turn", 1_500, 6_000),
        ("cost FILE.jsonl --by branch", 1_500, 6_000),
        ("versions --session FILE.jsonl 2", 1_500, 6_000),
        // A file for each version.
        ("export FILE.jsonl --to rollouts -o out-FILE/ --force", 400, 1_600),
    ] {
        let best = |count: usize| {
            let line = command.replace("FILE", &count.to_string());
            (0..2).map(|_| spent(&folder, &line)).min().expect("two measurements")
        };
        let (few, many) = (best(few).max(5), best(many));
        // Four times as much takes four times as long, and sixteen times where every version looks at every other.
        assert!(many <= few * 9, "{command}: {few} and {many} hundredths of a second");
    }
}
