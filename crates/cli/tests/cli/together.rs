//! Many writers at once: everything arrives, and what one of them wrote stays in its order.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, Stdio};

use offshoot_testkit::deadline::BoundedChild;
use serde_json::Value;

use crate::support::Folder;

const PROCESSES: usize = 8;

/// `OFFSHOOT_PROOFS=full` asks for as many as a busy day brings.
fn appends() -> usize {
    if std::env::var("OFFSHOOT_PROOFS").is_ok_and(|length| length == "full") { 2_000 } else { 200 }
}

fn writer(folder: &Folder, session: &str, process: usize) -> Child {
    let mut child = folder
        .command()
        .args(["append", "--session", session])
        .env_remove("OFFSHOOT_FIXED_STAMPS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    std::thread::spawn(move || {
        for number in 0..appends() {
            writeln!(input, "{{\"role\":\"user\",\"text\":\"{process} {number}\"}}").expect("somebody reads");
        }
    });
    child
}

/// What each process was told, by process.
fn acknowledged(writers: Vec<Child>) -> Vec<Vec<String>> {
    let ended = writers.into_iter().map(|child| child.bounded_output());
    ended
        .map(|output| {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
        })
        .collect()
}

/// The ids that each process wrote, in the order of the path.
fn written(folder: &Folder, session: &str) -> HashMap<usize, Vec<String>> {
    let printed = folder.run(&format!("show {session} --json=lines"));
    let mut by_process: HashMap<usize, Vec<String>> = HashMap::new();
    for line in printed.lines() {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        let (process, number) =
            entry["text"].as_str().and_then(|text| text.split_once(' ')).expect("a text of ours");
        let ids = by_process.entry(process.parse().expect("a number")).or_default();
        assert_eq!(number, ids.len().to_string(), "what process {process} wrote is in order");
        ids.push(entry["id"].as_str().expect("an id").to_owned());
    }
    by_process
}

#[test]
fn many_processes_append_to_one_session() {
    let folder = Folder::new();
    folder.run("new Shared");
    let told = acknowledged((0..PROCESSES).map(|process| writer(&folder, "Shared", process)).collect());
    let written = written(&folder, "Shared");
    for (process, told) in told.iter().enumerate() {
        assert_eq!(told.len(), appends());
        assert_eq!(written.get(&process), Some(told), "all that was acknowledged is there");
    }
    let proof = folder.run("fsck");
    assert!(proof.ends_with("clean\n"), "{proof}");
}

#[test]
fn many_processes_append_to_sessions_of_their_own() {
    let folder = Folder::new();
    let names: Vec<String> = (0..PROCESSES).map(|process| format!("Own-{process}")).collect();
    for name in &names {
        folder.run(&format!("new {name}"));
    }
    let writers = names.iter().enumerate().map(|(process, name)| writer(&folder, name, process)).collect();
    let told = acknowledged(writers);
    for (process, (name, told)) in names.iter().zip(&told).enumerate() {
        assert_eq!(written(&folder, name).get(&process), Some(told));
    }
    let proof = folder.run("fsck");
    assert!(proof.ends_with("clean\n"), "{proof}");
}
