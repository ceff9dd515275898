//! What hooks are told when it has happened: one thing after the other, in the order in which it happened.
//!
//! Nobody waits for it but whoever closes the session. A slow hook holds up only what is told later, and that no longer
//! than its limit. What hooks want is done then, unless it comes of what a hook has wanted: two hooks that answer each
//! other would go on for ever.

use std::collections::VecDeque;

use offshoot_api::event::EventKind;
use serde_json::Value;

use super::scope::Scope;
use super::{Message, SessionActor};
use crate::hooks::{self, Hook, HookEvent, Verdict, Wish};

#[derive(Default)]
pub(super) struct News {
    waiting: VecDeque<Told>,
    is_being_told: bool,
}

/// One thing that hooks are told.
struct Told {
    event: HookEvent,
    payload: Value,
    hooks: Vec<Hook>,
    cause: Cause,
    scope: Scope,
}

/// Where something comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Somebody wants it, or it happens by itself.
    #[default]
    Other,
    /// A hook wants it.
    Hook,
}

impl News {
    pub(super) fn is_all_told(&self) -> bool {
        !self.is_being_told && self.waiting.is_empty()
    }
}

impl SessionActor {
    pub(super) fn tell_hooks(&mut self, event: HookEvent, payload: impl FnOnce() -> Value) {
        let hooks = self.hooks_for(event);
        if hooks.is_empty() {
            return;
        }
        if event == HookEvent::StatusChanged {
            // Of several states that wait to be told, the last is the one it is in.
            self.news.waiting.retain(|told| told.event != event);
        }
        let (cause, scope) = (self.cause, self.scope());
        self.news.waiting.push_back(Told { event, payload: payload(), hooks, cause, scope });
        self.tell_next();
    }

    fn tell_next(&mut self) {
        if self.news.is_being_told {
            return;
        }
        let Some(Told { event, payload, hooks, cause, scope }) = self.news.waiting.pop_front() else {
            return;
        };
        self.news.is_being_told = true;
        let (session, to_self) = (self.id.to_string(), self.to_self.clone());
        self.tasks.spawn(async move {
            let verdict = hooks::ask(hooks, &scope.surroundings(), event, session, payload).await;
            // Where the actor is gone nobody does what they want.
            let _ = to_self.send(Message::Told { verdict, cause, scope }).await;
        });
    }

    pub(super) fn on_told(&mut self, mut verdict: Verdict, cause: Cause) {
        self.news.is_being_told = false;
        self.report(&mut verdict);
        match cause {
            Cause::Other => self.grant(verdict.wishes),
            Cause::Hook => self.refuse_wishes(verdict.wishes),
        }
        self.tell_next();
    }

    fn refuse_wishes(&mut self, wishes: Vec<Wish>) {
        for Wish { hook, .. } in wishes {
            let message = "what it wants is not done: it answers what a hook has wanted".to_owned();
            self.publish(None, EventKind::HookFailed { hook, message });
        }
    }
}
