//! `chat --memory`: a session that is in no file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::Folder;

const LINES: &str = "first\nsecond\n/edit 2 other\n/tree\n/undo\n/branch\n/branch 2\nin the child\n/tree\n";

/// Every file below a directory with its bytes; a directory has none.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for name in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = name.expect("a name in an own folder").path();
            if path.is_dir() {
                directories.push(path.clone());
            }
            files.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
        }
    }
    files
}

fn chat(folder: &Folder, line: &str, input: &str) -> String {
    let mut command = folder.command();
    // What other commands write behind a person's back, a chat in memory does not.
    command.env("OFFSHOOT_AUTO_SYNC", "true").env("OFFSHOOT_LOG", "trace");
    folder.told(command, line, input)
}

/// a session in memory is edited, undone and branched like any other, and no file is written.
#[test]
fn a_chat_in_memory_writes_no_file() {
    let folder = Folder::new();
    let told = chat(&folder, "chat --memory", LINES);
    assert!(told.starts_with("This session is in memory only. It is gone when the chat ends.\n"), "{told}");
    for part in [
        "You said “other”. This is turn 2 of its branch. Before it I heard “first”.",
        "second  1/2",
        "Taken back: edit #2.",
        "The conversation goes on in a session of its own",
        "You said “in the child”. This is turn 2 of its branch.",
    ] {
        assert!(told.contains(part), "`{part}` is missing in\n{told}");
    }
    assert!(!told.contains("error:"), "{told}");
    assert!(!folder.home().exists());
}

#[test]
fn a_chat_in_memory_changes_nothing_in_a_home() {
    let folder = Folder::new();
    folder.run_with("chat", "kept\n");
    folder.run("engine stop");
    let before = files(&folder.home());
    let told = chat(&folder, "chat --memory", LINES);
    assert!(told.contains("You said “in the child”."), "{told}");
    assert_eq!(files(&folder.home()).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(files(&folder.home()) == before, "a file of the home has changed");
    assert!(folder.run("tree").contains("kept"));
}

#[test]
fn a_permission_in_memory_is_forgotten_with_the_chat() {
    let folder = Folder::new();
    let told = chat(&folder, "chat --memory", "run date\np\nrun date\n");
    assert_eq!(told.matches("May it use shell?").count(), 1, "{told}");
    assert!(!folder.home().exists());
    let again = chat(&folder, "chat --memory", "run date\nn\n");
    assert_eq!(again.matches("May it use shell?").count(), 1, "{again}");
}

#[test]
fn a_stored_session_is_not_continued_in_memory() {
    let folder = Folder::new();
    for line in ["chat --memory some", "chat --memory --continue", "chat --memory --resume some"] {
        let told = folder.run(line);
        assert!(told.contains("the argument '--memory' cannot be used with"), "{told}");
        assert!(told.ends_with("exit 2\n"), "{told}");
    }
}
