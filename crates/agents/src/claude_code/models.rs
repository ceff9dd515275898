//! The models that Claude Code lists. It names them only when its process opens, so the latest list is kept: one for each
//! program, account and address, which decide which models there are.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_session::agent::{AgentStart, ConnectionEvent, Environment, FromAgent, Host};
use offshoot_session::handoff::Handoff;
use offshoot_session::{Model, SessionId};
use tokio::time::timeout;

use super::launch::Version;
use super::{Limits, NAME, ladder};

/// As the last process of each origin has listed them.
#[derive(Debug, Default)]
pub(super) struct KnownModels(Mutex<Lists>);

#[derive(Debug, Default)]
struct Lists {
    by_origin: HashMap<Origin, Vec<Model>>,
    /// That of the caller who was asked about last.
    current: Option<Origin>,
}

/// Where a list comes from. Keys are kept as a hash only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin(u64);

impl Origin {
    /// The variables of providers and accounts are those of these names.
    pub(super) fn of(program: &Path, environment: &Environment) -> Self {
        let mut hasher = DefaultHasher::new();
        program.hash(&mut hasher);
        let is_of_account = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            name == b"HOME" || name.starts_with(b"ANTHROPIC_") || name.starts_with(b"CLAUDE_")
        };
        // In the order of their names.
        let variables = environment.iter().filter(|(name, _)| is_of_account(name));
        variables.for_each(|variable| variable.hash(&mut hasher));
        Self(hasher.finish())
    }
}

impl KnownModels {
    /// From here on the list of this caller counts. Whether there is none.
    pub(super) fn are_unknown(&self, origin: Origin) -> bool {
        let mut lists = self.lists();
        lists.current = Some(origin);
        !lists.by_origin.contains_key(&origin)
    }

    /// `None` where no list is known, or Claude Code lists none.
    pub(super) fn all(&self) -> Option<Vec<Model>> {
        let lists = self.lists();
        let models = lists.by_origin.get(&lists.current?)?;
        Some(models.clone()).filter(|models| !models.is_empty())
    }

    /// As [`Abilities::models`](offshoot_session::agent::Abilities::models) has them.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let name = |model: Model| format!("{}/{}", model.provider, model.name);
        Some(self.all()?.into_iter().map(name).collect())
    }

    pub(super) fn remember(&self, origin: Origin, models: &[Model]) {
        self.lists().by_origin.insert(origin, models.to_vec());
    }

    /// Starts a process that is asked for nothing but its list. One that does not open leaves the models unknown.
    pub(super) async fn ask(
        &self,
        host: &Host,
        environment: &Environment,
        program: PathBuf,
        version: Version,
        limits: Limits,
    ) {
        let start = AgentStart {
            session: SessionId::from(NAME),
            workspace: None,
            handoff: Handoff::New { session: None },
            settings: Vec::new(),
            context: Arc::new(Vec::new()),
            environment: environment.clone(),
            host: host.clone(),
            is_watched: false,
            lease: Default::default(),
        };
        let limits = Limits { opening: limits.opening.min(limits.listing), ..limits };
        let Ok(mut connection) = ladder::connect(start, program, version, limits, self).await else { return };
        // Connecting has remembered the list already; the event says that the process can be ended.
        let opened = async {
            while let Some(event) = connection.events.recv().await {
                if matches!(event, FromAgent::Connection(ConnectionEvent::Opened(_))) {
                    return;
                }
            }
        };
        let _ = timeout(limits.listing, opened).await;
        let _ = connection.close_within(limits.end).await;
    }

    /// A list is replaced as a whole, so a thread that died here left nothing half done.
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(variables: &[(&str, &str)]) -> Origin {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Origin::of(Path::new("claude"), &variables.collect())
    }

    fn model(name: &str) -> Model {
        Model { provider: "anthropic".into(), name: name.into() }
    }

    #[test]
    fn a_list_without_models_refuses_none() {
        let (known, origin) = (KnownModels::default(), origin(&[]));
        assert!(known.are_unknown(origin) && known.names().is_none());
        known.remember(origin, &[]);
        assert!(!known.are_unknown(origin) && known.names().is_none());
        known.remember(origin, &[model("opus[1m]")]);
        assert_eq!(known.names(), Some(vec!["anthropic/opus[1m]".to_owned()]));
    }

    /// The list of one account refused a model of another.
    #[test]
    fn each_account_and_address_has_a_list_of_its_own() {
        let known = KnownModels::default();
        let mine = origin(&[("ANTHROPIC_API_KEY", "mine"), ("PATH", "here")]);
        assert_eq!(mine, origin(&[("PATH", "there"), ("ANTHROPIC_API_KEY", "mine")]));
        assert!(known.are_unknown(mine));
        known.remember(mine, &[model("opus")]);
        for other in [
            origin(&[("ANTHROPIC_API_KEY", "other")]),
            origin(&[("ANTHROPIC_API_KEY", "mine"), ("ANTHROPIC_BASE_URL", "http://gateway")]),
            origin(&[("ANTHROPIC_API_KEY", "mine"), ("CLAUDE_CONFIG_DIR", "/elsewhere")]),
        ] {
            assert!(known.are_unknown(other) && known.names().is_none());
        }
        assert!(!known.are_unknown(mine));
        assert_eq!(known.names(), Some(vec!["anthropic/opus".to_owned()]));
    }
}
