//! `doctor --report`: what helps to find a mistake, and not a word of any conversation.

use std::os::unix::fs::PermissionsExt;

use crate::support::Folder;

/// Stands in everything that is said in these tests, and in names that people choose.
const MARKED: &str = "zebrafinch";

/// Sessions of ours and of another program, settings, a log and a broken journal, all full of marked words.
fn full_of_marked_words(folder: &Folder) {
    folder.run(&format!("new {MARKED}_title"));
    let lines = format!(
        "hello {MARKED}\nwrite {MARKED}.txt: {MARKED}\nrun echo {MARKED}\na\n/label {MARKED}\n/edit 1 {MARKED} again\n\
         /rename {MARKED}\nfail after {MARKED}\n"
    );
    folder.run_with("--log trace chat --continue", &lines);
    folder.write("foreign.jsonl", crate::support::BURST.replace("Burst", MARKED).as_bytes());
    folder.run("import foreign.jsonl");
    folder.run(&format!("branch name 1 {MARKED}"));
    let journal = folder.journals().pop().expect("a journal");
    let mut text = std::fs::read_to_string(&journal).expect("text");
    text.push_str(&format!("{{\"{MARKED}\": \"broken\n{{\"more\": \"{MARKED}\"}}\n"));
    std::fs::write(&journal, text).expect("an own file");
    let settings = format!(
        "keep = true\nname = \"{MARKED}\"\n[hooks.{MARKED}]\ncommand = \"curl -H {MARKED}\"\nlimit_ms = 5\n"
    );
    std::fs::write(folder.home().join("settings.toml"), settings).expect("an own file");
    std::fs::write(folder.home().join(format!("{MARKED} notes.txt")), MARKED).expect("an own file");
}

#[test]
fn a_report_holds_what_helps_and_no_word_of_a_conversation() {
    let folder = Folder::new();
    full_of_marked_words(&folder);
    let told = folder.run("doctor --report out.txt");
    assert!(told.contains("`DIR/out.txt`. It holds:\n  program "), "{told}");
    let path = folder.path().join("out.txt");
    assert_eq!(path.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    let report = std::fs::read_to_string(path).expect("text");
    assert!(!report.to_lowercase().contains(MARKED), "{report}");
    for part in [
        "== program: ",
        "== checks: ",
        "== home: ",
        "== settings: ",
        "== agents: ",
        "== catalog: ",
        "== fsck: ",
        "== log: ",
        "== panics: ",
    ] {
        assert!(report.contains(part), "no `{part}` in {report}");
        let name = part.trim_start_matches("== ").trim_end_matches(": ");
        assert!(told.contains(&format!("  {name} ")), "`{name}` is not named in {told}");
    }
    for fact in [
        "offshoot 0.",
        "sessions ",
        "keep             true",
        "(a text of ",
        "built_in",
        "turn ends",
        "damage",
    ] {
        assert!(report.contains(fact), "no `{fact}` in {report}");
    }
}

#[test]
fn a_report_goes_where_it_is_asked_for() {
    let folder = Folder::new();
    folder.run("new Small");
    assert!(folder.run("doctor --report -").starts_with("What helps to find a mistake"));
    folder.write("mine.txt", b"mine");
    let refused = folder.run("doctor --report mine.txt");
    assert!(refused.contains("is there already") && refused.ends_with("exit 4\n"), "{refused}");
    assert_eq!(std::fs::read(folder.path().join("mine.txt")).expect("a file"), b"mine");
    folder.run("doctor --report");
    let names = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let reports = names.filter(|name| name.file_name().to_string_lossy().starts_with("offshoot-report-"));
    assert_eq!(reports.count(), 1);
}
