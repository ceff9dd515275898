//! What a conversation or an answer prints, on a thread of its own.
//!
//! A terminal that is stopped (Ctrl-S) or a pipe that nobody reads holds up whoever writes to it. The process that talks
//! may be the engine of everybody else, so it hands its words to this thread and looks at [`Printing::has_room`] before
//! it takes more to say: what waits stays small, and nobody else waits.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use crate::failure::Failure;
use crate::words::cannot_print;

/// So many bytes may wait. One step may add more than that; the next one waits.
const ROOM: usize = 64 * 1024;

pub(crate) struct Printing {
    pieces: mpsc::Sender<Piece>,
    state: Arc<State>,
    ended: oneshot::Receiver<()>,
}

enum Piece {
    Out(String),
    /// Beside what is printed: errors.
    Beside(String),
}

#[derive(Default)]
struct State {
    waiting: AtomicUsize,
    /// Something was written, or nothing can be.
    moves: Notify,
    failed: Mutex<Option<io::Error>>,
}

impl Printing {
    pub(crate) fn begin() -> Self {
        let (pieces, to_print) = mpsc::channel();
        let (ends, ended) = oneshot::channel();
        let state = Arc::new(State::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            print_all(&to_print, &shared);
            // Who has left does not ask.
            let _ = ends.send(());
        });
        Self { pieces, state, ended }
    }

    /// Never waits.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.hand(text, Piece::Out)
    }

    /// Never waits. Who cannot read it any more does not miss it.
    pub(crate) fn print_beside(&self, text: &str) {
        let _ = self.hand(text, Piece::Beside);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.state.waiting.load(Ordering::Acquire) < ROOM
    }

    /// Until there is room again.
    pub(crate) async fn room(&self) {
        while !self.has_room() {
            self.state.moves.notified().await;
        }
    }

    /// Until everything is printed, or for so long.
    pub(crate) async fn end(self, patience: Option<Duration>) {
        drop(self.pieces);
        // The thread ends in any case; whether it says so does not matter.
        match patience {
            None => drop(self.ended.await),
            Some(patience) => drop(tokio::time::timeout(patience, self.ended).await),
        }
    }

    /// Until everything is printed, and whether it was.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        let state = self.state.clone();
        self.end(None).await;
        // What is read is whole at any time, whoever died while holding it.
        match state.failed.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(error) => Err(Failure::failed(cannot_print(error))),
            None => Ok(()),
        }
    }

    fn hand(&self, text: &str, piece: impl FnOnce(String) -> Piece) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.state.waiting.fetch_add(text.len(), Ordering::AcqRel);
        self.pieces.send(piece(text.to_owned())).map_err(|_| self.why())
    }

    fn why(&self) -> Failure {
        // What is read is whole at any time, whoever died while holding it.
        let failed = self.state.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = io::Error::from(io::ErrorKind::BrokenPipe);
        Failure::failed(cannot_print(failed.as_ref().unwrap_or(&unknown)))
    }
}

fn print_all(to_print: &mpsc::Receiver<Piece>, state: &State) {
    while let Ok(piece) = to_print.recv() {
        let written = match &piece {
            Piece::Out(text) => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
            Piece::Beside(text) => {
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
        };
        if let Err(error) = written {
            *state.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            state.waiting.store(0, Ordering::Release);
            state.moves.notify_one();
            return;
        }
        let (Piece::Out(text) | Piece::Beside(text)) = piece;
        state.waiting.fetch_sub(text.len(), Ordering::AcqRel);
        state.moves.notify_one();
    }
}
