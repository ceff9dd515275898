//! What is said on the wire is understood at the other end.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use std::collections::BTreeMap;

use offshoot_api::event::EventKind;
use offshoot_api::frame::{self, BadCall, Call, LineError, Lines, MAX_LINE, Reply};
use offshoot_api::request::{self, Request};
use offshoot_api::response::{Changed, Notice, Response};
use offshoot_api::views::{
    AnswerView, AskView, BoundView, BranchView, ContextView, EntryView, HeadView, MissingView, ModelView,
    OfferName, PlaceView, PromptView, ProvenanceView, QueuedView, SessionBrief, SessionView, SpentView,
    StatusRow, StatusView, SubAgentView, VersionBrief, abilities,
};
use offshoot_api::{Access, ApiError, Caller, CallerContext, ErrorCode, Event, Hint, TurnEnd};
use offshoot_session::agent::{Abilities, Speaker};
use offshoot_session::asks::{Ask, AskId, Asking, Permission};
use offshoot_session::guard::Refusal;
use offshoot_session::status::{State, Status, WaitingFor};
use offshoot_session::{
    Block, Body, Entry, ImageData, Interruption, Model, Prompt, Reply as Said, Setting, Stop, ToolUse, Usage,
};
use offshoot_testkit::{FixedStamps, tree_of};
use proptest::prelude::*;
use serde_json::{Value, json};

fn session() -> request::Session {
    request::Session { session: "s".into() }
}

/// All that a caller can hand over.
fn handed_over() -> request::Hello {
    let one = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    request::Hello {
        client: Some(request::Client { name: "cli".into(), version: "1.2.3".into() }),
        protocol: Some(1),
        context: CallerContext {
            folder: Some("/p".into()),
            overrides: one("agent", "built_in"),
            variables: one("OFFSHOOT_MODEL", "a/b"),
            environment: one("PATH", "/bin"),
            environment_bytes: one("R/w=", "/w=="),
            interactive: true,
            stamps: Some(100.into()),
        },
    }
}

/// One of each kind, with whatever may be left out both given and not.
fn requests() -> Vec<Request> {
    let s = || "s".to_owned();
    let at = || "#3".to_owned();
    let if_running = request::IfRunning::AbortFirst;
    let image = offshoot_api::views::BlockView::Image {
        media_type: "image/png".into(),
        base64: Some("AAAA".into()),
        blob: None,
    };
    let prompt =
        || PromptView { text: "Hello".into(), attachments: vec!["a.md".into()], images: vec![image.clone()] };
    vec![
        Request::Hello(handed_over()),
        Request::Engine(request::Engine { action: request::EngineAction::Stop, if_running }),
        Request::List(request::List { project: Some("/p".into()), limit: None }),
        Request::Agents,
        Request::Status,
        Request::Begin(request::Begin { agent: Some("built_in".into()), ..Default::default() }),
        Request::Introduce(request::Introduce { session: s(), path: "/p/file.jsonl".into() }),
        Request::Open(request::Open { session: s(), turns: Some(20), turn: None, at: None }),
        Request::Show(request::Show { session: s(), at: None, turns: None }),
        Request::Tree(session()),
        Request::Send(request::Send {
            session: s(),
            prompt: prompt(),
            client_id: Some("mine".into()),
            if_running,
            ..Default::default()
        }),
        Request::Edit(request::Edit {
            session: s(),
            at: at().into(),
            text: "new".into(),
            attachments: Some(Vec::new()),
            images: Some(vec![image.clone()]),
            agent: Some("other".into()),
            model: None,
            files: request::Files::AsOfThen,
            branching: Some(request::ConfigBranching::File),
            to: request::VersionTo::NewSession,
            only_write: true,
            if_running,
            client_id: None,
        }),
        Request::Retry(request::Retry {
            session: s(),
            at: at().into(),
            agent: None,
            model: Some(ModelView { provider: "p".into(), name: "m".into() }),
            if_running: request::IfRunning::Beside,
            branching: None,
            to: request::VersionTo::Version,
            only_write: true,
            client_id: None,
        }),
        Request::Resume(request::Resume { session: s(), at: None, client_id: Some("mine".into()) }),
        Request::Append(request::Append {
            session: s(),
            entries: vec![json!({ "role": "user", "text": "hi", "parent": "#1" })],
            each: true,
            if_running,
            ..Default::default()
        }),
        Request::Version(request::Version {
            session: s(),
            at: Some(at().into()),
            step: request::Step::Next,
            if_running,
            ..Default::default()
        }),
        Request::Switch(request::Switch { session: s(), to: None, if_running, ..Default::default() }),
        Request::Navigate(request::Navigate {
            session: s(),
            to: at().into(),
            summary: request::Summary::With { instructions: "files only".into() },
            if_running,
            ..Default::default()
        }),
        Request::CancelSummary(session()),
        Request::Rewind(request::Rewind {
            session: s(),
            to: at().into(),
            scope: request::RewindScope::Both,
            dry_run: true,
            if_running,
            ..Default::default()
        }),
        Request::Configure(request::Configure {
            session: s(),
            model: Some(ModelView { provider: "p".into(), name: "m".into() }),
            tools: Some(vec!["read".into()]),
            branching: Some(request::ConfigBranching::File),
            ..Default::default()
        }),
        Request::Fork(request::Fork {
            session: s(),
            at: Some(at().into()),
            to: request::ForkTo::NewSession,
            before: true,
            title: Some("Aside".into()),
            if_running,
            ..Default::default()
        }),
        Request::Compact(request::Compact {
            session: s(),
            instructions: None,
            if_running,
            ..Default::default()
        }),
        Request::Rename(request::Rename { session: s(), title: None, ..Default::default() }),
        Request::Label(request::Label {
            session: s(),
            at: at().into(),
            label: Some("good".into()),
            ..Default::default()
        }),
        Request::NameBranch(request::NameBranch {
            session: s(),
            at: at().into(),
            name: None,
            ..Default::default()
        }),
        Request::Archive(request::Archive {
            session: s(),
            at: at().into(),
            archived: true,
            ..Default::default()
        }),
        Request::Clear(request::Clear { session: s(), if_running, ..Default::default() }),
        Request::Undo(request::History { session: s(), if_running, ..Default::default() }),
        Request::Redo(request::History {
            session: s(),
            if_running: request::IfRunning::Wait,
            ..Default::default()
        }),
        Request::Interrupt(request::Interrupt { session: s(), turn: None }),
        Request::Answer(request::Answer {
            session: s(),
            ask: "t/1".into(),
            answer: AnswerView::AllowAlways { offer: OfferName::WiderProject },
        }),
        Request::Queue(session()),
        Request::ChangeQueued(request::ChangeQueued { session: s(), queued: "q".into(), prompt: prompt() }),
        Request::CancelQueued(request::CancelQueued { session: s(), queued: "q".into() }),
        Request::SayQueued(request::SayQueued { session: s(), queued: None }),
        Request::Permissions(request::Permissions { session: None }),
        Request::RevokePermission(request::RevokePermission { rule: "r".into() }),
        Request::Follow(request::Follow { session: s(), after_seq: 41 }),
        Request::Unfollow(session()),
        Request::Settle(session()),
    ]
}

fn again(request: &Request) -> Request {
    let line = frame::encode(&Call { id: 7, caller: "cli".into(), request: request.clone() }).unwrap();
    let call = frame::decode_call(line.strip_suffix(b"\n").unwrap()).unwrap();
    assert_eq!((call.id, call.caller.as_str()), (7, "cli"));
    call.request
}

#[test]
fn every_request_arrives_as_it_was_sent() {
    for request in requests() {
        assert_eq!(again(&request), request);
    }
}

#[test]
fn the_list_of_names_is_what_the_wire_says() {
    let said: Vec<String> = requests()
        .iter()
        .map(|request| serde_json::to_value(request).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(said, Request::NAMES);
}

#[test]
fn what_may_be_left_out_is_filled_in() {
    let read = |value: Value| serde_json::from_value::<Request>(value).unwrap();
    let send = read(json!({ "type": "send", "session": "s", "text": "Hello", "from_tomorrow": true }));
    let Request::Send(send) = send else { panic!("{send:?}") };
    assert_eq!((send.prompt, send.if_running), (PromptView::text("Hello"), request::IfRunning::Wait));
    let hello = read(json!({ "type": "hello" }));
    assert_eq!(hello, Request::Hello(request::Hello::default()));
    let rewind = read(json!({ "type": "rewind", "session": "s", "to": "#1" }));
    assert!(matches!(rewind, Request::Rewind(request::Rewind { dry_run: false, .. })));
}

#[test]
fn a_reader_may_look_and_nothing_else() {
    let reader = Caller { access: Access::Read, ..Caller::local("phone") };
    assert!(
        reader
            .may(&Request::Open(request::Open { session: "s".into(), turns: None, turn: None, at: None }))
            .is_ok()
    );
    let refused = reader.may(&Request::Interrupt(request::Interrupt { session: "s".into(), turn: None }));
    assert_eq!(refused.unwrap_err().code, ErrorCode::ReadOnly);
    for request in requests() {
        assert!(Caller::local("cli").may(&request).is_ok());
        assert!(request.session().is_none_or(|session| session == "s"));
    }
}

#[test]
fn a_call_that_cannot_be_understood_is_answered_under_its_id() {
    let check = |line: &str| {
        let BadCall { id, error } = frame::decode_call(line.as_bytes()).unwrap_err();
        (id, error.code)
    };
    assert_eq!(check("not json"), (None, ErrorCode::Invalid));
    assert_eq!(check(r#"{"id":3}"#), (Some(3), ErrorCode::Invalid));
    assert_eq!(check(r#"{"id":3,"request":{}}"#), (Some(3), ErrorCode::Invalid));
    assert_eq!(check(r#"{"id":3,"request":{"type":"dance"}}"#), (Some(3), ErrorCode::UnsupportedMessage));
    assert_eq!(check(r#"{"id":3,"request":{"type":"edit","session":"s"}}"#), (Some(3), ErrorCode::Invalid));
    assert_eq!(check(r#"{"request":{"type":"hello"}}"#), (None, ErrorCode::Invalid));
    let dance = frame::decode_call(br#"{"id":3,"request":{"type":"dance"}}"#).unwrap_err();
    assert!(dance.error.message.contains("`dance`"));
}

#[test]
fn a_refusal_says_how_it_could_be_done() {
    let refusal = Refusal::Running { turn: "t".into(), prompt: "u".into() };
    let error = ApiError::from(refusal);
    let expected = json!({
        "code": "running",
        "message": "the agent is still answering on this branch",
        "hint": "abort_first",
        "turn": "t",
    });
    assert_eq!(serde_json::to_value(&error).unwrap(), expected);
    assert_eq!(error.hint, Some(Hint::AbortFirst));
    assert_eq!(ErrorCode::UnsupportedMessage.word(), "unsupported_message");
}

fn entry(body: Body) -> EntryView {
    let (id, parent, turn) = ("e".into(), Some("p".into()), Some("t".into()));
    EntryView::from(&Entry { id, parent, written_at: FixedStamps::start(), turn, body })
}

fn bodies() -> Vec<Body> {
    let call = ToolUse { id: "c".into(), name: "read".into(), input: json!({ "path": "a" }) };
    let image = Block::Image { media_type: "image/png".into(), data: ImageData::Blob("b1".into()) };
    vec![
        Body::Prompt(Prompt {
            blocks: vec![Block::Text("Hi".into()), image],
            attachments: vec!["a".into()],
            said_at: None,
        }),
        Body::Reply(Said {
            blocks: vec![Block::Thinking("hm".into()), Block::Text("Ho".into()), Block::ToolUse(call)],
            model: Some(Model { provider: "p".into(), name: "m".into() }),
            usage: Some(Usage { input: 1, ..Usage::default() }),
            stop: Some(Stop::Error("no".into())),
            ..Said::default()
        }),
        Body::Interrupted(Interruption::Wanted),
        Body::Interrupted(Interruption::Crash),
        Body::Cleared,
        Body::Setting(Setting::Tools(vec!["read".into()])),
        Body::Setting(Setting::Thinking(None)),
        Body::Setting(Setting::Model { role: None, model: Model { provider: "p".into(), name: "m".into() } }),
    ]
}

#[test]
fn every_event_and_every_answer_arrives_as_it_was_sent() {
    let asking = Asking::Permission(Permission {
        tool: "shell".into(),
        input: json!({ "command": "cargo test -p a" }),
        call: None,
        reason: None,
        suggestions: Vec::new(),
    });
    let ask = Ask {
        id: AskId::named("t/1"),
        turn: "t".into(),
        prompt: "u".into(),
        speaker: Speaker::SubAgent("c".into()),
        request: "1".into(),
        asking,
        asked_at: FixedStamps::start(),
    };
    let ask = AskView::of(&ask, &"s".into(), &tree_of("u - a*"));
    assert_eq!((ask.session.as_str(), ask.number), ("s", 1));
    let missing = Some(MissingView { tool_results: 6, ..MissingView::default() });
    let bound = BoundView {
        agent: Some("other".into()),
        agent_session: None,
        provenance: ProvenanceView::ReplayedContext,
        missing,
    };
    let head = HeadView { name: "main".into(), at: None, place: None };
    let status = StatusView::from(Status::of_stream(State::Waiting(WaitingFor::Question)));
    let mut kinds: Vec<EventKind> =
        bodies().into_iter().map(|body| EventKind::Entry { entry: entry(body), replaces: None }).collect();
    kinds.extend([
        EventKind::HeadMoved { head: head.clone() },
        EventKind::Bound { prompt: "u".into(), bound: bound.clone() },
        EventKind::Words { entry: "e".into(), text: "…".into() },
        EventKind::TurnEnded { end: TurnEnd::Failed { message: "no route".into(), hint: None } },
        EventKind::Asked { ask: ask.clone() },
        EventKind::Status { status: status.clone() },
        EventKind::Branched { into: "child".into(), reason: "fork".into() },
        EventKind::Rearranged,
        EventKind::Closed,
    ]);
    let reply = |reply: Reply| {
        let line = frame::encode(&reply).unwrap();
        assert_eq!(frame::decode_reply(&line).unwrap(), reply, "{}", String::from_utf8_lossy(&line));
    };
    for (seq, kind) in kinds.into_iter().enumerate() {
        let (session, turn, at) = ("s".to_owned(), Some("t".to_owned()), FixedStamps::start());
        let sub_agent = seq.is_multiple_of(2).then(|| "call".to_owned());
        let event = Event { seq: seq as u64, session, turn, sub_agent, at, kind };
        reply(Reply::Event { event: Box::new(event) });
    }
    let queued = QueuedView {
        id: "q".into(),
        behind: "t".into(),
        held: true,
        prompt: PromptView::text("next"),
        at: FixedStamps::start(),
    };
    let branch = BranchView {
        tip: Some("e".into()),
        entries: bodies()
            .into_iter()
            .map(|body| EntryView { bound: Some(bound.clone()), ..entry(body) })
            .collect(),
        before_answer: true,
        above: 3,
        versions: Vec::new(),
        agent_session: None,
        provenance: None,
        missing,
        sub_agents: vec![SubAgentView {
            call: Some("call".into()),
            entry: Some("e".into()),
            session: Some("s1".into()),
            begins: "n".into(),
            tip: "e2".into(),
            task: Some("look".into()),
            tool: Some("agent".into()),
            agent: Some("explorer".into()),
            running: false,
            at: FixedStamps::start(),
            ended_at: Some(FixedStamps::start()),
        }],
    };
    let view = SessionView {
        id: "s".into(),
        seq: 4,
        title: None,
        project: None,
        heads: vec![head],
        branch,
        agent: None,
        model: None,
        thinking: "off".into(),
        tools: Some(vec!["read".into()]),
        permission_mode: None,
        mode: Some("plan".into()),
        context: ContextView { tokens: 1200, window: Some(200_000) },
        spent: SpentView { input: 900, output: 300, cost_micros: Some(12), ..SpentView::default() },
        turns: vec![StatusRow {
            session: "s".into(),
            turn: "t".into(),
            prompt: "u".into(),
            branch: None,
            number: 1,
            agent: "other".into(),
            status: status.clone(),
            phase: Some("running".into()),
            since: FixedStamps::start(),
            ask: Some("t/1".into()),
            asked_at: Some(FixedStamps::start()),
            what: "u".into(),
        }],
        status,
        answered: vec![ask.clone()],
        asks: vec![ask],
        queue: vec![queued],
    };
    for response in [
        Response::Session(Box::new(view)),
        Response::Changed(Box::new(Changed {
            session: SessionBrief { id: "s".into(), title: Some("T".into()) },
            changed: true,
            place: Some(PlaceView { entry: "e".into(), number: 2, ..PlaceView::default() }),
            version: Some(VersionBrief { edit_group: "u2".into(), index: 2, total: 3 }),
            entries: vec!["e".into()],
            notices: vec![Notice::new(Notice::REPAIRED, "repaired")],
            ..Changed::default()
        })),
        Response::Done { changed: true },
    ] {
        reply(Reply::Response { id: 1, response: Box::new(response) });
    }
    reply(Reply::Error { id: None, error: ApiError::session_not_found("s") });
}

#[test]
fn a_prompt_comes_through_with_its_images() {
    let Some(Body::Prompt(prompt)) = bodies().into_iter().next() else { panic!("no prompt") };
    assert_eq!(PromptView::from(&prompt).into_prompt(), prompt);
}

#[test]
fn abilities_are_words() {
    let can = Abilities { resume: true, questions: true, ..Abilities::default() };
    assert_eq!(abilities(&can), ["resume", "questions"]);
}

#[test]
fn a_line_without_end_ends_the_connection() {
    let mut lines = Lines::default();
    lines.push(&vec![b'x'; MAX_LINE + 1]);
    assert_eq!(lines.next_line(), Err(LineError::TooLong));
}

proptest! {
    #[test]
    fn lines_come_out_whole_however_they_are_cut(
        lines in prop::collection::vec("[a-z\"{}]{0,12}", 0..12),
        cuts in prop::collection::vec(1..9usize, 1..40),
    ) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut reader = Lines::default();
        let mut came = Vec::new();
        let (mut rest, mut cuts) = (text.as_bytes(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            reader.push(piece);
            rest = behind;
            while let Some(line) = reader.next_line().unwrap() {
                came.push(String::from_utf8(line).unwrap());
            }
        }
        let expected: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        prop_assert_eq!(came, expected);
    }
}
