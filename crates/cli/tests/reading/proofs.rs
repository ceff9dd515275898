//! `fsck`, `doctor`, `completions` and `man`.

use std::os::unix::fs::PermissionsExt;

use crate::check;
use crate::home::{BURST_ID, TestHome, flipped, of_tomorrow};

#[test]
fn a_sound_store_is_clean() {
    check("fsck-clean", &TestHome::filled(), &["fsck", "fsck --json"]);
}

#[test]
fn every_finding_is_told() {
    let home = TestHome::filled();
    home.change_journal(BURST_ID, |bytes| flipped(bytes, 9));
    home.change_journal("b81c0700-fork", |bytes| [bytes.as_slice(), b"{\"k\":\"ent"].concat());
    home.change_journal("c70a1f00-old", |bytes| of_tomorrow(&bytes));
    check("fsck-findings", &home, &["fsck", "fsck --json", "fsck --json=lines"]);
}

/// Free space is different everywhere.
fn without_space(told: &str) -> String {
    let is_space = |line: &&str| line.contains(" free");
    told.lines().filter(|line| !is_space(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_doctor_looks_at_the_home() {
    let home = TestHome::filled();
    let well = without_space(&home.run("doctor"));
    assert!(!well.contains("exit"), "{well}");
    insta::assert_snapshot!("doctor", well);
}

#[test]
fn the_doctor_tells_what_to_do() {
    let home = TestHome::filled();
    home.change_journal(BURST_ID, |bytes| flipped(bytes, 9));
    std::fs::set_permissions(home.root(), std::fs::Permissions::from_mode(0o755)).expect("own folder");
    insta::assert_snapshot!("doctor-problems", without_space(&home.run("doctor")));
    let told = home.run("doctor --json");
    assert!(told.contains("\"ok\": false") && told.contains("\"hint\": \"chmod 700"), "{told}");
}

#[test]
fn the_doctor_knows_who_writes() {
    use offshoot_store::{Home, JournalStore, Locking};
    let home = TestHome::filled();
    let store = JournalStore::at(Home::at(home.root()), Locking::by("a test"));
    let mut journal = store.journal(&BURST_ID.into()).expect("readable").expect("there");
    journal.hold().expect("nobody else writes");
    let told = home.run("doctor");
    assert!(told.contains(&format!("1 held: {BURST_ID} by a test (process")), "{told}");
    journal.release();
    // A process that another test is just starting may hold a copy of the lock until it has begun.
    assert!((0..100).any(|_| home.run("doctor").contains("none held")));
}

#[test]
fn a_home_that_is_closed_is_named() {
    let home = TestHome::filled();
    let sessions = home.root().join("sessions");
    let rights = |mode| {
        std::fs::set_permissions(&sessions, std::fs::Permissions::from_mode(mode)).expect("own folder");
    };
    // The folders are there to be seen, what is in them is not.
    // Another user's home would be refused as a whole; whoever is not root owns it already.
    let _ = std::os::unix::fs::chown(home.root(), Some(65_534), None);
    rights(0o000);
    let lines = ["ls", "ls --json", "tree 6f2a", "export 6f2a --to pi", "fsck"];
    let told: Vec<String> =
        lines.iter().map(|line| format!("$ offshoot {line}\n{}", home.run_as_ordinary_user(line))).collect();
    let doctor = home.run_as_ordinary_user("doctor");
    rights(0o700);
    let _ = std::os::unix::fs::chown(home.root(), Some(rustix::process::geteuid().as_raw()), None);
    insta::assert_snapshot!("no-permission", told.join("\n"));
    assert!(doctor.contains("bad  sessions    no permission to read"), "{doctor}");
    assert!(doctor.ends_with("exit 1\n"), "{doctor}");
}

#[test]
fn shells_learn_to_complete() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = TestHome::empty().run(&format!("completions {shell}"));
        assert!(script.contains("versions"), "{shell}");
    }
    check("completions-unknown", &TestHome::empty(), &["completions csh"]);
}

#[test]
fn there_is_a_page_for_every_command() {
    let home = TestHome::empty();
    let page = home.run("man");
    assert!(page.contains(".TH offshoot 1") && page.contains("offshoot\\-versions"), "{page}");
    home.run("man -o pages");
    for name in ["offshoot.1", "offshoot-ls.1", "offshoot-export.1"] {
        assert!(home.folder().join("pages").join(name).is_file(), "{name}");
    }
}

#[test]
fn every_command_has_help_that_fits_the_screen() {
    let home = TestHome::empty();
    let help = home.run("--help");
    insta::assert_snapshot!("help", help);
    for line in
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty())
    {
        let command = line.split([' ', ',']).find(|word| !word.is_empty()).unwrap_or_default();
        let help = home.run(&format!("{command} -h"));
        assert!(help.contains("Usage: offshoot"), "{command}: {help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{command}: {help}");
    }
}
