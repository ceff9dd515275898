//! What stands in the place of the engine's files: a socket that a crash has left is replaced, everything else is refused and
//! left as it is, and a lock that somebody holds is named in time.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use crate::home::Home;

/// A held lock is said within this time.
const LIMIT: Duration = Duration::from_secs(16);

fn prepared() -> Home {
    let home = Home::with_session("Obstacles");
    std::fs::create_dir(home.path().join("run")).expect("own directory");
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(home.path().join("run"), private).expect("own directory");
    home
}

fn works(home: &Home) {
    assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
    assert_eq!(home.engines().len(), 1);
}

#[test]
fn a_stale_socket_is_replaced() {
    let home = prepared();
    drop(UnixListener::bind(home.run_path("engine.sock")).expect("a socket"));
    assert!(home.run_path("engine.sock").exists());
    works(&home);
}

#[test]
fn what_is_not_a_socket_is_refused_and_left_alone() {
    let home = prepared();
    let socket = home.run_path("engine.sock");
    let elsewhere = home.directory().join("elsewhere");
    std::fs::write(&elsewhere, "mine").expect("own file");
    let obstacles: [(&str, &dyn Fn()); 3] = [
        ("a file", &|| std::fs::write(&socket, "mine").expect("own file")),
        ("a directory", &|| std::fs::create_dir(&socket).expect("own directory")),
        ("a link", &|| symlink(&elsewhere, &socket).expect("own link")),
    ];
    for (what, put) in obstacles {
        put();
        let before = std::fs::symlink_metadata(&socket).expect("there").file_type();
        let (error, code) = home.refused(&["send", "hello"]);
        assert_eq!(code, Some(1), "{what}: {error}");
        assert!(error.contains("is not a socket of yours"), "{what}: {error}");
        assert_eq!(std::fs::symlink_metadata(&socket).expect("there").file_type(), before);
        assert_eq!(std::fs::read_to_string(&elsewhere).expect("there"), "mine");
        let removed =
            if before.is_dir() { std::fs::remove_dir(&socket) } else { std::fs::remove_file(&socket) };
        removed.expect("own directory");
    }
    works(&home);
}

#[test]
fn a_run_directory_that_is_not_ours_is_refused_and_left_alone() {
    let home = prepared();
    let run = home.path().join("run");
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("own directory");
    let refused = || {
        let (error, code) = home.refused(&["send", "hello"]);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("is not a private directory of yours"), "{error}");
        assert_eq!(std::fs::read_dir(&run).expect("a directory").count(), 0);
    };
    refused();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).expect("own directory");
    // Only root can give a directory to somebody else.
    if chown(&run, Some(65_534), None).is_ok() {
        refused();
        chown(&run, Some(0), None).expect("root may");
    }
    works(&home);
}

#[test]
fn a_lock_that_is_held_is_named_in_time() {
    for lock in ["run/start.lock", "engine.lock"] {
        let home = prepared();
        let held = home.lock(home.path().join(lock));
        let began = Instant::now();
        let (error, code) = home.refused(&["send", "hello"]);
        assert_eq!(code, Some(5), "{lock}: {error}");
        assert!(error.contains("the engine of") && began.elapsed() < LIMIT, "{lock}: {error}");
        drop(held);
        works(&home);
    }
}
