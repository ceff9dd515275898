//! On whose behalf the actor works.
//!
//! Requests of many callers meet in one session, and each brings its own settings, environment and stamps. What follows
//! from a request works with those of its caller, however much later it happens: a turn keeps the scope of the request
//! that started it, a queued message that of its sender, a hook that of whatever it is told about.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_api::{CallerContext, StampCounter};
use offshoot_session::agent::Environment;

use super::{Message, SessionActor};
use crate::environment::environment_for;
use crate::hooks::Surroundings;
use crate::settings::Settings;

#[derive(Clone)]
pub(crate) struct Scope {
    pub(super) context: Arc<CallerContext>,
    pub(super) settings: Arc<Settings>,
}

impl Scope {
    /// For hooks.
    pub(super) fn surroundings(&self) -> Surroundings {
        let folder = self.context.folder.as_deref().map(PathBuf::from);
        Surroundings { environment: self.environment(), folder }
    }

    /// For agents and hooks.
    pub(super) fn environment(&self) -> Environment {
        environment_for(&self.context, &self.settings)
    }
}

impl SessionActor {
    /// The one in force.
    pub(super) fn scope(&self) -> Scope {
        Scope { context: self.context.clone(), settings: self.settings.clone() }
    }

    /// Puts a scope in force and returns the one before.
    pub(super) fn enter(&mut self, scope: Scope) -> Scope {
        let before = self.scope();
        if !takes_from_same(self.context.stamps.as_ref(), scope.context.stamps.as_ref()) {
            self.stamps = (self.shared.stamps)(&scope.context);
        }
        self.context = scope.context;
        self.settings = scope.settings;
        before
    }

    /// The scope of the turn, where it runs; else the one in force.
    pub(super) fn enter_turn(&mut self, turn: &offshoot_session::TurnId) -> Scope {
        let scope = self.turns.get(turn).map_or_else(|| self.scope(), |running| running.scope.clone());
        self.enter(scope)
    }

    /// The scope in which a message is handled. A call brings its caller's context, and its settings are read then.
    pub(super) fn scope_of(&self, message: &Message) -> Option<Scope> {
        match message {
            Message::Reached { turn, .. } => self.turns.get(turn).map(|running| running.scope.clone()),
            Message::Heard { connection, event } => {
                let of_turn = self.turn_of(*connection, event).and_then(|turn| self.turns.get(&turn));
                let of_turn = of_turn.map(|running| running.scope.clone());
                of_turn
                    .or_else(|| self.connections.get(connection).map(|connection| connection.scope.clone()))
            }
            Message::Gone { connection } => {
                let is_its = |running: &&super::Running| running.connection == Some(*connection);
                self.turns.values().find(is_its).map(|running| running.scope.clone())
            }
            Message::TurnClosed(ended) => Some(ended.scope.clone()),
            Message::Told { scope, .. } => Some(scope.clone()),
            Message::SharedStep { context, .. } => {
                Some(Scope { context: context.clone(), settings: self.settings.clone() })
            }
            Message::Back { errand, .. } => self.away.get(errand).map(|away| away.scope().clone()),
            Message::Call(_)
            | Message::EndIdle { .. }
            | Message::Follow { .. }
            | Message::NobodyWaits(_)
            | Message::IsIdle { .. }
            | Message::Tick
            | Message::Rest
            | Message::Broke
            | Message::Stop => None,
        }
    }
}

fn takes_from_same(one: Option<&StampCounter>, other: Option<&StampCounter>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_shared_with(other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}
