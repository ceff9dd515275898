//! A home in every bad state: a command that reads, one that changes and one that sends say what is documented
//! (docs/trouble.md), and nothing is lost.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use crate::privacy::open_to_others;
use crate::support::Folder;

/// What each kind of command ends with: a part of what it prints, and its exit code.
struct Expected {
    reads: (&'static str, u8),
    changes: (&'static str, u8),
    sends: (&'static str, u8),
}

struct State {
    name: &'static str,
    /// Returns `false` if this machine cannot make it.
    make: fn(&Folder) -> bool,
    unmake: fn(&Folder),
    expected: Expected,
}

const WORKS: Expected = Expected { reads: ("#1", 0), changes: ("is labelled", 0), sends: ("You said", 0) };

const fn refused(sentence: &'static str) -> Expected {
    Expected { reads: (sentence, 4), changes: (sentence, 4), sends: (sentence, 4) }
}

const fn fails(changes: &'static str, sends: &'static str) -> Expected {
    Expected { reads: ("#1", 0), changes: (changes, 1), sends: (sends, 1) }
}

const LINK: &str = "is a symbolic link; Offshoot opens nothing in its home through links";

const STATES: &[State] = &[
    State {
        name: "others can read and write it",
        make: |folder| mode(&folder.home(), 0o777),
        unmake: |_| {},
        expected: WORKS,
    },
    State {
        name: "a file of it can be read by others",
        make: |folder| mode(&journal(folder), 0o666),
        unmake: |_| {},
        expected: WORKS,
    },
    State {
        name: "of another user",
        make: |folder| give(folder, Some(65_534)),
        unmake: |folder| assert!(give(folder, Some(0))),
        expected: refused("belongs to another user"),
    },
    State {
        name: "of another user, who lets others read",
        make: |folder| mode(&folder.home(), 0o755) && give(folder, Some(65_534)),
        unmake: |folder| assert!(give(folder, Some(0))),
        expected: refused("belongs to another user"),
    },
    State {
        name: "`sessions` is a link",
        make: |folder| linked(folder, "sessions"),
        unmake: |folder| unlinked(folder, "sessions"),
        expected: refused(LINK),
    },
    State {
        name: "`blobs` is a link",
        make: |folder| linked(folder, "blobs"),
        unmake: |folder| unlinked(folder, "blobs"),
        expected: refused(LINK),
    },
    State {
        name: "`log` is a link",
        make: |folder| linked(folder, "log"),
        unmake: |folder| unlinked(folder, "log"),
        expected: refused(LINK),
    },
    State {
        name: "`archive` is a link that leads nowhere",
        make: |folder| symlink("nowhere", folder.home().join("archive")).is_ok(),
        unmake: |folder| std::fs::remove_file(folder.home().join("archive")).expect("own link"),
        expected: refused(LINK),
    },
    State {
        name: "the journal is a link",
        make: |folder| {
            let journal = journal(folder);
            std::fs::rename(&journal, folder.path().join("aside")).expect("own file");
            symlink(folder.path().join("aside"), journal).is_ok()
        },
        unmake: |folder| {
            std::fs::rename(folder.path().join("aside"), journal(folder)).expect("own file");
        },
        expected: Expected {
            reads: ("it is a symbolic link", 1),
            changes: ("it is a symbolic link", 1),
            sends: ("it is a symbolic link", 1),
        },
    },
    State {
        name: "the lock is a FIFO",
        make: |folder| fifo(&journal(folder).with_extension("lock")),
        unmake: |folder| std::fs::remove_file(journal(folder).with_extension("lock")).expect("own FIFO"),
        expected: fails("it is not a regular file", "it is not a regular file"),
    },
    State {
        name: "the settings are a FIFO",
        make: |folder| fifo(&folder.home().join("settings.toml")),
        unmake: |folder| std::fs::remove_file(folder.home().join("settings.toml")).expect("own FIFO"),
        expected: Expected {
            reads: ("settings.toml`: it is not a regular file", 0),
            changes: ("settings.toml`: it is not a regular file", 0),
            sends: ("settings.toml`: it is not a regular file", 2),
        },
    },
    State {
        name: "the catalog is a FIFO",
        make: |folder| fifo(&folder.home().join("catalog.db")),
        unmake: |folder| drop(std::fs::remove_file(folder.home().join("catalog.db"))),
        expected: WORKS,
    },
];

fn mode(path: &Path, mode: u32) -> bool {
    set_permissions(path, Permissions::from_mode(mode)).is_ok()
}

/// Only root can give a directory away.
fn give(folder: &Folder, user: Option<u32>) -> bool {
    chown(folder.home(), user, None).is_ok()
}

fn journal(folder: &Folder) -> std::path::PathBuf {
    folder.journals().pop().expect("a session")
}

fn linked(folder: &Folder, name: &str) -> bool {
    let (place, aside) = (folder.home().join(name), folder.path().join("aside"));
    std::fs::create_dir_all(&place).expect("own directory");
    std::fs::rename(&place, &aside).expect("own directory");
    symlink(aside, place).is_ok()
}

fn unlinked(folder: &Folder, name: &str) {
    std::fs::remove_file(folder.home().join(name)).expect("own link");
    std::fs::rename(folder.path().join("aside"), folder.home().join(name)).expect("own directory");
}

fn fifo(path: &Path) -> bool {
    let _ = std::fs::remove_file(path);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).is_ok()
}

/// A command that changes the session, and what it reads from its standard input.
type Change = (&'static str, String);

fn label() -> Change {
    ("label 1 noted", String::new())
}

fn check(
    folder: &Folder,
    state: &str,
    expected: &Expected,
    change: &Change,
    run: &dyn Fn(&str, &str) -> String,
) {
    let lines = [
        (("show Mine", ""), expected.reads),
        ((change.0, change.1.as_str()), expected.changes),
        (("send again", ""), expected.sends),
    ];
    for ((line, input), (sentence, exit)) in lines {
        let told = run(line, input);
        assert!(told.contains(sentence) && ended(&told) == exit.to_string(), "{state}: {line}: {told}");
        assert!(!told.contains("panicked"), "{state}: {line}: {told}");
    }
    // These look at every file of the home, and say what they find.
    for line in ["doctor", "doctor --report", "fsck"] {
        let told = run(line, "");
        assert!(["0", "1", "4"].contains(&ended(&told)), "{state}: {line}: {told}");
        assert!(!told.contains("panicked"), "{state}: {line}: {told}");
    }
    offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &folder.home());
}

fn ended(told: &str) -> &str {
    told.lines().last().and_then(|last| last.strip_prefix("exit ")).unwrap_or("0")
}

fn with_session() -> Folder {
    let folder = Folder::new();
    folder.run("new Mine");
    assert!(folder.run("send hello").contains("You said"));
    offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &folder.home());
    folder
}

fn nothing_is_lost(folder: &Folder, state: &str, before: &[u8]) {
    let after = std::fs::read(journal(folder)).expect("the journal");
    assert!(after.starts_with(before), "{state}: what was written stays");
    let proof = folder.run("fsck");
    assert!(proof.contains("clean") && !proof.contains("exit"), "{state}: {proof}");
}

#[test]
fn every_bad_home_has_its_sentence_and_loses_nothing() {
    for State { name, make, unmake, expected } in STATES {
        let folder = with_session();
        let before = std::fs::read(journal(&folder)).expect("the journal");
        if !make(&folder) {
            println!("skipped: {name}: it cannot be made here");
            continue;
        }
        check(&folder, name, expected, &label(), &|line, input| folder.run_with(line, input));
        unmake(&folder);
        // A home that is refused stays as it is.
        if expected.reads.1 != 4 {
            assert_eq!(open_to_others(&folder.home()), [], "{name}");
        }
        nothing_is_lost(&folder, name, &before);
    }
}

/// Disks that are full or read-only, mounted for one command.
#[test]
#[cfg(target_os = "linux")]
fn a_home_on_a_bad_disk_has_its_sentence_and_loses_nothing() {
    let read_only =
        "mount --bind \"$OFFSHOOT_HOME\" \"$OFFSHOOT_HOME\" && mount -o remount,ro,bind \"$OFFSHOOT_HOME\"";
    let full = "cp -a \"$OFFSHOOT_HOME\" copy && mount -t tmpfs -o size=128k,mode=700 none \"$OFFSHOOT_HOME\" \
                && cp -a copy/sessions \"$OFFSHOOT_HOME\" && rm -r copy; cat /dev/zero > \"$OFFSHOOT_HOME/fill\" 2> /dev/null";
    // A short change could still fit into the last page of the journal.
    let long = ("append", format!("{{\"role\":\"user\",\"text\":\"{}\"}}\n", "x".repeat(1 << 20)));
    let states = [
        ("read-only", read_only, label(), fails("the disk cannot be written", "the disk cannot be written")),
        ("full", full, long, fails("no space left on the disk", "no space left on the disk")),
    ];
    for (name, mount, change, expected) in states {
        let folder = with_session();
        let before = std::fs::read(journal(&folder)).expect("the journal");
        folder.write("before", &before);
        let mounted = |then: &str, line: &str, input: &str| {
            let script = format!(
                "exec unshare --user --map-root-user --mount sh -c '({mount}) || test -e \"$OFFSHOOT_HOME/fill\" || exit 77; \
                 {then}' \"$@\""
            );
            let mut shell = folder.command_in_shell(&script);
            shell.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
            folder.told(shell, line, input)
        };
        let probed = mounted("true", "", "");
        if probed.contains("exit ") {
            println!("skipped: no disk can be mounted here: {probed}");
            return;
        }
        // The disk is gone after the command, so it is looked at before.
        let then = format!(
            "\"$0\" \"$@\"; ended=$?; head -c {} \"$OFFSHOOT_HOME\"/sessions/*.jsonl | cmp - before || echo lost; exit $ended",
            before.len()
        );
        let on_disk = |line: &str, input: &str| {
            let told = mounted(&then, line, input);
            assert!(!told.contains("lost"), "{name}: {line}: {told}");
            told
        };
        check(&folder, name, &expected, &change, &on_disk);
        nothing_is_lost(&folder, name, &before);
    }
}

/// Tests of modes mean nothing to root, so the program runs as an ordinary user who owns the home.
#[test]
fn a_home_that_its_owner_may_not_write_is_read() {
    let folder = with_session();
    let root = std::fs::metadata(folder.path()).expect("own directory").uid() == 0;
    let mut all = vec![folder.home()];
    while let Some(path) = all.pop() {
        if let Ok(items) = std::fs::read_dir(&path) {
            all.extend(items.flatten().map(|item| item.path()));
        }
        if root {
            chown(&path, Some(65_534), Some(65_534)).expect("root may");
        }
    }
    let before = std::fs::read(journal(&folder)).expect("the journal");
    for path in [journal(&folder), journal(&folder).with_extension("lock")] {
        mode(&path, 0o400);
    }
    for directory in ["sessions", "run", "log", ""] {
        mode(&folder.home().join(directory), 0o500);
    }
    let expected = fails("no permission", "no permission");
    check(&folder, "not writable", &expected, &label(), &|line, _| folder.run_as_ordinary_user(line));
    for directory in ["", "sessions", "run", "log"] {
        mode(&folder.home().join(directory), 0o700);
    }
    assert_eq!(std::fs::read(journal(&folder)).expect("the journal"), before);
    if root {
        chown(folder.home(), Some(0), None).expect("root may");
    }
}
