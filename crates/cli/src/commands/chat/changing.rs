//! Changes of agent, model, thinking, tools and permission mode: into this session, or into one of its own, where the
//! conversation then goes on.

use offshoot_api::request::{ConfigBranching, Configure};
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_engine::installed::known::named;
use offshoot_session::agent::canonical_name;

use super::session::Chat;
use crate::failure::Failure;
use crate::look::Ink;
use crate::refusals::{cannot_answer, unknown_agent};
use crate::talk::{open_at, refused};
use crate::words::chatting as words;

impl Chat<'_> {
    pub(super) async fn change(&mut self, change: Configure) -> Result<(), Failure> {
        match self.call(Request::Configure(change.clone())).await {
            Ok(Response::Changed(moved)) if moved.new_session.is_some() => self.go_on_in(&moved).await,
            // An event says what is set; where nothing has changed there is none.
            Ok(Response::Changed(moved)) if !moved.changed => self.tell(Ink::Faint, words::IS_SO_ALREADY),
            Ok(_) => Ok(()),
            Err(_) if self.is_left() => Ok(()),
            Err(error) if self.takes_calling_off(&error) => self.tell(Ink::Faint, words::CALLED_OFF),
            Err(error) if error.hint == Some(Hint::SayBranching) => {
                self.undecided = Some(change);
                words::WHERE_TO_CHANGE.lines().try_for_each(|line| self.tell(Ink::Accent, line))
            }
            Err(error) => {
                self.is_refused(&error);
                if error.code == ErrorCode::Disconnected { self.reconnect().await } else { Ok(()) }
            }
        }
    }

    /// What is neither leaves everything as it is.
    pub(super) async fn decide(&mut self, change: Configure, line: &str) -> Result<(), Failure> {
        let branching = match line.trim().to_lowercase().as_str() {
            "e" | "entry" => ConfigBranching::Entry,
            "f" | "file" => ConfigBranching::File,
            _ => return self.tell(Ink::Faint, words::NOT_CHANGED),
        };
        self.change(Configure { branching: Some(branching), ..change }).await
    }

    /// Refused by name before anything is begun for it.
    pub(super) async fn must_exist(&mut self, agent: &str) -> Result<(), Failure> {
        let agent = canonical_name(agent);
        let agents = match self.call(Request::Agents).await {
            Ok(Response::Agents { agents }) => agents,
            Ok(_) => return Ok(()),
            Err(error) => return Err(refused(&error)),
        };
        if agents.iter().any(|it| it.name == agent && it.answers) {
            return Ok(());
        }
        if named(agent).is_some() {
            return Err(cannot_answer(agent, words::GO_ON_WITHOUT));
        }
        let names: Vec<&str> = agents.iter().filter(|it| it.answers).map(|it| it.name.as_str()).collect();
        Err(unknown_agent(agent).hint(words::agents_hint(&names.join(", "))))
    }

    /// Tells what is in force where the next message of this chat goes.
    pub(super) async fn tell_settings(&mut self, usage: &str) -> Result<(), Failure> {
        let session = self.session.clone().unwrap_or_default();
        let view = match self.reached() {
            Ok(reached) => open_at(reached, &session, self.point_here()).await,
            Err(error) => Err(error),
        };
        match view {
            Ok(view) => self.tell(Ink::Plain, &words::in_force(&view, usage)),
            Err(error) => {
                self.is_refused(&error);
                Ok(())
            }
        }
    }
}
