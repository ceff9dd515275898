//! Front ends that fall behind an answer, at every event of it. The engine is a scripted one, so that what a front end misses
//! does not depend on how fast the machine is.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use offshoot_api::event::{Event, EventKind, TurnEnd};
use offshoot_api::response::Hello;
use offshoot_api::serve::serve;
use offshoot_api::views::{EntryView, HeadView, SessionView};
use offshoot_api::{
    Access, Answering, ApiError, Caller, Changed, ErrorCode, EventStream, Following, PROTOCOL, Request,
    Response, Service,
};
use offshoot_testkit::deadline::BoundedChild;
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::sync::{Notify, watch};

use crate::support::Folder;
use crate::talking::{Talk, alive, run};

/// The number before the first event of the answer.
const START: u64 = 100;

/// One event of the answer.
#[derive(Clone, Copy)]
enum Step {
    Prompt,
    HeadMoved(&'static str),
    TurnStarted,
    Live(&'static str),
    Words(&'static str, &'static str),
    Reply(&'static str),
    ToolResult,
    TurnEnded,
}

use Step::{HeadMoved, Live, Prompt, Reply, ToolResult, TurnEnded, TurnStarted, Words};

const ANSWER: [Step; 21] = [
    Prompt,
    HeadMoved("u1"),
    TurnStarted,
    Live("a1"),
    Words("a1", "Let "),
    Words("a1", "me look\n"),
    Words("a1", "at "),
    Words("a1", "it."),
    Reply("a1"),
    HeadMoved("a1"),
    ToolResult,
    HeadMoved("r1"),
    Live("a2"),
    Words("a2", "Two "),
    Words("a2", "files,"),
    Words("a2", " and one\n"),
    Words("a2", "is "),
    Words("a2", "empty."),
    Reply("a2"),
    HeadMoved("a2"),
    TurnEnded,
];

/// These are published before the request that starts the turn is answered.
const AT_ONCE: usize = 3;

/// How the first stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Gone,
    /// The connection is closed.
    Lost,
}

/// What the engine publishes between the requests of a follower that is behind.
#[derive(Clone, Copy, Debug)]
struct Behind {
    cut: Cut,
    /// The first stream ends after so many events.
    after: usize,
    /// So many more are published before the session is opened again.
    before_open: usize,
    /// So often a `follow` is refused, because this many were published since the session was opened.
    refusals: usize,
    between: usize,
}

struct ScriptedEngine {
    session: String,
    behind: Option<Behind>,
    state: Mutex<State>,
    is_sent: watch::Sender<bool>,
    /// The connection is to be closed.
    loses: Arc<Notify>,
}

#[derive(Default)]
struct State {
    published: usize,
    refusals: usize,
}

impl ScriptedEngine {
    fn is_sent(&self) -> bool {
        *self.is_sent.borrow()
    }

    fn publish(&self, more: usize) -> usize {
        let mut state = self.state.lock().expect("no test has failed");
        state.published = (state.published + more).min(ANSWER.len());
        state.published
    }

    fn answer(&self, request: &Request) -> Response {
        match request {
            Request::Hello(_) => {
                let (program, version) = ("offshoot".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
                Response::Hello(Hello { program, version, protocol: PROTOCOL, process: std::process::id() })
            }
            Request::Open(_) => {
                let before_open = self.behind.filter(|_| self.is_sent()).map_or(0, |it| it.before_open);
                Response::Session(Box::new(self.view(self.publish(before_open))))
            }
            Request::Send(_) => {
                let published = match self.is_sent.send_replace(true) {
                    true => self.publish(0),
                    false => self.publish(self.behind.map_or(ANSWER.len(), |it| it.after.max(AT_ONCE))),
                };
                let is_over = published == ANSWER.len() && self.behind.is_some();
                let (turn, prompt) = (Some("t".to_owned()), Some("u1".to_owned()));
                let end = is_over.then_some(TurnEnd::Done);
                let seq = START + AT_ONCE as u64;
                Response::Changed(Box::new(Changed {
                    seq,
                    changed: true,
                    turn,
                    prompt,
                    end,
                    ..Changed::default()
                }))
            }
            _ => Response::Done { changed: false },
        }
    }

    fn view(&self, published: usize) -> SessionView {
        let entries = entries_of(published);
        let is_running = (AT_ONCE..ANSWER.len()).contains(&published);
        let status = json!({ "state": "ready", "confidence": "exact", "source": "stream" });
        let running = json!({
            "session": self.session, "turn": "t", "prompt": "u1", "branch": null, "status": status,
            "since": Timestamp::UNIX_EPOCH.to_string(), "what": "look",
        });
        let turns = if is_running { vec![running] } else { Vec::new() };
        let tip = entries.last().map(|entry| entry["id"].clone());
        let view = json!({
            "id": self.session, "seq": START + published as u64, "title": null, "project": null, "heads": [],
            "branch": {
                "tip": tip, "entries": entries, "above": 0, "versions": [], "agent_session": null,
                "provenance": null,
            },
            "agent": null, "model": null, "thinking": "off", "permission_mode": null, "status": status,
            "turns": turns, "asks": [], "queue": [],
        });
        serde_json::from_value(view).expect("a view")
    }

    /// Whether too much was published since the session was opened.
    fn refuses(&self) -> bool {
        let Some(behind) = self.behind.filter(|_| self.is_sent()) else { return false };
        let mut state = self.state.lock().expect("no test has failed");
        state.refusals += 1;
        let is_refused = state.refusals <= behind.refusals && state.published < ANSWER.len();
        drop(state);
        if is_refused {
            self.publish(behind.between);
        }
        is_refused
    }

    async fn events(&self, after_seq: u64) -> Result<EventStream, ApiError> {
        let gone = || ApiError::new(ErrorCode::Gone, "these events are no longer kept");
        if self.refuses() {
            return Err(gone());
        }
        let after = usize::try_from(after_seq - START).expect("a small number");
        let cut = self.behind.filter(|_| !self.is_sent());
        let end = cut.map_or(ANSWER.len(), |it| it.after);
        let events = (after..end).map(|at| Ok(self.event(at))).collect::<Vec<_>>();
        let (mut is_sent, loses) = (self.is_sent.subscribe(), self.loses.clone());
        let sent = async move { drop(is_sent.wait_for(|is_sent| *is_sent).await) };
        let told = stream::once(sent).flat_map(move |()| stream::iter(events.clone()));
        let lose = async move {
            loses.notify_one();
            std::future::pending().await
        };
        Ok(match cut.map(|it| it.cut) {
            Some(Cut::Gone) => Box::pin(told.chain(stream::once(async move { Err(gone()) }))),
            Some(Cut::Lost) => Box::pin(told.chain(stream::once(lose))),
            None => Box::pin(told.chain(stream::pending())),
        })
    }

    fn event(&self, at: usize) -> Event {
        let entry = |id: &str| {
            let entry = entries_of(at + 1).into_iter().find(|entry| entry["id"] == id);
            serde_json::from_value::<EntryView>(entry.expect("an entry of the answer")).expect("a view")
        };
        let kind = match ANSWER[at] {
            Prompt => EventKind::Entry { entry: entry("u1"), replaces: None },
            ToolResult => EventKind::Entry { entry: entry("r1"), replaces: None },
            Reply(id) => EventKind::Entry { entry: entry(id), replaces: None },
            Live(id) => EventKind::Live { entry: entry(id) },
            HeadMoved(id) => {
                let head = HeadView { name: "main".into(), at: Some(id.into()), place: None };
                EventKind::HeadMoved { head }
            }
            TurnStarted => EventKind::TurnStarted { prompt: "u1".into() },
            Words(id, text) => EventKind::Words { entry: id.into(), text: text.into() },
            TurnEnded => EventKind::TurnEnded { end: TurnEnd::Done, cost: None },
        };
        let (session, turn) = (self.session.clone(), Some("t".to_owned()));
        Event { seq: START + 1 + at as u64, session, turn, sub_agent: None, at: Timestamp::UNIX_EPOCH, kind }
    }
}

/// The branch after so many events.
fn entries_of(published: usize) -> Vec<Value> {
    let mut entries: Vec<Value> = Vec::new();
    for step in &ANSWER[..published] {
        let (id, body) = match step {
            Prompt => ("u1", json!({ "kind": "prompt", "text": "look" })),
            Live(id) => {
                let blocks = json!([{ "kind": "text", "text": "" }]);
                (
                    *id,
                    json!({ "kind": "reply", "blocks": blocks, "model": null, "usage": null, "stop": null }),
                )
            }
            ToolResult => {
                let blocks = json!([{ "kind": "text", "text": "a b" }]);
                let result = json!({
                    "kind": "tool_result", "call": "c1", "tool": "ls", "blocks": blocks, "failed": false,
                });
                ("r1", result)
            }
            Words(_, text) => {
                let block = &mut entries.last_mut().expect("a reply")["blocks"][0]["text"];
                *block = json!(format!("{}{text}", block.as_str().unwrap_or_default()));
                continue;
            }
            Reply(id) => {
                let reply = entries.last_mut().expect("a reply");
                if *id == "a1" {
                    let call =
                        json!({ "kind": "tool_use", "id": "c1", "name": "ls", "input": { "path": "." } });
                    reply["blocks"].as_array_mut().expect("a list").push(call);
                }
                reply["stop"] = json!(if *id == "a1" { "tool_use" } else { "end_turn" });
                continue;
            }
            HeadMoved(_) | TurnStarted | TurnEnded => continue,
        };
        let mut entry = body;
        entry["id"] = json!(id);
        entry["parent"] = entries.last().map_or(Value::Null, |parent| parent["id"].clone());
        entry["at"] = json!(Timestamp::UNIX_EPOCH.to_string());
        entry["turn"] = json!("t");
        entries.push(entry);
    }
    entries
}

impl Service for ScriptedEngine {
    fn call<'s>(&'s self, _: &'s Caller, request: Request) -> Answering<'s> {
        Box::pin(async move {
            match &request {
                // More than one turn of this session is longer than a line of the connection.
                Request::Open(open) if self.is_sent() && open.turns.is_none_or(|turns| turns > 1) => {
                    Err(ApiError::new(ErrorCode::TooLarge, "this is longer than a line of the connection"))
                }
                request => Ok(self.answer(request)),
            }
        })
    }

    fn follow<'s>(&'s self, _: &'s Caller, _: &'s str, after_seq: u64) -> Following<'s> {
        Box::pin(self.events(after_seq))
    }
}

/// What the command prints while the engine publishes like this, and how it ends.
fn printed(folder: &Folder, words: &[&str], behind: Option<Behind>) -> (String, Option<i32>) {
    let session = folder.journals()[0].file_stem().expect("a name").to_string_lossy().into_owned();
    let (is_sent, state) = (watch::Sender::new(false), Mutex::default());
    let engine = Arc::new(ScriptedEngine { session, behind, state, is_sent, loses: Arc::default() });
    let run = folder.home().join("run");
    std::fs::create_dir_all(&run).expect("own folder");
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).expect("own folder");
    let socket = run.join("engine.sock");
    let _ = std::fs::remove_file(&socket);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut command = alive(folder);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = runtime.block_on(async {
        let listener = UnixListener::bind(&socket).expect("own folder");
        let serving = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let engine = engine.clone();
                tokio::spawn(async move {
                    let (reader, writer) = connection.into_split();
                    tokio::select! {
                        served = serve(&*engine, Access::Owner, reader, writer) => drop(served),
                        () = engine.loses.notified() => {}
                    }
                });
            }
        });
        let run = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("the program starts");
            let mut stdin = child.stdin.take().expect("a pipe");
            writeln!(stdin, "look").expect("the program listens");
            drop(stdin);
            child.bounded_output()
        });
        let output = run.await.expect("it ends");
        serving.abort();
        output
    });
    std::fs::remove_file(&socket).expect("own socket");
    let told = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    (told.concat(), output.status.code())
}

const COMMANDS: [&[&str]; 2] = [&["chat", "--continue"], &["send", "look"]];

fn folder_with_session() -> Folder {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["new"]).1, Some(0));
    run(&folder, &["engine", "stop"]);
    folder
}

/// The session is so large that the front end can only ask for its last turn. `chat` asked for more, and ended.
///
/// Where events were published between `open` and `follow` that the engine no longer kept, `chat` ended in the middle of the
/// answer; and where it was behind but could follow, it began a new line there.
#[test]
fn who_falls_behind_prints_the_whole_answer_once() {
    let folder = folder_with_session();
    for words in COMMANDS {
        let expected = printed(&folder, words, None);
        assert!(expected.0.contains("Two files, and one\nis empty.\n"), "{words:?}: {}", expected.0);
        assert_eq!(expected.1, Some(0));
        for (before_open, refusals, between) in [(0, 0, 0), (1, 1, 1), (2, 2, 3)] {
            for after in 0..ANSWER.len() {
                let behind = Behind { cut: Cut::Gone, after, before_open, refusals, between };
                let told = printed(&folder, words, Some(behind));
                assert_eq!(told, expected, "{words:?}: {behind:?}");
            }
        }
    }
}

/// It says so on a line of its own, and continues the answer below that.
#[test]
fn who_loses_its_connection_prints_the_whole_answer_once() {
    let without_notice = |told: &str| -> String {
        told.lines().filter(|line| !line.starts_with("The process that was the engine has ended")).collect()
    };
    let folder = folder_with_session();
    for words in COMMANDS {
        let (expected, _) = printed(&folder, words, None);
        for after in (0..ANSWER.len()).step_by(2) {
            let (before_open, refusals, between) = (1, 1, 1);
            let behind = Behind { cut: Cut::Lost, after, before_open, refusals, between };
            let (told, code) = printed(&folder, words, Some(behind));
            assert_eq!(without_notice(&told), without_notice(&expected), "{words:?}: {behind:?}");
            assert_eq!(code, Some(0), "{words:?}: {behind:?}");
        }
    }
}

/// As `send` does. It ended as if the agent had answered.
#[test]
fn a_chat_on_a_pipe_whose_answer_ends_with_its_engine_says_so_with_its_exit_code() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    folder.kill_engine();
    chat.until("Connected again");
    assert_eq!(chat.end(), Some(130));
}
