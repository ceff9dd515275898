//! `offshoot chat [SESSION]`: a conversation line by line.
//!
//! One loop takes what is typed, what happens, and Ctrl-C. At a terminal lines are taken at any time, and what is said
//! while an answer comes waits in the queue; from a pipe a line is taken when the one before is answered, or asks something.

mod after;
mod changing;
mod session;
mod typed;

use std::io::{BufRead, IsTerminal};

use futures_util::StreamExt;
use offshoot_api::{ApiError, ErrorCode, Event};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use self::session::Chat;
use crate::args::ChatArgs;
use crate::engine::reach;
use crate::failure::Failure;
use crate::here::Here;
use crate::which;
use crate::words::talking as words;
use crate::{Answer, auto_sync, talk};

/// Lines that may lie ready; who types more waits.
const LINES_AHEAD: usize = 16;

pub(crate) fn run(args: &ChatArgs, here: &Here) -> Result<Answer, Failure> {
    let named = args.resume.as_deref().or(args.session.as_deref());
    let session = match (named, args.go_on) {
        (None, false) => None,
        (named, _) => Some(which::stored(here, named)?.to_string()),
    };
    let _looking = auto_sync::meanwhile(here);
    talk::wait_for(converse(args, session, here))?;
    Ok(Answer::default())
}

async fn converse(args: &ChatArgs, session: Option<String>, here: &Here) -> Result<(), Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    let ctrl_c =
        signal(SignalKind::interrupt()).map_err(|error| Failure::failed(words::cannot_wait(&error)))?;
    let mut chat = Chat::new(here, reach(here).await?, args.agent.clone(), is_terminal);
    let ended = match chat.enter(session).await {
        Ok(()) => listen(&mut chat, is_terminal, ctrl_c).await,
        Err(failure) => Err(failure),
    };
    chat.leave().await;
    ended
}

async fn listen(chat: &mut Chat<'_>, is_terminal: bool, mut ctrl_c: Signal) -> Result<(), Failure> {
    let mut lines = lines();
    let mut input_ended = false;
    loop {
        if input_ended && !chat.is_busy() {
            return Ok(());
        }
        chat.invite()?;
        tokio::select! {
            // What has happened is told before the next line is taken.
            biased;
            _ = ctrl_c.recv() => {
                if chat.interrupt().await? == Goes::Away {
                    return Ok(());
                }
            }
            event = next(&mut chat.events) => chat.hear(event).await?,
            line = lines.recv(), if !input_ended && (is_terminal || !chat.is_busy()) => match line {
                Some(line) => {
                    if chat.take(&line).await? == Goes::Away {
                        return Ok(());
                    }
                }
                // At a terminal whoever ends the input wants to leave; a pipe still wants its answer.
                None if is_terminal => return Ok(()),
                None => input_ended = true,
            },
        }
    }
}

/// Whether the conversation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    On,
    Away,
}

async fn next(events: &mut Option<offshoot_api::EventStream>) -> Result<Event, ApiError> {
    match events {
        Some(stream) => stream
            .next()
            .await
            .unwrap_or_else(|| Err(ApiError::new(ErrorCode::Disconnected, "the events ended"))),
        None => std::future::pending().await,
    }
}

/// Lines of the standard input, read on a thread of their own: it cannot be told to stop and ends with the program.
fn lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut bytes = Vec::new();
        while matches!(input.read_until(b'\n', &mut bytes), Ok(read) if read > 0) {
            if sender.blocking_send(String::from_utf8_lossy(&bytes).into_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    });
    lines
}
