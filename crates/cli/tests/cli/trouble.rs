//! Errors of commands that change a session: it does not exist, is ambiguous, locked or not writable, or the disk is
//! full. Nothing is half written.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::Folder;

#[test]
fn a_session_that_is_not_found_or_not_the_only_one_is_explained() {
    let folder = Folder::new();
    let none = folder.story(&["undo", "undo Nowhere"]);
    folder.run("new Twin");
    folder.run("new twin");
    let several = folder.story(&["undo TWIN", "prev twin"]);
    insta::assert_snapshot!("sessions", format!("{none}\n{several}"));
}

/// Every command that writes names the process that holds the lock, and changes nothing.
#[test]
fn a_session_that_another_process_writes_is_locked() {
    let folder = Folder::with_talk();
    let journal = folder.journals().pop().expect("a journal");
    let before = fs::read(&journal).expect("own file");
    let mut lock = File::create(journal.with_extension("lock")).expect("own file");
    lock.lock().expect("nobody else is here");
    lock.write_all(b"another Offshoot (process 4127) since 2025-01-01T00:00:00Z").expect("own file");
    let told = folder.story(&["edit 2 Something_else", "undo --quiet"]);
    let appended = folder.run_with("append", "{\"role\":\"user\",\"text\":\"hi\"}\n");
    insta::assert_snapshot!("locked", format!("{told}\n$ offshoot append\n{appended}"));
    assert!(folder.run("tree").contains("#3"), "looking is always possible");
    assert_eq!(fs::read(&journal).expect("own file"), before);
}

/// The disk takes a part of the bytes and then no more.
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::with_talk();
    let journal = folder.journals().pop().expect("a journal");
    let before = fs::read(&journal).expect("own file");
    let blocks = before.len() / 512 + 1;
    let text = "x".repeat(2000);
    let lines = format!("{{\"role\":\"user\",\"text\":\"{text}\"}}\n").repeat(2);
    let commands = [format!("edit 2 {text}"), "append".to_owned(), "append --batch".to_owned()];
    for line in commands {
        let mut shell = folder.command_in_shell(&format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""));
        shell.env("PATH", "/usr/bin:/bin");
        let told = folder.told(shell, &line, &lines);
        assert!(told.starts_with("error: could not save `DIR/home/sessions/"), "{told}");
        assert!(told.contains("; nothing was half written\n") && told.ends_with("exit 1\n"), "{told}");
        assert!(before == fs::read(&journal).expect("own file"), "{line:.20} left something");
    }
    assert!(folder.run("edit 2 Short").starts_with("Version 2 of #2"), "with room again it goes on");
}

/// D16: SIGXFSZ ended the program without a word.
#[test]
fn a_file_size_limit_is_an_error() {
    let folder = Folder::with_talk();
    let journal = folder.journals().pop().expect("a journal");
    let before = fs::read(&journal).expect("own file");
    for (line, told_by) in [("edit 2 Something_else", "error: could not save `DIR/home/"), ("ls", "")] {
        let blocks = before.len() / 512;
        let mut shell = folder.command_in_shell(&format!("ulimit -f {blocks}; exec \"$@\""));
        shell.env("PATH", "/usr/bin:/bin");
        let told = folder.told(shell, line, "");
        assert!(told.starts_with(told_by), "{line}: {told}");
        assert_eq!(told.ends_with("exit 1\n"), !told_by.is_empty(), "{line}: {told}");
        let hint = "hint: a limit on the size of files is in force; `ulimit -f` shows it";
        assert_eq!(told.contains(hint), !told_by.is_empty(), "{line}: {told}");
    }
    assert!(before == fs::read(&journal).expect("own file"), "nothing is half written");
}

/// D16: too few file descriptors were a panic where signals are listened to.
#[test]
fn too_few_open_files_are_refused_with_a_sentence() {
    let folder = Folder::new();
    for few in [6, 8, 10] {
        for line in ["ls", "send hello", "new Few"] {
            let mut shell = folder.command_in_shell(&format!("ulimit -n {few}; exec \"$@\""));
            shell.env("PATH", "/usr/bin:/bin");
            let expected = format!(
                "error: only `{few}` open files are allowed, which is too few\n\
                 hint: raise the limit to at least 24, for example with `ulimit -n 1024`\nexit 1\n"
            );
            assert_eq!(folder.told(shell, line, ""), expected, "{line}");
        }
    }
}

/// D16: no engine started as long as `permissions.json` was damaged.
#[test]
fn a_damaged_list_of_rules_stops_no_conversation() {
    let folder = Folder::new();
    folder.run("new Talk");
    fs::write(folder.home().join("permissions.json"), "nonsense").expect("own file");
    let told = folder.run("send Talk hello");
    assert!(!told.contains("exit"), "{told}");
    let told = folder.run("permissions");
    assert!(told.contains("permissions.json` is not a list of permission rules"), "{told}");
    assert!(told.contains("hint: repair the file or delete it") && told.ends_with("exit 1\n"), "{told}");
    let left = fs::read(folder.home().join("permissions.json")).expect("own file");
    assert_eq!(left, b"nonsense", "it is not overwritten");
}

/// D16: what is not a file is reported as a damaged list is, and not waited for.
#[test]
fn a_list_of_rules_that_is_not_a_file_stops_no_conversation() {
    let folder = Folder::new();
    folder.run("new Talk");
    let list = folder.home().join("permissions.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &list, mode).expect("own FIFO");
    let told = folder.run("send Talk hello");
    assert!(!told.contains("exit"), "{told}");
    for line in ["permissions", "permissions revoke 1"] {
        assert_eq!(
            folder.run(line),
            "error: could not read the permission rules in `DIR/home/permissions.json`: it is not a regular file\n\
             hint: repair the file or delete it; until then every use of a tool is asked for\nexit 1\n"
        );
    }
    assert!(!fs::symlink_metadata(&list).expect("still there").is_file(), "it is not replaced");
}

/// D14: a line of a gigabyte ended `append` for want of memory.
#[test]
fn append_refuses_a_line_that_is_too_long() {
    let folder = Folder::new();
    folder.run("new Long");
    let input = format!("{{\"role\":\"user\",\"text\":\"hi\"}}\n{}\n", "x".repeat((64 << 20) + 1));
    // The line before it is written; as a batch nothing is.
    for line in ["append", "append --batch"] {
        let told = folder.run_with(line, &input);
        assert!(told.contains("error: line 2: longer than 64 MiB"), "{told:.300}");
        assert!(told.ends_with("exit 1\n"), "{told:.300}");
        let shown = folder.run("show --json=lines");
        assert_eq!(shown.matches("\"hi\"").count(), 1, "{line}: {shown:.300}");
    }
}

/// The catalog does not fit on the disk, at once or when it grows: sessions are listed and shown without it.
#[test]
fn sessions_are_shown_on_a_full_disk() {
    let folder = Folder::with_talk();
    folder.run("ls");
    for (blocks, label) in [(0, "nothing"), (96, "little")] {
        let words: String = (0..20_000).map(|word| format!("w{word} ")).collect();
        folder.run_with("append", &format!("{{\"role\":\"user\",\"text\":\"{words}\"}}\n"));
        folder.run(&format!("label 2 {label}"));
        let without_room = |line: &str| {
            let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
            let mut shell = folder.command_in_shell(&limit);
            shell.env("PATH", "/usr/bin:/bin");
            folder.told(shell, line, "")
        };
        let (listed, drawn) = (without_room("ls"), without_room("tree"));
        assert!(listed.contains("\tBurst\t") && !listed.contains("error"), "{blocks}: {listed}");
        assert!(drawn.contains(&format!("[{label}]")) && !drawn.contains("error"), "{blocks}: {drawn}");
    }
}

/// The home is a disk of one page.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_without_room_has_its_own_sentence() {
    let folder = Folder::new();
    fs::create_dir(folder.home()).expect("own folder");
    let on_small_disk = |line: &str| {
        let mount = "mount -t tmpfs -o size=4k,mode=700 none \"$OFFSHOOT_HOME\" || exit 77";
        let script =
            format!("exec unshare --user --map-root-user --mount sh -c '{mount}; exec \"$0\" \"$@\"' \"$@\"");
        let mut shell = folder.command_in_shell(&script);
        shell.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        folder.told(shell, line, "")
    };
    let listed = on_small_disk("ls --all --json=lines");
    if listed.contains("exit") {
        println!("skipped: no disk can be mounted here: {listed}");
        return;
    }
    assert_eq!(listed, "");
    insta::assert_snapshot!("no-room", on_small_disk("new"));
}

#[test]
fn places_where_an_ordinary_user_may_not_write_are_named() {
    let folder = Folder::with_talk();
    let journal = folder.journals().pop().expect("a journal");
    let id = journal.file_stem().expect("a name").to_string_lossy().into_owned();
    for path in [folder.home(), folder.home().join("sessions"), folder.home().join("blobs")] {
        allow(&path, 0o777);
    }
    allow(&journal, 0o666);
    allow(&journal.with_extension("lock"), 0o666);
    folder.give_home_to_ordinary_user();
    let mut told = Vec::new();
    let mut ask = |about: &str, line: &str| {
        told.push(format!("# {about}\n$ offshoot {line}\n{}", folder.run_as_ordinary_user(line)));
    };

    ask("everything may be written", "label 1 fine");
    allow(&journal, 0o444);
    ask("the journal may only be read", "edit 2 Something_else");
    ask("the journal may only be read", "tree --quiet");
    allow(&journal, 0o000);
    ask("the journal may not even be read", &format!("edit {id} 2 Something_else"));
    ask("the journal may not even be read", "edit 2 Something_else");
    allow(&journal, 0o666);
    allow(&journal.with_extension("lock"), 0o444);
    ask("the lock may not be taken", "undo");
    allow(&journal.with_extension("lock"), 0o666);
    allow(&folder.home().join("sessions"), 0o555);
    ask("no session may be added", "new Another");
    ask("no session may be added", "import burst.jsonl");
    allow(&folder.home().join("sessions"), 0o000);
    ask("the folder of the sessions is closed", "undo");
    allow(&folder.home().join("sessions"), 0o777);
    allow(&folder.home(), 0o000);
    ask("the home is closed", "new Another");
    ask("the home is closed", "undo");
    allow(&folder.home(), 0o777);
    ask("everything may be written again", "undo");

    insta::assert_snapshot!("permissions", told.join("\n").replace(&id, "SESSION"));
}

#[test]
fn a_home_that_may_only_be_read_can_be_looked_at_and_not_talked_in() {
    let folder = Folder::with_talk();
    allow(&folder.home(), 0o555);
    folder.give_home_to_ordinary_user();
    allow(&folder.home().join("sessions"), 0o755);
    for journal in folder.journals() {
        allow(&journal, 0o644);
    }
    let refused = "error: could not start the engine of `DIR/home`: no permission\n\
                   hint: `--home DIR` names a place where you may write\nexit 1\n";
    assert!(folder.run_as_ordinary_user("send hello").ends_with(refused), "below a note that it was closed");
    assert_eq!(folder.run_as_ordinary_user("send hello"), refused);
    assert_eq!(folder.run_as_ordinary_user("chat --continue"), refused);
    assert!(folder.run_as_ordinary_user("tree").contains("Burst credit"));
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own file");
}
