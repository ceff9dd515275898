//! The server itself: its threads, and what they share with the test.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::http;
use super::perform::perform;
use super::protocol::{Endpoint, Protocol, models};
use super::recorded::{End, Request};
use super::script::{Failure, Script};

/// Whoever waits for something that never happens gives up after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model on loopback, from its start until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

/// What the test and the connections know of each other.
#[derive(Debug)]
pub(super) struct Shared {
    script: Script,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<Request>,
    open_gates: HashSet<String>,
    /// Gates that a reply stands at, or stood.
    reached: HashSet<String>,
    /// How often a step of the answer to a prompt was asked for.
    attempts: HashMap<(String, usize), usize>,
    connections: Vec<TcpStream>,
    is_over: bool,
}

impl ModelServer {
    /// On a port that is free.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_at(script, 0)
    }

    pub fn start_at(script: Script, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared { script, state: Mutex::new(State::default()), changed: Condvar::new() });
        let listening = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || listen(&listener, &shared))
        };
        Ok(Self { address, shared, listening: Some(listening) })
    }

    /// Without a slash at the end, and without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All that were asked so far, in the order they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Waits until the requests are as they should be; says no after a minute.
    pub fn wait_until(&self, are_so: impl Fn(&[Request]) -> bool) -> bool {
        self.shared.wait(|state| are_so(&state.requests))
    }

    /// Waits until a reply has come to this gate; says no after a minute.
    pub fn wait_at(&self, gate: &str) -> bool {
        self.shared.wait(|state| state.reached.contains(gate))
    }

    /// Lets the replies go on that stand at this gate, and all that come to it later.
    pub fn open(&self, gate: &str) {
        self.shared.lock().open_gates.insert(gate.to_owned());
        self.shared.changed.notify_all();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let connections = {
            let mut state = self.shared.lock();
            state.is_over = true;
            std::mem::take(&mut state.connections)
        };
        self.shared.changed.notify_all();
        for connection in connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // The listener waits for a connection: this is its last one.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving = Vec::new();
    for stream in listener.incoming() {
        if shared.lock().is_over {
            break;
        }
        let Ok(stream) = stream else { continue };
        let Ok(copy) = stream.try_clone() else { continue };
        shared.lock().connections.push(copy);
        let shared = Arc::clone(shared);
        serving.push(std::thread::spawn(move || {
            // A connection that breaks is the client's business; what was asked is recorded.
            let _ = serve(stream, &shared);
        }));
        serving.retain(|thread| !thread.is_finished());
    }
    for thread in serving {
        let _ = thread.join();
    }
}

/// One connection, request after request.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some((head, body)) = http::read(&mut reader)? {
        let endpoint = Endpoint::of(&head.method, &head.path);
        let length = body.len();
        let (raw, body) = (body.as_slice(), parsed(&body));
        let number = shared.record(&head, raw, &body, &endpoint);
        let refused = match &endpoint {
            Endpoint::Reply { protocol, .. } => {
                protocol.check(&head, &body).err().map(|why| (*protocol, why))
            }
            Endpoint::CountTokens(_) | Endpoint::Models | Endpoint::Alive | Endpoint::Unknown => None,
        };
        let told = match refused {
            Some((protocol, why)) => refuse(&mut stream, protocol, &why),
            None => answer(&mut stream, shared, number, &endpoint, &body, length),
        };
        let end = told.unwrap_or(End::ClientLeft);
        let is_open = matches!(end, End::Answered | End::Refused(_));
        if !is_open {
            // There are other handles of this socket: only this closes it.
            let _ = stream.shutdown(Shutdown::Both);
        }
        shared.ended(number, end);
        if !is_open {
            break;
        }
    }
    Ok(())
}

fn parsed(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into())
}

/// As the real server does.
fn refuse(stream: &mut TcpStream, protocol: Protocol, why: &str) -> io::Result<End> {
    let body = protocol.error_with(400, why).to_string();
    http::answer(stream, 400, "", body.as_bytes()).map(|()| End::Refused(why.to_owned()))
}

fn answer(
    stream: &mut TcpStream,
    shared: &Shared,
    number: usize,
    endpoint: &Endpoint,
    body: &Value,
    length: usize,
) -> io::Result<End> {
    let json = |stream: &mut TcpStream, status, value: &Value| {
        http::answer(stream, status, "", value.to_string().as_bytes()).map(|()| End::Answered)
    };
    match endpoint {
        Endpoint::Alive => http::answer(stream, 200, "", b"").map(|()| End::Answered),
        Endpoint::Models => json(stream, 200, &models()),
        Endpoint::CountTokens(protocol) => json(stream, 200, &protocol.token_count(length / 4)),
        Endpoint::Unknown => json(stream, 404, &Protocol::Messages.error_with(404, "Not Found")),
        Endpoint::Reply { protocol, is_streamed, model } => {
            let mut asked = protocol.asked(body);
            asked.is_streamed = is_streamed.unwrap_or(asked.is_streamed);
            if let Some(model) = model {
                asked.model.clone_from(model);
            }
            perform(stream, shared, *protocol, &asked, number, length)
        }
    }
}

impl Shared {
    pub(super) fn script(&self) -> &Script {
        &self.script
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock, so what a poisoned one guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, is_so: impl Fn(&State) -> bool) -> bool {
        let since = Instant::now();
        let mut state = self.lock();
        while !is_so(&state) {
            let Some(left) = PATIENCE.checked_sub(since.elapsed()) else { return false };
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    fn record(&self, head: &http::Head, raw: &[u8], body: &Value, endpoint: &Endpoint) -> usize {
        let protocol = match endpoint {
            Endpoint::Reply { protocol, .. } | Endpoint::CountTokens(protocol) => Some(*protocol),
            Endpoint::Models | Endpoint::Alive | Endpoint::Unknown => None,
        };
        let prompt = protocol.map(|protocol| protocol.asked(body).prompt().to_owned());
        let request = Request {
            method: head.method.clone(),
            path: head.path.clone(),
            headers: head.headers.clone(),
            bytes: raw.to_vec(),
            body: body.clone(),
            protocol,
            prompt: prompt.unwrap_or_default(),
            end: None,
        };
        let mut state = self.lock();
        state.requests.push(request);
        self.changed.notify_all();
        state.requests.len()
    }

    fn ended(&self, number: usize, end: End) {
        if let Some(request) = self.lock().requests.get_mut(number - 1) {
            request.end = Some(end);
        }
        self.changed.notify_all();
    }

    /// The failure that comes before the reply, if it was not asked often enough yet.
    pub(super) fn failure_first(&self, prompt: &str, step: usize, failures: &[Failure]) -> Option<Failure> {
        if failures.is_empty() {
            return None;
        }
        let mut state = self.lock();
        let attempts = state.attempts.entry((prompt.to_owned(), step)).or_default();
        *attempts += 1;
        failures.get(*attempts - 1).cloned()
    }

    /// Stands still until then, or until the client or the test has gone: then there is an error.
    pub(super) fn stand(&self, stream: &TcpStream, until: &Until<'_>) -> io::Result<()> {
        const LOOK: Duration = Duration::from_millis(20);
        let since = Instant::now();
        let mut state = self.lock();
        if let Until::Gate(gate) = until {
            state.reached.insert((*gate).to_owned());
            self.changed.notify_all();
        }
        loop {
            let left = match until {
                Until::Gate(gate) if state.open_gates.contains(*gate) => return Ok(()),
                Until::Gate(_) | Until::Never => LOOK,
                Until::Over(time) => match time.checked_sub(since.elapsed()) {
                    Some(left) if !left.is_zero() => left.min(LOOK),
                    Some(_) | None => return Ok(()),
                },
            };
            if state.is_over || has_left(stream)? {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(super) enum Until<'g> {
    Over(Duration),
    Gate(&'g str),
    Never,
}

/// A client that has closed its side reads no more.
fn has_left(stream: &TcpStream) -> io::Result<bool> {
    stream.set_nonblocking(true)?;
    let seen = stream.peek(&mut [0]);
    stream.set_nonblocking(false)?;
    match seen {
        Ok(bytes) => Ok(bytes == 0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}
