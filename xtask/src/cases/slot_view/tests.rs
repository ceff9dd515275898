//! Slots and timelines, drawn: one line for each version, `*` where it is the one shown in its slot, what answered
//! it behind the colon, and the slots below it indented.

use std::sync::Arc;

use offshoot_session::plan::VersionStep;
use offshoot_session::{
    Binding, Block, Body, Change, Entry, EntryId, Fact, HeadMove, HeadName, Missing, Prompt, Provenance,
    Record, SessionTree,
};
use offshoot_testkit::{FixedStamps, draw, drawn, tree_of};

use super::{Conversation, EditInfo, Slot, SlotNotFound, SlotPath, SlotPathSegment, SlotView};

fn said<'e>(entries: impl IntoIterator<Item = &'e Arc<Entry>>) -> String {
    let word = |entry: &Arc<Entry>| match &entry.body {
        Body::Interrupted(_) => "interrupted".to_owned(),
        Body::Reply(reply) if reply.tool_uses().next().is_some() => entry.id.to_string(),
        body => body.text(),
    };
    entries.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

fn slots(view: &SlotView) -> String {
    fn slot(view: &SlotView, slot_: &Slot, depth: usize, text: &mut String) {
        let info = slot_.edit_info();
        for (version, timeline) in view.timelines(slot_).enumerate() {
            let shown = if version == info.current_index { "*" } else { " " };
            let line = format!(
                "{}{}/{}{shown} {}: {}",
                "  ".repeat(depth),
                version + 1,
                info.total_versions,
                timeline.prompt.body.text(),
                said(&timeline.responses)
            );
            text.push_str(line.trim_end());
            text.push('\n');
            for child in view.child_slots(timeline) {
                slot(view, child, depth + 1, text);
            }
        }
    }
    let mut text = String::new();
    view.top_slots().for_each(|top| slot(view, top, 0, &mut text));
    text
}

fn shown(view: &SlotView) -> String {
    said(view.active_messages())
}

/// The slots of a drawn tree, and what of them is shown.
#[track_caller]
fn check(tree: &SessionTree, expected_slots: &str, expected_shown: &str) {
    let view = SlotView::of(tree);
    let expected: String = expected_slots
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(slots(&view), expected);
    assert_eq!(shown(&view), expected_shown);
}

fn path(steps: &[(usize, usize)]) -> SlotPath {
    steps.iter().map(|(slot, timeline)| SlotPathSegment { slot: *slot, timeline: *timeline }).collect()
}

fn with_head(tree: &SessionTree, to: Option<&str>) -> SessionTree {
    let head_move = HeadMove {
        head: HeadName::main(),
        moved_at: FixedStamps::start(),
        from: tree.main_head().cloned(),
        to: to.map(Into::into),
    };
    tree.extended(&[Record::head_moved(head_move)]).unwrap()
}

#[test]
fn an_empty_session_shows_nothing() {
    let view = SlotView::of(&SessionTree::default());
    assert_eq!(slots(&view), "");
    assert_eq!(shown(&view), "");
    assert_eq!(view.active_leaf_path(), []);
    assert_eq!(view.active_leaf_session(), None);
    assert!(view.all_edit_info().is_empty());
    assert!(view.resolve(&[]).is_none());
}

/// the active leaf is addressed through the version shown in each slot.
/// a session is seen as slots from the top down.
#[test]
fn prompts_below_one_parent_are_versions() {
    let tree = tree_of(
        "u1 - a1 - u2 - a2 - u4 - a4
              a1 - u3 - a3*",
    );
    check(
        &tree,
        "
1/1* u1: a1
  1/2  u2: a2
    1/1* u4: a4
  2/2* u3: a3",
        "u1 a1 u3 a3",
    );
    assert_eq!(SlotView::of(&tree).active_leaf_path(), path(&[(0, 0), (0, 1)]));
}

#[test]
fn several_roots_are_versions_of_the_first_prompt() {
    check(&tree_of("u1 - a1\n u2 - a2*\n u3"), "1/3  u1: a1\n2/3* u2: a2\n3/3  u3:", "u2 a2");
}

#[test]
fn settings_above_a_prompt_belong_to_its_version() {
    let tree = tree_of(
        "m0 - u1 - a1 - m1 - u2 - a2
                        m1 - u3 - n1 - a3*
                   a1 - u4",
    );
    check(
        &tree,
        "
1/1* u1: a1
  1/3  u2: a2
  2/3* u3: a3
  3/3  u4:",
        "u1 a1 u3 a3",
    );
    assert_eq!(SlotView::of(&tree).active_leaf_path(), path(&[(0, 0), (0, 1)]));
}

#[test]
fn everything_said_between_prompts_answers_the_prompt() {
    check(
        &tree_of("u1 - c1 - t1 - a1 - m1 - k1 - x1 - n1 - z1 - s1 - i1 - u2 - a2*"),
        "1/1* u1: c1 t1 a1 k1 x1 s1 interrupted\n  1/1* u2: a2",
        "u1 c1 t1 a1 k1 x1 s1 interrupted u2 a2",
    );
}

#[test]
fn a_reply_that_goes_on_in_two_ways_is_shown_on_the_way_of_the_head() {
    let drawing = "
        u1 - a1 - a2 - u2 - a3
             a1 - a4 - u3 - a5*
    ";
    let tree = tree_of(drawing);
    let both = "
1/1* u1: a1 a4
  1/1* u2: a3
  1/1* u3: a5";
    check(&tree, both, "u1 a1 a4 u3 a5");
    assert_eq!(SlotView::of(&tree).active_leaf_path(), path(&[(0, 0), (1, 0)]));

    let other = with_head(&tree, Some("a3"));
    check(&other, &both.replace("a1 a4", "a1 a2"), "u1 a1 a2 u2 a3");
    assert_eq!(SlotView::of(&other).active_leaf_path(), path(&[(0, 0), (0, 0)]));
}

#[test]
fn what_is_shown_ends_at_the_head() {
    let tree = tree_of("u1 - a1 - u2 - a2*\n a1 - u3");
    check(&with_head(&tree, Some("a1")), "1/1* u1: a1\n  1/2* u2: a2\n  2/2  u3:", "u1 a1");
    check(&with_head(&tree, Some("u1")), "1/1* u1:\n  1/2* u2: a2\n  2/2  u3:", "u1");
    check(&with_head(&tree, None), "1/1* u1: a1\n  1/2* u2: a2\n  2/2  u3:", "");
}

#[test]
fn words_before_the_first_prompt_are_shown_and_belong_to_no_slot() {
    let tree = tree_of("x0 - m0 - u1 - a1*\n x0 - s1 - u2");
    check(&tree, "1/1* u1: a1\n1/1* u2:", "x0 u1 a1");
    assert_eq!(said(SlotView::of(&tree).messages_before(&"u2".into()).unwrap()), "x0 s1");
    let alone = tree_of("x0*");
    check(&alone, "", "x0");
    assert_eq!(SlotView::of(&alone).active_leaf_path(), []);
}

#[test]
fn an_answer_that_comes_late_stands_with_its_prompt() {
    let tree = tree_of(
        "u1/t1 - u2/t2 - a2/t2*
            u1 - c1/t1 - a1/t1",
    );
    check(&tree, "1/1* u1: c1 a1\n  1/1* u2: a2", "u1 c1 a1 u2 a2");
    assert_eq!(said(SlotView::of(&tree).messages_before(&"u2".into()).unwrap()), "u1 c1 a1");
}

#[test]
fn an_answer_that_came_late_stands_before_every_version_of_what_followed() {
    let tree = tree_of(
        "u1/t1 - u2/t2
            u1 - a1/t1
            u1 - u3/t3*",
    );
    check(&tree, "1/1* u1: a1\n  1/2  u2:\n  2/2* u3:", "u1 a1 u3");
}

#[test]
fn an_answer_that_was_left_aside_is_not_shown() {
    let tree = tree_of(
        "u1/t1 - a1/t1 - a2/t1 - u2/t2
                    a1 - u3/t3*",
    );
    let aside = "
1/1* u1: a1
  1/1* u2:
  1/1* u3:";
    check(&tree, aside, "u1 a1 u3");
    check(&with_head(&tree, Some("u2")), &aside.replace("a1", "a1 a2"), "u1 a1 a2 u2");
    assert_eq!(said(SlotView::of(&tree).messages_before(&"u2".into()).unwrap()), "u1 a1 a2");
}

#[test]
fn what_one_turn_wrote_side_by_side_is_all_shown() {
    let tree = tree_of(
        "u1/t1 - c1/t1 - c2/t1 - a1/t1*
                    c1 - t1/t1",
    );
    check(&tree, "1/1* u1: c1 c2 a1 t1", "u1 c1 c2 a1 t1");
}

#[test]
fn a_cycle_is_survived() {
    let entry = |id: &str, parent: &str| {
        Record::entry(Entry {
            id: id.into(),
            parent: Some(parent.into()),
            written_at: FixedStamps::start(),
            turn: None,
            body: Body::prompt(id),
        })
    };
    let (tree, _) = SessionTree::replay([entry("C", "B"), entry("A", "B"), entry("B", "A")]);
    check(&with_head(&tree, Some("C")), "1/1* A:\n  1/1* B:\n    1/1* C:", "A B C");
}

#[test]
fn an_archived_version_is_left_out_unless_the_head_is_on_it() {
    let archive = |tree: &SessionTree, id: &str| {
        let fact = Fact::Archived { target: id.into(), archived: true };
        tree.extended(&[Record::marked(FixedStamps::start(), fact)]).unwrap()
    };
    let tree = tree_of("u1 - a1 - u9\n u2 - a2*\n u3");
    let without = archive(&tree, "u1");
    check(&without, "1/2* u2: a2\n2/2  u3:", "u2 a2");
    assert_eq!(SlotView::of(&without).edit_info(&"u1".into()).unwrap().total_versions, 2, "the id stays");
    assert!(SlotView::of(&without).find_slot(&"u9".into()).is_none());
    check(&archive(&tree, "u2"), "1/3  u1: a1\n  1/1* u9:\n2/3* u2: a2\n3/3  u3:", "u2 a2");
}

/// an edit group says its current version and how many there are.
/// the version numbers of the active path are listed together.
/// a slot is found by its edit group; an unknown one changes nothing.
#[test]
fn edit_info_is_known_for_every_slot_and_listed_for_those_shown() {
    let view = SlotView::of(&tree_of(
        "u1 - a1 - u2 - a2 - u4
              a1 - u3 - a3*
                   a2 - u5",
    ));
    let info = |group: &str, current_index, total_versions| EditInfo {
        edit_group: group.into(),
        current_index,
        total_versions,
        has_multiple_versions: total_versions > 1,
    };
    assert_eq!(view.all_edit_info(), [info("u1", 0, 1), info("u2", 1, 2)]);
    assert_eq!(view.edit_info(&"u4".into()), Some(info("u4", 1, 2)), "not shown, never visited: the newest");
    assert_eq!(view.edit_info(&"u3".into()), None, "a later version does not name its slot");
    assert_eq!(view.edit_info(&"a1".into()), None);
    assert_eq!(view.edit_info(&"nobody".into()), None);
}

/// a version can be addressed by a path of slot and version numbers.
/// a path with a number out of range leads to nothing.
#[test]
fn an_address_leads_to_a_timeline_or_nowhere() {
    let view = SlotView::of(&tree_of("u1 - a1 - u2 - a2*\n a1 - u3"));
    let prompt =
        |steps: &[(usize, usize)]| view.resolve(&path(steps)).map(|found| found.prompt.id.to_string());
    assert_eq!(prompt(&[(0, 0)]).as_deref(), Some("u1"));
    assert_eq!(prompt(&[(0, 0), (0, 1)]).as_deref(), Some("u3"));
    assert_eq!(prompt(&[]), None);
    assert_eq!(prompt(&[(5, 0)]), None);
    assert_eq!(prompt(&[(0, 5)]), None);
    assert_eq!(prompt(&[(0, 0), (0, 1), (0, 0)]), None);
}

/// the messages before a slot are those above it on its path.
#[test]
fn messages_before_a_slot_are_those_on_its_own_way() {
    let tree = tree_of(
        "u1 - a1 - u2 - a2 - u3 - a3
         u4 - a4*",
    );
    let view = SlotView::of(&tree);
    let before = |group: &str| view.messages_before(&group.into()).map(said);
    assert_eq!(before("u1").as_deref(), Ok(""));
    assert_eq!(before("u3").as_deref(), Ok("u1 a1 u2 a2"));
    assert_eq!(before("nobody"), Err(SlotNotFound("nobody".into())));
}

/// the agent session of a branch is that of its deepest bound turn.
#[test]
fn the_session_to_go_on_with_is_the_deepest_bound_on_the_path() {
    let mut tree = tree_of("u1 - a1 - u2 - a2*\n a1 - u3");
    let mut bind = |at: &str, session: Option<&str>| {
        let fact = Fact::Bound {
            at: at.into(),
            agent_session: session.map(Into::into),
            provenance: Provenance::Continued,
            last_message: None,
            agent: None,
            missing: Missing::default(),
            inherited: false,
            model: None,
        };
        tree.apply(&Record::marked(FixedStamps::start(), fact)).unwrap();
        SlotView::of(&tree).active_leaf_session().map(ToString::to_string)
    };
    assert_eq!(bind("u3", Some("elsewhere")), None);
    assert_eq!(bind("u1", Some("one")).as_deref(), Some("one"));
    assert_eq!(bind("u2", None).as_deref(), Some("one"));
    assert_eq!(bind("a2", Some("two")).as_deref(), Some("two"), "bound by the answer");
}

/// A conversation with its stamps, so that a test reads as a list of steps. Groups are named by the first words.
struct Talk {
    now: Conversation,
    stamps: FixedStamps,
}

impl Talk {
    fn new() -> Self {
        Self { now: Conversation::default(), stamps: FixedStamps::default() }
    }

    fn group(&self, first_words: &str) -> EntryId {
        let named = |entry: &&Arc<Entry>| entry.body.is_prompt() && entry.body.text() == first_words;
        self.now.tree.entries().find(named).map_or("nobody".into(), |entry| entry.id.clone())
    }

    fn say(&mut self, words: &str) -> &mut Self {
        self.say_in(words, None)
    }

    fn say_in(&mut self, words: &str, session: Option<&str>) -> &mut Self {
        let prompt = Prompt { blocks: vec![Block::Text(words.into())], ..Prompt::default() };
        self.now = self.now.append_user(prompt, binding(session), &mut self.stamps).unwrap().0;
        self
    }

    fn answer(&mut self, words: &str) -> &mut Self {
        let leaf = self.now.view().active_leaf_path();
        self.now = self.now.append_response(&leaf, Body::reply(words), &mut self.stamps);
        self
    }

    fn edit(&mut self, group: &str, words: &str) -> &mut Self {
        let group = self.group(group);
        self.now = self.now.edit(&group, words, None, &mut self.stamps);
        self
    }

    fn go(&mut self, group: &str, step: VersionStep) -> &mut Self {
        let group = self.group(group);
        self.now = self.now.navigate(&group, step, &mut self.stamps);
        self
    }

    fn left(&mut self, group: &str) -> &mut Self {
        self.go(group, VersionStep::Previous)
    }

    fn right(&mut self, group: &str) -> &mut Self {
        self.go(group, VersionStep::Next)
    }

    #[track_caller]
    fn shows(&mut self, expected_slots: &str, expected_shown: &str) -> &mut Self {
        check(&self.now.live.over(&self.now.tree), expected_slots, expected_shown);
        self
    }
}

fn binding(session: Option<&str>) -> Option<Binding> {
    session.map(|session| Binding {
        agent_session: Some(session.into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    })
}

#[test]
fn a_conversation_goes_on_below_what_is_shown() {
    let mut talk = Talk::new();
    talk.say("A").shows("1/1* A:", "A");
    talk.answer("R1").shows("1/1* A: R1", "A R1");
    talk.say("B").shows("1/1* A: R1\n  1/1* B:", "A R1 B");
    assert_eq!(talk.now.view().active_leaf_path(), path(&[(0, 0), (0, 0)]));
    let prompt_b = talk.now.tree.entry(&talk.group("B")).unwrap();
    let reply = talk.now.tree.entries().find(|entry| entry.body.text() == "R1").unwrap();
    assert_eq!(prompt_b.parent.as_ref(), Some(&reply.id), "what was answered is final and lies above");
}

#[test]
fn a_blank_prompt_is_not_said() {
    let mut stamps = FixedStamps::default();
    assert!(Conversation::default().append_user(Prompt::default(), None, &mut stamps).is_err());
}

/// a version has its prompt, its responses, its child slots and its agent session.
#[test]
fn an_edit_is_a_new_version_and_the_old_one_keeps_what_came_of_it() {
    let mut talk = Talk::new();
    talk.say("A").answer("R1").say("B").answer("R2");
    talk.edit("A", "A'").shows(
        "
1/2  A: R1
  1/1* B: R2
2/2* A':",
        "A'",
    );
    talk.answer("R1'").say("C").shows(
        "
1/2  A: R1
  1/1* B: R2
2/2* A': R1'
  1/1* C:",
        "A' R1' C",
    );
    assert_eq!(talk.now.view().active_leaf_path(), path(&[(0, 1), (0, 0)]));
}

#[test]
fn an_edit_that_says_nothing_new_changes_nothing() {
    let mut talk = Talk::new();
    talk.say("A").edit("A", "A'");
    let before = draw(&talk.now.tree);
    talk.edit("A", "A'").edit("A", "  ").edit("nobody", "B");
    assert_eq!(draw(&talk.now.tree), before);
    talk.edit("A", "A").shows("1/3  A:\n2/3  A':\n3/3* A:", "A");
}

#[test]
fn arrows_stop_at_the_ends() {
    let mut talk = Talk::new();
    talk.say("A").edit("A", "B").edit("A", "C");
    talk.right("A").shows("1/3  A:\n2/3  B:\n3/3* C:", "C");
    talk.left("A").shows("1/3  A:\n2/3* B:\n3/3  C:", "B");
    talk.left("A").left("A").left("A").shows("1/3* A:\n2/3  B:\n3/3  C:", "A");
    talk.right("A").shows("1/3  A:\n2/3* B:\n3/3  C:", "B");
    talk.left("nobody").shows("1/3  A:\n2/3* B:\n3/3  C:", "B");
    talk.go("A", VersionStep::To(2)).shows("1/3  A:\n2/3  B:\n3/3* C:", "C");
}

#[test]
fn choices_further_down_are_remembered_while_a_person_is_away() {
    let mut talk = Talk::new();
    talk.say("A").answer("1").say("B").answer("2").say("C").edit("C", "C'").edit("B", "B'").answer("2'");
    talk.left("B").left("C");
    let home = "
1/1* A: 1
  1/2* B: 2
    1/2* C:
    2/2  C':
  2/2  B': 2'";
    talk.shows(home, "A 1 B 2 C");
    talk.edit("A", "A'").say("D").left("A");
    let with_branch = home.replace("1/1* A", "1/2* A") + "\n2/2  A':\n  1/1* D:";
    talk.shows(&with_branch, "A 1 B 2 C");
}

/// a version on another branch can be changed without going there.
#[test]
fn a_step_where_nobody_looks_leaves_the_person_where_they_are() {
    let mut talk = Talk::new();
    talk.say("A").say("B").say("C").edit("B", "B'").edit("A", "A'");
    talk.shows(
        "
1/2  A:
  1/2  B:
    1/1* C:
  2/2* B':
2/2* A':",
        "A'",
    );
    talk.edit("C", "C'").shows(
        "
1/2  A:
  1/2  B:
    1/2  C:
    2/2* C':
  2/2* B':
2/2* A':",
        "A'",
    );
    talk.left("B").shows(
        "
1/2  A:
  1/2* B:
    1/2  C:
    2/2* C':
  2/2  B':
2/2* A':",
        "A'",
    );
    talk.left("A");
    assert_eq!(shown(&talk.now.view()), "A B C'");
}

#[test]
fn every_version_keeps_its_own_session() {
    let mut talk = Talk::new();
    talk.say_in("A", Some("one")).say("B");
    let leaf = |talk: &Talk| talk.now.view().active_leaf_session().map(ToString::to_string);
    assert_eq!(leaf(&talk).as_deref(), Some("one"), "B goes on in the session of A");
    let group = talk.group("A");
    talk.now = talk.now.edit(&group, "A'", binding(Some("two")), &mut talk.stamps);
    assert_eq!(leaf(&talk).as_deref(), Some("two"));
    talk.edit("A", "A''");
    assert_eq!(leaf(&talk), None, "to be made when something is sent");
    talk.go("A", VersionStep::To(0));
    assert_eq!(leaf(&talk).as_deref(), Some("one"));
}

#[test]
fn a_conversation_goes_on_after_an_import() {
    let mut talk = Talk::new();
    talk.now =
        Conversation::import([Body::prompt("A"), Body::reply("1"), Body::prompt("B")], &mut talk.stamps)
            .unwrap();
    talk.answer("2").say("C").answer("3").shows(
        "
1/1* A: 1
  1/1* B: 2
    1/1* C: 3",
        "A 1 B 2 C 3",
    );
    talk.edit("A", "A'").left("A");
    assert_eq!(shown(&talk.now.view()), "A 1 B 2 C 3");
}

#[test]
fn the_view_says_the_same_after_a_reload() {
    let mut talk = Talk::new();
    talk.say("A").answer("1").say("B").edit("B", "B'").edit("A", "A'").left("A").left("B").say("C");
    let (reloaded, oddities) = SessionTree::replay(talk.now.tree.log().cloned());
    assert!(oddities.iter().all(|odd| odd.what == offshoot_session::Odd::MissingHeader), "{oddities:?}");
    assert_eq!(slots(&SlotView::of(&reloaded)), slots(&talk.now.view()));
    assert_eq!(shown(&SlotView::of(&reloaded)), "A 1 B C");
}

#[test]
fn a_view_and_a_conversation_never_change_under_their_reader() {
    let mut talk = Talk::new();
    talk.say("A").answer("1");
    let (snapshot, view) = (talk.now.clone(), talk.now.view());
    let before = slots(&view);
    talk.answer("2").say("B").edit("A", "A'");
    assert_eq!(slots(&view), before);
    assert_eq!(slots(&snapshot.view()), before);
}

#[test]
fn a_drawn_session_with_moves_shows_what_was_visited() {
    let mut records = drawn("u1 - a1 - u2 - a2\n a1 - u3 - a3\n a1 - u4*");
    for (from, to) in [("u4", "a2"), ("a2", "u1")] {
        records.push(Record::new(Change::HeadMoved(HeadMove {
            head: HeadName::main(),
            moved_at: FixedStamps::start(),
            from: Some(from.into()),
            to: Some(to.into()),
        })));
    }
    let (tree, _) = SessionTree::replay(records);
    check(&tree, "1/1* u1:\n  1/3* u2: a2\n  2/3  u3: a3\n  3/3  u4:", "u1");
}

fn asked(words: &str, talk: &Conversation, stamps: &mut FixedStamps) -> (Conversation, EntryId) {
    let prompt = Prompt { blocks: vec![Block::Text(words.into())], ..Prompt::default() };
    talk.append_user(prompt, None, stamps).unwrap()
}

fn shown_in(talk: &Conversation) -> String {
    shown(&talk.view())
}

/// a change by path reaches that version only; an empty path reaches none.
/// a response is added to the version that it answers.
#[test]
fn a_response_goes_where_its_address_says() {
    let mut stamps = FixedStamps::default();
    let (talk, _) = asked("A", &Conversation::default(), &mut stamps);
    let (talk, _) = asked("B", &talk, &mut stamps);
    let late = talk.append_response(&path(&[(0, 0)]), Body::reply("late"), &mut stamps);
    assert_eq!(shown_in(&late), "A late B");
    let nowhere = [path(&[]), path(&[(3, 0)]), path(&[(0, 1)]), path(&[(0, 0), (0, 0), (0, 0)])];
    for address in nowhere {
        assert_eq!(shown_in(&talk.append_response(&address, Body::reply("x"), &mut stamps)), "A B");
        assert_eq!(shown_in(&talk.update_last_response(&address, Body::reply("x"))), "A B");
    }
    let updated = late.update_last_response(&path(&[(0, 0)]), Body::reply("later"));
    assert_eq!(shown_in(&updated), "A later B");
    assert_eq!(shown_in(&late), "A late B", "the earlier conversation is as it was");
}

#[test]
fn a_turn_goes_on_while_the_person_is_elsewhere() {
    let mut stamps = FixedStamps::default();
    let (talk, group) = asked("A", &Conversation::default(), &mut stamps);
    let talk = talk.append_response(&path(&[(0, 0)]), Body::reply("1"), &mut stamps);
    let away = talk.edit(&group, "B", None, &mut stamps);
    let away = away.append_response(&path(&[(0, 0)]), Body::reply("2"), &mut stamps);
    assert_eq!(shown_in(&away), "B");
    let turn = away.tree.entry(&group).and_then(|entry| entry.turn.clone()).unwrap();
    let mut finished = away.clone();
    finished.tree = finished.tree.extended(&finished.live.finish(&turn)).unwrap();
    assert_eq!(shown_in(&finished), "B", "a head that left stays where it was put");
    for talk in [away, finished] {
        let back = talk.navigate(&group, VersionStep::Previous, &mut stamps.clone());
        assert_eq!(shown_in(&back), "A 1 2");
    }
}
