//! The last turns of a file, skimmed, are those of the whole file.

use std::path::Path;

use offshoot_session::address::ShortIds;
use offshoot_session::outline::{turns_of, version_of};
use offshoot_session::{Entry, SessionTree};
use offshoot_store::ending::{Ending, Last, ending};
use offshoot_transcripts::claude::read;

use crate::support::claude_files::claude_file;
use crate::support::{Dice, real_files_of, rounds};

const QUESTIONS: [Last; 6] =
    [Last::Entries(1), Last::Entries(9), Last::Entries(80), Last::Turns(1), Last::Turns(3), Last::Turns(20)];

/// An entry, the number of its turn, its place among versions and its short id.
type Shown<'t> = (usize, &'t Entry, Option<(usize, usize)>, String);

fn shown<'t>(tree: &'t SessionTree, last: Last, turn: Option<usize>, similar: &[String]) -> Vec<Shown<'t>> {
    let ids = tree.entries().map(|entry| entry.id.as_str()).chain(similar.iter().map(String::as_str));
    let short_ids = ShortIds::among(ids);
    let turns = turns_of(tree, tree.main_head());
    let missing = turn.map_or(0, |turn| turn - turns.last().map_or(0, |turn| turn.number));
    let all: Vec<Vec<Shown<'t>>> = turns
        .iter()
        .map(|turn| {
            let told = |entry: &&'t std::sync::Arc<Entry>| {
                let version = version_of(tree, &entry.id).map(|version| (version.number, version.of));
                (turn.number + missing, &***entry, version, short_ids.get(&entry.id))
            };
            turn.entries.iter().map(told).collect()
        })
        .collect();
    match last {
        Last::Turns(count) => all.into_iter().rev().take(count).rev().flatten().collect(),
        Last::Entries(count) => {
            let all: Vec<Shown<'t>> = all.into_iter().flatten().collect();
            let from = all.len().saturating_sub(count);
            all.into_iter().skip(from).collect()
        }
    }
}

/// How many of the questions were answered without reading the file.
fn check(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let name = path.to_string_lossy();
    let (whole, _) = SessionTree::replay(read(Some(&name), &bytes).records);
    let mut answered = 0;
    for last in QUESTIONS {
        let Some(Ending { tree, turn, similar, .. }) = ending(path, path, last).unwrap() else { continue };
        let place = format!("`{}`, {last:?}", path.display());
        assert_eq!(tree.main_head(), whole.main_head(), "{place}");
        assert_eq!(tree.header(), whole.header(), "{place}");
        assert_eq!(tree.title(), whole.title(), "{place}");
        assert_eq!(shown(&tree, last, Some(turn), &similar), shown(&whole, last, None, &[]), "{place}");
        answered += 1;
    }
    answered
}

#[test]
fn the_last_turns_of_a_skimmed_file_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut dice = Dice::seeded(17);
    let mut answered = [0; 2];
    for round in 0..rounds(30, 2_000) {
        let oddly = round % 2 == 1;
        let lines = 20 + dice.roll(200);
        std::fs::write(&path, claude_file(&mut dice, lines, oddly)).unwrap();
        answered[usize::from(oddly)] += check(&path);
    }
    let [usual, odd] = answered;
    assert!(usual > 30 && odd > 3, "{answered:?} are too few to prove anything");
}

#[test]
fn the_last_turns_of_real_files_are_those_of_the_whole() {
    let files = real_files_of("the_last_turns_of_real_files_are_those_of_the_whole", &["claude"]);
    let answered: usize = files.iter().map(|path| check(path)).sum();
    println!("{} files, {answered} answers without reading them", files.len());
    assert!(files.is_empty() || answered > 0);
}

/// A file that is longer than what one thread takes at a time, with lines that are longer than what is read at once.
#[test]
fn a_long_file_is_skimmed_in_stripes_and_hardly_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut dice = Dice::seeded(23);
    let long = "words ".repeat(60_000);
    let mut lines = Vec::new();
    let mut file = String::from_utf8(claude_file(&mut dice, 400, false)).unwrap();
    // some answers of tools are long
    for (number, line) in file.lines().enumerate() {
        let is_long = number % 5 == 0;
        let filled =
            if is_long { format!("\"content\":\"{long}out ") } else { "\"content\":\"out ".to_owned() };
        lines.push(line.replacen("\"content\":\"out ", &filled, 1));
    }
    file = lines.join("\n") + "\n";
    assert!(file.len() > 8 << 20, "{}", file.len());
    std::fs::write(&path, &file).unwrap();
    assert!(check(&path) >= 3);
}

/// What is taken for granted elsewhere: a usual file is skimmed, and few of its lines are read as JSON. A silent way
/// back to reading all of them fails here.
#[test]
fn hardly_a_line_of_a_usual_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let uuid = |n: usize| format!("{:08x}-0000-4000-8000-{n:012x}", (n as u32).wrapping_mul(0x9e37_79b1));
    let mut file = String::new();
    let turns = 200;
    for n in 0..turns {
        let [prompt, beside, call, answer, last] = [1, 2, 3, 4, 5].map(|nth| uuid(5 * n + nth));
        let parent = if n == 0 { "null".to_owned() } else { format!("\"{}\"", uuid(5 * n)) };
        let base = |parent: &str| {
            format!("{{\"parentUuid\":{parent},\"isSidechain\":false,\"cwd\":\"/w\",\"sessionId\":\"s\"")
        };
        let behind = |id: &str| format!("\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"");
        let quoted = |id: &str| format!("\"{id}\"");
        file += &format!(
            "{},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"question {n}\"}},{}}}\n",
            base(&parent),
            behind(&prompt)
        );
        file += &format!(
            "{},\"attachment\":{{\"type\":\"prompt_snapshot\",\"id\":\"x\"}},\"type\":\"attachment\",{}}}\n",
            base(&quoted(&prompt)),
            behind(&beside)
        );
        file += &format!(
            "{{\"type\":\"file-history-snapshot\",\"messageId\":\"{prompt}\",\"snapshot\":{{\"messageId\":\"{prompt}\"}}}}\n"
        );
        file += &format!(
            "{},\"message\":{{\"id\":\"m{n}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"c{n}\",\"name\":\"Read\",\"input\":{{}}}}]}},\"type\":\"assistant\",{}}}\n",
            base(&quoted(&beside)),
            behind(&call)
        );
        let content = match n % 4 {
            0 => format!(
                "{{\"tool_use_id\":\"c{n}\",\"type\":\"tool_result\",\"content\":\"out \\\"{n}\\\"\"}}"
            ),
            1 => format!(
                "{{\"tool_use_id\":\"c{n}\",\"type\":\"tool_result\",\"content\":[{{\"type\":\"text\",\"text\":\"out {n}\"}}],\"is_error\":true}}"
            ),
            2 => format!(
                "{{\"type\":\"tool_result\",\"content\":\"out {n}\",\"is_error\":false,\"tool_use_id\":\"c{n}\"}}"
            ),
            _ => format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":\"c{n}\",\"content\":\"out {n}\",\"is_error\":false}}"
            ),
        };
        file += &format!(
            "{},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{content}]}},{},\"toolUseResult\":{{\"stdout\":\"x\",\"id\":\"y\"}}}}\n",
            base(&quoted(&call)),
            behind(&answer)
        );
        file += &format!(
            "{},\"type\":\"assistant\",\"message\":{{\"id\":\"n{n}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"answer\"}}]}},{}}}\n",
            base(&quoted(&answer)),
            behind(&last)
        );
    }
    std::fs::write(&path, file).unwrap();
    assert_eq!(check(&path), QUESTIONS.len());
    // what is shown, and some twice: the last turn, the first one, and what the last one hangs below
    let ending = ending(&path, &path, Last::Turns(1)).unwrap().unwrap();
    assert_eq!(ending.turn, turns);
    assert!(ending.lines_read <= 12, "{} lines were read", ending.lines_read);
}

/// Not all that stands on a line of the user was said by a person. Skimming must see what the reader sees: a prompt more
/// or less would be another number for every turn behind it.
#[test]
fn who_speaks_on_a_line_of_the_user_is_seen_without_reading_it() {
    let message = |content: &str| format!("\"message\":{{\"role\":\"user\",\"content\":{content}}}");
    let said = message("\"words\"");
    let uuid = "\"uuid\":\"77777777-0000-4000-8000-000000000007\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"";
    let user = "\"type\":\"user\"";
    let contents = [
        "\"words\"",
        "\"größer\"",
        "\"Äpfel\"",
        "\"苹果\"",
        "\"\\u3000<bash-input>ls</bash-input>\"",
        "\"\u{3000}<bash-input>ls</bash-input>\"",
        "\"\u{a0}[Request interrupted by user]\"",
        "\" words\"",
        "\"\"",
        "\"<command-name>/clear</command-name>\"",
        "\"[Request interrupted by user for tool use]\"",
        "\"a \\\"quoted\\\":\\\"text\\\"\"",
        "[]",
        "[{\"type\":\"text\",\"text\":\"words\"}]",
        "[{\"type\":\"text\",\"text\":\"<system-reminder>x</system-reminder>\"}]",
        "[{\"type\":\"text\",\"text\":\"words\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"x\"}}]",
        "[{\"type\":\"text\",\"text\":\"words\",\"citations\":[]}]",
        "[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"},{\"type\":\"text\",\"text\":\"words\"}]",
    ];
    let mut lines: Vec<String> =
        contents.iter().map(|content| format!("{user},{},{uuid}", message(content))).collect();
    let beside = [
        "{\"type\":\"queued_command\",\"prompt\":\"words\",\"commandMode\":\"prompt\"}",
        "{\"type\":\"queued_command\",\"prompt\":\"words\",\"commandMode\":\"task-notification\"}",
        "{\"commandMode\":\"prompt\",\"prompt\":\"words\",\"type\":\"queued_command\"}",
        "{\"type\":\"date\",\"date\":\"2026-01-01\"}",
        "{\"type\":\"edited_text_file\",\"snippet\":\"\\\"uuid\\\":\\\"x\\\"\"}",
        "{\"type\":\"other\",\"uuid\":\"99999999-0000-4000-8000-000000000009\"}",
    ];
    lines.extend(beside.map(|kind| format!("\"attachment\":{kind},\"type\":\"attachment\",{uuid}")));
    lines.extend(beside.map(|kind| format!("\"type\":\"attachment\",\"attachment\":{kind},{uuid}")));
    // lines of the program's own that something hangs below, as nobody has ever seen them
    lines.extend(["queue-operation", "tag"].map(|kind| format!("\"type\":\"{kind}\",{uuid}")));
    let fields = [
        "\"isMeta\":true",
        "\"isMeta\":false",
        "\"isVisibleInTranscriptOnly\":true",
        "\"isCompactSummary\":true",
        "\"origin\":{\"kind\":\"human\"}",
        "\"origin\":{\"kind\":\"task-notification\"}",
        "\"promptSource\":\"system\"",
        "\"promptSource\":\"typed\"",
        "\"promptId\":\"p\",\"permissionMode\":\"plan\",\"slug\":\"s\",\"entrypoint\":\"cli\",\"version\":\"2.1.185\"",
        "\"gitBranch\":\"a\\\"b\"",
        "\"toolUseResult\":\"x\"",
        "\"uuid\":\"88888888-0000-4000-8000-000000000008\"",
        "\"isSidechain\":true",
        "\"somethingNew\":1",
    ];
    for field in fields {
        lines.push(format!("{field},{user},{said},{uuid}"));
        lines.push(format!("{user},{said},{uuid},{field}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let id = |n: usize| format!("{n:08x}-0000-4000-8000-{n:012x}");
    let mut answered = 0;
    for line in &lines {
        let mut file = String::new();
        let mut above = "null".to_owned();
        let mut add = |line: &str, id: &str| {
            file += &format!(
                "{{\"parentUuid\":{above},\"isSidechain\":false,\"cwd\":\"/w\",\"sessionId\":\"s\",{line}}}\n"
            );
            above = format!("\"{id}\"");
        };
        let behind = |id: &str| format!("\"uuid\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"");
        for n in 0..6 {
            let (prompt, reply) = (id(2 * n + 16), id(2 * n + 17));
            add(&format!("{user},{},{}", message(&format!("\"question {n}\"")), behind(&prompt)), &prompt);
            if n == 2 {
                add(line, "77777777-0000-4000-8000-000000000007");
            }
            let said = "\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"answer\"}]}";
            add(&format!("{said},{}", behind(&reply)), &reply);
        }
        std::fs::write(&path, &file).unwrap();
        answered += usize::from(check(&path) > 0);
    }
    assert!(answered > lines.len() / 2, "{answered} of {} are too few to prove anything", lines.len());
}
