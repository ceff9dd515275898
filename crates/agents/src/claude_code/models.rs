//! The models that Claude Code lists. It names them only when its process opens, so the latest list is kept.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_session::agent::{AgentStart, ConnectionEvent, Environment, FromAgent, Host};
use offshoot_session::handoff::Handoff;
use offshoot_session::{Model, SessionId};
use tokio::time::timeout;

use super::launch::Version;
use super::{Limits, NAME, ladder};

/// As the last process that opened has listed them.
#[derive(Debug, Default)]
pub(super) struct KnownModels(Mutex<Option<Vec<Model>>>);

impl KnownModels {
    pub(super) fn are_unknown(&self) -> bool {
        self.listed().is_none()
    }

    /// `None` where no list is known, or Claude Code lists none.
    pub(super) fn all(&self) -> Option<Vec<Model>> {
        self.listed().clone().filter(|models| !models.is_empty())
    }

    /// As [`Abilities::models`](offshoot_session::agent::Abilities::models) has them.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        let name = |model: Model| format!("{}/{}", model.provider, model.name);
        Some(self.all()?.into_iter().map(name).collect())
    }

    pub(super) fn remember(&self, models: &[Model]) {
        *self.listed() = Some(models.to_vec());
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

    /// The list is replaced as a whole, so a thread that died here left nothing half done.
    fn listed(&self) -> MutexGuard<'_, Option<Vec<Model>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_models_refuses_none() {
        let known = KnownModels::default();
        assert!(known.are_unknown() && known.names().is_none());
        known.remember(&[]);
        assert!(!known.are_unknown() && known.names().is_none());
        known.remember(&[Model { provider: "anthropic".into(), name: "opus[1m]".into() }]);
        assert_eq!(known.names(), Some(vec!["anthropic/opus[1m]".to_owned()]));
    }
}
