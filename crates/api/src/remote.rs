//! The client's end of a connection: a service that is somewhere else.
//!
//! One task speaks for all who hold the [`Remote`]; it ends when the last of them is gone, or with the connection. Whoever
//! waits then hears `disconnected`.
//!
//! Limitation: over one connection a session is followed once; who follows it again takes it over.

use std::collections::HashMap;
use std::io;

use futures_util::stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

use crate::frame::{self, Call, Lines, Outbox, Reply};
use crate::request::Follow;
use crate::serve::{disconnected, taken};
use crate::service::{Answering, Following};
use crate::{ApiError, Caller, Event, Request, Response, Service};

const READ_BYTES: usize = 64 * 1024;
const CALLS_AHEAD: usize = 64;

type Answer = Result<Response, ApiError>;
type Follower = mpsc::UnboundedSender<Result<Event, ApiError>>;

/// An engine in another process.
#[derive(Clone, Debug)]
pub struct Remote {
    calls: mpsc::Sender<Outgoing>,
}

#[derive(Debug)]
struct Outgoing {
    caller: String,
    request: Request,
    answer: oneshot::Sender<Answer>,
    /// Where the events of a session go that is followed.
    follower: Option<Follower>,
}

/// Calls that wait for an answer, and sessions that are followed.
#[derive(Default)]
struct Waiting {
    last_id: u64,
    answers: HashMap<u64, oneshot::Sender<Answer>>,
    /// Calls that begin to follow a session.
    following: HashMap<u64, String>,
    followers: HashMap<String, Follower>,
}

impl Remote {
    /// A service over a connection, and the task that serves it, to be run by whoever owns the connection.
    pub fn over(
        reader: impl AsyncRead + Unpin,
        writer: impl AsyncWrite + Unpin,
    ) -> (Self, impl Future<Output = io::Result<()>>) {
        let (calls, outgoing) = mpsc::channel(CALLS_AHEAD);
        (Self { calls }, speak(outgoing, reader, writer))
    }

    async fn ask(&self, caller: &Caller, request: Request, follower: Option<Follower>) -> Answer {
        let (answer, answered) = oneshot::channel();
        let outgoing = Outgoing { caller: caller.name.clone(), request, answer, follower };
        self.calls.send(outgoing).await.map_err(|_| disconnected())?;
        answered.await.map_err(|_| disconnected())?
    }
}

impl Service for Remote {
    fn call<'s>(&'s self, caller: &'s Caller, request: Request) -> Answering<'s> {
        Box::pin(self.ask(caller, request, None))
    }

    fn follow<'s>(&'s self, caller: &'s Caller, session: &'s str, after_seq: u64) -> Following<'s> {
        Box::pin(async move {
            let (follower, events) = mpsc::unbounded_channel();
            let request = Request::Follow(Follow { session: session.to_owned(), after_seq });
            self.ask(caller, request, Some(follower)).await?;
            let next =
                |mut events: mpsc::UnboundedReceiver<_>| async { Some((events.recv().await?, events)) };
            Ok(Box::pin(stream::unfold(events, next)) as crate::EventStream)
        })
    }
}

async fn speak(
    mut outgoing: mpsc::Receiver<Outgoing>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut waiting = Waiting::default();
    let mut lines = Lines::default();
    let mut outbox = Outbox::default();
    let mut bytes = vec![0; READ_BYTES];
    // Dropping what waits tells everybody that the connection is lost.
    loop {
        tokio::select! {
            call = outgoing.recv(), if !outbox.is_full() => {
                let Some(call) = call else { return Ok(()) };
                outbox.add(&waiting.call(call)).map_err(io::Error::other)?;
            }
            sent = writer.write(outbox.rest()), if !outbox.is_empty() => {
                outbox.sent(taken(sent?)?);
                if outbox.is_empty() {
                    writer.flush().await?;
                }
            }
            read = reader.read(&mut bytes) => {
                let arrived = bytes.get(..read?).unwrap_or_default();
                if arrived.is_empty() {
                    waiting.lose();
                    return Ok(());
                }
                lines.push(arrived);
                while let Some(line) = lines.next_line().map_err(io::Error::other)? {
                    waiting.take(frame::decode_reply(&line).map_err(io::Error::other)?);
                }
            }
        }
    }
}

impl Waiting {
    fn call(&mut self, outgoing: Outgoing) -> Call {
        let Outgoing { caller, request, answer, follower } = outgoing;
        self.last_id += 1;
        self.answers.insert(self.last_id, answer);
        // Before the call, because events may come as soon as it is heard.
        if let (Some(follower), Some(session)) = (follower, request.session()) {
            self.followers.insert(session.to_owned(), follower);
            self.following.insert(self.last_id, session.to_owned());
        }
        Call { id: self.last_id, caller, request }
    }

    /// An answer that nobody waits for any more is dropped.
    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Response { id, response } => {
                self.following.remove(&id);
                if let Some(answer) = self.answers.remove(&id) {
                    let _ = answer.send(Ok(*response));
                }
            }
            Reply::Error { id: Some(id), error } => {
                if let Some(session) = self.following.remove(&id) {
                    self.followers.remove(&session);
                }
                if let Some(answer) = self.answers.remove(&id) {
                    let _ = answer.send(Err(error));
                }
            }
            // It belongs to no call: a session that is followed was cut off, and we do not know which.
            Reply::Error { id: None, error } => self.tell_followers(&error),
            Reply::Event { event } => {
                let session = event.session.clone();
                let heard =
                    self.followers.get(&session).is_some_and(|follower| follower.send(Ok(*event)).is_ok());
                if !heard {
                    self.followers.remove(&session);
                }
            }
        }
    }

    fn lose(&mut self) {
        self.tell_followers(&disconnected());
        self.answers.clear();
    }

    fn tell_followers(&mut self, error: &ApiError) {
        for (_, follower) in self.followers.drain() {
            let _ = follower.send(Err(error.clone()));
        }
    }
}
