//! What the model reads, drawn.

mod redrawn;

use offshoot_session::context::{
    Context, ContextOptions, FailedTurns, ModelRule, UnansweredCalls, View, context_of, leaf_or_last,
};
use offshoot_session::{
    Block, Body, BranchSummary, CustomMessage, Entry, FileLists, Merge, Model, Record, Reply, SessionHeader,
    SessionTree, Setting, Shell, Stop, System, ToolResult, ToolUse,
};
use offshoot_testkit::{FixedStamps, tree_of};
use redrawn::{keeps, redrawn};

fn at(tree: &SessionTree, id: &str, options: ContextOptions) -> Context {
    context_of(tree, Some(&id.into()), &options)
}

/// Ids of the messages; a reply with calls left out is written `a1-t1`.
fn ids(context: &Context) -> String {
    let name = |message: &offshoot_session::context::Message| {
        let stripped = message.stripped.iter().map(|call| format!("-{call}"));
        format!("{}{}", message.entry.id, stripped.collect::<String>())
    };
    context.messages.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn reads(tree: &SessionTree, id: &str) -> String {
    ids(&at(tree, id, ContextOptions::default()))
}

fn transcript(tree: &SessionTree, id: &str, collapse_compacted: bool) -> String {
    let view = View::Transcript { collapse_compacted };
    ids(&at(tree, id, ContextOptions { view, ..ContextOptions::transcript() }))
}

fn model(name: &str) -> Model {
    Model { provider: "test".into(), name: name.into() }
}

fn reply(text: &str, calls: &[&str], stop: Option<Stop>) -> Body {
    let call = |id: &&str| {
        Block::ToolUse(ToolUse { id: (*id).into(), name: "read".into(), input: Default::default() })
    };
    let words = (!text.is_empty()).then(|| Block::Text(text.into()));
    let blocks = words.into_iter().chain(calls.iter().map(call)).collect();
    Body::Reply(Reply { blocks, stop, ..Reply::default() })
}

fn reply_by(name: &str) -> Body {
    Body::Reply(Reply {
        blocks: vec![Block::Text(name.into())],
        model: Some(model(name)),
        ..Reply::default()
    })
}

fn result_of(call: &str) -> Body {
    Body::ToolResult(ToolResult {
        call: call.into(),
        tool: "read".into(),
        blocks: Vec::new(),
        failed: false,
        usage: None,
        changed_input: None,
    })
}

/// R-180: moving changes the context only by changing the path.
#[test]
fn a_branch_reads_its_own_path_only() {
    let tree = tree_of(
        "u1 - a1 - u2 - a2
              a1 - u3 - a3*
         u9 - a9",
    );
    assert_eq!(reads(&tree, "a2"), "u1 a1 u2 a2");
    assert_eq!(reads(&tree, "u3"), "u1 a1 u3");
    assert_eq!(reads(&tree, "a9"), "u9 a9", "a second root shares nothing");
    assert_eq!(reads(&tree, "nobody"), "");
    assert_eq!(context_of(&tree, None, &ContextOptions::default()), Context::default());
}

#[test]
fn an_unknown_leaf_means_the_last_entry() {
    let tree = tree_of("u1 - a1\n u1 - a2");
    let leaf = |id: Option<&str>| leaf_or_last(&tree, id.map(Into::into).as_ref()).map(|id| id.to_string());
    assert_eq!(leaf(Some("a1")).as_deref(), Some("a1"));
    assert_eq!(leaf(Some("nobody")).as_deref(), Some("a2"));
    assert_eq!(leaf(None).as_deref(), Some("a2"));
    assert_eq!(leaf_or_last(&SessionTree::default(), None), None);
}

/// pi walks for ever here (hazard pi-hz-007).
#[test]
fn a_cycle_is_read_once() {
    let entry = |id: &str, parent: &str| {
        Record::entry(Entry {
            id: id.into(),
            parent: Some(parent.into()),
            written_at: FixedStamps::start(),
            turn: None,
            body: Body::prompt(id),
        })
    };
    let (tree, _) = SessionTree::replay([entry("A", "B"), entry("B", "A")]);
    assert_eq!(reads(&tree, "A"), "B A");
    assert_eq!(reads(&tree, "B"), "A B");
}

/// R-178: the latest compaction is read first, then what it kept, then the rest.
#[test]
fn a_compaction_is_read_first_then_what_it_kept() {
    let tree = redrawn(
        "u1 - a1 - u2 - a2 - k1 - u3 - a3
                        a2 - u4",
        &[("k1", keeps("u2"))],
    );
    assert_eq!(reads(&tree, "a3"), "k1 u2 a2 u3 a3");
    assert_eq!(reads(&tree, "k1"), "k1 u2 a2");
    assert_eq!(reads(&tree, "a2"), "u1 a1 u2 a2", "before it nothing has changed");
    assert_eq!(reads(&tree, "u4"), "u1 a1 u2 a2 u4", "nor beside it");
}

#[test]
fn a_compaction_without_a_known_first_entry_keeps_nothing() {
    let drawing = "u1 - a1 - k1 - u2";
    assert_eq!(reads(&tree_of(drawing), "u2"), "k1 u2");
    assert_eq!(reads(&redrawn(drawing, &[("k1", keeps("nobody"))]), "u2"), "k1 u2");
    assert_eq!(reads(&redrawn(drawing, &[("k1", keeps("k1"))]), "u2"), "k1 u2");
    assert_eq!(reads(&redrawn(drawing, &[("k1", keeps("u2"))]), "u2"), "k1 u2", "nor one that comes later");
}

#[test]
fn the_latest_compaction_speaks_for_the_earlier_ones() {
    let tree = redrawn("u1 - k1 - u2 - k2 - u3", &[("k1", keeps("u1")), ("k2", keeps("u2"))]);
    assert_eq!(reads(&tree, "u3"), "k2 u2 u3");
    let reaching_back = redrawn("u1 - k1 - u2 - k2 - u3", &[("k1", keeps("u1")), ("k2", keeps("u1"))]);
    assert_eq!(reads(&reaching_back, "u3"), "k2 u1 u2 u3");
}

#[test]
fn summaries_and_words_of_extensions_can_be_kept() {
    let tree = redrawn("u1 - a1 - s1 - x1 - m1 - u2 - k1 - u3", &[("k1", keeps("s1"))]);
    assert_eq!(reads(&tree, "u3"), "k1 s1 x1 u2 u3");
}

#[test]
fn only_what_speaks_is_a_message() {
    let said = |summary: &str| {
        Body::BranchSummary(BranchSummary {
            summary: summary.into(),
            from: None,
            left: None,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
        })
    };
    let merge = |summary: Option<&str>| {
        Body::Merge(Merge { from: "elsewhere".into(), summary: summary.map(Into::into) })
    };
    let tree = redrawn(
        "u1 - m1 - n1 - i1 - s1 - s2 - g1 - g2 - b1 - a1",
        &[
            ("s1", said("tried it")),
            ("s2", said("")),
            ("g1", merge(Some("what they found"))),
            ("g2", merge(None)),
            ("b1", Body::Shell(Shell { command: "ls".into(), private: true, ..Shell::default() })),
        ],
    );
    assert_eq!(reads(&tree, "a1"), "u1 s1 g1 b1 a1");
}

#[test]
fn nothing_above_a_clearing_is_read() {
    let drawing = "u1 - a1 - k1 - u2 - z1 - u3";
    assert_eq!(reads(&tree_of(drawing), "u3"), "u3", "the summary goes too");
    assert_eq!(transcript(&tree_of(drawing), "u3", true), "u3");
    assert_eq!(transcript(&tree_of(drawing), "u3", false), "u1 a1 k1 u2 u3");
    assert_eq!(reads(&tree_of(drawing), "z1"), "");

    let compacted_later = redrawn("u1 - z1 - u2 - a2 - k1 - u3", &[("k1", keeps("u1"))]);
    assert_eq!(reads(&compacted_later, "u3"), "k1 u3", "what was cleared cannot be kept");
}

#[test]
fn a_person_sees_everything_where_it_happened() {
    let tree = redrawn("u1 - k0 - u2 - a2 - k1 - u3", &[("k1", keeps("u2"))]);
    assert_eq!(transcript(&tree, "u3", false), "u1 k0 u2 a2 k1 u3");
    assert_eq!(transcript(&tree, "u3", true), "u2 a2 k1 u3");
    assert_eq!(reads(&tree, "u3"), "k1 u2 a2 u3");
}

/// R-177: the settings of a point are the latest on its path.
#[test]
fn settings_are_those_of_the_path() {
    let set = |setting| Body::Setting(setting);
    let tree = redrawn(
        "u1 - n1 - n2 - n3 - k1 - a1
         u1 - n4 - n5 - a2",
        &[
            ("n1", set(Setting::Thinking(Some("high".into())))),
            ("n2", set(Setting::Mode { mode: "plan".into(), data: None })),
            ("n3", set(Setting::Tools(vec!["read".into()]))),
            ("n4", set(Setting::PermissionMode("ask".into()))),
            ("n5", set(Setting::Agent("pi".into()))),
        ],
    );
    let one = at(&tree, "a1", ContextOptions::default());
    assert_eq!(one.thinking, "high", "a compaction changes what is read, not how it is run");
    assert_eq!(one.mode.as_deref(), Some("plan"));
    assert_eq!(one.tools, Some(vec!["read".to_owned()]));
    assert_eq!((one.permission_mode, one.agent), (None, None));
    let other = at(&tree, "a2", ContextOptions::default());
    assert_eq!((other.thinking.as_str(), other.mode, other.tools), ("off", None, None));
    assert_eq!(other.permission_mode.as_deref(), Some("ask"));
    assert_eq!(other.agent.as_deref(), Some("pi"));
}

#[test]
fn the_latest_thinking_level_counts_and_none_is_off() {
    let level = |level: Option<&str>| Body::Setting(Setting::Thinking(level.map(Into::into)));
    let tree = redrawn(
        "u1 - n1 - n2 - n3",
        &[("n1", level(Some("high"))), ("n2", level(Some("low"))), ("n3", level(None))],
    );
    assert_eq!(at(&tree, "n2", ContextOptions::default()).thinking, "low");
    assert_eq!(at(&tree, "n3", ContextOptions::default()).thinking, "off");
}

#[test]
fn a_chosen_model_outlives_a_fallback_unless_pi_is_asked() {
    let tree = redrawn("u1 - a1 - m1 - a2 - m2", &[("a1", reply_by("first")), ("a2", reply_by("fallback"))]);
    let usual = |id, rule| {
        let options = ContextOptions { model: rule, ..ContextOptions::default() };
        at(&tree, id, options).model.map(|model| model.name)
    };
    assert_eq!(usual("u1", ModelRule::SettingWins), None);
    assert_eq!(usual("a1", ModelRule::SettingWins).as_deref(), Some("first"));
    assert_eq!(usual("a2", ModelRule::SettingWins).as_deref(), Some("m1"));
    assert_eq!(usual("a2", ModelRule::LatestWins).as_deref(), Some("fallback"));
    assert_eq!(usual("m2", ModelRule::LatestWins).as_deref(), Some("m2"));
}

#[test]
fn every_role_has_its_model() {
    let role =
        |role: &str, name| Body::Setting(Setting::Model { role: Some(role.into()), model: model(name) });
    let tree = redrawn(
        "u1 - m1 - m2 - m3 - a1",
        &[("m2", role("small", "tiny")), ("m3", role("default", "big")), ("a1", reply_by("fallback"))],
    );
    let models = at(&tree, "a1", ContextOptions::default()).models;
    let named: Vec<String> = models.iter().map(|(role, model)| format!("{role}={}", model.name)).collect();
    assert_eq!(named, ["default=big", "small=tiny"]);
}

#[test]
fn the_header_fills_what_the_path_leaves_open() {
    let mut header = SessionHeader::new("s".into(), FixedStamps::start());
    header.model = Some(model("at the start"));
    header.agent = Some("claude".into());
    let records =
        [Record::opened(header)].into_iter().chain(offshoot_testkit::drawn("u1 - m1").into_iter().skip(1));
    let (tree, _) = SessionTree::replay(records);
    let named = |id: &str| at(&tree, id, ContextOptions::default()).model.map(|model| model.name);
    assert_eq!(named("u1").as_deref(), Some("at the start"));
    assert_eq!(named("m1").as_deref(), Some("m1"));
    assert_eq!(at(&tree, "u1", ContextOptions::default()).agent.as_deref(), Some("claude"));
}

#[test]
fn failed_turns_are_dropped_with_the_results_of_their_calls() {
    let tree = redrawn(
        "u1 - a1 - t1 - u2 - a2 - t2 - a3",
        &[
            ("a1", reply("half", &["t1"], Some(Stop::Error("overloaded".into())))),
            ("a2", reply("", &["t2"], Some(Stop::ToolUse))),
            ("a3", reply("half", &[], Some(Stop::Aborted))),
        ],
    );
    assert_eq!(reads(&tree, "a3"), "u1 u2 a2 t2");
    assert_eq!(ids(&at(&tree, "a3", ContextOptions::pi())), "u1 a1 t1 u2 a2 t2 a3");
    assert_eq!(transcript(&tree, "a3", false), "u1 a1 t1 u2 a2 t2 a3");
    let kept = ContextOptions { failed_turns: FailedTurns::Kept, ..ContextOptions::default() };
    assert_eq!(ids(&at(&tree, "a3", kept)), "u1 a1 t1 u2 a2 t2 a3");
}

#[test]
fn a_retry_may_use_the_id_of_a_failed_call_again() {
    let tree = redrawn(
        "u1 - a1 - r1 - a2 - r2",
        &[
            ("a1", reply("", &["call"], Some(Stop::Aborted))),
            ("r1", result_of("call")),
            ("a2", reply("", &["call"], Some(Stop::ToolUse))),
            ("r2", result_of("call")),
        ],
    );
    assert_eq!(reads(&tree, "r2"), "u1 a2 r2");
}

#[test]
fn an_interrupted_reply_stays_with_its_thinking() {
    let thinking = Body::CustomMessage(CustomMessage {
        kind: "interrupted-thinking".into(),
        blocks: vec![Block::Text("was about to".into())],
        display: false,
        attribution: None,
    });
    let cut_off = reply("half", &[], Some(Stop::Aborted));
    let tree = redrawn("u1 - a1 - x1", &[("a1", cut_off.clone()), ("x1", thinking)]);
    assert_eq!(reads(&tree, "x1"), "u1 a1 x1");
    let other = redrawn("u1 - a1 - x1", &[("a1", cut_off)]);
    assert_eq!(reads(&other, "x1"), "u1 x1", "any other message does not hold it");
}

#[test]
fn calls_that_nothing_answered_are_stripped() {
    let tree =
        redrawn("u1 - a1 - t1 - u2 - c9", &[("a1", reply("both", &["t1", "t2"], Some(Stop::ToolUse)))]);
    assert_eq!(reads(&tree, "c9"), "u1 a1-t2 t1 u2", "a reply that only called is gone");
    let a1 = &at(&tree, "c9", ContextOptions::default()).messages[1];
    let calls = a1.blocks().filter(|block| matches!(block, Block::ToolUse(_))).count();
    assert_eq!((calls, a1.text().as_str()), (1, "both"));

    assert_eq!(transcript(&tree, "c9", false), "u1 a1-t2 t1 u2 c9-t9", "a person sees that it was there");
    assert_eq!(ids(&at(&tree, "c9", ContextOptions::pi())), "u1 a1 t1 u2 c9");
}

/// A caller that shows the calls of a running tool must not send them to a model by the same options.
#[test]
fn calls_kept_in_the_transcript_are_left_out_of_what_a_model_reads() {
    let tree =
        redrawn("u1 - a1 - t1 - u2 - c9", &[("a1", reply("both", &["t1", "t2"], Some(Stop::ToolUse)))]);
    let kept = |view| ContextOptions {
        view,
        unanswered_calls: UnansweredCalls::KeptInTranscript,
        ..ContextOptions::default()
    };
    let shown = kept(View::Transcript { collapse_compacted: false });
    assert_eq!(ids(&at(&tree, "c9", shown)), "u1 a1 t1 u2 c9");
    assert_eq!(ids(&at(&tree, "c9", kept(View::Model))), "u1 a1-t2 t1 u2");
}

#[test]
fn a_result_on_another_branch_answers_nothing_here() {
    let tree = tree_of(
        "u1 - c1 - t1 - a1
              c1 - u2",
    );
    assert_eq!(reads(&tree, "a1"), "u1 c1 t1 a1");
    assert_eq!(reads(&tree, "u2"), "u1 u2");
}

#[test]
fn fifty_thousand_entries_are_read_in_one_go() {
    let entry = |index: u32| {
        Record::entry(Entry {
            id: format!("u{index}").into(),
            parent: index.checked_sub(1).map(|above| format!("u{above}").into()),
            written_at: FixedStamps::start(),
            turn: None,
            body: Body::prompt("more"),
        })
    };
    let (tree, _) = SessionTree::replay((0..50_000).map(entry));
    assert_eq!(at(&tree, "u49999", ContextOptions::default()).messages.len(), 50_000);
}

/// Ids and, where they are not the id, the words of the messages.
fn reads_words(tree: &SessionTree, id: &str) -> String {
    let context = at(tree, id, ContextOptions::default());
    let word = |message: &offshoot_session::context::Message| match message.text() {
        text if text == message.entry.id.as_str() => text,
        text => format!("{}={text}", message.entry.id),
    };
    context.messages.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_omitted_reply_is_not_read_below_its_edit() {
    let tree = tree_of(
        r#"u1 - a1 - e1"a1" - a2 - u3
                a1 - u2"#,
    );
    assert_eq!(reads(&tree, "u3"), "u1 a2 u3");
    assert_eq!(reads(&tree, "e1"), "u1");
    // a branch from above the edit reads the reply again
    assert_eq!(reads(&tree, "u2"), "u1 a1 u2");
    assert_eq!(ids(&at(&tree, "u3", ContextOptions::pi())), "u1 a2 u3");
    assert_eq!(transcript(&tree, "u3", true), "u1 a1 a2 u3");
}

#[test]
fn a_replaced_message_keeps_its_place_and_the_latest_edit_wins() {
    let tree = tree_of(r#"u1 - x1 - a1 - e1"u1=short" - e2"x1=none" - e3"x1=other" - u2 - e4"u1""#);
    assert_eq!(reads_words(&tree, "e1"), "u1=short x1 a1");
    assert_eq!(reads_words(&tree, "e2"), "u1=short x1=none a1");
    assert_eq!(reads_words(&tree, "u2"), "u1=short x1=other a1 u2");
    assert_eq!(reads_words(&tree, "e4"), "x1=other a1 u2");
}

#[test]
fn an_edit_of_a_call_or_a_result_leaves_no_half_of_the_pair() {
    let tree = tree_of(r#"u1 - c1 - t1 - a1 - e1"t1" - e2"c1""#);
    assert_eq!(reads(&tree, "e1"), "u1 a1", "the call has no result any more");
    assert_eq!(reads(&tree, "e2"), "u1 a1", "the result has no call any more");
    let result = tree_of(r#"u1 - c1 - t1 - a1 - e1"c1""#);
    assert_eq!(reads(&result, "e1"), "u1 a1");
    assert_eq!(ids(&at(&result, "e1", ContextOptions::pi())), "u1 t1 a1", "pi sends the result alone");
}

#[test]
fn edits_work_across_a_compaction_and_an_omitted_first_kept_entry() {
    let tree = redrawn(r#"u1 - a1 - u2 - a2 - e1"u2" - k1 - u3"#, &[("k1", keeps("u2"))]);
    assert_eq!(reads(&tree, "u3"), "k1 a2 u3");
    assert_eq!(reads(&tree, "e1"), "u1 a1 a2");
}

#[test]
fn instructions_of_a_compaction_replace_those_it_kept() {
    let system = |text: &str| Body::System(System { text: text.into() });
    let mut with_system = keeps("u2");
    if let Body::Compaction(compaction) = &mut with_system {
        compaction.system = Some("be brief".into());
    }
    let tree = redrawn(
        "u1 - y1 - u2 - y2 - k1 - y3 - u3",
        &[("y1", system("first")), ("y2", system("second")), ("k1", with_system), ("y3", system("later"))],
    );
    assert_eq!(reads_words(&tree, "u3"), "k1=be brief k1=what was before u2 u2 y3=later u3");
    assert_eq!(reads_words(&tree, "y2"), "u1 y1=first u2 y2=second");
}
