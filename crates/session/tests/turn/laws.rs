//! Whatever an agent says, in whatever order: the turn writes only below its own prompt, and ends once.

use offshoot_session::agent::{
    AgentEvent, AgentEventKind as Kind, AgentTurn, AgentTurnEnd, DeltaField, ModelUsage, Speaker,
};
use offshoot_session::asks::{Asking, Permission};
use offshoot_session::turn::{Effect, Phase};
use offshoot_session::{
    Block, Body, Change, EntryId, Fact, Interruption, Note, Reply, SessionTree, ToolResult, Usage,
};
use proptest::prelude::*;
use serde_json::json;

use crate::scene::Scene;

#[derive(Clone, Debug)]
enum Step {
    Hear(Box<AgentEvent>),
    Interrupt,
    GiveUp,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" ".to_owned()), "[a-z]{1,4}"]
}

fn message() -> impl Strategy<Value = String> {
    prop_oneof![Just("m1".to_owned()), Just("m2".to_owned())]
}

fn usage() -> impl Strategy<Value = Option<Usage>> {
    proptest::option::of(Just(Usage { input: 1, ..Usage::default() }))
}

fn call() -> impl Strategy<Value = String> {
    prop_oneof![Just("c1".to_owned()), Just("c2".to_owned())]
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        3 => (words(), usage()).prop_map(|(text, usage)| {
            Body::Reply(Reply { blocks: vec![Block::Text(text)], usage, ..Reply::default() })
        }),
        1 => call().prop_map(|id| {
            let (id, name) = (id.as_str().into(), "task".to_owned());
            let tool_use = offshoot_session::ToolUse { id, name, input: json!({ "prompt": "do it" }) };
            Body::Reply(Reply { blocks: vec![Block::ToolUse(tool_use)], ..Reply::default() })
        }),
        1 => (call(), words()).prop_map(|(call, text)| Body::ToolResult(ToolResult {
            call: call.as_str().into(),
            tool: String::new(),
            blocks: vec![Block::Text(text)],
            failed: false,
            usage: None,
            changed_input: None,
        })),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    let field = prop_oneof![Just(DeltaField::Text), Just(DeltaField::Thinking), Just(DeltaField::ToolInput)];
    let id = proptest::option::of(prop_oneof![Just("x1"), Just("x2"), Just("a1")]);
    prop_oneof![
        1 => Just(Kind::STARTED),
        6 => (message(), 0..3u32, field, words()).prop_map(|(message, part, field, text)| {
            Kind::Delta { message: message.as_str().into(), part, field, text }
        }),
        4 => (id, proptest::option::of(message()), body()).prop_map(|(id, message, body)| {
            let message = message.map(|message| message.as_str().into());
            Kind::Entry { id: id.map(Into::into), message, body }
        }),
        2 => (message(), usage()).prop_map(|(message, usage)| {
            Kind::MessageEnded { message: message.as_str().into(), stop: None, usage }
        }),
        1 => message().prop_map(|message| Kind::Discarded { message: message.as_str().into() }),
        1 => words().prop_map(|request| Kind::Ask {
            request,
            ask: Asking::Permission(Permission {
                tool: "shell".into(),
                input: json!({}),
                call: None,
                reason: None,
                suggestions: Vec::new(),
            }),
        }),
        1 => words().prop_map(|request| Kind::AskConfirmed { request }),
        1 => words().prop_map(|request| Kind::AskWithdrawn { request }),
        1 => usage().prop_map(|usage| {
            Kind::Spent(usage.map(|usage| ModelUsage { model: None, usage }).into_iter().collect())
        }),
        1 => Just(Kind::Compacting),
        1 => words().prop_map(|summary| Kind::Compacted { summary, tokens_before: 1, first_kept: None }),
        1 => Just(Kind::Ended(AgentTurnEnd::Done)),
        1 => Just(Kind::Ended(AgentTurnEnd::Interrupted)),
        1 => words().prop_map(|message| Kind::Failed(crate::scene::failure(&message))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let speaker = prop_oneof![
        3 => Just(Speaker::Agent),
        1 => call().prop_map(|call| Speaker::SubAgent(call.as_str().into())),
    ];
    let turn = prop_oneof![9 => Just("t"), 1 => Just("stale")];
    let hear = (turn, speaker, kind()).prop_map(|(turn, speaker, kind)| {
        Step::Hear(Box::new(AgentEvent { turn: AgentTurn::Prompted(turn.into()), speaker, kind }))
    });
    prop_oneof![30 => hear, 1 => Just(Step::Interrupt), 1 => Just(Step::GiveUp)]
}

/// The prompt of the turn, or the note of a sub-agent whose call stands in the turn, is above it.
fn is_in_place(tree: &SessionTree, id: &EntryId) -> bool {
    let above: Vec<_> = tree.path_to(Some(id));
    let root = above.first().map(|root| &root.body);
    above.iter().any(|entry| entry.id.as_str() == "u")
        || matches!(root, Some(Body::Note(note)) if note.kind == Note::SUB_AGENT)
}

proptest! {
    #[test]
    fn any_events_write_only_below_the_prompt_and_end_once(steps in prop::collection::vec(step(), 0..40)) {
        let mut scene = Scene::new("u0 - a0 - u/t\n a0 - u1 - a1*");
        let known: Vec<EntryId> = scene.tree.entries().map(|entry| entry.id.clone()).collect();
        let mut effects = Vec::new();
        for step in steps {
            let was_over = scene.turn.phase() == Phase::Ended;
            let came = match step {
                Step::Hear(event) if event.turn == AgentTurn::Prompted("stale".into()) => {
                    let came = scene.take(*event);
                    prop_assert!(came.is_empty(), "a stale event did {came:?}");
                    came
                }
                Step::Hear(event) => scene.take(*event),
                Step::Interrupt => scene.interrupt(),
                Step::GiveUp => scene.give_up("gone"),
            };
            prop_assert!(!was_over || came.is_empty(), "after the end came {came:?}");
            effects.extend(came);
        }
        effects.extend(scene.give_up("the end"));
        prop_assert_eq!(scene.turn.phase(), Phase::Ended);
        prop_assert_eq!(scene.turn.waits_for(), None);
        let closes = effects.iter().filter(|effect| matches!(effect, Effect::Close(_))).count();
        prop_assert_eq!(closes, 1);
        prop_assert!(matches!(effects.last(), Some(Effect::Close(_))));
        let ends = scene.tree.log().filter(|record| {
            matches!(&record.change, Change::Marked(mark) if mark.fact == Fact::TurnEnded { turn: "t".into() })
        });
        prop_assert_eq!(ends.count(), 1);
        let interruptions = scene.tree.entries().filter(|entry| entry.body == Body::Interrupted(Interruption::Wanted)).count();
        prop_assert!(interruptions <= 1);
        for entry in scene.tree.entries().filter(|entry| !known.contains(&entry.id)) {
            prop_assert!(is_in_place(&scene.tree, &entry.id), "{:?} is out of place", entry);
            if let Body::Reply(reply) = &entry.body {
                prop_assert!(reply.shows_something(), "{:?} shows nothing", entry);
            }
        }
        prop_assert_eq!(scene.tree.main_head().map(|head| head.as_str()), Some("a1"));
        prop_assert!(scene.drawn() == scene.shown(), "something is still being said");
    }
}
