//! The outline of entries and of turns, drawn.

use offshoot_session::outline::{
    Cell, Filter, Fold, HeadPlace, Lines, Outline, OutlineOptions, Row, TurnEnd, TurnOutline, TurnTreeRow,
    Version, ledger_row, turns_below, turns_of, turns_through,
};
use offshoot_session::{
    Block, Body, Compaction, Entry, EntryId, Fact, FileLists, Interruption, Model, Record, Reply,
    SessionTree, Setting, Shell, Stop, ToolUse,
};
use offshoot_testkit::{FixedStamps, drawn, tree_of};
use serde_json::json;

/// Three cells per level, `•` on the active path, `←` at the head.
fn picture(tree: &SessionTree, options: &OutlineOptions) -> String {
    let outline = Outline::of(tree, options);
    let mut text = String::new();
    for row in &outline.rows {
        text.push_str(&row_picture(&outline, row));
        text.push('\n');
    }
    text
}

fn row_picture(outline: &Outline, row: &Row) -> String {
    let lead: String = outline
        .cells(row)
        .into_iter()
        .map(|cell| match (cell, row.fold) {
            (Cell::Empty, _) => "   ",
            (Cell::Line, _) => "│  ",
            (Cell::Tee, Fold::Open) => "├⊟ ",
            (Cell::Tee, Fold::Folded) => "├⊞ ",
            (Cell::Tee, Fold::None) => "├─ ",
            (Cell::Corner, Fold::Open) => "└⊟ ",
            (Cell::Corner, Fold::Folded) => "└⊞ ",
            (Cell::Corner, Fold::None) => "└─ ",
        })
        .collect();
    let path = if row.on_active_path { "• " } else { "" };
    let label = row.label.as_ref().map(|label| format!("[{label}] ")).unwrap_or_default();
    let version = row.version.map(|v| format!(" {}/{}", v.number, v.of)).unwrap_or_default();
    let head = if row.is_head { " ←" } else { "" };
    format!("{lead}{path}{label}{}{version}{head}", row.entry)
}

#[track_caller]
fn check(drawing: &str, options: &OutlineOptions, expected: &str) {
    assert_eq!(picture(&tree_of(drawing), options).trim_end(), unindented(expected));
}

/// The lines of a drawing after the first, without the indent they share.
fn unindented(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let drawn = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = drawn.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    lines.join("\n").trim_end().to_owned()
}

fn filtered(filter: Filter) -> OutlineOptions {
    OutlineOptions { filter, ..OutlineOptions::default() }
}

fn searched(words: &str) -> OutlineOptions {
    OutlineOptions { search: words.to_owned(), ..OutlineOptions::default() }
}

fn folded(ids: &[&str]) -> OutlineOptions {
    OutlineOptions { folded: ids.iter().map(|id| EntryId::from(*id)).collect(), ..OutlineOptions::default() }
}

fn record(id: &str, parent: Option<&str>, body: Body) -> Record {
    let written_at = FixedStamps::start();
    Record::entry(Entry { id: id.into(), parent: parent.map(Into::into), written_at, turn: None, body })
}

fn reply(stop: Option<Stop>, blocks: Vec<Block>) -> Body {
    Body::Reply(Reply { blocks, stop, ..Reply::default() })
}

fn call(name: &str, input: serde_json::Value) -> ToolUse {
    ToolUse { id: "call".into(), name: name.into(), input }
}

const FORK: &str = "
    u1 - a1 - u2 - a2
         a1 - u3 - a3 - u4 - a4*
";

/// R-078: the tree is listed with the active path marked and its branch first.
#[test]
fn the_active_branch_comes_first_and_a_branch_reads_as_a_group() {
    let expected = "
        • u1
        • a1
        ├⊟ • u3 2/2
        │     • a3
        │     • u4
        │     • a4 ←
        └⊟ u2 1/2
              a2
    ";
    check(FORK, &OutlineOptions::default(), expected);
}

#[test]
fn forks_inside_forks_keep_their_lines() {
    let drawing = "
        u1 - u2 - u3 - u4*
                  u3 - u5
             u2 - u6
        u1 - u7
    ";
    let expected = "
        • u1
        ├⊟ • u2 1/2
        │  ├⊟ • u3 1/2
        │  │  ├─ • u4 1/2 ←
        │  │  └─ u5 2/2
        │  └─ u6 2/2
        └─ u7 2/2
    ";
    check(drawing, &OutlineOptions::default(), expected);
}

#[test]
fn several_roots_stand_side_by_side_with_the_active_one_first() {
    let expected = "
        • u2 2/2
           • a2 ←
        u1 1/2
           a1
    ";
    check("u1 - a1\n u2 - a2*", &OutlineOptions::default(), expected);
}

#[test]
fn an_empty_tree_has_no_rows() {
    let (tree, _) = SessionTree::replay([]);
    assert!(Outline::of(&tree, &OutlineOptions::default()).rows.is_empty());
    assert!(TurnOutline::of(&tree).rows.is_empty());
}

const EVERYTHING: &str = "u1[mark] - m1 - c1 - t1 - n1 - a1 - x1 - k1 - s1 - i1 - u2 - a2*";

/// R-079: five filters say which entries the tree shows.
#[test]
fn each_filter_shows_its_own_entries() {
    let tree = tree_of(EVERYTHING);
    let shown = |filter| {
        let outline = Outline::of(&tree, &filtered(filter));
        outline.rows.iter().map(|row| row.entry.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown(Filter::Default), "u1 t1 a1 x1 k1 s1 i1 u2 a2");
    assert_eq!(shown(Filter::NoTools), "u1 a1 x1 k1 s1 i1 u2 a2");
    assert_eq!(shown(Filter::UserOnly), "u1 u2");
    assert_eq!(shown(Filter::LabeledOnly), "u1");
    assert_eq!(shown(Filter::All), "u1 m1 t1 n1 a1 x1 k1 s1 i1 u2 a2", "c1 is told by its result t1");
    assert_eq!(Outline::every_entry(&tree).rows.len(), tree.len());
}

#[test]
fn a_reply_without_words_is_shown_at_the_head_and_when_it_went_wrong() {
    check("u1 - c1* - u2", &OutlineOptions::default(), "\n• u1\n• c1 ←\nu2");

    let failed = [
        record("u1", None, Body::prompt("q")),
        record("a1", Some("u1"), reply(Some(Stop::Aborted), Vec::new())),
        record("a2", Some("a1"), reply(Some(Stop::Error("no key".into())), Vec::new())),
        record("a3", Some("a2"), reply(Some(Stop::EndTurn), vec![Block::Text(" \n".into())])),
    ];
    let (tree, _) = SessionTree::replay(failed);
    assert_eq!(picture(&tree, &OutlineOptions::default()), "u1\na1\na2\n");
}

#[test]
fn what_is_hidden_leaves_no_gap() {
    let tree = tree_of("u1 - c1 - t1 - m1 - u2 - a2*");
    let outline = Outline::of(&tree, &filtered(Filter::UserOnly));
    let between: Vec<usize> = outline.rows.iter().map(|row| row.hidden_between).collect();
    assert_eq!(between, [0, 3]);
    check(FORK, &filtered(Filter::UserOnly), "\n• u1\n├⊟ • u3 2/2\n│     • u4\n└─ u2 1/2");
}

/// R-080: the tree can be searched by what its rows say.
#[test]
fn search_wants_every_word_in_any_order_and_case() {
    let drawing = r#"
        u1"Find the Burst credit" - a1"lost at reload" - u2"Store it[deadline"
        a1 - u3"burst again"[deadline] - a3*
    "#;
    let found = |words: &str| {
        let outline = Outline::of(&tree_of(drawing), &searched(words));
        outline.rows.iter().map(|row| row.entry.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("burst"), "u1 u3");
    assert_eq!(found("CREDIT find"), "u1");
    assert_eq!(found("deadline burst"), "u3", "labels are searched too");
    assert_eq!(found("assistant"), "a1 a3", "and who speaks");
    assert_eq!(found("assistant burst"), "");
    assert_eq!(found("  "), "u1 a1 u3 a3 u2", "blank shows all");
}

#[test]
fn a_fold_hides_everything_below_even_through_what_is_hidden() {
    check(FORK, &folded(&["u3"]), "\n• u1\n• a1\n├⊞ • u3 2/2\n└⊟ u2 1/2\n      a2");
    check("u1 - c1 - u2 - a2*", &folded(&["u1"]), "\n• u1");
}

#[test]
fn only_the_beginning_of_a_segment_can_be_folded() {
    let outline = Outline::of(&tree_of(FORK), &OutlineOptions::default());
    let open: Vec<&str> =
        outline.rows.iter().filter(|row| row.fold == Fold::Open).map(|row| row.entry.as_str()).collect();
    assert_eq!(open, ["u1", "u3", "u2"]);
}

#[test]
fn segments_are_jumped_over() {
    let outline = Outline::of(&tree_of(FORK), &OutlineOptions::default());
    let at = |id: &str| outline.rows.iter().position(|row| row.entry.as_str() == id).unwrap();
    let name = |row: usize| outline.rows[row].entry.as_str();
    assert_eq!(name(outline.segment_above(at("a4"))), "u3");
    assert_eq!(name(outline.segment_above(at("u3"))), "u1", "a segment's first row goes to the one before");
    assert_eq!(name(outline.segment_above(at("u1"))), "u1");
    assert_eq!(name(outline.segment_below(at("u1"))), "u3");
    assert_eq!(name(outline.segment_below(at("u3"))), "a4");
    assert_eq!(name(outline.segment_below(at("a2"))), "a2");
    assert_eq!(outline.segment_below(99), 99);
}

#[test]
fn the_nearest_row_is_that_of_an_ancestor() {
    let tree = tree_of("u1 - a1 - u2 - m1*\n a1 - u3");
    let nearest = |options: &OutlineOptions, id: Option<&str>| {
        let outline = Outline::of(&tree, options);
        let id = id.map(EntryId::from);
        outline.nearest(&tree, id.as_ref()).map(|row| outline.rows[row].entry.to_string())
    };
    assert_eq!(nearest(&OutlineOptions::default(), Some("m1")).as_deref(), Some("u2"));
    assert_eq!(nearest(&filtered(Filter::UserOnly), Some("a1")).as_deref(), Some("u1"));
    assert_eq!(nearest(&searched("u3"), Some("m1")).as_deref(), Some("u3"), "no ancestor: the last row");
    assert_eq!(nearest(&OutlineOptions::default(), None).as_deref(), Some("u3"));
    assert_eq!(nearest(&searched("nothing"), Some("m1")), None);
}

#[test]
fn every_kind_of_entry_has_a_line() {
    let line = |body: Body| {
        let (tree, _) = SessionTree::replay([record("x", None, body)]);
        Lines::of(&tree).line(tree.entry(&"x".into()).unwrap())
    };
    assert_eq!(line(Body::prompt("one\n\ttwo ")), "user: one  two");
    assert_eq!(line(Body::reply("yes")), "assistant: yes");
    assert_eq!(line(reply(None, Vec::new())), "assistant: (no content)");
    assert_eq!(line(reply(Some(Stop::Aborted), Vec::new())), "assistant: (aborted)");
    assert_eq!(line(reply(Some(Stop::Error("no\nkey".into())), Vec::new())), "assistant: no key");
    assert_eq!(line(Body::Interrupted(Interruption::Wanted)), "[interrupted]");
    assert_eq!(line(Body::Cleared), "[cleared]");
    assert_eq!(line(Body::Shell(Shell { command: "ls -la".into(), ..Shell::default() })), "[bash]: ls -la");
    let model = Model { provider: "p".into(), name: "big".into() };
    assert_eq!(line(Body::Setting(Setting::Model { role: None, model })), "[model: big]");
    assert_eq!(line(Body::Setting(Setting::Thinking(Some("high".into())))), "[thinking: high]");
    let compaction = |tokens_before| {
        Body::Compaction(Compaction {
            summary: "s".into(),
            first_kept: None,
            tokens_before,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        })
    };
    assert_eq!(line(compaction(12_500)), "[compaction: 13k tokens]");
    assert_eq!(line(compaction(12_499)), "[compaction: 12k tokens]");
    assert_eq!(line(Body::prompt("ä".repeat(300))).chars().count(), "user: ".len() + 200);
}

#[test]
fn a_result_is_told_by_its_call() {
    let line = |name: &str, input| {
        let result = Body::ToolResult(offshoot_session::ToolResult {
            call: "call".into(),
            tool: name.into(),
            blocks: Vec::new(),
            failed: false,
            usage: None,
            changed_input: None,
        });
        let uses = reply(Some(Stop::ToolUse), vec![Block::ToolUse(call(name, input))]);
        let (tree, _) = SessionTree::replay([record("c", None, uses), record("t", Some("c"), result)]);
        Lines::of(&tree).line(tree.entry(&"t".into()).unwrap())
    };
    assert_eq!(line("read", json!({"path": "a.rs", "offset": 5, "limit": 10})), "[read: a.rs:5-14]");
    assert_eq!(line("read", json!({"file_path": "a.rs", "offset": 5})), "[read: a.rs:5]");
    assert_eq!(line("read", json!({"path": "a.rs", "limit": 3})), "[read: a.rs:1-3]");
    assert_eq!(line("edit", json!({"path": "a.rs"})), "[edit: a.rs]");
    assert_eq!(line("bash", json!({"command": "cargo\ntest"})), "[bash: cargo test]");
    assert_eq!(line("bash", json!({"command": "x".repeat(60)})), format!("[bash: {}...]", "x".repeat(50)));
    assert_eq!(line("grep", json!({"pattern": "burst"})), "[grep: /burst/ in .]");
    assert_eq!(line("find", json!({"pattern": "*.rs", "path": "src"})), "[find: *.rs in src]");
    assert_eq!(line("ls", json!({})), "[ls: .]");
    assert_eq!(line("weather", json!({"in": "Kiel"})), r#"[weather: {"in":"Kiel"}]"#);
}

#[test]
fn tools_of_every_agent_are_told_by_the_same_verbs() {
    let row = |name: &str, input| {
        let row = ledger_row(&call(name, input));
        format!("{} {}", row.verb, row.target)
    };
    assert_eq!(row("Read", json!({"file_path": "a.rs"})), "read a.rs");
    assert_eq!(row("apply_patch", json!({"input": "*** Begin"})), "edit *** Begin");
    assert_eq!(row("Bash", json!({"command": "cargo\ntest"})), "shell cargo test");
    assert_eq!(row("shell", json!({"command": ["ls", "-l"]})), "shell ls -l");
    assert_eq!(row("WebFetch", json!({"url": "https://a.b"})), "fetch https://a.b");
    assert_eq!(row("mcp__files__read_file", json!({"path": "x"})), "read x");
    assert_eq!(row("weather", json!({"in": "Kiel"})), "weather ");
}

// ---- one row per turn ----

/// Two cells per level, as `offshoot tree` draws them.
fn turn_picture(tree: &SessionTree) -> String {
    let outline = TurnOutline::of(tree);
    let mut text = String::new();
    for row in &outline.rows {
        for cell in outline.cells(row) {
            text.push_str(match cell {
                Cell::Empty => "  ",
                Cell::Line => "│ ",
                Cell::Tee => "├─",
                Cell::Corner => "╰─",
            });
        }
        match row {
            TurnTreeRow::Folded(run) => text.push_str(&format!("┊ {} turns, {} tools", run.turns, run.tools)),
            TurnTreeRow::Turn(row) => {
                text.push_str(if row.on_active_path { "● " } else { "○ " });
                if let Some(number) = row.number {
                    text.push_str(&format!("#{number} "));
                }
                text.push_str(row.entry.as_str());
                for label in &row.labels {
                    text.push_str(&format!(" [{label}]"));
                }
                for name in &row.branch_names {
                    text.push_str(&format!(" ({name})"));
                }
                if let Some(Version { number, of }) = row.version {
                    text.push_str(&format!(" {number}/{of}"));
                }
                if matches!(row.end, Some(TurnEnd::Interrupted(_))) {
                    text.push_str(" ‖");
                }
                if row.is_head {
                    text.push_str(" ← head");
                }
            }
        }
        text.push('\n');
    }
    text
}

#[track_caller]
fn check_turns(tree: &SessionTree, expected: &str) {
    assert_eq!(turn_picture(tree).trim_end(), unindented(expected));
}

/// R-086: the tree is drawn in lanes.
#[test]
fn turns_are_drawn_in_lanes_with_the_active_branch_first() {
    let tree = tree_of(
        "u1 - a1 - u2 - a2 - u3 - a3
                        a2 - u4 - a4 - u5 - i5 - u6
                                            i5 - u7 - a7*
                        a2 - u8 - a8 - u9",
    );
    let expected = "
        ● #1 u1
        ● #2 u2
        ├─● #3 u4 2/3
        │ ● #4 u5 ‖
        │ ├─● #5 u7 2/2 ← head
        │ ╰─○ #5 u6 1/2
        ├─○ #3 u3 1/3
        ╰─○ #3 u8 3/3
          ○ #4 u9
    ";
    check_turns(&tree, expected);
    let outline = TurnOutline::of(&tree);
    assert_eq!((outline.branches, outline.prompts, outline.head), (4, 9, HeadPlace::Turn(5)));
}

#[test]
fn quiet_turns_off_the_active_path_fold() {
    let tree = tree_of(
        "u1 - a1 - u2*
         a1 - u3 - c3 - t3 - u4 - c4 - t4 - u5 - c5 - t5 - u6 - u7 - u8 - u9",
    );
    check_turns(&tree, "\n● #1 u1\n├─● #2 u2 1/2 ← head\n╰─○ #2 u3 2/2\n  ┊ 5 turns, 2 tools\n  ○ #8 u9");
}

#[test]
fn three_quiet_turns_are_shown_and_so_is_the_whole_active_path() {
    let tree = tree_of("u1 - u2*\n u1 - u3 - u4 - u5 - u6 - u7");
    check_turns(
        &tree,
        "\n● #1 u1\n├─● #2 u2 1/2 ← head\n╰─○ #2 u3 2/2\n  ○ #3 u4\n  ○ #4 u5\n  ○ #5 u6\n  ○ #6 u7",
    );
    let tree = tree_of("u1 - u2 - u3 - u4 - u5 - u6 - u7*");
    assert_eq!(TurnOutline::of(&tree).rows.len(), 7);
}

#[test]
fn a_label_a_name_and_a_bad_end_are_never_folded() {
    let mut tree = tree_of("u1 - u2*\n u1 - u3 - u4 - u5 - u6 - u7[works] - u8 - u9 - u10 - u11 - u12");
    check_turns(
        &tree,
        "\n● #1 u1\n├─● #2 u2 1/2 ← head\n╰─○ #2 u3 2/2\n  ○ #3 u4\n  ○ #4 u5\n  ○ #5 u6\n  ○ #6 u7 [works]\n  ┊ 4 turns, 0 tools\n  ○ #11 u12",
    );
    let name = Fact::BranchName { at: "u9".into(), name: Some("tidy".into()) };
    tree.apply(&Record::marked(FixedStamps::start(), name)).unwrap();
    assert!(turn_picture(&tree).contains("○ #8 u9 (tidy)"));
}

#[test]
fn marks_on_an_answer_are_shown_on_its_turn() {
    check_turns(&tree_of("u1 - a1[good] - u2*"), "\n● #1 u1 [good]\n● #2 u2 ← head");
}

#[test]
fn what_stands_before_the_first_prompt_has_a_row_but_settings_have_none() {
    check_turns(&tree_of("a1 - u1*"), "\n● a1\n● #1 u1 ← head");
    check_turns(&tree_of("m1 - n1 - u1*"), "\n● #1 u1 ← head");
    check_turns(&tree_of("m1 - s1 - a2*"), "\n● s1 ← head");
    assert_eq!(TurnOutline::of(&tree_of("s1*")).head, HeadPlace::BeforeFirstTurn);
    assert_eq!(TurnOutline::of(&tree_of("u1")).head, HeadPlace::Nowhere);
}

#[test]
fn several_roots_are_branches_of_a_fork_that_nobody_sees() {
    check_turns(&tree_of("u1 - a1\n u2 - u3*"), "\n├─● #1 u2 2/2\n│ ● #2 u3 ← head\n╰─○ #1 u1 1/2");
    check_turns(&tree_of("m1 - u1\n m1 - u2*"), "\n├─● #1 u2 2/2 ← head\n╰─○ #1 u1 1/2");
}

#[test]
fn a_second_answer_is_a_branch_without_a_number() {
    check_turns(&tree_of("u1 - a1*\n u1 - a2 - u2"), "\n● #1 u1 ← head\n╰─○ a2\n  ○ #2 u2");
    check_turns(&tree_of("u1 - a1\n u1 - s1 - a2*"), "\n● #1 u1 ← head\n╰─○ a1");
    let tree = tree_of("u1 - a1 - u2*\n u1 - a2 - u3");
    check_turns(&tree, "\n● #1 u1\n├─● #2 u2 ← head\n╰─○ a2\n  ○ #2 u3");
    assert_eq!(TurnOutline::of(&tree).branches, 2);
}

#[test]
fn a_setting_beside_the_next_turn_makes_no_branch() {
    check_turns(&tree_of("u1 - a1 - m1\n a1 - u2\n u9*"), "\n├─● #1 u9 2/2 ← head\n╰─○ #1 u1 1/2\n  ○ #2 u2");
    check_turns(&tree_of("u1 - a1 - m1*\n a1 - u2"), "\n● #1 u1 ← head\n╰─○ #2 u2");
}

/// `#1 u1 a1, #2 u2`
fn numbered(turns: Vec<offshoot_session::outline::Turn<'_>>) -> String {
    let turn = |turn: &offshoot_session::outline::Turn<'_>| {
        let ids: Vec<&str> = turn.entries.iter().map(|entry| entry.id.as_str()).collect();
        format!("#{} {}", turn.number, ids.join(" "))
    };
    turns.iter().map(turn).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_path_is_cut_into_turns() {
    let tree = tree_of("s1 - u1 - a1 - u2 - c2 - t2 - u3*\n u2 - a9 - u9");
    assert_eq!(numbered(turns_of(&tree, tree.main_head())), "#0 s1, #1 u1 a1, #2 u2 c2 t2, #3 u3");
    assert_eq!(numbered(turns_through(&tree, &"c2".into())), "#0 s1, #1 u1 a1, #2 u2 c2 t2, #3 u3");
    assert_eq!(numbered(turns_through(&tree, &"a9".into())), "#0 s1, #1 u1 a1, #2 u2 a9, #3 u9");
    assert_eq!(numbered(turns_of(&tree, None)), "");
}

/// D13: `versions` walked the whole path for every version.
#[test]
fn the_turns_of_versions_are_those_of_the_branches_through_them() {
    let tree = tree_of(
        "
        s1 - u1 - a1 - u2 - a2 - u3 - a3*
                  a1 - u4 - a4 - u5
                  a1 - u6
        ",
    );
    let versions: Vec<_> = ["u2", "u4", "u6"].iter().filter_map(|id| tree.entry(&(*id).into())).collect();
    let below = turns_below(&tree, &versions);
    for (version, turns) in versions.iter().zip(below) {
        let through = turns_through(&tree, &version.id).into_iter();
        let from_it: Vec<_> = through.skip_while(|turn| !turn.contains(&version.id)).collect();
        assert_eq!(numbered(turns), numbered(from_it), "{}", version.id);
    }
}

/// 50,000 entries deep with 5,000 forks on the way, each fork inside the one before.
#[test]
fn a_huge_tree_is_laid_out_without_recursion() {
    let mut records = drawn("u0");
    let mut last = "u0".to_owned();
    for n in 1..45_000 {
        let id = format!("{}{n}", if n % 2 == 0 { "u" } else { "a" });
        let body = if n % 2 == 0 { Body::prompt(id.as_str()) } else { Body::reply(id.as_str()) };
        records.push(record(&id, Some(&last), body));
        if n % 9 == 0 {
            records.push(record(&format!("x{n}"), Some(&last), Body::prompt("other")));
        }
        last = id;
    }
    let (tree, _) = SessionTree::replay(records);
    let outline = Outline::of(&tree, &OutlineOptions::default());
    let turns = TurnOutline::of(&tree);
    assert_eq!(outline.rows.len(), tree.len());
    assert_eq!(turns.branches, 5_000);
    let deepest = outline.rows.iter().max_by_key(|row| row.indent).unwrap();
    assert_eq!(outline.cells(deepest).len(), deepest.indent);
}

/// Archived is out of sight, not gone: everything and the way to the head are still drawn.
#[test]
fn an_archived_branch_is_drawn_only_among_everything() {
    let mut tree = tree_of("u1 - a1 - u2 - a2\n a1 - u3 - a3*");
    let archive = |tree: &mut SessionTree, target: &str| {
        let fact = Fact::Archived { target: target.into(), archived: true };
        tree.apply(&Record::marked(FixedStamps::start(), fact)).unwrap();
    };
    let shown = |tree: &SessionTree, filter| {
        let options = OutlineOptions { filter, ..OutlineOptions::default() };
        let rows = Outline::of(tree, &options).rows;
        rows.iter().map(|row| row.entry.to_string()).collect::<Vec<_>>().join(" ")
    };
    archive(&mut tree, "u2");
    assert_eq!(shown(&tree, Filter::Default), "u1 a1 u3 a3");
    assert_eq!(shown(&tree, Filter::All), "u1 a1 u3 a3 u2 a2");
    let turns = TurnOutline::of(&tree);
    assert_eq!((turns.branches, turns.prompts), (1, 2));

    archive(&mut tree, "u3");
    assert_eq!(shown(&tree, Filter::Default), "u1 a1 u3 a3", "the way to the head stays");
}
