//! Whatever an agent says, in whatever order: the turn writes only below its own prompt, and ends once.

use offshoot_session::agent::{AgentEvent, Ending, Said, Speaker};
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

fn message() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(prop_oneof![Just("m1".to_owned()), Just("m2".to_owned())])
}

fn call() -> impl Strategy<Value = String> {
    prop_oneof![Just("c1".to_owned()), Just("c2".to_owned())]
}

fn said() -> impl Strategy<Value = Said> {
    let usage = Usage { input: 1, ..Usage::default() };
    prop_oneof![
        proptest::option::of(words())
            .prop_map(|session| Said::Started { agent_session: session.map(Into::into), model: None }),
        (message(), words()).prop_map(|(message, text)| Said::Words { message, text }),
        (message(), words()).prop_map(|(message, text)| Said::Thinking { message, text }),
        (message(), call()).prop_map(|(message, id)| {
            let tool_use = offshoot_session::ToolUse {
                id: id.as_str().into(),
                name: "task".into(),
                input: json!({ "prompt": "do it" }),
            };
            Said::ToolUse { message, tool_use }
        }),
        (message(), words()).prop_map(|(message, text)| Said::Message {
            message,
            reply: Reply { blocks: vec![Block::Text(text)], ..Reply::default() }
        }),
        (call(), words()).prop_map(|(call, text)| Said::ToolResult(ToolResult {
            call: call.as_str().into(),
            tool: String::new(),
            blocks: vec![Block::Text(text)],
            failed: false,
            usage: None
        })),
        words().prop_map(|request| Said::Asks {
            request,
            asking: Asking::Permission(Permission {
                tool: "shell".into(),
                input: json!({}),
                call: None,
                reason: None
            }),
        }),
        words().prop_map(|request| Said::Confirms { request }),
        words().prop_map(|request| Said::Withdraws { request }),
        Just(Said::Used(usage)),
        Just(Said::Compacting),
        words().prop_map(|summary| Said::Compacted { summary, tokens_before: 1 }),
        words().prop_map(Said::Notice),
        Just(Said::Ended(Ending::Done)),
        Just(Said::Ended(Ending::Interrupted)),
        words().prop_map(|message| Said::Failed { message }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let speaker = prop_oneof![
        3 => Just(Speaker::Agent),
        1 => call().prop_map(|call| Speaker::SubAgent(call.as_str().into())),
    ];
    let turn = prop_oneof![9 => Just("t"), 1 => Just("stale")];
    let hear = (turn, speaker, said()).prop_map(|(turn, speaker, said)| {
        Step::Hear(Box::new(AgentEvent { turn: turn.into(), speaker, said }))
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
                Step::Hear(event) if event.turn.as_str() == "stale" => {
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
