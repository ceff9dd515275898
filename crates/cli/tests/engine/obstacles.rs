//! Obstacles in the run directory: a stale socket is replaced, anything else is refused and left unchanged, and a lock that
//! another process holds is reported in time. Connections of other users are closed.

use std::fs::File;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::home::{Home, Wire, ended};

/// A command that cannot get an engine says why within this time.
const LIMIT: Duration = Duration::from_secs(15);

fn prepared() -> Home {
    let home = Home::with_session("Obstacles");
    home.prepare_run();
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
    let refused = || {
        let (error, code) = home.refused(&["send", "hello"]);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("is not a private directory of yours"), "{error}");
        assert_eq!(std::fs::read_dir(&run).expect("a directory").count(), 0);
    };
    // Only root can give a directory to somebody else.
    if chown(&run, Some(65_534), None).is_ok() {
        refused();
        chown(&run, Some(0), None).expect("root may");
    }
    // One of ours that others could read is closed, like everything in the home.
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("own directory");
    works(&home);
    let mode = run.metadata().expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// D6: every user who reached the socket was served. Only root can connect as another user.
#[test]
#[cfg(target_os = "linux")]
fn another_user_who_reaches_the_socket_is_not_served() {
    let home = prepared();
    works(&home);
    let socket = home.run_path("engine.sock");
    // As open as a mistake could make them, while the engine runs.
    for path in [home.directory(), &home.path(), &home.path().join("run"), &socket] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("own directory");
    }
    let connected = std::thread::spawn(move || {
        let other = rustix::process::Uid::from_raw(65_534);
        // The system call changes the user of this thread alone.
        rustix::thread::set_thread_res_uid(other, other, other).ok()?;
        Some(UnixStream::connect(socket))
    });
    match connected.join().expect("no panic") {
        None => println!(
            "skipped: another_user_who_reaches_the_socket_is_not_served (only root can be another user)"
        ),
        Some(stream) => assert!(Wire::over(stream.expect("it is open to all")).is_closed()),
    }
    works(&home);
}

/// The first command fails in time, and the next one works when nothing is in its way any more.
fn is_named_in_time(hold: impl FnOnce(&Home) -> Vec<Held>) {
    let home = prepared();
    let held = hold(&home);
    let began = Instant::now();
    let send = home.command(&["send", "hello"]).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut kept = Vec::new();
    for Held { lock, release_after } in held {
        match release_after {
            Some(after) => std::thread::sleep(after),
            None => kept.push(lock),
        }
    }
    let output = ended(send);
    let (took, error) = (began.elapsed(), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(5), "{error}");
    assert!(error.contains("the engine of"), "{error}");
    assert!(took < LIMIT, "{took:?}: {error}");
    drop(kept);
    works(&home);
}

struct Held {
    lock: File,
    /// `None`: until the command has ended.
    release_after: Option<Duration>,
}

/// Side by side, because each of them takes as long as a command is patient.
#[test]
fn a_held_lock_is_reported_within_fifteen_seconds() {
    let hold = |name: &'static str, release_after| {
        move |home: &Home| Held { lock: home.lock(home.path().join(name)), release_after }
    };
    let start = hold("run/start.lock", None);
    let engine = hold("engine.lock", None);
    let start_for_a_while = hold("run/start.lock", Some(Duration::from_secs(10)));
    std::thread::scope(|scope| {
        scope.spawn(|| is_named_in_time(|home| vec![start(home)]));
        scope.spawn(|| is_named_in_time(|home| vec![engine(home)]));
        scope.spawn(|| is_named_in_time(|home| vec![engine(home), start_for_a_while(home)]));
    });
}

/// It still listens, so a command connects and waits for an answer.
#[test]
fn a_suspended_engine_is_reported_within_fifteen_seconds() {
    let home = prepared();
    works(&home);
    let engine = home.engine().expect("an engine");
    kill_process(engine, Signal::STOP).expect("it runs");
    let began = Instant::now();
    let (error, code) = home.refused(&["send", "hello"]);
    let took = began.elapsed();
    kill_process(engine, Signal::CONT).expect("it runs");
    assert_eq!(code, Some(5), "{error}");
    assert!(error.contains("does not answer") && took < LIMIT, "{took:?}: {error}");
    works(&home);
}
