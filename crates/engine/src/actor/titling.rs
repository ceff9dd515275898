//! A title for a session that has none, written by a model when a turn has ended well.
//!
//! Only an agent that keeps no sessions is asked: one that does would keep a session for each title, and gives titles itself.
//! The title is automatic and no step: undo does not remove it, and a title that a person gives wins.

use offshoot_api::{Request, Response, request};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::render::prompts::{TITLE, summary_request};
use offshoot_session::render::serialize_for_summary;
use offshoot_session::titles::title_in;
use offshoot_session::{Fact, Record, TitleSource};
use tokio::sync::oneshot;

use super::agents::model_of;
use super::halt::{Halt, nothing_to_do};
use super::{Brought, Call, Message, SessionActor};

/// A model that gave no title is not asked after every turn.
const TRIES: u32 = 3;

/// The beginning of a conversation is enough for its title.
const READ_CHARACTERS: usize = 8_000;

impl SessionActor {
    /// After a turn.
    pub(super) fn title_if_missing(&mut self) {
        let is_wanted = self.settings.titles && self.tree.title().is_none();
        if !is_wanted || self.titles_tried >= TRIES || !self.has_plain_model() {
            return;
        }
        self.titles_tried += 1;
        let (session, title, client_id) = (self.id.to_string(), None, None);
        let request = Request::Rename(request::Rename { session, title, client_id });
        let (reply, _) = oneshot::channel();
        let (brought, context) = (Brought::by_itself(), self.context.clone());
        self.afterwards.push_back(Message::Call(Call { request, reply, brought, context }));
    }

    fn has_plain_model(&self) -> bool {
        self.writer().is_ok_and(|writer| writer.agent.abilities(model_of(&writer.settings)).stateless)
    }

    /// A person or the agent may have named the session while the title was written.
    pub(super) async fn give_title(&mut self, brought: &Brought) -> Result<Response, Halt> {
        if self.tree.title().is_some() {
            return Err(nothing_to_do("the session has a title"));
        }
        let context = context_of(&self.tree, self.tree.main_head(), &ContextOptions::default());
        let said = serialize_for_summary(&context.messages);
        let said = said.get(..said.floor_char_boundary(READ_CHARACTERS)).unwrap_or(&said);
        let texts = self.written(brought, vec![summary_request(said, None, TITLE, None)])?;
        let title = texts.first().and_then(|text| title_in(text));
        let title = title.ok_or_else(|| nothing_to_do("the model gave no title"))?;
        let fact = Fact::Title { title: Some(title), source: TitleSource::Auto };
        let record = Record::marked(self.stamps.now(), fact);
        self.commit(vec![record]).await?;
        Ok(Response::Done { changed: true })
    }
}
