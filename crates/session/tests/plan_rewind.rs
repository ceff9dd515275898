//! Going back, in the words of an agent that has one line.

use offshoot_session::agent::Abilities;
use offshoot_session::plan::{AgentRewind, RewindRefused, RewindScope, agent_may_rewind, agent_rewind};
use offshoot_testkit::tree_of;

#[test]
fn an_agent_that_counts_turns_forgets_those_from_the_prompt_on() {
    let tree = tree_of("u1 - a1 - u2 - a2 - u3 - a3*\n a1 - u4 - a4");
    let to = |prompt: &str| agent_rewind(&tree, &"a3".into(), &prompt.into());
    let expected = AgentRewind { kept_turns: 1, dropped_turns: 2 };
    assert_eq!(to("u2"), Ok(expected));
    assert_eq!(to("u1"), Ok(AgentRewind { kept_turns: 0, dropped_turns: 3 }));
    assert_eq!(to("u4"), Err(RewindRefused::NotAPrompt("u4".into())), "it is on another branch");
    assert_eq!(to("a1"), Err(RewindRefused::NotAPrompt("a1".into())));
    assert_eq!(to("x"), Err(RewindRefused::NotFound("x".into())));
}

/// a rewind of files is previewed and refused if none are kept.
#[test]
fn files_go_back_only_where_the_agent_keeps_them() {
    let (keeps, does_not) =
        (Abilities { file_checkpoints: true, ..Abilities::default() }, Abilities::default());
    assert_eq!(agent_may_rewind("X", &keeps, RewindScope::Both), Ok(()));
    assert_eq!(agent_may_rewind("X", &does_not, RewindScope::Conversation), Ok(()));
    let refused = agent_may_rewind("X", &does_not, RewindScope::Files);
    assert_eq!(refused, Err(RewindRefused::FilesNotKept { agent: "X".into() }));
}
