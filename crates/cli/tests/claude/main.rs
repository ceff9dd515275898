//! Conversations with a scripted Claude Code that keeps its own session files: at random, people send, edit, switch,
//! interrupt and answer, and Claude, the engine or both are killed, idle or in a reply, a permission request or a tool.
//! After every answered turn the agent session that the head's branch is bound to has exactly the messages of that branch:
//! prompts, replies, calls and results. A step fails only where the step itself makes it fail.
//!
//! The usual run has two rounds of 20 steps. `OFFSHOOT_PROOFS=full` makes them 60 steps, and 20 rounds or as many as
//! `OFFSHOOT_TEST_ROUNDS` says.

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

use person::{Accident, Moment, Person};

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
fn the_session_of_a_branch_has_the_messages_of_the_branch() {
    let is_full = std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|length| length == "full");
    let rounds = std::env::var("OFFSHOOT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let (seeds, steps) = if is_full { (rounds.unwrap_or(20), 60) } else { (2, 20) };
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
        let is_last = step + 1 == steps;
        let what = if is_last { Step::Send } else { Step::roll(&mut dice) };
        story.push(format!("{text}: {what:?}"));
        // What panics says in which story.
        let told = Story(&story);
        perform(what, &mut dice, &mut person, &text);
        let problem = person.difference();
        assert!(problem.is_none(), "{}", problem.unwrap_or_default());
        drop(told);
    }
    assert!(person.compared > steps / 4, "only {} of {steps} steps were compared", person.compared);
    let waiting = person.runs().len();
    faults::nothing_is_left_of(&mut person, |agents| agents.len() <= waiting);
}

/// Printed where a step fails.
struct Story<'s>(&'s [String]);

impl Drop for Story<'_> {
    #[expect(clippy::print_stderr, reason = "a test tells what it did")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0.join("\n"));
        }
    }
}

/// One step of a person, or an accident.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    Edit,
    Switch,
    Answer(&'static str),
    SubAgent,
    /// Claude ends behind a message.
    Death,
    Meets(Moment, Accident),
    /// Nothing runs.
    Idle(Accident),
}

impl Step {
    fn roll(dice: &mut Dice) -> Self {
        let moment = [Moment::Reply, Moment::Ask, Moment::Tool][dice.roll(3)];
        match dice.roll(20) {
            0..=4 => Self::Send,
            5..=8 => Self::Edit,
            9 | 10 => Self::Switch,
            11 => Self::Answer(["allow", "deny"][dice.roll(2)]),
            12 => Self::SubAgent,
            13 => Self::Death,
            14 | 15 => Self::Meets(moment, Accident::Abort),
            16 => Self::Meets(moment, Accident::KillClaude),
            17 => Self::Meets(moment, Accident::KillEngine),
            18 => Self::Meets(moment, Accident::KillBoth),
            _ => Self::Idle([Accident::KillClaude, Accident::KillEngine, Accident::KillBoth][dice.roll(3)]),
        }
    }
}

fn perform(step: Step, dice: &mut Dice, person: &mut Person, text: &str) {
    // Looking is a process too.
    let known = if matches!(step, Step::Edit | Step::Switch) { person.all_prompts() } else { Vec::new() };
    match (step, dice.one_of(&known)) {
        (Step::Edit, Some(old)) => person.edit(old, text),
        (Step::Switch, Some(to)) => person.switch(to),
        (Step::Send | Step::Edit | Step::Switch, _) => person.send(text),
        (Step::Answer(answer), _) => {
            person.send_and_answer(&format!("{text}\n%call Bash {{\"command\": \"true\"}}"), answer);
        }
        (Step::SubAgent, _) => {
            let agent = "%agent {\"description\": \"help\", \"prompt\": \"x\", \"wait\": 20}";
            person.send(&format!("{text}\n{agent}\n%say Sent."));
        }
        (Step::Death, _) => {
            let said = person.said(&format!("{text}\n%say Begun.\n%kill"));
            assert_eq!(said.code, Some(1), "{said:?}");
        }
        (Step::Meets(moment, accident), _) => {
            person.send_until(text, moment, accident);
        }
        (Step::Idle(accident), _) if person.has_engine() => person.meets(accident),
        (Step::Idle(_), _) => {}
    }
}

/// A command takes no longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
