//! Real processes: they end with everything they have started, whatever they do.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use offshoot_session::agent::{ExitStatus, Host, Lease};
use offshoot_testkit::deadline::until;
use tempfile::TempDir;
use tokio::time::timeout;

use super::{AgentProcess, Launch, Output, RUN_VARIABLE, processes_of_run, sweep_leftovers};

const DEADLINE: Duration = Duration::from_secs(20);

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn runs(&self) -> std::path::PathBuf {
        self.folder.path().join("runs")
    }

    async fn start(&self, script: &str) -> AgentProcess {
        self.start_with(script, &Lease::default()).await
    }

    async fn start_with(&self, script: &str, lease: &Lease) -> AgentProcess {
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            variables: vec![path],
            workspace: Some(self.folder.path().to_owned()),
            host: Host { runs: Some(self.runs()), ..Host::default() },
            agent: "test",
            session: "s".into(),
            lease: lease.clone(),
        };
        AgentProcess::start(launch).await.unwrap()
    }

    /// The run id of the only process.
    fn run(&self) -> String {
        let mut files = std::fs::read_dir(self.runs()).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file.file_stem().unwrap().to_str().unwrap().to_owned()
    }

    fn has_no_run(&self) -> bool {
        std::fs::read_dir(self.runs()).unwrap().next().is_none()
    }
}

async fn next(process: &mut AgentProcess) -> Output {
    timeout(DEADLINE, process.next(true)).await.unwrap()
}

async fn line(process: &mut AgentProcess) -> String {
    match next(process).await {
        Output::Line(line) => String::from_utf8(line).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn exit(process: &mut AgentProcess) -> (ExitStatus, String) {
    loop {
        match next(process).await {
            Output::Exited { status, stderr } => return (status, stderr),
            Output::Line(_) | Output::TooLong(_) => {}
        }
    }
}

#[cfg(target_os = "linux")]
async fn until_gone(run: &str) {
    let gone = async {
        while !processes_of_run(run).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, gone).await.unwrap();
}

#[tokio::test]
async fn lines_and_the_end_of_stderr_arrive_before_the_exit() {
    let place = Place::new();
    let mut process = place.start("read -r line; echo \"got $line\"; echo why >&2; exit 3").await;
    process.write(b"one\n".to_vec());
    assert_eq!(line(&mut process).await, "got one");
    assert_eq!(exit(&mut process).await, (ExitStatus::Code(3), "why\n".into()));
    drop(process);
    assert!(super::wait_until_ended(DEADLINE));
    assert!(place.has_no_run());
}

/// The engine may be busy when an agent ends.
#[tokio::test(start_paused = true)]
async fn what_was_written_before_the_exit_is_read_however_late() {
    let place = Place::new();
    let mut process = place.start("for i in 1 2 3 4 5 6 7 8; do echo line $i; done; exit 3").await;
    process.exited.wait_for(Option::is_some).await.unwrap();
    assert_eq!(line(&mut process).await, "line 1");
    tokio::time::advance(Duration::from_secs(10)).await;
    for number in 2..=8 {
        assert_eq!(line(&mut process).await, format!("line {number}"));
    }
    assert_eq!(exit(&mut process).await.0, ExitStatus::Code(3));
}

#[tokio::test]
async fn a_line_of_50_mb_is_read_and_one_over_the_limit_is_skipped() {
    let place = Place::new();
    let script = "head -c 50000000 /dev/zero | tr '\\0' a; echo; head -c 70000000 /dev/zero | tr '\\0' b; echo; echo c";
    let mut process = place.start(script).await;
    assert_eq!(line(&mut process).await.len(), 50_000_000);
    assert!(matches!(next(&mut process).await, Output::TooLong(70_000_000)));
    assert_eq!(line(&mut process).await, "c");
    assert_eq!(exit(&mut process).await.0, ExitStatus::Code(0));
}

/// The output is not read, so the process blocks on its full pipe and can still be ended.
#[tokio::test]
async fn a_flood_waits_until_it_is_read() {
    let place = Place::new();
    let mut process = place.start("echo first; exec yes").await;
    assert_eq!(line(&mut process).await, "first");
    let unread = timeout(Duration::from_millis(100), process.next(false)).await;
    assert!(unread.is_err(), "{unread:?}");
    process.end();
    assert_eq!(exit(&mut process).await.0, ExitStatus::Signal(2));
}

#[tokio::test]
async fn a_process_that_reads_nothing_takes_no_input_and_does_not_block_its_output() {
    let place = Place::new();
    let mut process = place.start("exec 0<&-; echo closed; exec sleep 1000").await;
    process.write(vec![b'x'; 1024 * 1024]);
    assert_eq!(line(&mut process).await, "closed");
    // Its end is forced, because nothing that is written reaches it.
    assert_eq!(exit(&mut process).await.0, ExitStatus::Signal(2));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn tools_in_sessions_of_their_own_end_when_the_agent_is_killed() {
    let place = Place::new();
    let mut process = place.start("setsid sleep 1000 & setsid env -i sleep 1000 & echo $$; wait").await;
    let pid = line(&mut process).await;
    let run = place.run();
    let killed = Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    assert!(killed.success());
    assert_eq!(exit(&mut process).await.0, ExitStatus::Signal(9));
    until_gone(&run).await;
}

/// A program with our name and the argument `engine` was taken for an engine, which is never ended.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_tool_that_only_looks_like_an_engine_is_ended() {
    let place = Place::new();
    let us = std::env::current_exe().unwrap();
    let name = us.file_name().unwrap().to_str().unwrap();
    let script = format!(
        "cp /bin/sh {name}; echo 'echo $$ > new; mv new pid; while :; do sleep 1000; done' > engine; \
         setsid ./{name} engine & until [ -e pid ]; do sleep 0.01; done; cat pid; wait"
    );
    let mut process = place.start(&script).await;
    let pid: u32 = line(&mut process).await.parse().unwrap();
    drop(process);
    let ended = async {
        while super::is_alive(pid, None) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, ended).await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_ignores_its_end_is_killed_with_its_tools_when_it_is_dropped() {
    let place = Place::new();
    let mut process =
        place.start("trap '' INT TERM; setsid sleep 1000 & echo ready; while :; do sleep 1; done").await;
    assert_eq!(line(&mut process).await, "ready");
    let run = place.run();
    assert!(processes_of_run(&run).len() >= 2);
    drop(process);
    until_gone(&run).await;
    let removed = async {
        while !place.has_no_run() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, removed).await.unwrap();
}

/// Writes the run file of a process whose engine has died.
#[cfg(target_os = "linux")]
fn leave(place: &Place, run: &str, pid: u32, started: u64) {
    let boot = super::processes::boot();
    let file = serde_json::json!({
        "run": run, "pid": pid, "started": started, "boot": boot, "agent": "test", "session": "s",
        "engine": { "pid": 1, "started": 0 },
    });
    std::fs::create_dir_all(place.runs()).unwrap();
    std::fs::write(place.runs().join(format!("{run}.json")), file.to_string()).unwrap();
}

#[cfg(target_os = "linux")]
fn started(pid: u32) -> u64 {
    super::processes::process(pid.cast_signed()).unwrap().started
}

#[cfg(target_os = "linux")]
fn sleeper(run: Option<&str>) -> std::process::Child {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(Stdio::null()).process_group(0);
    match run {
        Some(run) => command.env(RUN_VARIABLE, run).spawn().unwrap(),
        None => command.env_remove(RUN_VARIABLE).spawn().unwrap(),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn leftovers_of_a_dead_engine_are_ended_and_their_run_files_removed() {
    let place = Place::new();
    let run = format!("left-{}", std::process::id());
    // The agent itself has cleared its environment; the tool has not.
    let (mut agent, mut tool) = (sleeper(None), sleeper(Some(&run)));
    leave(&place, &run, agent.id(), started(agent.id()));
    let reaped = std::thread::spawn(move || agent.wait().unwrap());
    let swept = sweep_leftovers(&place.runs());
    assert_eq!(swept.len(), 1);
    assert!(swept[0].was_running);
    assert!(!reaped.join().unwrap().success());
    assert!(!tool.wait().unwrap().success());
    assert!(place.has_no_run());
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_only_has_the_pid_of_a_run_is_left_alone() {
    let place = Place::new();
    let mut other = sleeper(None);
    leave(&place, "00ff", other.id(), started(other.id()) + 1);
    // And this process, its pid and start time being those of the run.
    leave(&place, "00fe", std::process::id(), started(std::process::id()));
    let swept = sweep_leftovers(&place.runs());
    assert!(swept.iter().all(|one| !one.was_running), "{swept:?}");
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(place.has_no_run());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn runs_of_an_engine_that_is_alive_are_left_alone() {
    let place = Place::new();
    let mut process = place.start("echo ready; exec sleep 1000").await;
    assert_eq!(line(&mut process).await, "ready");
    assert!(sweep_leftovers(&place.runs()).is_empty());
    assert_eq!(processes_of_run(&place.run()).len(), 1);
    process.end();
    assert_eq!(exit(&mut process).await.0, ExitStatus::Signal(2));
}

#[test]
fn a_folder_of_runs_that_is_not_there_has_none() {
    assert!(sweep_leftovers(Path::new("/missing")).is_empty());
}

/// A process that takes its time to end still writes its transcript.
#[tokio::test]
async fn a_lease_ends_with_the_process_and_not_before() {
    let place = Place::new();
    let held = std::sync::Arc::new(());
    let script = "trap 'sleep 0.3; exit 0' INT; echo ready; while true; do sleep 0.05; done";
    let mut process = place.start_with(script, &Lease::of(held.clone())).await;
    assert_eq!(line(&mut process).await, "ready");
    let run = place.run();
    drop(process);
    let is_held = || std::sync::Arc::strong_count(&held) > 1;
    assert!(is_held(), "it was only told to end");
    until("the lease ends", || !is_held());
    assert!(processes_of_run(&run).is_empty());
}
