//! Ending what an agent has started, and what an engine that died has left.
//!
//! Two signs say that a process belongs to a run: the run id in its environment, and a process of the run above it. This
//! process, those above it and engines are never ended: an agent's tool may have started them.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process, kill_process_group};

use super::RUN_VARIABLE;
use super::processes::{self, Process, as_pid};
use super::run_file::{self, Run, RunFile};

/// How long an interrupted agent may take to end its tools and itself.
pub(super) const INTERRUPT_WAIT: Duration = Duration::from_secs(2);

/// Ending takes effect at once, unless a process hangs in the system.
const KILL_WAIT: Duration = Duration::from_secs(1);

const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// An agent that an engine has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub run: String,
    pub agent: String,
    /// The session of the agent.
    pub session: String,
    /// Whether something of it still ran.
    pub was_running: bool,
}

/// Ends what engines that died have left, and removes their run files. Runs of an engine that is alive are left alone.
/// May block for a few seconds.
pub fn sweep_leftovers(runs: &Path) -> Vec<Leftover> {
    let left = run_file::read_all(runs).into_iter().filter_map(|(file, run)| match run.engine.is_alive() {
        true => {
            file.keep();
            None
        }
        false => Some((file, run)),
    });
    let left: Vec<(RunFile, Run)> = left.collect();
    if left.is_empty() {
        return Vec::new();
    }
    let processes = processes::all();
    let kept = kept(&processes);
    let leaders: Vec<i32> = left
        .iter()
        .filter(|(_, run)| run.process.is_alive() && !kept.contains(&run.process.pid))
        .map(|(_, run)| run.process.pid)
        .collect();
    for leader in &leaders {
        signal(*leader, Signal::INT);
    }
    let was_running: Vec<bool> = left
        .iter()
        .map(|(_, run)| leaders.contains(&run.process.pid) || !of_run(&run.id, &processes).is_empty())
        .collect();
    let until = Instant::now() + INTERRUPT_WAIT;
    while left.iter().any(|(_, run)| leaders.contains(&run.process.pid) && run.process.is_alive())
        && Instant::now() < until
    {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let ended = left.into_iter().zip(was_running).map(|((file, run), was_running)| {
        let leader = Some(run.process.pid).filter(|pid| leaders.contains(pid) && run.process.is_alive());
        end_run(&run.id, leader);
        drop(file);
        Leftover { run: run.id, agent: run.agent, session: run.session, was_running }
    });
    ended.collect()
}

/// Kills all processes of a run: the leader, where it still runs, and their groups.
pub(super) fn end_run(run: &str, leader: Option<i32>) {
    end_marked(|processes| of_run(run, processes).into_iter().chain(leader).collect());
}

/// Kills everything below this process.
pub(super) fn end_below() {
    let us = getpid().as_raw_nonzero().get();
    end_marked(|processes| {
        processes.iter().filter(|process| process.parent == us).map(|process| process.pid).collect()
    });
}

fn end_marked(marked: impl Fn(&[Process]) -> BTreeSet<i32>) {
    let until = Instant::now() + KILL_WAIT;
    loop {
        let processes = processes::all();
        let kept = kept(&processes);
        let targets = targets(&processes, &marked(&processes), &kept);
        if targets.is_empty() || Instant::now() >= until {
            return;
        }
        for group in &targets.groups {
            if let Some(group) = as_pid(*group) {
                // It may have ended meanwhile.
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        for pid in &targets.single {
            signal(*pid, Signal::KILL);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The processes that have this run id in their environment.
pub fn processes_of_run(run: &str) -> Vec<u32> {
    of_run(run, &processes::all()).into_iter().map(i32::cast_unsigned).collect()
}

fn of_run(run: &str, processes: &[Process]) -> Vec<i32> {
    let pids = processes.iter().map(|process| process.pid);
    pids.filter(|pid| processes::has_variable(*pid, RUN_VARIABLE, run)).collect()
}

/// Those that are never ended.
fn kept(processes: &[Process]) -> BTreeSet<i32> {
    let engines = processes.iter().map(|process| process.pid).filter(|pid| processes::is_engine(*pid));
    engines.chain(processes::us_and_above(processes)).collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Targets {
    groups: BTreeSet<i32>,
    /// Processes whose group has members that are kept.
    single: BTreeSet<i32>,
}

impl Targets {
    fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.single.is_empty()
    }
}

/// The marked processes and everything below them, without those that are kept and everything below those.
fn targets(processes: &[Process], marked: &BTreeSet<i32>, kept: &BTreeSet<i32>) -> Targets {
    let mut found = BTreeSet::new();
    let mut next: Vec<i32> = marked.iter().copied().collect();
    while let Some(pid) = next.pop() {
        if !kept.contains(&pid) && found.insert(pid) {
            next.extend(processes.iter().filter(|process| process.parent == pid).map(|process| process.pid));
        }
    }
    let mut targets = Targets::default();
    for process in processes.iter().filter(|process| found.contains(&process.pid)) {
        let mut members = processes.iter().filter(|other| other.group == process.group);
        match members.any(|other| kept.contains(&other.pid)) || process.group <= 1 {
            true => targets.single.insert(process.pid),
            false => targets.groups.insert(process.group),
        };
    }
    targets
}

pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = as_pid(pid) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process((pid, parent, group): (i32, i32, i32)) -> Process {
        Process { pid, parent, group, started: 1 }
    }

    #[track_caller]
    fn check(processes: &[(i32, i32, i32)], marked: &[i32], kept: &[i32], groups: &[i32], single: &[i32]) {
        let processes: Vec<Process> = processes.iter().copied().map(process).collect();
        let set = |pids: &[i32]| pids.iter().copied().collect::<BTreeSet<i32>>();
        let expected = Targets { groups: set(groups), single: set(single) };
        assert_eq!(targets(&processes, &set(marked), &set(kept)), expected);
    }

    #[test]
    fn groups_of_marked_processes_and_of_those_below_them_are_ended() {
        // 10 is the agent, 20 a tool in a session of its own, 30 a child that has cleared its environment.
        let tree = [(10, 5, 10), (20, 10, 20), (21, 20, 20), (30, 21, 30), (5, 1, 5), (40, 1, 40)];
        check(&tree, &[10, 20, 21], &[5], &[10, 20, 30], &[]);
        check(&tree, &[40], &[5], &[40], &[]);
        check(&tree, &[], &[5], &[], &[]);
    }

    #[test]
    fn engines_and_what_is_below_them_are_kept() {
        // 20 is a tool, 30 an engine that it started, 31 the engine's agent.
        let tree = [(10, 5, 10), (20, 10, 20), (30, 20, 30), (31, 30, 31), (5, 1, 5)];
        check(&tree, &[10, 20, 30], &[5, 30], &[10, 20], &[]);
        // An engine without a group of its own.
        let tree = [(10, 5, 10), (20, 10, 20), (30, 20, 20)];
        check(&tree, &[10, 20, 30], &[5, 30], &[10], &[20]);
    }
}
