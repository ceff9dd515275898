//! Prompts that wait for a turn.

use offshoot_session::queue::{NotQueued, Queued, QueuedId, SendQueue};
use offshoot_session::{Block, HeadName, Prompt, text_of};
use offshoot_testkit::FixedStamps;

fn prompt(text: &str) -> Prompt {
    Prompt { blocks: vec![Block::Text(text.into())], ..Prompt::default() }
}

fn queued(id: &str, behind: &str) -> Queued {
    Queued {
        id: QueuedId::named(id),
        behind: behind.into(),
        place: None,
        head: HeadName::main(),
        chosen: Vec::new(),
        prompt: prompt(id),
        queued_at: FixedStamps::start(),
    }
}

fn list(queue: &SendQueue) -> String {
    queue.iter().map(|queued| text_of(&queued.prompt.blocks)).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_waits_can_be_listed_changed_and_cancelled() {
    let mut queue = SendQueue::default();
    for id in ["one", "two", "three"] {
        queue.add(queued(id, "t"));
    }
    queue.change(&QueuedId::named("two"), prompt("better")).unwrap();
    queue.cancel(&QueuedId::named("one")).unwrap();
    assert_eq!(list(&queue), "better three");
    let gone = QueuedId::named("one");
    assert_eq!(queue.cancel(&gone), Err(NotQueued(gone.clone())));
    assert_eq!(queue.change(&gone, prompt("x")), Err(NotQueued(gone)));
}

#[test]
fn one_goes_when_its_turn_is_done_and_the_rest_waits_for_that_one() {
    let mut queue = SendQueue::default();
    for (id, behind) in [("one", "t"), ("elsewhere", "x"), ("two", "t")] {
        queue.add(queued(id, behind));
    }
    let first = queue.advance(&"t".into()).unwrap();
    assert_eq!(first.id.as_str(), "one");
    assert_eq!(list(&queue), "one elsewhere two", "it waits until its prompt is written");
    queue.cancel(&first.id).unwrap();
    queue.go_behind(&"one".into(), &"u2".into(), |queued| queued.behind == "one".into());
    assert!(queue.advance(&"t".into()).is_none());
    let second = queue.advance(&"one".into()).unwrap();
    assert_eq!((second.id.as_str(), &second.place), ("two", &Some("u2".into())));
    queue.cancel(&second.id).unwrap();
    assert_eq!(list(&queue), "elsewhere");
}
