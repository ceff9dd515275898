//! The session as it is seen, what is being said included.

use offshoot_api::views::{AskView, ModelView, SessionView, StatusRow, StatusView};
use offshoot_api::{Response, request};
use offshoot_session::address::resolve;
use offshoot_session::asks::{Ask, Asking};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::status::Status;
use offshoot_session::{SessionTree, TurnId};

use super::SessionActor;
use super::halt::{Halt, refused};
use crate::view::{branch_view, heads, tree_rows};

impl SessionActor {
    /// As if every word that was said so far were final.
    fn shown(&self) -> SessionTree {
        self.turns.values().fold(self.tree.clone(), |tree, running| running.turn.over(&tree))
    }

    pub(super) fn session_view(&self, turns: Option<usize>) -> Response {
        let shown = self.shown();
        let context = context_of(&self.tree, self.tree.main_head(), &ContextOptions::pi());
        Response::Session(Box::new(SessionView {
            id: self.id.to_string(),
            seq: self.feed.seq(),
            title: self.tree.title().map(str::to_owned),
            project: self.project().map(str::to_owned),
            heads: heads(&shown),
            branch: branch_view(&shown, shown.main_head(), turns),
            agent: context.agent.or_else(|| self.settings.default_agent.clone()),
            model: context.model.as_ref().map(ModelView::from),
            thinking: context.thinking,
            permission_mode: context.permission_mode,
            status: StatusView::from(Status::of_stream(self.state())),
            turns: self.running_rows(),
            asks: self.asks.waiting().map(AskView::from).collect(),
            queue: self.queued_views(),
        }))
    }

    pub(super) fn show_branch(&self, show: &request::Show) -> Result<Response, Halt> {
        let shown = self.shown();
        let at = match &show.at {
            Some(at) => Some(resolve(&shown, at).map_err(refused)?),
            None => shown.main_head().cloned(),
        };
        Ok(Response::Branch(branch_view(&shown, at.as_ref(), show.turns)))
    }

    pub(super) fn tree_rows(&self) -> Response {
        Response::Tree { rows: tree_rows(&self.shown()) }
    }

    pub(super) fn status_rows(&self) -> Response {
        Response::Status { rows: self.running_rows() }
    }

    fn running_rows(&self) -> Vec<StatusRow> {
        let rows = self.turns.values().map(|running| {
            let turn = running.turn.id();
            let prompt = running.turn.prompt();
            let path = self.tree.path_to(Some(prompt));
            let branch = path.iter().rev().find_map(|entry| self.tree.branch_name(&entry.id));
            StatusRow {
                session: self.id.to_string(),
                turn: turn.to_string(),
                prompt: prompt.to_string(),
                branch: branch.map(str::to_owned),
                status: StatusView::from(Status::of_stream(running.turn.state())),
                since: running.since,
                what: self.what(turn).unwrap_or_else(|| {
                    self.tree.entry(prompt).map(|entry| first_line(&entry.body.text())).unwrap_or_default()
                }),
            }
        });
        rows.collect()
    }

    /// What the turn asks, in a few words.
    fn what(&self, turn: &TurnId) -> Option<String> {
        let ask: &Ask = self.asks.waiting().find(|ask| ask.turn == *turn)?;
        Some(match &ask.asking {
            Asking::Permission(permission) => {
                let command = permission.input.get("command").and_then(serde_json::Value::as_str);
                match command {
                    Some(command) => first_line(&format!("{}: {command}", permission.tool)),
                    None => permission.tool.clone(),
                }
            }
            Asking::Questions(questions) => {
                questions.first().map(|question| first_line(&question.text)).unwrap_or_default()
            }
        })
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}
