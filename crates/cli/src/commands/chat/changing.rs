//! Changes of agent, model, thinking, tools and permission mode: into this session, or into one of its own, where the
//! conversation then goes on.

use offshoot_api::request::{ConfigBranching, Configure};
use offshoot_api::{ErrorCode, Hint, Request, Response};

use super::Goes;
use super::after::refused_here;
use super::session::Chat;
use crate::failure::Failure;
use crate::look::Ink;
use crate::which::short;
use crate::words::talking as words;

impl Chat<'_> {
    pub(super) async fn change(&mut self, change: Configure) -> Result<(), Failure> {
        let answer = match self.reached() {
            Ok(reached) => reached.call(Request::Configure(change.clone())).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(Response::Moved(moved)) if moved.session != change.session => {
                if let Err(error) = self.open(&moved.session, Some(0)).await {
                    self.complain(&refused_here(&error));
                    return Ok(());
                }
                let name = short(self.here, &moved.session.as_str().into());
                self.tell(Ink::Faint, &words::goes_on_in(&name))
            }
            // An event says what is set; where nothing has changed there is none.
            Ok(Response::Moved(moved)) if moved.from == moved.to => {
                self.tell(Ink::Faint, words::IS_SO_ALREADY)
            }
            Ok(_) => Ok(()),
            Err(error) if error.hint == Some(Hint::SayBranching) => {
                self.undecided = Some(change);
                words::WHERE_TO_CHANGE.lines().try_for_each(|line| self.tell(Ink::Accent, line))
            }
            Err(error) => {
                self.complain(&refused_here(&error));
                if error.code == ErrorCode::Disconnected { self.reconnect().await } else { Ok(()) }
            }
        }
    }

    /// What is neither leaves everything as it is.
    pub(super) async fn decide(&mut self, change: Configure, line: &str) -> Result<Goes, Failure> {
        let branching = match line.trim().to_lowercase().as_str() {
            "e" | "entry" => ConfigBranching::Entry,
            "f" | "file" => ConfigBranching::File,
            _ => {
                self.tell(Ink::Faint, words::NOT_CHANGED)?;
                return Ok(Goes::On);
            }
        };
        self.change(Configure { branching: Some(branching), ..change }).await?;
        Ok(Goes::On)
    }
}
