//! The engine in a command's own process. It holds no lock of the home and listens nowhere: the lock of each journal, and
//! the generation that a plan was made on, keep it and a running engine from writing over each other.

use std::sync::Arc;

use offshoot_engine::{Engine, Parts, RuleBook, installed};
use offshoot_session::cost::Prices;
use offshoot_session::{SessionId, Stamps};

use crate::failure::Failure;
use crate::here::Here;
use crate::settings;
use crate::stored::watched;
use crate::words::talking as words;

pub(super) fn engine(here: &Here, session: Option<&SessionId>) -> Result<Arc<Engine>, Failure> {
    let store = match session {
        Some(session) => watched(here, session)?,
        None => here.store()?,
    };
    let home = store.home().root().to_owned();
    let rules = RuleBook::at(home.join("permissions.json"));
    let stamps = here.stamps_for_many();
    Ok(Arc::new(Engine::new(Parts {
        shelf: Arc::new(store),
        agents: installed(None),
        programs: Vec::new(),
        stamps: Arc::new(move || Box::new(stamps.clone()) as Box<dyn Stamps + Send>),
        rules: rules.map_err(|error| Failure::failed(words::engine_not_started(&home, &error)))?,
        settings: settings::engine::source(here.settings.clone(), Prices::listed()),
    })))
}
