//! The server's end of a connection.
//!
//! Calls are begun in the order in which they came and answered when they are done, so that a long one keeps nobody from
//! interrupting. One task serves a connection; whoever runs [`serve`] owns it, and dropping it ends everything.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{FuturesUnordered, SelectAll};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::debug;

use crate::elision::elided;
use crate::frame::{self, Call, Lines, MAX_LINE, Outbox, Reply};
use crate::{
    Access, ApiError, Caller, CallerContext, CallerId, ErrorCode, ErrorData, Event, Request, Response,
    Service,
};

/// So much is read at once.
const READ_BYTES: usize = 64 * 1024;

type Replying<'s> = Pin<Box<dyn Future<Output = Begun> + Send + 's>>;
type Events = Abortable<Pin<Box<dyn Stream<Item = Result<Event, ApiError>> + Send>>>;

/// What a call has come to.
enum Begun {
    Answered { id: u64, answer: Result<Response, ApiError> },
    Follows { id: u64, session: String, events: crate::EventStream },
}

/// Serves a connection until the other end closes it. A line that is too long closes it too.
pub async fn serve(
    service: &dyn Service,
    access: Access,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    debug!(name: "caller connected", ?access);
    let served = serve_calls(service, access, reader, writer).await;
    debug!(name: "caller left", ok = served.is_ok());
    served
}

async fn serve_calls(
    service: &dyn Service,
    access: Access,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut connection = Connection { access, id: CallerId::fresh(), context: Arc::default() };
    let mut lines = Lines::default();
    let mut open: FuturesUnordered<Replying<'_>> = FuturesUnordered::new();
    let mut events: SelectAll<Events> = SelectAll::new();
    let mut followed: HashMap<String, AbortHandle> = HashMap::new();
    let mut bytes = vec![0; READ_BYTES];
    let mut outbox = Outbox::default();
    loop {
        let replies = tokio::select! {
            sent = writer.write(outbox.rest()), if !outbox.is_empty() => {
                outbox.sent(taken(sent?)?);
                if outbox.is_empty() {
                    writer.flush().await?;
                }
                Vec::new()
            }
            read = reader.read(&mut bytes), if !outbox.is_full() => {
                let arrived = bytes.get(..read?).unwrap_or_default();
                if arrived.is_empty() {
                    return Ok(());
                }
                lines.push(arrived);
                let mut refused = Vec::new();
                while let Some(line) = lines.next_line().map_err(io::Error::other)? {
                    match frame::decode_call(&line) {
                        Err(bad) => refused.push(Reply::Error { id: bad.id, error: bad.error }),
                        Ok(Call { id, request: Request::Unfollow(it), .. }) => {
                            let was_followed = stop_following(&mut followed, &it.session);
                            refused.push(response(id, Ok(Response::Done { changed: was_followed })));
                        }
                        Ok(call) => {
                            connection.take_over(&call.request);
                            open.push(begin(service, &connection, call));
                        }
                    }
                }
                refused
            }
            Some(begun) = open.next(), if !open.is_empty() && !outbox.is_full() => match begun {
                Begun::Answered { id, answer } => {
                    let mut replies = ready_events(&mut events);
                    replies.push(response(id, answer));
                    replies
                }
                Begun::Follows { id, session, events: stream } => {
                    stop_following(&mut followed, &session);
                    let (handle, registration) = AbortHandle::new_pair();
                    followed.insert(session, handle);
                    events.push(Abortable::new(stream, registration));
                    vec![response(id, Ok(Response::Done { changed: false }))]
                }
            },
            Some(event) = events.next(), if !events.is_empty() && !outbox.is_full() => vec![told(event)],
        };
        for reply in replies {
            outbox.add_line(line_of(&reply).map_err(io::Error::other)?);
        }
    }
}

/// A connection that takes nothing any more is closed.
pub(crate) fn taken(bytes: usize) -> io::Result<usize> {
    if bytes == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(bytes) }
}

/// Who is at the other end.
struct Connection {
    access: Access,
    id: CallerId,
    context: Arc<CallerContext>,
}

impl Connection {
    /// `hello` hands over what holds for this request and all that follow. A later one replaces it; turns that run keep
    /// what they were started with.
    fn take_over(&mut self, request: &Request) {
        if let (Request::Hello(hello), Access::Owner) = (request, self.access) {
            self.context = Arc::new(hello.context.clone());
        }
    }

    fn caller(&self, name: String) -> Caller {
        Caller { name, access: self.access, id: self.id, context: self.context.clone() }
    }
}

fn begin<'s>(service: &'s dyn Service, connection: &Connection, call: Call) -> Replying<'s> {
    let Call { id, caller, request } = call;
    let caller = connection.caller(caller);
    Box::pin(async move {
        if let Err(error) = caller.may(&request) {
            return Begun::Answered { id, answer: Err(error) };
        }
        match request {
            Request::Follow(it) => match service.follow(&caller, &it.session, it.after_seq).await {
                Ok(events) => Begun::Follows { id, session: it.session, events },
                Err(error) => Begun::Answered { id, answer: Err(error) },
            },
            request => Begun::Answered { id, answer: service.call(&caller, request).await },
        }
    })
}

/// What has happened already. It is sent before an answer, so that a client that has its answer has heard all that came
/// before it.
fn ready_events(events: &mut SelectAll<Events>) -> Vec<Reply> {
    let mut ready = Vec::new();
    while !events.is_empty()
        && let Some(Some(event)) = tokio::task::unconstrained(events.next()).now_or_never()
    {
        ready.push(told(event));
    }
    ready
}

fn told(event: Result<Event, ApiError>) -> Reply {
    match event {
        Ok(event) => Reply::Event { event: Box::new(event) },
        Err(error) => Reply::Error { id: None, error },
    }
}

/// A reply as a line. One that is too long would end the connection: texts of an event are cut, and any other call is refused
/// in its place.
fn line_of(reply: &Reply) -> Result<Vec<u8>, serde_json::Error> {
    let line = frame::encode(reply)?;
    let bytes = line.len();
    if bytes <= MAX_LINE {
        return Ok(line);
    }
    drop(line);
    if let Reply::Event { event } = reply
        && let Some(line) = elided(event)?
    {
        return Ok(line);
    }
    let (id, code) = match reply {
        Reply::Response { id, .. } => (Some(*id), ErrorCode::TooLarge),
        Reply::Error { id, .. } => (*id, ErrorCode::TooLarge),
        // Who follows is told that it has missed something.
        Reply::Event { .. } => (None, ErrorCode::Gone),
    };
    let message = format!("this is longer than a line of the connection: {bytes} bytes of {MAX_LINE}");
    let data = ErrorData { bytes: Some(bytes as u64), limit: Some(MAX_LINE as u64), ..ErrorData::default() };
    frame::encode(&Reply::Error { id, error: ApiError::new(code, message).about(data) })
}

fn stop_following(followed: &mut HashMap<String, AbortHandle>, session: &str) -> bool {
    followed.remove(session).inspect(AbortHandle::abort).is_some()
}

fn response(id: u64, answer: Result<Response, ApiError>) -> Reply {
    match answer {
        Ok(response) => Reply::Response { id, response: Box::new(response) },
        Err(error) => Reply::Error { id: Some(id), error },
    }
}

/// What whoever waits is told when the other end is gone.
pub(crate) fn disconnected() -> ApiError {
    ApiError::new(ErrorCode::Disconnected, "the connection to the engine was lost")
}
