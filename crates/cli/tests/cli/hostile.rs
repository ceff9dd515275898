//! Files that were made to do harm: ids that are paths, titles that are terminal commands, links in the place of our files.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use offshoot_testkit::deadline::BoundedCommand;

use crate::support::Folder;

/// A session of Claude Code whose id leads out of any directory and writes to the clipboard of a terminal.
fn hostile_session() -> String {
    let id = r"../../planted\u001b]52;c;eA==\u0007";
    format!(
        r#"{{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"{id}","timestamp":"2026-01-01T00:00:00Z","cwd":"/x","message":{{"role":"user","content":"hi"}}}}
{{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"{id}","timestamp":"2026-01-01T00:00:01Z","cwd":"/x","message":{{"role":"assistant","content":[{{"type":"text","text":"ho"}}]}}}}
"#
    )
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for item in std::fs::read_dir(directory).expect("own directory").flatten() {
            match item.file_type().expect("own file").is_dir() {
                true => open.push(item.path()),
                false => found.push(item.path()),
            }
        }
    }
    found
}

/// D4: `export --to rollouts` wrote to wherever the id of a session pointed.
#[test]
fn an_export_stays_in_its_directory_whatever_the_id_is() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("a/b")).expect("own directory");
    folder.write("a/b/hostile.jsonl", hostile_session().as_bytes());
    let before = files_below(folder.path()).len();
    for (done, format) in ["rollouts", "pi", "markdown", "claude", "codex", "offshoot"].iter().enumerate() {
        let told = folder.run(&format!("export a/b/hostile.jsonl --to {format} -o a/b/out/"));
        assert!(!told.contains("exit") && !told.contains('\u{1b}'), "{format}: {told:?}");
        let exported = files_below(&folder.path().join("a/b/out"));
        assert_eq!(exported.len(), done + 1, "{format}: {exported:?}");
        assert_eq!(files_below(folder.path()).len(), before + exported.len(), "{format}: a file elsewhere");
        let is_plain = |path: &PathBuf| {
            !path.to_string_lossy().contains("..") && !path.to_string_lossy().contains('\u{1b}')
        };
        assert!(exported.iter().all(is_plain), "{exported:?}");
    }
}

/// The title went to the list under a temporary name with the id in it.
#[test]
fn a_session_whose_id_is_a_path_is_named_and_changed_in_its_place() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("a/b")).expect("own directory");
    folder.write("a/b/hostile.jsonl", hostile_session().as_bytes());
    let id = r"../../planted\u001b]52;c;eA==\u0007";
    let list = format!(r#"{{"version":1,"entries":[{{"sessionId":"{id}","summary":"Old"}}]}}"#);
    folder.write("a/b/sessions-index.json", list.as_bytes());
    let outside = || -> Vec<PathBuf> {
        let mut files = files_below(folder.path());
        files.retain(|path| !path.starts_with(folder.home()));
        files.sort();
        files
    };
    let before = outside();
    for line in
        ["rename a/b/hostile.jsonl Mine --write-back", "import a/b/hostile.jsonl", "edit 1 changed", "undo"]
    {
        let told = folder.run(line);
        assert!(!told.contains("exit") && !told.contains('\u{1b}'), "{line}: {told:?}");
        assert_eq!(outside(), before, "{line}: nothing is written elsewhere");
    }
    for name in ["a/b/hostile.jsonl", "a/b/sessions-index.json"] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("own file");
        assert!(text.contains("\"Mine\""), "{name}: {text}");
    }
    let in_home = files_below(&folder.home());
    assert!(!in_home.iter().any(|path| path.to_string_lossy().contains("planted/")), "{in_home:?}");
}

/// D15: `new` and `label` printed what was typed, and `label` the foreign id of an entry.
#[test]
fn typed_text_and_foreign_ids_are_printed_harmless() {
    let folder = Folder::new();
    let raw = "a\u{1b}]52;c;eA==\u{7}\u{202e}b";
    let session = hostile_session().replace("\"u1\"", r#""\u001bcu1x""#);
    folder.write("hostile.jsonl", session.as_bytes());
    for arguments in
        [vec!["new", raw], vec!["label", "hostile.jsonl", "1", raw], vec!["rename", raw], vec!["ls"]]
    {
        let output = folder.command().args(&arguments).bounded_output().expect("the program starts");
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(output.status.success(), "{arguments:?}: {told}");
        assert!(!told.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {told:?}");
    }
}

/// D11: the temporary name was the process id, so another user could put a link there.
#[test]
fn an_export_does_not_write_through_a_link() {
    let folder = Folder::new();
    folder.write("victim", b"mine");
    let mut command = folder
        .command_in_shell("ln -s victim .y.md.$$; exec \"$1\" export burst.jsonl --to markdown -o y.md");
    let output = command.bounded_output().expect("a shell");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read(folder.path().join("victim")).expect("still there"), b"mine");
    assert!(std::fs::symlink_metadata(folder.path().join("y.md")).expect("exported").is_file());
}

/// D11: locks, the log and temporary files were written through links.
#[test]
fn no_file_of_the_home_is_opened_through_a_link() {
    let folder = Folder::new();
    folder.write("victim", b"mine");
    let victim = folder.path().join("victim");
    folder.run("new Linked");
    let journal = folder.journals().pop().expect("a session");
    let log = folder.home().join("log/offshoot.log");
    for path in [journal.with_extension("lock"), log, folder.home().join("permissions.new")] {
        let _ = std::fs::remove_file(&path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("own directory");
        symlink(&victim, &path).expect("own link");
        let told = folder.run_with("append", r#"{"role":"user","text":"hello"}"#);
        let is_lock = path.extension().is_some_and(|ending| ending == "lock");
        assert_eq!(told.contains("it is a symbolic link"), is_lock, "{path:?}: {told}");
        assert_eq!(told.contains("exit 1"), is_lock, "{path:?}: {told}");
        assert_eq!(std::fs::read(&victim).expect("still there"), b"mine", "{path:?}");
        std::fs::remove_file(&path).expect("own link");
    }
}

#[test]
fn foreign_text_is_printed_without_control_characters() {
    let folder = Folder::new();
    let mut command = folder.command();
    let output = command.args(["new", "A\u{1b}c title"]).bounded_output().expect("the program starts");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(told.contains("A␛c title"), "{told:?}");
    folder.run_with("append", r#"{"role":"user","text":"hello"}"#);
    let mut command = folder.command();
    let output =
        command.args(["label", "#1", "a\u{1b}]0;x\u{7}b"]).bounded_output().expect("the program starts");
    let told = String::from_utf8(output.stdout).expect("text");
    assert!(told.contains("[a␛]0;x␇b]"), "{told:?}");
}

/// D9: `append` and `chat` ended with 0, and the ids were lost.
#[test]
fn a_full_standard_output_is_an_error() {
    let folder = Folder::new();
    folder.run("new Full");
    let input = r#"{"role":"user","text":"hello"}"#;
    let commands = [
        "append",
        "append --json",
        "append --batch",
        "ls",
        "tree",
        "chat --agent built_in",
        "send hello --agent built_in",
        "send hello --agent built_in --json",
        "send hello --agent built_in --json=lines",
    ];
    for command in commands {
        let script = format!("printf '%s\\n' '{input}' | \"$1\" {command} > /dev/full");
        let output = folder.command_in_shell(&script).env("PATH", "/usr/bin:/bin").bounded_output();
        let output = output.expect("a shell");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{command}: {told}");
        assert!(told.contains("could not print"), "{command}: {told}");
    }
}

/// D5: `export --to pi` ended with a panic.
#[test]
fn a_session_without_its_header_is_exported() {
    let folder = Folder::new();
    let lines: Vec<&str> = crate::support::BURST.lines().collect();
    let rest = lines[1..].join("\n");
    let damaged = [
        format!("\0\0\0\n{rest}\n"),
        format!("{}\n{rest}\n", lines[0].replacen("session", "sess\u{1}on", 1)),
        format!("{rest}\n{}\n", lines[0]),
        format!("{}\n{0}\n{rest}\n", lines[1]),
    ];
    for (number, text) in damaged.iter().enumerate() {
        folder.write("damaged.jsonl", text.as_bytes());
        let told = folder.run("export damaged.jsonl --to pi -o out.jsonl --force");
        assert!(!told.contains("exit 101") && told.contains("out.jsonl"), "{number}: {told}");
        folder.run("import damaged.jsonl");
    }
    for journal in folder.journals() {
        let mut bytes = std::fs::read(&journal).expect("own file");
        bytes[10] ^= 4;
        std::fs::write(&journal, bytes).expect("own file");
        let id = journal.file_stem().expect("a name").to_string_lossy().into_owned();
        let told = folder.run(&format!("export {id} --to pi -o out.jsonl --force"));
        assert!(!told.contains("exit 101"), "{told}");
    }
}
