//! Conversations with a scripted Claude Code that keeps its own session files: at random, people send, edit, switch,
//! interrupt and answer, and processes are killed. After every answered turn the agent session that the head's branch is
//! bound to has exactly the prompts of that branch.
//!
//! A run takes a few seconds, and about five minutes with `OFFSHOOT_PROOFS=full`: 100 rounds of 60 steps.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot run the program has failed")]

mod chatting;
mod faults;
mod leftovers;
mod person;
mod steps;
#[path = "../shared/under_test.rs"]
mod under_test;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use person::Person;

/// Chance that falls the same way for the same seed.
struct Dice(u64);

impl Dice {
    fn seeded(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % sides.max(1) as u64) as usize
    }

    fn one_of<'t>(&mut self, items: &'t [String]) -> Option<&'t String> {
        items.get(self.roll(items.len()))
    }
}

#[test]
fn the_session_of_a_branch_has_the_prompts_of_the_branch() {
    let is_full = std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|length| length == "full");
    let (seeds, steps) = if is_full { (100, 60) } else { (2, 20) };
    let started = Instant::now();
    let next = AtomicU64::new(0);
    // Each round has a home of its own, and its commands wait for each other.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    run(seed, steps);
                    println!("seed {seed}: {steps} steps held, {:.0?}", started.elapsed());
                }
            });
        }
    });
}

fn run(seed: u64, steps: usize) {
    let mut dice = Dice::seeded(seed);
    let mut person = Person::new();
    let mut story = vec![format!("seed {seed}")];
    for step in 0..steps {
        let text = format!("prompt {step}");
        let what = act(&mut dice, &mut person, &text);
        story.push(what);
        if let Some(problem) = person.difference() {
            panic!("{}\n{problem}", story.join("\n"));
        }
    }
    assert!(person.compared > steps / 3, "only {} of {steps} steps were compared", person.compared);
}

/// One step of a person, or an accident; its story.
fn act(dice: &mut Dice, person: &mut Person, text: &str) -> String {
    let roll = dice.roll(12);
    // Looking is a process too.
    let known = if (3..=6).contains(&roll) { person.all_prompts() } else { Vec::new() };
    match roll {
        0..=2 => {
            person.send(text);
            format!("send {text}")
        }
        3 | 4 if !known.is_empty() => {
            let old = dice.one_of(&known).cloned().unwrap_or_default();
            person.edit(&old, text);
            format!("edit {old} to {text}")
        }
        5 | 6 if !known.is_empty() => {
            let to = dice.one_of(&known).cloned().unwrap_or_default();
            person.switch(&to);
            format!("switch to {to}")
        }
        7 => {
            let answer = ["allow", "deny"][dice.roll(2)];
            person.send_and_answer(&format!("{text}\n%call Bash {{\"command\": \"true\"}}"), answer);
            format!("send {text} and {answer} its tool")
        }
        8 => {
            person.send_and_interrupt(&format!("{text}\n%say Begun.\n%silence"));
            format!("send {text} and interrupt it")
        }
        9 => {
            person.send(&format!("{text}\n%say Begun.\n%kill"));
            format!("send {text}, in which Claude is killed")
        }
        10 => {
            person.send_and_kill_engine(&format!("{text}\n%say Begun.\n%silence"));
            format!("send {text}, in which the engine is killed")
        }
        _ => {
            person.send(&format!(
                "{text}\n%agent {{\"description\": \"help\", \"prompt\": \"x\", \"wait\": 20}}\n%say Sent."
            ));
            format!("send {text} with a sub-agent")
        }
    }
}

/// A command takes no longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
