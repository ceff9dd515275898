//! `offshoot chat [SESSION]`: a conversation line by line.
//!
//! One loop takes what is typed, what happens, and signals. At a terminal lines are taken at any time, and what is said
//! while an answer comes waits in the queue; from a pipe a line is taken when the one before is answered, or asks something.
//! What is printed goes through a thread of its own ([`crate::talk::printing`]), so a terminal that is stopped stops nobody
//! else: nothing more is taken until there is room.

mod after;
mod answers;
mod attaching;
mod calling;
mod changed;
mod changing;
mod hearing;
mod input;
mod measured;
mod performing;
mod place;
mod session;
mod signals;
mod storage;
mod turns;
mod typed;
mod waiting;

use std::io::IsTerminal;

use futures_util::{FutureExt, StreamExt};
use offshoot_api::{ApiError, ErrorCode, Event};
use offshoot_engine::MemoryShelf;

use self::input::{Block, Came};
use self::session::Chat;
use self::signals::{Signals, Told};
use self::storage::Storage;
use crate::args::{ChatArgs, WantedSession};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::which;
use crate::words::talking as words;
use crate::{Answer, auto_sync, talk};

pub(crate) fn run(args: &ChatArgs, here: &Here) -> Result<Answer, Failure> {
    let session = match args.wanted_session() {
        WantedSession::New => None,
        WantedSession::Current => Some(which::stored(here, None)?.to_string()),
        WantedSession::Named(name) => Some(which::stored(here, Some(name))?.to_string()),
    };
    let storage = if args.memory { Storage::Memory(MemoryShelf::new()) } else { Storage::Home };
    let _looking = (!args.memory).then(|| auto_sync::meanwhile(here));
    let model = args.model.as_deref().map(typed::model).transpose().map_err(Failure::usage)?;
    let wanted = session::Wanted { agent: args.agent.clone(), model };
    let ends = talk::wait_for(converse(storage, wanted, session, here))?;
    Ok(Answer { ends, ..Answer::default() })
}

async fn converse(
    storage: Storage,
    wanted: session::Wanted,
    session: Option<String>,
    here: &Here,
) -> Result<Option<Exit>, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    let signals = Signals::listen().map_err(|error| Failure::failed(words::cannot_wait(&error)))?;
    let reached = storage.engine(here).await?;
    let mut chat = Chat::new(here, storage, reached, wanted, signals, is_terminal);
    let ended = match chat.enter(session).await {
        Ok(()) => listen(&mut chat, is_terminal).await,
        Err(failure) => Err(failure),
    };
    let exit = chat.leave().await;
    ended.map(|()| exit)
}

/// Ends when the person leaves, by whichever way.
async fn listen(chat: &mut Chat<'_>, is_terminal: bool) -> Result<(), Failure> {
    let mut lines = input::lines(is_terminal);
    let mut block = Block::default();
    let mut input_ended = false;
    while !chat.is_left() && (!input_ended || chat.has_work()) {
        if chat.takes_unheard_stop() {
            chat.interrupt().await?;
            continue;
        }
        let has_room = chat.out.has_room();
        // Nobody is invited between a prompt and its answer. While an answer comes signals go first.
        if has_room
            && chat.is_about_to_invite()
            && let Some(event) = next(&mut chat.events).now_or_never()
        {
            chat.hear(event).await?;
            continue;
        }
        chat.invite(&block)?;
        let takes_lines = has_room && !input_ended && (is_terminal || !chat.is_busy());
        tokio::select! {
            // What has happened is told before the next line is taken.
            biased;
            told = chat.signals.next() => match told {
                Told::Leave => chat.is_told_to_leave(),
                Told::Stop if block.is_empty() => chat.interrupt().await?,
                Told::Stop => {
                    block.forget();
                    chat.drop_block()?;
                }
            },
            event = next(&mut chat.events), if has_room => chat.hear(event).await?,
            line = lines.recv(), if takes_lines => match line.map(|line| block.take(line)) {
                Some(Came::Whole(text)) => chat.take(&text).await?,
                Some(Came::Pasted { lines, last_is_open }) => chat.was_pasted(lines, last_is_open)?,
                Some(Came::Cut { last_is_open }) => chat.line_was_cut(last_is_open)?,
                Some(Came::GoesOn) => chat.goes_on(),
                // Nobody is invited in the middle of what comes at once.
                Some(Came::Pasting) => {}
                // At a terminal whoever ends the input wants to leave; a pipe still wants its answer.
                None if is_terminal => return Ok(()),
                None => input_ended = true,
            },
            () = chat.out.room(), if !has_room => {}
        }
    }
    Ok(())
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
