//! The last messages from the end of a file are those of the whole file.

use std::path::Path;

use offshoot_session::SessionTree;
use offshoot_store::recent::{Way, recent_messages, recent_messages_from};
use offshoot_transcripts::claude::{read, recent::recent_of};

use crate::support::claude_files::claude_file;
use crate::support::{Dice, real_files_of, rounds};

/// How many of the questions were answered from the end.
fn check(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().map(|name| name.to_string_lossy());
    let (tree, _) = SessionTree::replay(read(name.as_deref(), &bytes).records);
    let mut from_the_end = 0;
    for count in [1, 8, 100] {
        let expected = recent_of(&tree, count);
        for end in [800, 8_000, 50_000] {
            let recent = recent_messages_from(path, count, end).unwrap();
            assert_eq!(recent.messages, expected, "`{}`: last {count} from {end} bytes", path.display());
            from_the_end += usize::from(recent.way != Way::Whole);
        }
    }
    from_the_end
}

#[test]
fn the_end_of_a_file_tells_what_the_whole_file_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut dice = Dice::seeded(11);
    let mut from_the_end = [0; 2];
    for round in 0..rounds(12, 1_000) {
        let oddly = round % 2 == 1;
        let lines = 30 + dice.roll(300);
        std::fs::write(&path, claude_file(&mut dice, lines, oddly)).unwrap();
        from_the_end[usize::from(oddly)] += check(&path);
    }
    assert!(from_the_end.iter().all(|count| *count > 5), "{from_the_end:?} are too few to prove anything");
}

/// What would change the answer stands at the very beginning.
#[test]
fn an_id_that_was_used_before_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let line = |id: &str, parent: Option<&str>, words: &str| {
        let line = serde_json::json!({"parentUuid": parent, "type": "user", "message": {"role": "user", "content": words},
            "uuid": id, "timestamp": "2026-01-01T00:00:00.000Z", "sessionId": "s"});
        format!("{line}\n")
    };
    let middle: String =
        (0..400).map(|at| line(&format!("m{at}"), Some(&format!("m{}", at - 1)), "middle")).collect();
    let last = line("m400", Some("m399"), "second");
    for (first, way) in [("m400", Way::Whole), ("m401", Way::FromTheEnd(1_000))] {
        std::fs::write(&path, format!("{}{middle}{last}", line(first, None, "first"))).unwrap();
        let recent = recent_messages_from(&path, 1, 1_000).unwrap();
        assert_eq!(recent.way, way);
        assert_eq!(recent.messages.len(), 1);
        check(&path);
    }
}

#[test]
fn a_file_that_is_not_there_is_said() {
    assert!(recent_messages(Path::new("/nowhere/at/all.jsonl"), 1).is_err());
}

#[test]
fn the_ends_of_real_files_tell_what_the_files_tell() {
    let files = real_files_of("the_ends_of_real_files_tell_what_the_files_tell", &["claude"]);
    let from_the_end: usize = files.iter().map(|path| check(path)).sum();
    println!("{} files, {from_the_end} answers from the end", files.len());
    assert!(files.is_empty() || from_the_end > 0);
}
