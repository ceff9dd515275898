//! Tokens and money: every reply once, whoever holds it.

use jiff::SignedDuration;
use offshoot_session::cost::{
    self, BranchKind, Charge, CountedOnce, Price, Prices, Tally, by_branch, by_turn, charges, fits,
};
use offshoot_session::{
    Body, BranchSummary, Change, Compaction, Entry, EntryId, Fact, FileLists, Lineage, Mark, Model, Record,
    Reply, SessionHeader, SessionTree, ToolResult, Usage,
};
use offshoot_testkit::FixedStamps;

fn reply(id: &str, parent: &str, tokens: i64) -> Record {
    let usage = Some(Usage { input: tokens, output: tokens / 10, ..Usage::default() });
    let model = Some(Model { provider: "anthropic".into(), name: "claude-sonnet-4-5".into() });
    entry(id, Some(parent), Body::Reply(Reply { usage, model, ..Reply::default() }))
}

fn entry(id: &str, parent: Option<&str>, body: Body) -> Record {
    let written_at = FixedStamps::start();
    Record::entry(Entry { id: id.into(), parent: parent.map(Into::into), written_at, turn: None, body })
}

/// `u1 - a1` and below it two branches, `u2 - a2 - u4 - a4` and `u3 - a3`.
fn records() -> Vec<Record> {
    vec![
        Record::opened(SessionHeader::new("s".into(), FixedStamps::start())),
        entry("u1", None, Body::prompt("one")),
        reply("a1", "u1", 1_000_000),
        entry("u2", Some("a1"), Body::prompt("two")),
        reply("a2", "u2", 2_000_000),
        entry("u3", Some("a1"), Body::prompt("three")),
        reply("a3", "u3", 4_000_000),
        entry("u4", Some("a2"), Body::prompt("four")),
        reply("a4", "u4", 8_000_000),
    ]
}

fn charged(records: Vec<Record>) -> (SessionTree, Vec<Charge>) {
    let (tree, _) = SessionTree::replay(records);
    let charges = charges(&tree, &Prices::listed(), |_| None);
    (tree, charges)
}

#[test]
fn a_shared_beginning_is_counted_once() {
    let (tree, charges) = charged(records());
    let rows = by_branch(&tree, &charges);
    let seen: Vec<(BranchKind, i64, usize)> =
        rows.into_iter().map(|row| (row.kind, row.tally.usage.input / 1_000_000, row.turns)).collect();
    let branch = |turn, version| BranchKind::Branch { name: None, turn, version };
    assert_eq!(seen, [(BranchKind::Shared { to: 1 }, 1, 1), (branch(2, 1), 10, 2), (branch(2, 2), 4, 1)]);
    assert_eq!(Tally::of(&charges).usage.input, 15_000_000);
    // 3 dollars a million in, 15 out
    assert_eq!(Tally::of(&charges).usage.cost_micros, 45_000_000 + 22_500_000);
}

#[test]
fn copies_have_the_same_names() {
    let (_, one) = charged(records());
    let (_, fork) = charged(records().into_iter().take(5).collect());
    let mut once = CountedOnce::default();
    assert_eq!(once.new_among(one.clone()).len(), one.len());
    assert_eq!(once.new_among(fork), [], "copied with their ids");
    // copied under other ids, and counted by the provider under one name
    let (tree, _) = SessionTree::replay([
        entry("u1", None, Body::prompt("one")),
        reply("a1", "u1", 5),
        reply("copy", "u1", 5),
    ]);
    assert_eq!(charges(&tree, &Prices::listed(), |_| Some("message 1".to_owned())).len(), 1);
}

/// The same replies under other ids, each so much later.
fn copied(records: &[Record], later: i64) -> Vec<Record> {
    let copy = |record: &Record| match &record.change {
        Change::Entry(entry) => {
            let other = |id: &EntryId| EntryId::from(format!("copy-{id}"));
            let written_at = entry.written_at + SignedDuration::from_millis(later);
            let parent = entry.parent.as_ref().map(other);
            Record::entry(Entry { id: other(&entry.id), parent, written_at, ..Entry::clone(entry) })
        }
        _ => record.clone(),
    };
    records.iter().map(copy).collect()
}

fn opened(agent: &str, id: &str, parent: Option<&str>) -> Record {
    let lineage = parent.map(|parent| Lineage {
        parent: parent.to_owned(),
        at: None,
        message_index: None,
        reason: None,
        metadata: None,
    });
    let header = SessionHeader::new(id.into(), FixedStamps::start());
    Record::opened(SessionHeader { agent: Some(agent.to_owned()), lineage, ..header })
}

fn tokens_of_both(one: Vec<Record>, other: Vec<Record>) -> i64 {
    let mut once = CountedOnce::default();
    let mut all = once.new_among(charged(one).1);
    all.extend(once.new_among(charged(other).1));
    Tally::of(&all).usage.input / 1_000_000
}

#[test]
fn a_copy_under_other_ids_is_known_by_its_moment_and_its_count() {
    let first: Vec<Record> = records().into_iter().skip(1).take(4).collect();
    let session = |id, entries: Vec<Record>| {
        std::iter::once(opened("opencode", id, None)).chain(entries).collect::<Vec<_>>()
    };
    let mut fork = copied(&first, 0);
    fork.push(entry("u9", Some("copy-a2"), Body::prompt("nine")));
    fork.push(reply("a9", "u9", 16_000_000));
    assert_eq!(tokens_of_both(session("one", first.clone()), session("two", fork)), 1 + 2 + 16);
    // asked again a moment later it is another reply, whatever it says
    assert_eq!(tokens_of_both(session("one", first.clone()), session("two", copied(&first, 1))), 2 * (1 + 2));
    // and two replies of one session are two
    let twins = vec![reply("a1", "u1", 1_000_000), reply("a2", "u1", 1_000_000)];
    assert_eq!(charged(session("one", twins)).1.len(), 2);
}

#[test]
fn a_copy_of_a_thread_is_known_by_all_that_was_counted_before() {
    let first: Vec<Record> = records().into_iter().skip(1).take(4).collect();
    let thread = |id, parent, entries: Vec<Record>| {
        std::iter::once(opened("codex", id, parent)).chain(entries).collect::<Vec<_>>()
    };
    // copied at the time of the fork, under ids of the fork
    let mut fork = copied(&first, 60_000);
    fork.push(entry("u9", Some("copy-a2"), Body::prompt("nine")));
    fork.push(reply("a9", "u9", 16_000_000));
    let origin = || thread("one", None, first.clone());
    assert_eq!(tokens_of_both(origin(), thread("two", Some("one"), fork.clone())), 1 + 2 + 16);
    assert_eq!(
        tokens_of_both(origin(), thread("two", None, fork)),
        2 * (1 + 2) + 16,
        "a stranger is no copy"
    );
    // the same count at another place of the thread is another reply
    let later: Vec<Record> = copied(&first[2..], 60_000);
    assert_eq!(tokens_of_both(origin(), thread("two", Some("one"), later)), 1 + 2 + 2);
}

#[test]
fn a_reply_whose_line_was_lost_is_still_the_same() {
    let (with_lines, _) = SessionTree::replay(records());
    let billed = |record: &Record| record.as_entry().map(|entry| format!("message of {}", entry.id));
    let one = charges(&with_lines, &Prices::listed(), billed);
    let (_, other) = charged(records());
    let mut once = CountedOnce::default();
    assert_eq!(once.new_among(one).len(), 4);
    assert_eq!(once.new_among(other), []);
}

#[test]
fn a_sum_so_far_counts_only_where_nothing_else_does() {
    let sum = Usage { cost_micros: 7, ..Usage::default() };
    let spent = || Record::marked(FixedStamps::start(), Fact::Spent { usage: sum, model: None });
    let with_sum = |records: Vec<Record>| charged(records.into_iter().chain([spent()]).collect()).1;
    let priced = with_sum(records());
    assert!(priced.iter().all(|charge| charge.entry.is_some()));
    let unknown = records().into_iter().map(|mut record| {
        if let Change::Entry(entry) = &record.change {
            let mut entry = Entry::clone(entry);
            if let Body::Reply(reply) = &mut entry.body {
                reply.model = None;
            }
            record = Record::entry(entry);
        }
        record
    });
    let unpriced = with_sum(unknown.collect());
    let tally = Tally::of(&unpriced);
    assert_eq!((tally.usage.cost_micros, tally.unpriced), (7, 4));
}

#[test]
fn the_cost_that_a_session_tells_beats_the_table() {
    let mut told = reply("a1", "u1", 1_000_000);
    if let Change::Entry(entry) = &told.change {
        let mut entry = Entry::clone(entry);
        if let Body::Reply(reply) = &mut entry.body {
            reply.usage = Some(Usage { input: 1_000_000, cost_micros: 5, ..Usage::default() });
        }
        told = Record::entry(entry);
    }
    let (_, charges) = charged(vec![entry("u1", None, Body::prompt("one")), told]);
    assert_eq!(Tally::of(&charges).usage.cost_micros, 5);
}

#[test]
fn the_first_price_that_fits_counts() {
    let own = Price::in_dollars("ours/*", [1.0, 2.0, 0.5, 0.0]);
    let prices = Prices(std::iter::once(own.clone()).chain(Prices::listed().0).collect());
    let model = |provider: &str, name: &str| Model { provider: provider.into(), name: name.into() };
    assert_eq!(prices.of(&model("ours", "claude-opus-4-1")), Some(&own));
    assert_eq!(prices.of(&model("anthropic", "claude-opus-4-1")).map(|price| price.input), Some(15_000_000));
    let dated = prices.of(&model("anthropic", "claude-opus-4-5-20251101"));
    assert_eq!(dated.map(|price| price.input), Some(5_000_000));
    for successor in ["unheard-of", "claude-opus-4-9", "gpt-5.7", "o3-mini"] {
        assert_eq!(prices.of(&model("x", successor)), None, "{successor}: not guessed");
    }
    let usage = Usage { input: 3, output: 1, cache_read: 2, ..Usage::default() };
    assert_eq!(own.cost(&usage), 6);
}

#[test]
fn stars_stand_for_any_letters() {
    for (pattern, name, expected) in [
        ("claude-*", "Claude-opus", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("o3", "o3-mini", false),
        ("*", "", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn each_turn_has_its_own_row() {
    let (tree, charges) = charged(records());
    let rows: Vec<(usize, usize, usize, String, i64)> = by_turn(&tree, &charges)
        .into_iter()
        .map(|turn| (turn.number, turn.version, turn.versions, turn.text, turn.tally.usage.input / 1_000_000))
        .collect();
    let row =
        |number, version, versions, text: &str, tokens| (number, version, versions, text.to_owned(), tokens);
    assert_eq!(
        rows,
        [row(1, 1, 1, "one", 1), row(2, 1, 2, "two", 2), row(2, 2, 2, "three", 4), row(3, 1, 1, "four", 8)]
    );
}

#[test]
fn what_nobody_has_a_price_for_has_no_money() {
    let mut unknown = reply("a1", "u1", 1_000_000);
    if let Change::Entry(entry) = &mut unknown.change {
        let mut changed = Entry::clone(entry);
        if let Body::Reply(reply) = &mut changed.body {
            reply.model = Some(Model { provider: "home".into(), name: "made-up-9".into() });
        }
        *entry = changed.into();
    }
    let (_, charges) = charged(vec![entry("u1", None, Body::prompt("one")), unknown]);
    let tally = Tally::of(&charges);
    assert_eq!((tally.money(), tally.tokens(), tally.unpriced), (None, 1_100_000, 1));
    let (_, known) = charged(records());
    let both = Tally::of(known.iter().chain(&charges));
    assert_eq!((both.money(), both.unpriced), (Tally::of(&known).money(), 1), "what is known is told");
    assert_eq!(Tally::default().money(), Some(0));
}

fn used(tokens: i64, cost_micros: i64) -> Option<Box<Usage>> {
    Some(Box::new(Usage { input: tokens, cost_micros, ..Usage::default() }))
}

/// pi's own statistics add all four kinds, and count a cost without tokens.
#[test]
fn compactions_branch_summaries_tool_results_and_usage_lines_are_counted() {
    let result = ToolResult {
        call: "t1".into(),
        tool: "ask".into(),
        blocks: Vec::new(),
        failed: false,
        usage: used(10, 100),
        changed_input: None,
    };
    let compaction = Compaction {
        summary: "so far".into(),
        first_kept: None,
        tokens_before: 0,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: used(20, 200),
        system: None,
    };
    let summary = BranchSummary {
        summary: "tried".into(),
        from: None,
        left: None,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: used(40, 400),
    };
    let warmed = Usage { cost_micros: 800, ..Usage::default() };
    let line = |id: &str| {
        let fact = Fact::Spent { usage: warmed, model: None };
        Record::new(Change::Marked(Mark { id: Some(id.into()), marked_at: FixedStamps::start(), fact }))
    };
    let (tree, charges) = charged(vec![
        Record::opened(SessionHeader::new("s".into(), FixedStamps::start())),
        entry("u1", None, Body::prompt("one")),
        entry("t1", Some("u1"), Body::ToolResult(result)),
        entry("k1", Some("t1"), Body::Compaction(compaction)),
        entry("s1", Some("k1"), Body::BranchSummary(summary)),
        // two lines of one moment, each a charge
        line("w1"),
        line("w2"),
    ]);
    let tally = Tally::of(&charges);
    assert_eq!((tally.tokens(), tally.usage.cost_micros), (70, 100 + 200 + 400 + 2 * 800));
    let all = cost::usage_of(&tree);
    assert_eq!((all.input, all.cost_micros), (70, 2300));
    let turns: Vec<(Option<EntryId>, i64)> = by_turn(&tree, &charges)
        .into_iter()
        .map(|turn| (turn.prompt, turn.tally.usage.cost_micros))
        .collect();
    assert_eq!(turns, [(Some("u1".into()), 700), (None, 1600)]);
}
