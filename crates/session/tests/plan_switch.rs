//! Moving heads: switch, rewind, fork inside the tree, heads with names.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use offshoot_session::plan::{
    AppendRefused, NewHeadRefused, Plan, SwitchRefused, append_at_head, plan_fork, plan_move_head,
    plan_new_head, plan_rewind_conversation, plan_send, plan_switch,
};
use offshoot_session::{Body, EntryId, HeadName, Prompt, SessionTree};
use offshoot_testkit::{FixedStamps, draw, tree_of};

const TREE: &str = "
    u1 - a1 - u2 - a2
         a1 - u3 - a3*
";

fn main_head() -> HeadName {
    HeadName::main()
}

fn stamps() -> FixedStamps {
    FixedStamps::after(100)
}

fn after(tree: &SessionTree, plan: &Plan) -> SessionTree {
    tree.extended(&plan.records).unwrap()
}

fn switched(tree: &SessionTree, to: Option<&str>) -> Option<SessionTree> {
    let to: Option<EntryId> = to.map(Into::into);
    let plan = plan_switch(tree, &main_head(), to.as_ref(), &mut stamps()).unwrap();
    plan.map(|plan| after(tree, &plan))
}

/// pi forgets this move at the next start (hazard pi-hz-002).
#[test]
fn a_switch_moves_the_head_and_survives_loading() {
    let tree = switched(&tree_of(TREE), Some("u2")).unwrap();
    let expected = "u1 - a1 - u2* - a2\n     a1 - u3 - a3\n";
    assert_eq!(draw(&tree), expected);
    let (loaded, oddities) = SessionTree::replay(tree.log().cloned());
    assert_eq!(draw(&loaded), expected);
    assert!(oddities.is_empty(), "{oddities:?}");
}

#[test]
fn a_switch_to_where_the_head_is_is_no_step() {
    let tree = tree_of(TREE);
    assert!(switched(&tree, Some("a3")).is_none());
    let before_all = switched(&tree, None).unwrap();
    assert!(switched(&before_all, None).is_none());
}

/// a message sent before the first entry begins another root.
#[test]
fn before_the_first_entry_the_next_prompt_begins_a_tree() {
    let tree = switched(&tree_of("u1 - a1*"), None).unwrap();
    assert_eq!(tree.main_head(), None);
    let prompt = Prompt { blocks: vec![offshoot_session::Block::Text("again".into())], ..Prompt::default() };
    let sent = plan_send(&tree, &main_head(), prompt, &mut FixedStamps::after(200)).unwrap();
    assert_eq!(draw(&after(&tree, &sent.plan)), "u1 - a1\nnew3\"again\"*\n");
}

/// to go to an entry that does not exist is refused.
#[test]
fn a_head_goes_nowhere_that_does_not_exist() {
    let tree = tree_of(TREE);
    let gone: EntryId = "zz".into();
    let refused = plan_switch(&tree, &main_head(), Some(&gone), &mut stamps()).unwrap_err();
    assert_eq!(refused.to_string(), "entry `zz` does not exist");
    let worker: HeadName = "worker".into();
    assert_eq!(
        plan_move_head(&tree, &worker, Some(&"a1".into()), &mut stamps()),
        Err(SwitchRefused::UnknownHead(worker))
    );
}

#[test]
fn a_rewind_discards_nothing() {
    let tree = tree_of("u1 - a1 - u2 - a2*");
    let at: EntryId = "a1".into();
    let plan = plan_rewind_conversation(&tree, &main_head(), Some(&at), &mut stamps()).unwrap().unwrap();
    let rewound = after(&tree, &plan);
    assert_eq!(draw(&rewound), "u1 - a1* - u2 - a2\n");
    assert_eq!(rewound.remembered_leaf(&"u1".into()).unwrap().id, "a2".into(), "the way back is remembered");
    assert_eq!(rewound.operation(&plan.operation).unwrap().name, "rewind");
}

/// to branch moves the head and rewrites nothing.
#[test]
fn after_a_fork_the_next_prompt_begins_a_branch() {
    let tree = tree_of("u1 - a1 - u2 - a2*");
    let plan = plan_fork(&tree, &main_head(), Some(&"a1".into()), &mut stamps()).unwrap().unwrap();
    let tree = after(&tree, &plan);
    let appended =
        append_at_head(&tree, &main_head(), Body::prompt("other"), &mut FixedStamps::after(200)).unwrap();
    assert_eq!(draw(&after(&tree, &appended.plan)), "u1 - a1 - u2 - a2\n     a1 - new2\"other\"*\n");
}

#[test]
fn heads_share_the_tree_and_stand_for_themselves() {
    let tree = tree_of("u1 - a1*");
    let worker: HeadName = "worker".into();
    let tree = after(&tree, &plan_new_head(&tree, &worker, Some(&"u1".into()), &mut stamps()).unwrap());
    let appended =
        append_at_head(&tree, &worker, Body::reply("theirs"), &mut FixedStamps::after(200)).unwrap();
    let tree = after(&tree, &appended.plan);
    assert_eq!(draw(&tree), "u1 - a1*\nu1 - new2\"theirs\"\n");
    assert_eq!(tree.head(&worker), Some(&appended.entry));

    let moved =
        plan_move_head(&tree, &worker, Some(&"a1".into()), &mut FixedStamps::after(300)).unwrap().unwrap();
    assert_eq!(after(&tree, &moved).head(&worker), Some(&"a1".into()));
}

#[test]
fn a_head_may_begin_before_the_first_entry() {
    let tree = tree_of("u1*");
    let worker: HeadName = "worker".into();
    let tree = after(&tree, &plan_new_head(&tree, &worker, None, &mut stamps()).unwrap());
    assert!(tree.has_head(&worker));
    assert_eq!(tree.head(&worker), None);
}

#[test]
fn the_name_of_a_head_is_given_once() {
    let tree = tree_of("u1*");
    let refused = |tree: &SessionTree, name: &str, at: &str| {
        plan_new_head(tree, &name.into(), Some(&at.into()), &mut stamps()).unwrap_err()
    };
    assert_eq!(refused(&tree, "main", "u1"), NewHeadRefused::Exists("main".into()));
    assert_eq!(refused(&tree, "worker", "zz"), NewHeadRefused::NotFound("zz".into()));
    assert_eq!(refused(&tree, " ", "u1"), NewHeadRefused::Blank);
    let tree = after(&tree, &plan_new_head(&tree, &"worker".into(), None, &mut stamps()).unwrap());
    assert_eq!(refused(&tree, "worker", "u1"), NewHeadRefused::Exists("worker".into()));
    assert_eq!(
        append_at_head(&tree, &"nobody".into(), Body::Cleared, &mut stamps()),
        Err(AppendRefused::UnknownHead("nobody".into()))
    );
}
