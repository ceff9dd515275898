//! Sessions too long to be read whole for a look at a part of them.

use std::path::Path;
use std::sync::Arc;

use offshoot_session::Entry;
use offshoot_session::about::prompts;
use offshoot_session::outline::one_line;
use offshoot_session::skeleton::Kind;
use offshoot_store::lazy::{Format, LazyError, LazySession, UseIndex};

use crate::here::Here;
use crate::which::Which;

/// A shorter one is read whole in the blink of an eye, and every checksum in it is checked on the way.
const LONG: u64 = 4 << 20;

/// One of so many says something, unless somebody made the file by hand.
const FIRST_PROMPTS: usize = 32;

/// `None` where the session is short, or is not as its program writes it: then it is for the whole reading, which
/// also says what is wrong with it.
pub(crate) fn long_session(here: &Here, which: &Which) -> Option<LazySession> {
    shape_of_long(here, which).filter(|session| !session.skeleton().is_taken_back())
}

/// The same, also for one whose beginning was undone.
pub(crate) fn shape_of_long(here: &Here, which: &Which) -> Option<LazySession> {
    let store = here.store().ok()?;
    let session = match which {
        Which::Stored(id) => {
            is_long(&store.home().journal(id)).then(|| store.lazy(id, UseIndex::Yes).ok().flatten())
        }
        // what is kept is packed
        Which::File(path) if path.extension().is_some_and(|end| end == "zst") => None,
        Which::File(path) => is_long(path).then(|| {
            // Whoever only looks at a file does not find a home made for it.
            let home = Some(store.home()).filter(|home| home.sessions().is_dir());
            LazySession::of_file(path, Format::Pi, home, UseIndex::Yes).ok().flatten()
        }),
    };
    session.flatten()
}

pub(crate) fn is_long(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() >= LONG)
}

/// Keeps the shape of a session for the next look. Failing costs only the time it would have saved.
pub(crate) fn keep_shape(session: &LazySession) {
    if session.wants_index() {
        drop(session.save_index());
    }
}

/// The entries that are asked for a title where the session has none: the first prompts, and all notes, because one
/// of them may say that a prompt is not the person's.
pub(crate) fn named_by(session: &LazySession) -> Result<Vec<u32>, LazyError> {
    let skeleton = session.skeleton();
    if skeleton.title().is_some() {
        return Ok(Vec::new());
    }
    let of = |kind: Kind| -> Vec<u32> {
        (0..skeleton.len() as u32).filter(|node| skeleton.kind(*node) == Some(kind)).collect()
    };
    let (notes, asked) = (of(Kind::Note), of(Kind::Prompt));
    let few: Vec<u32> = notes.iter().chain(asked.iter().take(FIRST_PROMPTS)).copied().collect();
    let says_something = |entry: &Arc<Entry>| !one_line(&entry.body).is_empty();
    if prompts(&session.part(&[], &few)?).into_iter().any(says_something) {
        return Ok(few);
    }
    Ok(notes.into_iter().chain(asked).collect())
}
