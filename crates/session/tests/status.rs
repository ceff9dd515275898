//! States in the words of others.

use offshoot_session::status::words::{
    BridgeWord, ChatWord, HookEvent, LogWord, Talk, TerminalFlags, TerminalWord,
};
use offshoot_session::status::{State, Status, WaitingFor};

/// the state of a session has a word in each vocabulary.
#[test]
fn every_state_has_a_word_in_every_vocabulary() {
    let mut table = String::new();
    for state in State::ALL {
        table.push_str(&format!(
            "{:<11} {:<7} {:<15} {:<15} {:?}\n",
            state.word(),
            format!("{:?}", state.of_terminal()),
            format!("{:?}", state.of_chat(Talk::NotYet)),
            format!("{:?}", state.of_bridge()),
            state.of_log(),
        ));
    }
    let expected = "\
starting    Running Connecting      Starting        Pending
ready       Ready   Ready           Idle            Completed
running     Running Processing      Running         Pending
waiting     Waiting Processing      WaitingApproval Pending
waiting     Waiting Processing      WaitingApproval Pending
waiting     Waiting Processing      WaitingApproval Pending
compacting  Running Processing      Compacting      Pending
interrupted Ready   WaitingForInput Idle            Aborted
exited      Idle    Disconnected    Idle            Completed
error       Ready   Error           Idle            Truncated
unknown     Idle    Disconnected    Idle            Pending
";
    assert_eq!(table, expected);
}

#[test]
fn their_words_come_back_to_them() {
    for word in [TerminalWord::Idle, TerminalWord::Ready, TerminalWord::Running, TerminalWord::Waiting] {
        assert_eq!(State::from(word).of_terminal(), word);
    }
    for word in
        [ChatWord::Disconnected, ChatWord::Connecting, ChatWord::Ready, ChatWord::Processing, ChatWord::Error]
    {
        assert_eq!(State::from(word).of_chat(Talk::NotYet), word);
    }
    for word in [
        BridgeWord::Starting,
        BridgeWord::Idle,
        BridgeWord::Running,
        BridgeWord::WaitingApproval,
        BridgeWord::Compacting,
    ] {
        assert_eq!(State::from(word).of_bridge(), word);
    }
    for word in [LogWord::Pending, LogWord::Completed, LogWord::Truncated, LogWord::Aborted] {
        assert_eq!(State::from(word).of_log(), word);
    }
}

#[test]
fn a_chat_window_is_processing_from_the_moment_something_is_sent() {
    assert_eq!(State::Starting.of_chat(Talk::Running), ChatWord::Processing);
    assert_eq!(State::Ready.of_chat(Talk::Before), ChatWord::WaitingForInput);
}

#[test]
fn who_waits_counts_more_than_who_works() {
    let flags = TerminalFlags { is_running: true, is_waiting: true, is_processing: true };
    assert_eq!(flags.word(), TerminalWord::Waiting);
    let turns = [State::Running, State::Waiting(WaitingFor::Question), State::Ready];
    assert_eq!(Status::of_turns(turns).state, State::Waiting(WaitingFor::Question));
    assert_eq!(Status::of_turns([]).state, State::Ready);
}

#[test]
fn a_hook_that_says_nothing_of_the_state_decides_nothing() {
    let state = |event, detail| HookEvent::named(event, detail).and_then(HookEvent::state);
    assert_eq!(state("stop", None), Some(State::Ready));
    assert_eq!(
        state("notification", Some("permission_prompt")),
        Some(State::Waiting(WaitingFor::Permission))
    );
    assert_eq!(state("notification", Some("news")), None);
    assert_eq!(state("session_start", None), None);
    assert_eq!(HookEvent::named("unheard_of", None), None);
}
