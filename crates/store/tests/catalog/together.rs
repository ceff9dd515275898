//! Several syncs at once.

use std::sync::Barrier;

use crate::machine::{Machine, pi_message, pi_session};

#[test]
fn two_syncs_at_once_do_no_harm() {
    let machine = Machine::new();
    for n in 0..60 {
        let name = format!("pi/{n}.jsonl");
        machine.write(&name, &pi_session(&format!("s{n}"), &[("ask the quokka", &"answer ".repeat(n + 1))]));
    }
    for round in 0..5 {
        let begin = Barrier::new(3);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    begin.wait();
                    machine.sync();
                });
            }
        });
        let words = ["quokka", "answer", "more"];
        machine.sync();
        assert_eq!(machine.answers(&words), machine.fresh_answers(&words), "round {round}");
        for n in (0..60).step_by(3) {
            let line = pi_message(&format!("more-{round}"), Some("a0"), 60 + round, "user", "more of it");
            machine.append(&format!("pi/{n}.jsonl"), &line);
        }
        std::fs::remove_file(machine.path(&format!("pi/{}.jsonl", 1 + 3 * round))).expect("own file");
    }
}
