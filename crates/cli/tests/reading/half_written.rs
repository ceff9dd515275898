//! A file that is being written is shown as far as it is whole, and that is said.

use crate::home::TestHome;

#[test]
fn a_half_written_file_is_shown_and_said() {
    let home = TestHome::empty();
    let whole = r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"hello"},"uuid":"u1aaaa","timestamp":"2026-01-01T00:00:01Z","sessionId":"s"}"#;
    std::fs::write(home.folder().join("torn.jsonl"), format!("{whole}\n{{\"parentUuid\":\"u1aaaa\",\"ty"))
        .expect("a file");
    for command in ["show torn.jsonl", "tree torn.jsonl"] {
        let said = home.run(command);
        assert!(said.contains("hello"), "{said}");
        assert!(said.contains("The last line of the file is not complete"), "{said}");
    }
    let inspected = home.run("inspect torn.jsonl");
    assert!(inspected.contains("line 2: the last line is unfinished (26 bytes)"), "{inspected}");
}
