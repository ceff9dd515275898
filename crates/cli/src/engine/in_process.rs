//! The engine in a command's own process. It holds no lock of the home and listens nowhere: the lock of each journal, and
//! the generation that a plan was made on, keep it and a running engine from writing over each other.

use std::path::Path;
use std::sync::Arc;

use offshoot_api::CallerContext;
use offshoot_engine::{Engine, MemoryShelf, Parts, RuleBook, Shelf, installed};
use offshoot_session::SessionId;
use offshoot_session::agent::Host;

use super::host::{host, host_in_memory};
use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::stamps::SystemStamps;
use crate::stored::watched;

/// Which permission rules the engine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// For requests about them.
    OfHome,
    /// Rules are for turns, and none runs here.
    None,
}

/// `session` is the one that is about to be read, so that a person sees how far that is.
pub(super) fn engine(here: &Here, session: Option<&SessionId>, rules: Rules) -> Result<Arc<Engine>, Failure> {
    let store = match session {
        Some(session) => watched(here, session)?,
        None => here.store()?,
    };
    let home = store.home().root().to_owned();
    let rules = match rules {
        Rules::OfHome => RuleBook::at(home.join("permissions.json")),
        Rules::None => RuleBook::in_memory(),
    };
    Ok(on_shelf(Arc::new(store), rules, host(&home), &home))
}

/// Its sessions and permission rules are in memory only. It reads the settings of the home and writes no file.
pub(super) fn engine_in_memory(shelf: &MemoryShelf, home: &Path) -> Arc<Engine> {
    on_shelf(Arc::new(shelf.clone()), RuleBook::in_memory(), host_in_memory(), home)
}

fn on_shelf(shelf: Arc<dyn Shelf>, rules: RuleBook, host: Host, home: &Path) -> Arc<Engine> {
    Arc::new(Engine::new(Parts {
        shelf,
        agents: installed(),
        stamps: Arc::new(|context: &CallerContext| Box::new(SystemStamps::counting(context.stamps.clone()))),
        rules,
        host,
        epoch: 0,
        settings: settings::engine::source(home),
    }))
}
