//! The built-in agent, spoken to as the engine will speak to it.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

mod talk;

use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::built_in::{Heard, Pace, REQUESTS, Request, Step, TOUR, reply_to};
use offshoot_session::agent::{AgentEventKind, AgentTurnEnd, DeltaField, Speaker};
use offshoot_session::asks::{Answer, Asking};
use offshoot_session::turn::End;
use offshoot_session::{Body, Setting};
use offshoot_testkit::deadline::BoundedCommand;
use serde_json::json;
use talk::Talk;
use tokio::sync::Semaphore;

fn heard(prompts: &[&str]) -> Heard {
    let mut heard = Heard::default();
    prompts.iter().for_each(|prompt| heard.take_prompt(prompt));
    heard
}

fn says(steps: &[Step]) -> String {
    let texts = steps.iter().map(|step| if let Step::Say(text) = step { text.as_str() } else { "" });
    texts.collect::<Vec<_>>().join("")
}

#[test]
fn every_request_that_help_lists_is_understood() {
    let help = says(&reply_to(&Heard::default(), "Help!"));
    for (request, _) in REQUESTS {
        assert!(help.contains(&format!("`{request}`")), "`{request}` is not listed");
        let spoken = request.replace("NUMBER", "3");
        assert_ne!(Request::of(&spoken), Request::Talk, "`{spoken}` is not understood");
    }
}

#[test]
fn requests_are_plain_words() {
    assert_eq!(
        Request::of("Write notes/a.md: one\ntwo"),
        Request::Write { file: "notes/a.md", text: "one\ntwo" }
    );
    assert_eq!(Request::of("run cargo test -p a"), Request::Run { command: "cargo test -p a" });
    assert_eq!(Request::of("COUNT TO 7."), Request::Count { to: 7 });
    assert_eq!(Request::of("fail after a few words"), Request::Fail { after: "a few words" });
    for other in ["write a poem", "counting to 3", "runaway", "", "  ", "read", "größer"] {
        assert_eq!(Request::of(other), Request::Talk, "`{other}`");
    }
}

#[test]
fn the_same_prompt_is_answered_differently_on_another_branch() {
    let (left, right) = (heard(&["Keep the bucket"]), heard(&["Drop the bucket"]));
    let answer = |heard: &Heard| says(&reply_to(heard, "Go on"));
    assert_ne!(answer(&left), answer(&right));
    assert!(answer(&left).contains("Keep the bucket") && answer(&left).contains("turn 2"));
    assert_eq!(answer(&left), answer(&left), "and the same on the same one");
    assert!(answer(&left).contains("a demonstration"));
}

#[test]
fn what_a_compaction_took_away_is_forgotten() {
    let tree = offshoot_testkit::tree_of("u1 - a1 - k1 - u2*");
    let path: Vec<_> = tree.path_to(tree.main_head()).into_iter().cloned().collect();
    assert_eq!(Heard::of(path).prompts, ["u2"]);
}

/// A16: it wrote `meet-your-tree.md` into the directory.
#[tokio::test]
async fn the_tour_tells_three_things_and_writes_nothing() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    assert_eq!(talk.send(TOUR).await, End::Done);
    let said = talk.last_reply();
    for part in ["a demonstration", "1. **Edit**", "`/edit 1 ", "2. **Go back**", "3. **Rewind**"] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert_eq!(std::fs::read_dir(talk.workspace()).unwrap().count(), 0);
    assert_eq!(talk.kinds(), "prompt reply");
    talk.close().await;
}

#[tokio::test]
async fn it_goes_on_in_its_own_session_and_remembers_the_branch() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.send("First").await;
    talk.send("What did I say?").await;
    assert_eq!(talk.last_reply(), "On this branch I have heard:\n\n1. “First”\n");
    let sessions = talk.sessions();
    assert_eq!((sessions.len(), &sessions[0]), (2, &sessions[1]));
    talk.close().await;
}

#[tokio::test]
async fn the_same_conversation_is_the_same_every_time() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let mut talk = Talk::begin(Pace::AtOnce).await;
        for prompt in ["Hello", "think about trees", "delegate counting", "count to 20"] {
            talk.send(prompt).await;
        }
        runs.push(talk.heard.clone());
        talk.close().await;
    }
    assert_eq!(runs[0], runs[1]);
}

/// D17: the agent said "is written" after its tool had failed.
#[tokio::test]
async fn files_are_written_appended_and_read_in_the_workspace_only() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.send("write a.txt: one").await;
    talk.send("append a.txt: two").await;
    assert_eq!(talk.file("a.txt").unwrap(), "one\ntwo\n");
    talk.send("read ./a.txt").await;
    assert_eq!(talk.last_result(), (false, "one\ntwo\n".into()));
    std::os::unix::fs::symlink("/", talk.workspace().join("out")).unwrap();
    std::os::unix::fs::symlink("/tmp/somewhere", talk.workspace().join("link")).unwrap();
    for outside in ["../b.txt", "/b.txt", "out/b.txt", "link", "a/../../x"] {
        talk.send(&format!("write {outside}: no")).await;
        let (failed, why) = talk.last_result();
        assert!(failed && why.contains("not in the workspace"), "{outside}: {why}");
        assert_eq!(talk.last_reply(), format!("I could not write it: `{outside}` is not in the workspace."));
    }
    talk.close().await;
}

#[tokio::test]
async fn a_file_is_replaced_only_after_it_was_allowed() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.send("write a.txt: one").await;
    talk.answers(Answer::Deny { message: None });
    talk.send("write a.txt: two").await;
    assert_eq!(talk.file("a.txt").unwrap(), "one\n");
    assert_eq!(talk.last_reply(), "You did not allow it, so I did nothing.");
    talk.answers(Answer::Allow { input: None, suggestion: None });
    talk.send("write a.txt: two").await;
    assert_eq!(talk.file("a.txt").unwrap(), "two\n");
    // What was allowed is done, also if it is something else.
    talk.answers(Answer::Allow {
        input: Some(json!({ "path": "b.txt", "content": "three\n" })),
        suggestion: None,
    });
    talk.send("write a.txt: four").await;
    assert_eq!(
        (talk.file("a.txt").unwrap(), talk.file("b.txt").unwrap()),
        ("two\n".into(), "three\n".into())
    );
    assert_eq!(talk.last_reply(), "`b.txt` is written.");
    talk.close().await;
}

/// A16: `/tools` and `/mode` were accepted and had no effect.
#[tokio::test]
async fn tools_and_permission_mode_are_honoured() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.configure(vec![Setting::Tools(vec!["read".into()])]).await;
    talk.send("write a.txt: one").await;
    assert_eq!(talk.last_reply(), "I did nothing: the tool `write` is not among the tools in force.");
    talk.configure(vec![
        Setting::Tools(vec!["read".into(), "write".into()]),
        Setting::PermissionMode("plan".into()),
    ])
    .await;
    talk.send("write a.txt: one").await;
    assert_eq!(
        talk.last_reply(),
        "I did nothing: the permission mode is `plan`, in which `write` changes nothing."
    );
    assert!(talk.file("a.txt").is_none());
    talk.configure(vec![Setting::PermissionMode("default".into())]).await;
    talk.send("write a.txt: one").await;
    assert_eq!(talk.file("a.txt").unwrap(), "one\n");
    talk.close().await;
}

/// D8: `read` of a FIFO waited without end, and nothing could interrupt it.
#[tokio::test]
async fn only_regular_files_are_read_and_written() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    let fifo = talk.workspace().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    for request in ["read fifo", "write fifo: no", "append fifo: no"] {
        let deadline = Duration::from_secs(10);
        tokio::time::timeout(deadline, talk.send(request)).await.expect("an end");
        let (failed, why) = talk.last_result();
        assert!(failed, "{request}: {why}");
    }
    talk.close().await;
}

#[tokio::test]
async fn a_command_runs_only_after_it_was_allowed() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.answers(Answer::Deny { message: Some("not today".into()) });
    talk.send("run touch made").await;
    assert!(talk.file("made").is_none());
    assert_eq!(talk.last_reply(), "You did not allow it: not today");

    talk.answers(Answer::Allow { input: None, suggestion: None });
    talk.send("run echo out; echo err >&2").await;
    assert_eq!(talk.last_result(), (false, "out\nerr\n".into()));
    let Some(Asking::Permission(asked)) = talk.asked.last() else { panic!("nothing was asked") };
    assert_eq!(asked.input, json!({ "command": "echo out; echo err >&2" }));

    talk.answers(Answer::Allow { input: Some(json!({ "command": "echo changed" })), suggestion: None });
    talk.send("run rm -rf .").await;
    assert_eq!(talk.last_result(), (false, "changed\n".into()));

    talk.answers(Answer::Allow { input: None, suggestion: None });
    talk.send("run exit 3").await;
    assert!(talk.last_result().0, "a command that fails is told as failed");
    talk.close().await;
}

#[tokio::test]
async fn a_question_is_asked_and_the_choice_heard() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.answers(Answer::Choose(vec![vec!["Sideways".into()]]));
    assert_eq!(talk.send("ask me").await, End::Done);
    assert_eq!(talk.last_reply(), "You chose Sideways.");
    talk.close().await;
}

#[tokio::test]
async fn what_a_second_agent_says_stays_apart() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.send("delegate counting the files").await;
    assert_eq!(talk.kinds(), "prompt reply tool_result reply", "on the branch");
    let of_sub_agent = talk.heard.iter().filter(|event| event.speaker != Speaker::Agent).count();
    assert!(of_sub_agent > 5, "it streams too");
    let notes = talk.tree.entries().filter(|entry| matches!(entry.body, Body::Note(_))).count();
    assert_eq!(notes, 1);
    talk.close().await;
}

#[tokio::test]
async fn it_fails_on_request_and_can_be_spoken_to_again() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    assert!(matches!(talk.send("fail after these words").await, End::Failed(_)));
    assert_eq!(talk.send("Still there?").await, End::Done);
    talk.close().await;
}

#[tokio::test]
async fn an_answer_without_words_leaves_no_entry() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    assert_eq!(talk.send("say nothing").await, End::Done);
    assert_eq!(talk.kinds(), "prompt");
    talk.close().await;
}

fn is_delta(kind: &AgentEventKind, of: DeltaField) -> bool {
    matches!(kind, AgentEventKind::Delta { field, .. } if *field == of)
}

#[tokio::test]
async fn thoughts_come_before_words() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.send("think about branches").await;
    let first_words = talk.heard.iter().position(|event| is_delta(&event.kind, DeltaField::Text)).unwrap();
    let last_thought =
        talk.heard.iter().rposition(|event| is_delta(&event.kind, DeltaField::Thinking)).unwrap();
    assert!(last_thought < first_words);
    talk.close().await;
}

#[tokio::test]
async fn it_stops_in_the_middle_of_a_long_answer() {
    let gate = Arc::new(Semaphore::new(5));
    let mut talk = Talk::begin(Pace::Gated(gate.clone())).await;
    talk.interrupt_after_words(5);
    assert_eq!(talk.send("count to 100000").await, End::Interrupted);
    assert_eq!(talk.kinds(), "prompt reply interrupted");
    assert_eq!(talk.last_reply(), "1 2 3 4 5 ");
    assert_eq!(
        talk.heard.last().map(|event| &event.kind),
        Some(&AgentEventKind::Ended(AgentTurnEnd::Interrupted))
    );
    gate.close();
    assert_eq!(talk.send("count to 3").await, End::Done);
    assert_eq!(talk.last_reply(), "1 2 3");
    talk.close().await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    let fifo = talk.workspace().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).bounded_status().unwrap().success());
    talk.answers(Answer::Allow { input: None, suggestion: None });
    // Who reads the pipe hears its end when nobody holds it open any more.
    let reader = tokio::task::spawn_blocking(move || std::fs::read_to_string(fifo).unwrap());
    assert_eq!(talk.send("run exec 3> fifo; sleep 1000 > /dev/null 2>&1 & echo left").await, End::Done);
    assert_eq!(reader.await.unwrap(), "");
    talk.close().await;
}

/// It runs beside somebody who would end it with this process: of that nothing is seen.
#[tokio::test]
async fn a_command_waits_for_what_it_started_and_reads_nothing() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    talk.answers(Answer::Allow { input: None, suggestion: None });
    let command = "(exit 3) & wait; cat; { cat <&3; } 2> /dev/null || echo nothing; exit 4";
    assert_eq!(talk.send(&format!("run {command}")).await, End::Done);
    assert_eq!(talk.last_result(), (true, "nothing\n(exit status: 4)".to_owned()));
    talk.close().await;
}

#[tokio::test]
async fn an_interrupted_command_is_ended_with_all_it_started() {
    let mut talk = Talk::begin(Pace::AtOnce).await;
    let fifo = talk.workspace().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).bounded_status().unwrap().success());
    talk.answers(Answer::Allow { input: None, suggestion: None });
    // Who reads the pipe hears its end when nobody holds it open any more: the child of the command does.
    let reader = tokio::task::spawn_blocking(move || std::fs::read_to_string(fifo).unwrap());
    talk.interrupt_when_there_is("fifo.started");
    assert_eq!(
        talk.send("run exec 3> fifo; (sleep 1000; true) & : > fifo.started; wait").await,
        End::Interrupted
    );
    assert_eq!(reader.await.unwrap(), "");
    talk.close().await;
}

/// It lists what was said; its instructions are not said by anybody.
#[test]
fn a_summary_says_what_the_person_said() {
    use offshoot_session::render::prompts::{COMPACTION, SUMMARIZER, UPDATE, summary_request};
    let conversation = "[User]: plant a tree\n\n[Assistant]: Done.\n\n[User]: water it";
    let asked = |previous: Option<&str>, task: &str| {
        let request = summary_request(conversation, previous, task, None);
        match reply_to(&Heard::default(), &format!("{SUMMARIZER}\n\n{request}")).as_slice() {
            [Step::Say(text)] => text.clone(),
            other => format!("{other:?}"),
        }
    };
    let first = asked(None, COMPACTION);
    assert!(first.ends_with("- “plant a tree”\n- “water it”\n") && !first.contains("You write"), "{first}");
    let next = asked(Some("- “dig”"), UPDATE);
    assert_eq!(next, "- “dig”\n- “plant a tree”\n- “water it”\n");
}
