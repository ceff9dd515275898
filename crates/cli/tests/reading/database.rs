//! Sessions in a database of opencode: looked at, and taken over.

use rusqlite::Connection;

use crate::home::TestHome;

fn database(home: &TestHome, sessions: &[&str]) {
    let connection = Connection::open(home.folder().join("opencode.db")).expect("a database");
    connection
        .execute_batch(
            "CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
                title text, revert text, time_created integer, time_updated integer);
            CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
            CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);",
        )
        .expect("tables");
    for (at, id) in (0_i64..).zip(sessions) {
        let time = 1_741_000_000_000 + at * 1000;
        let row = "INSERT INTO session VALUES (?1, 'p', NULL, '/home/dev/gatehouse', ?2, NULL, ?3, ?3)";
        connection.execute(row, (id, format!("About {id}"), time)).expect("a row");
        for (name, data) in [("u", r#"{"role":"user"}"#), ("a", r#"{"role":"assistant","parentID":"{}-u"}"#)]
        {
            let (message, data) = (format!("{id}-{name}"), data.replace("{}", id));
            connection
                .execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", (&message, id, time, data))
                .expect("a row");
            let part = format!(r#"{{"type":"text","text":"{name} of {id}"}}"#);
            connection
                .execute(
                    "INSERT INTO part VALUES (?1, ?2, ?3, ?4)",
                    (format!("{message}-p"), &message, id, part),
                )
                .expect("a row");
        }
    }
}

#[test]
fn the_only_session_of_a_database_needs_no_name() {
    let home = TestHome::empty();
    database(&home, &["ses-one"]);
    insta::assert_snapshot!(home.run("show opencode.db"));
    insta::assert_snapshot!(home.run("tree opencode.db"));
    insta::assert_snapshot!(home.run("inspect opencode.db"));
}

#[test]
fn one_of_several_is_named_behind_the_database() {
    let home = TestHome::empty();
    database(&home, &["ses-one", "ses-two"]);
    insta::assert_snapshot!(home.run("show opencode.db"));
    insta::assert_snapshot!(home.run("inspect opencode.db"));
    insta::assert_snapshot!(home.run("show opencode.db/ses-tw"));
    insta::assert_snapshot!(home.run("show opencode.db/ses-three"));
}

#[test]
fn a_database_is_taken_over_whole_or_in_part() {
    let home = TestHome::empty();
    database(&home, &["ses-one", "ses-two", "ses-three"]);
    insta::assert_snapshot!(home.run("import opencode.db/ses-two"));
    insta::assert_snapshot!(home.run("import opencode.db"));
    insta::assert_snapshot!(home.run("show ses-three"));
}
