//! The folder in which the engine copies databases of other programs is the home's, whatever the environment of the command was
//! that has started the engine.

use std::os::unix::fs::DirBuilderExt;

use offshoot_testkit::deadline::BoundedChild;
use rusqlite::Connection;

use crate::home::Home;

/// A program has ended in the middle, so the database is read from a copy.
fn database_left_in_the_middle(home: &Home) {
    let path = home.directory().join("opencode.db");
    let database = Connection::open(path).expect("a database");
    database
        .execute_batch(
            r#"CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
                title text, revert text, time_created integer, time_updated integer);
            CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
            CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
            INSERT INTO session VALUES ('ses-one', 'p', NULL, '/home/dev/gatehouse', 'One', NULL, 1000, 1000);
            INSERT INTO message VALUES ('ses-one-u', 'ses-one', 1000, '{"role":"user"}');
            INSERT INTO part VALUES ('p', 'ses-one-u', 'ses-one', '{"type":"text","text":"asked"}');"#,
        )
        .expect("tables");
    std::fs::write(home.directory().join("opencode.db-wal"), "").expect("own file");
}

#[test]
fn the_engine_copies_databases_into_its_home() {
    let home = Home::with_session("Copies");
    database_left_in_the_middle(&home);
    home.prepare_run();
    // A crash has left this.
    let scratch = home.run_path("scratch");
    std::fs::DirBuilder::new().mode(0o700).create(&scratch).expect("own directory");
    std::fs::write(scratch.join("left"), "half a copy").expect("own file");
    let mut engine = home.begin_engine(&[("TMPDIR", "/nowhere")]);
    home.done(&["label", "--session", "opencode.db/ses-one", "1", "noted"]);
    assert!(home.done(&["show", "opencode.db/ses-one"]).contains("noted"));
    home.done(&["engine", "stop"]);
    assert!(engine.bounded_wait().success());
    assert_eq!(std::fs::read_dir(&scratch).expect("own directory").count(), 0);
}
