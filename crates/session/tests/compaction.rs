//! Making a long path short, drawn.

mod redrawn;

use std::sync::Arc;

use offshoot_session::compaction::{
    CompactionPreparation, CompactionSettings, compacted, find_cut_point, prepare_compaction, should_compact,
};
use offshoot_session::context::{ContextOptions, Message, Role, context_of_path};
use offshoot_session::tokens::{context_tokens, context_tokens_of_path, estimate};
use offshoot_session::{
    Block, Body, Compaction, Entry, FileLists, ImageData, Record, Reply, SessionTree, Shell, Stop, System,
    ToolUse, Usage,
};
use offshoot_testkit::{FixedStamps, tree_of};
use proptest::prelude::{Strategy, prop_assert_eq, proptest};
use redrawn::{keeps, redrawn};
use serde_json::json;

/// Everything in a drawing says its id, two letters, so a message is one token.
fn cut(drawing: &str, keep: i64) -> String {
    let tree = tree_of(drawing);
    let path = path(&tree);
    let cut = find_cut_point(&path, 0, path.len(), keep);
    match cut.turn_start_index {
        Some(start) => format!("{} in the turn of {}", path[cut.first_kept_index].id, path[start].id),
        None => path[cut.first_kept_index].id.to_string(),
    }
}

fn path(tree: &SessionTree) -> Vec<&Arc<Entry>> {
    tree.path_to(tree.entries().last().map(|entry| &entry.id))
}

fn keep(keep_recent_tokens: i64) -> CompactionSettings {
    CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() }
}

#[expect(clippy::expect_used, reason = "a test that draws nothing to compact is wrong")]
fn prepare(tree: &SessionTree, keep_tokens: i64) -> CompactionPreparation {
    prepare_compaction(&path(tree), &keep(keep_tokens)).expect("something to compact")
}

fn ids(messages: &[Message]) -> String {
    messages.iter().map(|message| message.entry.id.as_str()).collect::<Vec<_>>().join(" ")
}

/// `summarised | beginning of the turn | first kept`
fn drawn(preparation: &CompactionPreparation) -> String {
    let summarized = ids(&preparation.messages_to_summarize);
    format!("{summarized} | {} | {}", ids(&preparation.turn_prefix), preparation.first_kept)
}

fn message(body: Body) -> Message {
    let entry = Entry { id: "e".into(), parent: None, written_at: FixedStamps::start(), turn: None, body };
    Message { entry: Arc::new(entry), stripped: Vec::new() }
}

fn calls(calls: &[(&str, serde_json::Value)]) -> Body {
    let block = |(name, input): &(&str, serde_json::Value)| {
        Block::ToolUse(ToolUse { id: "call".into(), name: (*name).into(), input: input.clone() })
    };
    Body::Reply(Reply { blocks: calls.iter().map(block).collect(), ..Reply::default() })
}

fn counted(total: i64, stop: Option<Stop>) -> Body {
    let usage = Some(Usage { total, ..Usage::default() });
    Body::Reply(Reply { blocks: vec![Block::Text("r".into())], usage, stop, ..Reply::default() })
}

#[test]
fn a_token_is_four_characters_rounded_up() {
    let tokens = |body| estimate(&message(body));
    assert_eq!(tokens(Body::prompt("")), 0);
    assert_eq!(tokens(Body::prompt("abcd")), 1);
    assert_eq!(tokens(Body::prompt("abcde")), 2);
    assert_eq!(tokens(Body::prompt("🌳🌳")), 1, "a tree is two characters in UTF-16");
    assert_eq!(tokens(calls(&[("read", json!({"path": "a"}))])), 4, "name and arguments as JSON");
    let thinking = vec![Block::Thinking("abcd".into()), Block::Text("abcd".into())];
    assert_eq!(tokens(Body::Reply(Reply { blocks: thinking, ..Reply::default() })), 2);
    let image = Block::Image { media_type: "image/png".into(), data: ImageData::Blob("b".into()) };
    assert_eq!(tokens(Body::Reply(Reply { blocks: vec![image], ..Reply::default() })), 1200);
    let shell = Shell { command: "ls".into(), output: "abc".into(), ..Shell::default() };
    assert_eq!(tokens(Body::Shell(shell)), 2);
    assert_eq!(tokens(keeps("u1")), 5, "what was before u1");
    assert_eq!(tokens(Body::System(System { text: "be kind".into() })), 0);
}

#[test]
fn a_stripped_call_takes_no_room() {
    let mut message = message(calls(&[("read", json!({"path": "a"}))]));
    message.stripped = vec!["call".into()];
    assert_eq!(estimate(&message), 0);
}

#[test]
fn the_last_good_usage_counts_and_the_rest_is_estimated() {
    let said = [
        Body::prompt("a"),
        counted(1000, None),
        Body::prompt("abcdefgh"),
        counted(9999, Some(Stop::Aborted)),
        counted(9999, Some(Stop::Error("no".into()))),
    ];
    let messages: Vec<Message> = said.into_iter().map(message).collect();
    let full = context_tokens(&messages);
    assert_eq!((full.usage_tokens, full.trailing_tokens, full.tokens), (1000, 4, 1004));
    assert_eq!(full.last_usage_index, Some(1));

    let uncounted = context_tokens(&messages[2..]);
    assert_eq!((uncounted.usage_tokens, uncounted.trailing_tokens, uncounted.tokens), (0, 4, 4));
    assert_eq!(uncounted.last_usage_index, None);
}

/// A branch was compacted again at each prompt: the reply that was kept had counted all of what is a summary now.
#[test]
fn usage_from_before_a_compaction_says_nothing() {
    let entry = |(at, body): (usize, Body)| {
        let (id, parent) =
            (format!("e{at}").into(), at.checked_sub(1).map(|above| format!("e{above}").into()));
        Arc::new(Entry { id, parent, written_at: FixedStamps::start(), turn: None, body })
    };
    let compaction = Compaction {
        summary: "abcdefgh".into(),
        first_kept: Some("e1".into()),
        tokens_before: 0,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    };
    let said = [
        Body::prompt("a"),
        Body::prompt("abcd"),
        counted(9000, None),
        Body::Compaction(compaction),
        Body::prompt("abcd"),
        counted(100, None),
        Body::prompt("abcd"),
    ];
    let path: Vec<Arc<Entry>> = said.into_iter().enumerate().map(entry).collect();
    let tokens = |length| context_tokens_of_path(&path.iter().take(length).collect::<Vec<_>>()).tokens;
    assert_eq!([3, 4, 5, 6, 7].map(tokens), [9000, 4, 5, 100, 101]);
}

#[test]
fn usage_without_a_total_is_the_sum_of_its_parts() {
    let usage = Some(Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() });
    let reply = message(Body::Reply(Reply { usage, ..Reply::default() }));
    assert_eq!(context_tokens(&[reply]).tokens, 10);
}

#[test]
fn it_is_time_when_the_reserve_is_touched() {
    let settings = CompactionSettings { reserve_tokens: 10, ..CompactionSettings::default() };
    assert!(!should_compact(90, 100, &settings));
    assert!(should_compact(91, 100, &settings));
    assert!(!should_compact(91, 100, &CompactionSettings { enabled: false, ..settings }));
}

#[test]
fn the_cut_keeps_at_least_the_budget() {
    let talk = "u1 - a1 - u2 - a2 - u3 - a3";
    assert_eq!(cut(talk, 1), "a3 in the turn of u3");
    assert_eq!(cut(talk, 2), "u3");
    assert_eq!(cut(talk, 3), "a2 in the turn of u2");
    assert_eq!(cut(talk, 6), "u1");
    assert_eq!(cut(talk, 100), "u1", "everything fits");
}

#[test]
fn a_result_is_never_kept_without_its_call() {
    let long = "long ".repeat(100);
    let drawing = format!("u1 - c1 - t1\"{long}\" - c2 - t2\"{long}\" - a1");
    assert_eq!(cut(&drawing, 100), "a1 in the turn of u1");
    assert_eq!(cut(&drawing, 130), "c2 in the turn of u1");
}

#[test]
fn nothing_to_cut_at_means_no_cut() {
    assert_eq!(cut("t1 - t2", 1), "t1");
    let nothing = find_cut_point(&[], 0, 0, 1);
    assert_eq!((nothing.first_kept_index, nothing.is_split_turn()), (0, false));
    let beyond = find_cut_point(&[], 3, 9, 1);
    assert_eq!(beyond.first_kept_index, 3, "a range outside of the path is empty");
}

#[test]
fn what_speaks_about_the_next_message_goes_with_it() {
    assert_eq!(cut("u1 - a1 - s1 - a2", 1), "s1 in the turn of s1");
    assert_eq!(cut("u1 - a1 - x1 - n1 - u2", 1), "x1 in the turn of x1");
    assert_eq!(cut("u1 - k1 - m1 - u2", 1), "m1", "but not over a compaction");
    assert_eq!(cut("u1 - z1 - m1 - u2", 1), "m1", "nor over a clearing");
}

/// pi reports a split turn here, because it judges at the setting (hazard pi-hz-005).
#[test]
fn a_setting_before_a_prompt_does_not_split_a_turn() {
    assert_eq!(cut("u1 - a1 - m1 - m2 - u2 - a2", 2), "m1");
    assert_eq!(cut("u1 - a1 - m1 - n1 - a2", 1), "m1 in the turn of u1", "the turn goes on behind these");
}

#[test]
fn a_command_is_a_start_of_a_turn_but_not_a_clean_one() {
    let tree = redrawn("u1 - a1 - b1 - a2", &[("b1", Body::Shell(Shell::default()))]);
    let path = path(&tree);
    let cut = find_cut_point(&path, 0, path.len(), 1);
    assert_eq!((cut.first_kept_index, cut.turn_start_index), (3, Some(2)));
}

#[test]
fn a_preparation_says_what_is_summarised_and_what_stays() {
    let tree = tree_of("u1 - a1 - u2 - c2 - t2 - a2");
    assert_eq!(drawn(&prepare(&tree, 1)), "u1 a1 | u2 c2 t2 | a2");
    assert!(prepare(&tree, 1).is_split_turn);
    let whole_turn = tree_of("u1 - m1 - a1 - u2 - a2");
    assert_eq!(drawn(&prepare(&whole_turn, 2)), "u1 a1 |  | u2");
    assert!(!prepare(&whole_turn, 2).is_split_turn);
}

#[test]
fn there_may_be_nothing_to_compact() {
    assert_eq!(prepare_compaction(&[], &keep(1)), None);
    assert_eq!(prepare_compaction(&path(&tree_of("u1 - a1 - k1")), &keep(1)), None);
    assert_eq!(prepare_compaction(&path(&tree_of("u1 - a1 - z1")), &keep(1)), None);
}

/// pi forgets `u2` and `a2` here (hazard pi-hz-004).
#[test]
fn what_was_kept_before_is_summarised_next() {
    let tree = redrawn("u1 - a1 - u2 - a2 - k1 - u3 - a3 - u4 - a4", &[("k1", keeps("u2"))]);
    let preparation = prepare(&tree, 2);
    assert_eq!(drawn(&preparation), "u2 a2 u3 a3 |  | u4");
    assert_eq!(preparation.previous_summary.as_deref(), Some("what was before u2"));

    let kept_nothing = prepare(&tree_of("u1 - a1 - k1 - u3 - a3 - u4 - a4"), 2);
    assert_eq!(drawn(&kept_nothing), "u3 a3 |  | u4");
}

#[test]
fn the_next_compaction_may_keep_what_the_last_one_kept() {
    let tree = redrawn("u1 - u2 - a2 - k1 - u3", &[("k1", keeps("u2"))]);
    assert_eq!(drawn(&prepare(&tree, 2)), " | u2 | a2");
}

#[test]
fn what_was_cleared_is_not_summarised() {
    let preparation = prepare(&tree_of("u1 - k1 - u2 - z1 - u3 - a3 - u4"), 1);
    assert_eq!(drawn(&preparation), "u3 a3 |  | u4");
    assert_eq!(preparation.previous_summary, None);
}

#[test]
fn files_come_from_calls_and_from_the_summary_before() {
    let previous = |from_extension| {
        Body::Compaction(Compaction {
            summary: "earlier".into(),
            first_kept: None,
            tokens_before: 0,
            files: FileLists { read: vec!["old".into(), "b".into()], modified: vec!["new".into()] },
            details: None,
            from_extension,
            usage: None,
            system: None,
        })
    };
    let touched = calls(&[
        ("read", json!({"path": "c"})),
        ("Read", json!({"file_path": "a"})),
        ("read", json!({"path": ""})),
        ("read", json!("a path is no argument by itself")),
        ("edit", json!({"path": "b"})),
        ("Write", json!({"file_path": "d"})),
        ("bash", json!({"path": "e"})),
    ]);
    let drawing = "u1 - k1 - u2 - a2 - u3";
    let tree = redrawn(drawing, &[("k1", previous(false)), ("a2", touched.clone())]);
    let files = prepare(&tree, 1).files;
    assert_eq!((files.read.join(" "), files.modified.join(" ")), ("a c old".into(), "b d new".into()));

    let tree = redrawn(drawing, &[("k1", previous(true)), ("a2", touched)]);
    let files = prepare(&tree, 1).files;
    assert_eq!((files.read.join(" "), files.modified.join(" ")), ("a c".into(), "b d".into()));
}

#[test]
fn the_tokens_before_are_those_of_the_context() {
    let tree = redrawn("u1 - a1 - k1 - a2 - u2", &[("a1", counted(5000, None)), ("a2", counted(70, None))]);
    assert_eq!(prepare(&tree, 1).tokens_before, 71);
}

#[test]
fn a_compaction_joins_its_summaries_and_names_the_files() {
    let tree = redrawn("u1 - a1 - u2 - a2 - a3", &[("a2", calls(&[("edit", json!({"path": "b"}))]))]);
    let preparation = prepare(&tree, 1);
    let compaction = compacted(&preparation, "talked", Some("began to edit"));
    assert_eq!(compaction.first_kept, Some("a3".into()));
    assert_eq!(compaction.files.modified, ["b"]);
    let places = ["talked", "began to edit", "Files changed:\nb"].map(|words| compaction.summary.find(words));
    assert!(places.is_sorted() && places[0].is_some(), "{}", compaction.summary);
}

/// A chain of any entries, each named by its kind and place.
fn any_chain() -> impl Strategy<Value = Vec<String>> {
    let kinds = proptest::sample::select(vec!["u", "a", "c", "t", "m", "k", "s", "i", "x", "n", "z"]);
    proptest::collection::vec(kinds, 1..30)
        .prop_map(|kinds| kinds.iter().enumerate().map(|(at, kind)| format!("{kind}-{at}")).collect())
}

fn append(tree: &mut SessionTree, id: &str, body: Body) {
    let parent = tree.entries().last().map(|entry| entry.id.clone());
    let entry = Entry { id: id.into(), parent, written_at: FixedStamps::start(), turn: None, body };
    assert_eq!(tree.apply(&Record::entry(entry)), Ok(()));
}

/// What is read word for word.
fn words(messages: &[Message]) -> Vec<String> {
    let words = messages.iter().filter(|message| message.role() != Role::CompactionSummary);
    words.map(|message| message.entry.id.to_string()).collect()
}

proptest! {
    /// The law behind hazard pi-hz-004: what was read before is summarised or still read, in the same order.
    #[test]
    fn nothing_is_lost_by_compacting_twice(chain in any_chain(), first in 0_i64..10, second in 0_i64..10) {
        let mut tree = tree_of(&chain.join(" - "));
        for (round, budget) in [("1", first), ("2", second)] {
            append(&mut tree, &format!("more{round}"), Body::prompt("more"));
            let preparation = prepare(&tree, budget);
            let before = words(&context_of_path(&path(&tree), &ContextOptions::pi()).messages);
            append(&mut tree, &format!("k{round}"), Body::Compaction(compacted(&preparation, "so far", None)));
            let after = context_of_path(&path(&tree), &ContextOptions::pi()).messages;
            let parts = [&preparation.messages_to_summarize, &preparation.turn_prefix, &after];
            prop_assert_eq!(before, parts.map(|part| words(part)).concat());
        }
    }
}
