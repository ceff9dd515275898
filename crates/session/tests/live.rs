//! Replies that are being written, beside the tree until they are final.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::live::{Delta, LiveReplies, NotLive};
use offshoot_session::{
    Block, Body, HeadMove, HeadName, Interruption, Model, Record, Reply, SessionTree, TurnId,
};
use offshoot_testkit::{FixedStamps, draw, tree_of};

fn shown(tree: &SessionTree) -> String {
    let words = |body: &Body| match body {
        Body::Interrupted(_) => "interrupted".to_owned(),
        body => body.text(),
    };
    let path = tree.path_to(tree.main_head());
    path.iter().map(|entry| words(&entry.body)).collect::<Vec<_>>().join(" ")
}

fn move_head(tree: &mut SessionTree, to: &str) {
    let head_move = HeadMove {
        head: HeadName::main(),
        moved_at: FixedStamps::start(),
        from: tree.main_head().cloned(),
        to: Some(to.into()),
    };
    tree.apply(&Record::head_moved(head_move)).unwrap();
}

/// A turn `t` that has only its prompt `u` yet, and somebody listening.
struct Listening {
    tree: SessionTree,
    live: LiveReplies,
    turn: TurnId,
    stamps: FixedStamps,
}

impl Listening {
    fn new() -> Self {
        let mut live = LiveReplies::default();
        live.begin("t".into(), "u".into());
        Self { tree: tree_of("u/t*"), live, turn: "t".into(), stamps: FixedStamps::after(10) }
    }

    fn words(&mut self, words: &str) -> &mut Self {
        self.live.extend(&self.turn, Delta::Words(words), &mut self.stamps).unwrap();
        self
    }

    fn whole(&mut self, text: &str) -> &mut Self {
        self.live.append(&self.turn, Body::reply(text), &mut self.stamps).unwrap();
        self
    }

    fn replaced(&mut self, text: &str) -> &mut Self {
        self.live.replace_last(&self.turn, Body::reply(text)).unwrap();
        self
    }

    fn shown(&self) -> String {
        shown(&self.live.over(&self.tree))
    }
}

#[test]
fn a_message_that_comes_again_is_replaced_by_the_whole_of_it() {
    let mut listening = Listening::new();
    listening.whole("He").replaced("Hello");
    assert_eq!(listening.shown(), "u Hello");
    listening.whole("again").whole("x").whole("y");
    assert_eq!(listening.shown(), "u Hello again x y");
}

#[test]
fn words_are_shown_as_they_come_and_the_tree_stays_as_it_is() {
    let mut listening = Listening::new();
    listening.words("Hel").words("lo");
    assert_eq!(listening.shown(), "u Hello");
    assert_eq!(draw(&listening.tree), "u*\n");
    assert_eq!(draw(&listening.live.over(&listening.tree)), "u - new1\"Hello\"*\n");
}

#[test]
fn thinking_words_and_tools_are_blocks_of_one_reply() {
    let mut listening = Listening::new();
    let Listening { live, turn, stamps, .. } = &mut listening;
    let deltas = [
        Delta::Thinking("hm"),
        Delta::Thinking("m"),
        Delta::Words("I"),
        Delta::Block(Block::Other { kind: "chart".into() }),
        Delta::Words("see"),
    ];
    for delta in deltas {
        live.extend(turn, delta, stamps).unwrap();
    }
    let [reply] = &live.responses(turn)[..] else { panic!("one reply") };
    let expected = [
        Block::Thinking("hmm".into()),
        Block::Text("I".into()),
        Block::Other { kind: "chart".into() },
        Block::Text("see".into()),
    ];
    assert_eq!(reply.body.blocks(), expected);
}

#[test]
fn a_message_begun_as_a_whole_goes_on_in_words() {
    let mut listening = Listening::new();
    let model = Some(Model { provider: "test".into(), name: "small".into() });
    let begun = Reply { model: model.clone(), ..Reply::default() };
    listening.live.append(&listening.turn, Body::Reply(begun), &mut listening.stamps).unwrap();
    listening.words("Hi");
    let entries = listening.live.responses(&listening.turn);
    let expected = Reply { blocks: vec![Block::Text("Hi".into())], model, ..Reply::default() };
    assert_eq!(entries.iter().map(|entry| &entry.body).collect::<Vec<_>>(), [&Body::Reply(expected)]);
    listening.replaced("Hi there");
    assert_eq!(listening.shown(), "u Hi there");
}

#[test]
fn a_reply_of_which_nothing_came_is_not_an_entry() {
    let mut listening = Listening::new();
    listening.live.append(&listening.turn, Body::Reply(Reply::default()), &mut listening.stamps).unwrap();
    assert!(listening.live.finish(&listening.turn).is_empty());
}

#[test]
fn an_interruption_is_a_response() {
    let mut listening = Listening::new();
    listening.whole("Hel");
    listening
        .live
        .append(&listening.turn, Body::Interrupted(Interruption::Wanted), &mut listening.stamps)
        .unwrap();
    assert_eq!(listening.shown(), "u Hel interrupted");
    listening.whole("Hello");
    assert_eq!(
        listening.shown(),
        "u Hel interrupted Hello",
        "it does not take the place of the interruption"
    );
}

/// the last response can be replaced while it is being written.
#[test]
fn the_last_response_can_be_replaced_while_there_is_one() {
    let mut listening = Listening::new();
    listening.live.replace_last(&listening.turn, Body::reply("x")).unwrap();
    assert_eq!(listening.shown(), "u");
    listening.words("one").whole("two");
    listening.live.replace_last(&listening.turn, Body::reply("2")).unwrap();
    assert_eq!(listening.shown(), "u one 2");
}

#[test]
fn a_turn_that_nobody_listens_to_changes_nothing() {
    let mut listening = Listening::new();
    let Listening { live, stamps, .. } = &mut listening;
    let other = TurnId::from("other");
    let refused = Err(NotLive("other".into()));
    assert_eq!(live.extend(&other, Delta::Words("x"), stamps), refused);
    assert_eq!(live.append(&other, Body::reply("x"), stamps), refused);
    assert_eq!(live.replace_last(&other, Body::reply("x")), refused);
    assert!(live.finish(&other).is_empty());
    assert_eq!(live.turns().count(), 1);
    assert_eq!(listening.shown(), "u");
}

#[test]
fn what_is_finished_looks_as_it_did_live() {
    let mut listening = Listening::new();
    listening.words("one").whole("two");
    let before = draw(&listening.live.over(&listening.tree));
    let records = listening.live.finish(&listening.turn);
    let tree = listening.tree.extended(&records).unwrap();
    assert_eq!(draw(&tree), before);
    assert_eq!(draw(&tree), "u - new1\"one\" - new2\"two\"*\n");
    assert!(tree.entries().all(|entry| entry.turn.as_ref() == Some(&listening.turn)));
    assert!(!listening.live.is_live(&listening.turn));
}

#[test]
fn what_is_settled_is_final_and_the_turn_goes_on_below_it() {
    let mut listening = Listening::new();
    listening.words("one");
    let records = listening.live.settle(&listening.turn);
    listening.tree = listening.tree.extended(&records).unwrap();
    listening.live.replace_last(&listening.turn, Body::reply("other")).unwrap();
    assert_eq!(listening.shown(), "u one");
    listening.words("two");
    assert_eq!(draw(&listening.live.over(&listening.tree)), "u - new1\"one\" - new2\"two\"*\n");
}

#[test]
fn a_turn_that_was_undone_is_not_shown() {
    let mut listening = Listening::new();
    listening.words("one");
    assert_eq!(shown(&listening.live.over(&tree_of("x1*"))), "x1");
}

#[test]
fn a_snapshot_never_changes_under_its_reader() {
    let mut listening = Listening::new();
    let long = "w".repeat(10_000);
    listening.words("a").words(&long);
    let snapshot = listening.live.clone();
    listening.words("b").whole("c");
    let text =
        |live: &LiveReplies| live.responses(&"t".into()).iter().map(|e| e.body.text()).collect::<Vec<_>>();
    assert_eq!(text(&snapshot), [format!("a{long}")]);
    assert_eq!(text(&listening.live), [format!("a{long}b"), "c".to_owned()]);
}

/// Against one string and one list of blocks, with snapshots taken in between: however the words are cut, around the
/// length at which a part of the text is closed too.
#[test]
fn what_is_read_is_what_came_wherever_it_was_cut() {
    let mut listening = Listening::new();
    let (mut expected, mut taken): (Vec<Block>, Vec<(LiveReplies, Vec<Block>)>) = (Vec::new(), Vec::new());
    for round in 0..400_usize {
        let words = "né ".repeat([0, 1, 7, 300, 1365, 1366, 4000][round % 7]);
        let Listening { live, turn, stamps, .. } = &mut listening;
        let (delta, block) = match round % 97 {
            0..60 => (Delta::Words(&words), Block::Text(words.clone())),
            60..96 => (Delta::Thinking(&words), Block::Thinking(words.clone())),
            _ => {
                let chart = Block::Other { kind: format!("chart{round}") };
                (Delta::Block(chart.clone()), chart)
            }
        };
        live.extend(turn, delta, stamps).unwrap();
        match (expected.last_mut(), block) {
            (Some(Block::Text(text)), Block::Text(more))
            | (Some(Block::Thinking(text)), Block::Thinking(more)) => text.push_str(&more),
            (_, block) => expected.push(block),
        }
        if round % 13 == 0 {
            taken.push((live.clone(), expected.clone()));
        }
    }
    taken.push((listening.live.clone(), expected));
    for (live, blocks) in taken {
        assert_eq!(live.responses(&listening.turn)[0].body.blocks(), blocks);
    }
}

#[test]
fn turns_are_told_in_the_order_of_their_names_and_grow_apart() {
    let mut live = LiveReplies::default();
    let mut stamps = FixedStamps::after(10);
    for turn in ["b", "c", "a", "b"] {
        live.begin(turn.into(), "u".into());
        live.extend(&turn.into(), Delta::Words(turn), &mut stamps).unwrap();
    }
    let text = |live: &LiveReplies, turn: &TurnId| live.responses(turn)[0].body.text();
    let said: Vec<String> = live.turns().map(|turn| text(&live, turn)).collect();
    assert_eq!(said, ["a", "bb", "c"]);
    live.finish(&"b".into());
    assert_eq!(live.turns().map(TurnId::as_str).collect::<Vec<_>>(), ["a", "c"]);
}

/// Were the text copied for every snapshot, this would move about 400 GB.
#[test]
fn a_long_reply_costs_what_is_added_to_it() {
    let mut listening = Listening::new();
    let mut snapshots = Vec::new();
    for _ in 0..200_000 {
        listening.words("word ");
        snapshots.push(listening.live.clone());
        if snapshots.len() > 8 {
            snapshots.clear();
        }
    }
    assert_eq!(listening.live.responses(&listening.turn)[0].body.text().len(), 1_000_000);
}

#[test]
fn a_head_that_comes_back_to_a_running_turn_goes_along_with_it_again() {
    let mut tree = tree_of("u1/t1 - a1/t1*\n u2");
    move_head(&mut tree, "u2");
    move_head(&mut tree, "a1");
    let mut live = LiveReplies::default();
    live.begin("t1".into(), "a1".into());
    live.extend(&"t1".into(), Delta::Words("more"), &mut FixedStamps::after(10)).unwrap();
    assert_eq!(draw(&live.over(&tree)), "u1 - a1 - new1\"more\"*\nu2\n");
}
