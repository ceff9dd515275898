//! A long session is read in parts. What is printed is the same as if it were read whole.

use std::fs;

use crate::support::Folder;

/// Longer than what is read whole anyway, with branches, a label, a name, and a person who speaks between a call and
/// its result. `titled`: the session has a title of its own.
fn long_talk(titled: bool) -> Folder {
    let folder = Folder::new();
    folder.run(if titled { "new Long" } else { "new" });
    let filler = "lorem ipsum ".repeat(1_000);
    let mut lines = String::new();
    for n in 1..=90 {
        for line in [
            serde_json::json!({"role": "user", "text": format!("question {n}")}),
            serde_json::json!({"role": "assistant", "text": "", "stop": "tool_use",
                "tool_calls": [{"id": format!("call-{n}"), "name": "read", "input": {"path": format!("src/{n}.rs")}}]}),
            serde_json::json!({"role": "user", "text": format!("wait, {n}")}),
            serde_json::json!({"role": "tool_result", "call": format!("call-{n}"), "tool": "read",
                "text": format!("{n} {filler} {filler} {filler}")}),
            serde_json::json!({"role": "assistant", "text": format!("answer {n} {filler}")}),
        ] {
            lines.push_str(&format!("{line}\n"));
        }
    }
    let told = folder.run_with("append --batch", &lines);
    assert!(!told.contains("error:"), "{told}");
    for step in [
        "label 3 early",
        "edit 120 Another_question",
        "branch name 120 other",
        "switch 60",
        "edit 50 Elsewhere",
    ] {
        folder.run(step);
    }
    let told = folder.run_with("append", "{\"role\":\"assistant\",\"text\":\"From here.\"}");
    assert!(!told.contains("error:"), "{told}");
    let length = fs::metadata(folder.journals().remove(0)).expect("a journal").len();
    assert!(length > 4 << 20, "{length}");
    folder
}

const LOOKS: [&str; 16] = [
    "show --last 3",
    "show --last 3 --width 90",
    "show --last 1 --quiet",
    "show --last 4 --json",
    "show --last 200 --json=lines",
    "show --at 2",
    "show --at #7 --width 80",
    "show --at early",
    "show --at other --json --last 3",
    "show --at other",
    "show --at m:9",
    "show --at 900",
    "show --at nowhere",
    "show --context --last 2",
    "show --context --json --at 3",
    "tree --width 100",
];

#[test]
fn a_part_looks_as_it_does_in_the_whole() {
    for titled in [true, false] {
        let folder = long_talk(titled);
        let journal = folder.journals().remove(0);
        let in_parts: Vec<String> = LOOKS.iter().map(|look| folder.run(look)).collect();
        assert!(journal.with_extension("idx").exists(), "the shape is kept for the next look");
        let with_index: Vec<String> = LOOKS.iter().map(|look| folder.run(look)).collect();
        assert_eq!(in_parts, with_index);

        // An unfinished line at the end calls for the whole reading.
        let mut bytes = fs::read(&journal).expect("a journal");
        bytes.extend_from_slice(b"{\"k\":\"entry\",\"id\":\"unfini");
        fs::write(&journal, bytes).expect("a journal");
        for (look, in_parts) in LOOKS.iter().zip(in_parts) {
            let whole: String = folder
                .run(look)
                .lines()
                .filter(|line| !line.contains("unfinished"))
                .map(|line| format!("{line}\n"))
                .collect();
            assert_eq!(whole, in_parts, "{look}");
        }
    }
}
