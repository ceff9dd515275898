//! The session as it is seen, what is being said included.

use offshoot_api::views::{AskView, ContextView, ModelView, SessionView, SpentView, StatusRow, StatusView};
use offshoot_api::{Response, request};
use offshoot_session::address::{Place, Want, resolve_point};
use offshoot_session::asks::{Ask, Asking};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::cost::{Tally, priced};
use offshoot_session::status::Status;
use offshoot_session::tokens::context_tokens_of_path;
use offshoot_session::{SessionTree, TurnId};
use offshoot_transcripts::gist::charges_of_tree;

use super::SessionActor;
use super::halt::{Halt, refused};
use crate::view::{branch_view, heads, tree_rows, turn_view};

/// So many asks are seen that have an answer.
const ANSWERED_IN_VIEW: usize = 8;

impl SessionActor {
    /// As if every word that was said so far were final.
    pub(super) fn shown(&self) -> SessionTree {
        self.turns.values().fold(self.settled(), |tree, running| running.turn.over(&tree))
    }

    pub(super) fn session_view(&mut self, open: &request::Open) -> Result<Response, Halt> {
        let spent = SpentView::from(&self.spent());
        let (shown, settled) = (self.shown(), self.settled());
        let at = match &open.at {
            Some(at) => Some(resolve_point(&settled, &at.into(), Want::End).map_err(refused)?),
            None => settled.main_head().cloned(),
        };
        let context = context_of(&settled, at.as_ref(), &ContextOptions::default());
        let agent = context.agent.or_else(|| self.settings.default_agent.clone());
        let tokens = context_tokens_of_path(&settled.path_to(at.as_ref())).tokens;
        let window = self.window(agent.as_deref(), context.model.as_ref());
        Ok(Response::Session(Box::new(SessionView {
            id: self.id.to_string(),
            seq: self.feed.seq(),
            title: self.tree.title().map(str::to_owned),
            project: self.project().map(str::to_owned),
            heads: heads(&shown),
            branch: match &open.turn {
                Some(turn) => turn_view(&shown, &turn.as_str().into(), &self.settings.prices),
                None => branch_view(&shown, shown.main_head(), open.turns, &self.settings.prices),
            },
            agent,
            model: context.model.as_ref().map(ModelView::from),
            thinking: context.thinking,
            tools: context.tools,
            permission_mode: context.permission_mode,
            mode: context.mode,
            context: ContextView { tokens, window },
            spent,
            status: self.status(),
            turns: self.running_rows(),
            asks: self.ask_views(),
            answered: self.answered_views(),
            queue: self.queued_views(),
        })))
    }

    /// All replies are looked at, so it is known until something is written.
    fn spent(&mut self) -> Tally {
        let settled = self.settled();
        let written = settled.log_length();
        match self.spent {
            Some((of, tally)) if of == written => tally,
            Some(_) | None => {
                let prices = &self.settings.prices;
                let charges = priced(charges_of_tree(&settled), |model| prices.of(model).cloned());
                let tally = Tally::of(&charges);
                self.spent = Some((written, tally));
                tally
            }
        }
    }

    pub(super) fn show_branch(&self, show: &request::Show) -> Result<Response, Halt> {
        let shown = self.shown();
        let at = match &show.at {
            Some(at) => Some(resolve_point(&shown, &at.into(), Want::End).map_err(refused)?),
            None => shown.main_head().cloned(),
        };
        Ok(Response::Branch(branch_view(&shown, at.as_ref(), show.turns, &self.settings.prices)))
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
            let place = Place::of(&self.tree, prompt);
            let ask = self.ask_of(turn);
            StatusRow {
                session: self.id.to_string(),
                turn: turn.to_string(),
                prompt: prompt.to_string(),
                branch: place.branch.map(str::to_owned),
                number: place.number,
                agent: running.agent.name().to_owned(),
                status: StatusView::from(Status::of_stream(running.state())),
                phase: Some(running.turn.phase().word().to_owned()),
                since: running.since,
                ask: ask.map(|ask| ask.id.to_string()),
                asked_at: ask.map(|ask| ask.asked_at),
                what: ask.map(what).unwrap_or_else(|| {
                    self.tree.entry(prompt).map(|entry| first_line(&entry.body.text())).unwrap_or_default()
                }),
            }
        });
        rows.chain(self.pending_rows()).collect()
    }

    fn ask_views(&self) -> Vec<AskView> {
        self.asks.waiting().map(|ask| AskView::of(ask, &self.id, &self.tree)).collect()
    }

    fn answered_views(&self) -> Vec<AskView> {
        let answered: Vec<&Ask> = self.asks.answered().collect();
        let last = answered.len().saturating_sub(ANSWERED_IN_VIEW);
        answered.iter().skip(last).map(|ask| AskView::of(ask, &self.id, &self.tree)).collect()
    }

    /// What the turn has asked first.
    fn ask_of(&self, turn: &TurnId) -> Option<&Ask> {
        self.asks.waiting().filter(|ask| ask.turn == *turn).min_by_key(|ask| ask.asked_at)
    }
}

/// What is asked, all of it: whoever answers may have nothing else to read.
fn what(ask: &Ask) -> String {
    match &ask.asking {
        Asking::Permission(permission) => {
            let command = permission.input.get("command").and_then(serde_json::Value::as_str);
            match command {
                Some(command) => format!("{}: {command}", permission.tool),
                None => permission.tool.clone(),
            }
        }
        Asking::Questions(questions) => {
            questions.first().map(|question| question.text.clone()).unwrap_or_default()
        }
    }
}

/// Enough of a prompt to know it again, with a mark where there is more.
pub(super) fn first_line(text: &str) -> String {
    let text = text.trim();
    let first: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
    if first.len() < text.len() { first + "…" } else { first }
}
