//! A service behind a connection is a service.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use offshoot_api::frame::MAX_LINE;
use offshoot_api::remote::Remote;
use offshoot_api::request::{self, Hello, Request};
use offshoot_api::response::Response;
use offshoot_api::serve::serve;
use offshoot_api::service::{Answering, Following};
use offshoot_api::{Access, ApiError, Caller, CallerContext, ErrorCode, Event, EventKind, Service};
use offshoot_testkit::FixedStamps;
use tokio::sync::Notify;

/// Answers; of `compact` only when it is interrupted, and `agents` with more than a line can hold.
#[derive(Default)]
struct Parrot {
    interrupted: Notify,
}

impl Service for Parrot {
    fn call<'s>(&'s self, caller: &'s Caller, request: Request) -> Answering<'s> {
        Box::pin(async move {
            match request {
                Request::Hello(_) => Err(ApiError::new(ErrorCode::Invalid, caller.name.clone())),
                Request::Status => {
                    let folder = caller.context.folder.clone().unwrap_or_default();
                    Err(ApiError::new(ErrorCode::Invalid, folder))
                }
                Request::Compact(_) => {
                    self.interrupted.notified().await;
                    Ok(Response::Done { changed: false })
                }
                Request::Agents => Err(ApiError::new(ErrorCode::Invalid, "x".repeat(MAX_LINE))),
                Request::Interrupt(_) => {
                    self.interrupted.notify_one();
                    Ok(Response::Done { changed: true })
                }
                other => Err(ApiError::session_not_found(other.session().unwrap_or_default())),
            }
        })
    }

    fn follow<'s>(&'s self, _: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s> {
        Box::pin(async move {
            if session == "unknown" {
                return Err(ApiError::session_not_found(session));
            }
            let session = session.to_owned();
            let event = move |seq| {
                let kind = EventKind::Notice { text: format!("event {seq}") };
                Ok(Event {
                    seq,
                    session: session.clone(),
                    turn: None,
                    sub_agent: None,
                    at: FixedStamps::start(),
                    kind,
                })
            };
            Ok(stream::iter((after_seq + 1..after_seq + 4).map(event)).boxed())
        })
    }
}

/// A client of a parrot. The connection ends with the `Notify`.
fn connected(access: Access) -> (Remote, Arc<Notify>) {
    let (ours, theirs) = tokio::io::duplex(128);
    let end = Arc::new(Notify::new());
    let cut = end.clone();
    tokio::spawn(async move {
        let parrot = Parrot::default();
        let (reader, writer) = tokio::io::split(theirs);
        tokio::select! {
            served = serve(&parrot, access, reader, writer) => served.unwrap(),
            () = cut.notified() => {}
        }
    });
    let (reader, writer) = tokio::io::split(ours);
    let (remote, speaking) = Remote::over(reader, writer);
    tokio::spawn(speaking);
    (remote, end)
}

fn me() -> Caller {
    Caller::local("cli")
}

fn interrupt() -> Request {
    Request::Interrupt(request::Interrupt { session: "s".into(), turn: None })
}

#[tokio::test]
async fn answers_and_errors_come_back_to_whoever_asked() {
    let (remote, _end) = connected(Access::Owner);
    let me = me();
    let hello = remote.call(&me, Request::Hello(Hello::default())).await.unwrap_err();
    assert_eq!((hello.code, hello.message.as_str()), (ErrorCode::Invalid, "cli"));
    assert_eq!(remote.call(&me, interrupt()).await, Ok(Response::Done { changed: true }));
}

#[tokio::test]
async fn a_long_call_keeps_nobody_from_interrupting_it() {
    let (remote, _end) = connected(Access::Owner);
    let me = me();
    let compact = Request::Compact(request::Compact {
        session: "s".into(),
        instructions: None,
        if_running: request::IfRunning::Wait,
        ..Default::default()
    });
    let (long, short) = tokio::join!(remote.call(&me, compact), remote.call(&me, interrupt()));
    assert_eq!((long, short), (Ok(Response::Done { changed: false }), Ok(Response::Done { changed: true })));
}

#[tokio::test]
async fn a_session_is_followed_from_where_it_was_seen_last() {
    let (remote, end) = connected(Access::Read);
    let me = me();
    let mut events = remote.follow(&me, "s", 41).await.unwrap();
    for seq in 42..45 {
        assert_eq!(events.next().await.unwrap().unwrap().seq, seq);
    }
    let unknown = remote.follow(&me, "unknown", 0).await.err().unwrap();
    assert_eq!(unknown.code, ErrorCode::NotFound);
    end.notify_one();
    assert_eq!(events.next().await.unwrap().unwrap_err().code, ErrorCode::Disconnected);
}

#[tokio::test]
async fn two_who_have_much_to_say_at_once_do_not_wait_for_each_other() {
    let (remote, _end) = connected(Access::Owner);
    let me = me();
    let long_name = "x".repeat(100_000);
    let calls =
        (0..20).map(|_| remote.call(&me, Request::Tree(request::Session { session: long_name.clone() })));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.unwrap_err().code, ErrorCode::NotFound);
    }
}

#[tokio::test]
async fn a_reader_may_not_change_anything_over_the_wire_either() {
    let (remote, _end) = connected(Access::Read);
    assert_eq!(remote.call(&me(), interrupt()).await.unwrap_err().code, ErrorCode::ReadOnly);
}

#[tokio::test]
async fn whoever_waits_hears_that_the_connection_is_lost() {
    let (remote, end) = connected(Access::Owner);
    let me = me();
    let compact = Request::Compact(request::Compact {
        session: "s".into(),
        instructions: None,
        if_running: request::IfRunning::Wait,
        ..Default::default()
    });
    let (long, ()) = tokio::join!(remote.call(&me, compact), async { end.notify_one() });
    assert_eq!(long.unwrap_err().code, ErrorCode::Disconnected);
    assert_eq!(
        remote.call(&me, Request::Hello(Hello::default())).await.unwrap_err().code,
        ErrorCode::Disconnected
    );
}

#[tokio::test]
async fn what_the_owner_hands_over_holds_for_its_connection_and_for_no_other() {
    let hello = |folder: &str| {
        let context = CallerContext { folder: Some(folder.to_owned()), ..CallerContext::default() };
        Request::Hello(Hello { context, ..Hello::default() })
    };
    let folder = async |remote: &Remote| remote.call(&me(), Request::Status).await.unwrap_err().message;
    let (one, _end) = connected(Access::Owner);
    let (other, _end_of_other) = connected(Access::Owner);
    let (reader, _end_of_reader) = connected(Access::Read);
    for (remote, name) in [(&one, "/one"), (&other, "/other"), (&reader, "/reader")] {
        let _ = remote.call(&me(), hello(name)).await;
    }
    assert_eq!((folder(&one).await.as_str(), folder(&other).await.as_str()), ("/one", "/other"));
    assert_eq!(folder(&reader).await, "", "only the owner hands over anything");
    let _ = one.call(&me(), hello("/later")).await;
    assert_eq!(folder(&one).await, "/later");
}

#[tokio::test]
async fn an_answer_that_is_longer_than_a_line_is_refused_and_the_connection_goes_on() {
    let (remote, _end) = connected(Access::Owner);
    let me = me();
    let refused = remote.call(&me, Request::Agents).await.unwrap_err();
    assert_eq!((refused.code, refused.data.limit), (ErrorCode::TooLarge, Some(MAX_LINE as u64)));
    assert_eq!(remote.call(&me, interrupt()).await, Ok(Response::Done { changed: true }));
}
