//! What a change answers with, also where the same request comes a second time.

use offshoot_api::response::Changed;
use offshoot_api::views::{HeadView, OperationView, PlaceView, SessionBrief, VersionBrief};
use offshoot_api::{ApiError, ErrorCode, ErrorData, Request, Response, TurnRef};
use offshoot_session::address::Place;
use offshoot_session::handoff::branch_session;
use offshoot_session::plan::{OtherSide, Plan, other_side};
use offshoot_session::{
    Change, ChosenIds, EntryId, Fact, HeadName, OperationId, Record, SessionId, SessionTree, Stamps, TurnId,
};

use super::SessionActor;
use super::halt::Halt;

/// A client id is long enough not to be met twice, and can stand in a file name and a URL.
const CLIENT_ID: std::ops::RangeInclusive<usize> = 8..=64;

impl SessionActor {
    /// The head as it is, to be kept until a change has been made.
    pub(super) fn head_now(&self) -> HeadView {
        let place = self.tree.main_head().map(|head| PlaceView::without_short_ids(&self.tree, head));
        HeadView { place, ..HeadView::of(&self.tree, &HeadName::main()) }
    }

    /// One step, where there is something to do.
    pub(super) async fn take(&mut self, plan: Option<Plan>) -> Result<Changed, Halt> {
        let before = self.head_now();
        let Some(Plan { operation, records }) = plan else { return Ok(self.changed(before, None)) };
        let written = records.iter().filter_map(|record| record.as_entry());
        let entries = written.map(|entry| entry.id.to_string()).collect();
        self.commit(records).await?;
        Ok(Changed { entries, ..self.changed(before, Some(&operation)) })
    }

    /// What this step has changed, as far as every change has it.
    pub(super) fn changed(&self, head_before: HeadView, operation: Option<&OperationId>) -> Changed {
        let head = self.tree.main_head();
        Changed {
            session: self.brief(),
            seq: self.feed.seq(),
            changed: operation.is_some(),
            operation: operation.and_then(|operation| OperationView::latest(&self.tree, operation)),
            head: HeadView { place: self.place(head), ..HeadView::of(&self.tree, &HeadName::main()) },
            head_before,
            agent_session: branch_session(&self.tree, head).map(|session| session.to_string()),
            ..Changed::default()
        }
    }

    pub(super) fn brief(&self) -> SessionBrief {
        SessionBrief { id: self.id.to_string(), title: self.tree.title().map(str::to_owned) }
    }

    pub(super) fn place(&self, at: Option<&EntryId>) -> Option<PlaceView> {
        at.map(|at| PlaceView::of(&self.tree, at))
    }

    /// What the same request did when it came first. A turn that began with it is looked for elsewhere.
    pub(super) fn done_before(&self, request: &Request) -> Result<Option<Changed>, ApiError> {
        let Some(client_id) = request.client_id() else { return Ok(None) };
        require_client_id(client_id)?;
        let id = OperationId::from(client_id);
        let operation = match request {
            Request::Resume(_) => return Ok(None),
            // What became of a turn is told by the turn, and where it is: in the child that began with it.
            Request::Send(_) | Request::Edit(_) | Request::Retry(_)
                if begins_turn(request) && !self.began_child(&id) =>
            {
                return Ok(None);
            }
            Request::Undo(_) | Request::Redo(_) => match marked_under(&self.tree, &id) {
                Some((operation, done)) if done.is_of(request) => operation,
                // Another session has done it for this request and restored it since.
                Some(_) => return Ok(None),
                None if self.tree.operation(&id).is_some() => return Err(other_request(client_id)),
                None => return Ok(None),
            },
            _ => id.clone(),
        };
        let Some(view) = OperationView::of(&self.tree, &operation) else { return Ok(None) };
        if !kinds(request).iter().any(|kind| view.kind.starts_with(kind)) {
            return Err(other_request(client_id));
        }
        let head_before = self.head_now();
        let outcome = Outcome::of(&self.tree, &id);
        let edited = outcome.entries.last().filter(|_| matches!(request, Request::Edit(_)));
        let place = outcome.about.as_ref().or(edited).filter(|at| self.tree.contains(at));
        Ok(Some(Changed {
            changed: true,
            repeated: true,
            new_session: view.other.clone(),
            place: self.place(place),
            version: place.and_then(|at| VersionBrief::of(&self.tree, at)),
            prompt: outcome.prompt.map(|prompt| prompt.to_string()),
            turn: begins_turn(request).then(|| client_id.to_owned()),
            entries: outcome.entries.iter().map(ToString::to_string).collect(),
            operation: Some(view),
            ..self.changed(head_before, None)
        }))
    }

    /// Whether another session came out of this one in a step. In the child the step is its own beginning.
    fn began_child(&self, operation: &OperationId) -> bool {
        matches!(other_side(&self.tree, operation), Some(OtherSide::Child(_)))
    }

    /// Errors are made where only ids are known; here they are given what a front end prints.
    pub(super) fn completed(&self, mut error: ApiError) -> ApiError {
        if let Some(place) = &mut error.data.place {
            let at = EntryId::from(place.entry.as_str());
            if self.tree.contains(&at) {
                *place = PlaceView::of(&self.tree, &at);
            }
        }
        if error.data.turn.is_none() {
            error.data.turn = error.turn.as_deref().and_then(|turn| self.turn_ref(&TurnId::from(turn)));
        }
        error
    }

    fn turn_ref(&self, turn: &TurnId) -> Option<TurnRef> {
        let Some(running) = self.turns.get(turn) else { return self.pending_ref(turn) };
        let prompt = running.turn.prompt();
        let place = Place::of(&self.tree, prompt);
        Some(TurnRef {
            turn: turn.to_string(),
            prompt: prompt.to_string(),
            number: place.number,
            branch: place.branch.map(str::to_owned),
            agent: running.agent.name().to_owned(),
            agent_title: running.agent.title().to_owned(),
        })
    }
}

/// Whether a message is to be answered.
pub(super) fn begins_turn(request: &Request) -> bool {
    match request {
        Request::Send(_) => true,
        Request::Edit(edit) => !edit.only_write,
        Request::Retry(retry) => !retry.only_write,
        _ => false,
    }
}

/// Time and ids for a request: the caller's where it chose one.
pub(crate) fn chosen_ids<'s>(stamps: &'s mut (dyn Stamps + Send), client_id: Option<&str>) -> ChosenIds<'s> {
    let session = client_id.map(session_of_client_id);
    ChosenIds::new(stamps)
        .operation(client_id.map(OperationId::from))
        .turn(client_id.map(TurnId::from))
        .session(session)
}

pub(super) fn answered(changed: Changed) -> Response {
    Response::Changed(Box::new(changed))
}

pub(crate) fn require_client_id(client_id: &str) -> Result<(), ApiError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if CLIENT_ID.contains(&client_id.len()) && client_id.bytes().all(is_allowed) {
        return Ok(());
    }
    let message = "a `client_id` has 8 to 64 letters, digits, `_` or `-`";
    let data = ErrorData { text: Some(client_id.to_owned()), ..ErrorData::default() };
    Err(ApiError::new(ErrorCode::Invalid, message).about(data))
}

fn other_request(client_id: &str) -> ApiError {
    let message = format!("the client id `{client_id}` was used for another request");
    ApiError::new(ErrorCode::Invalid, message)
}

/// The session that begins with a request. An id that looks like that of a session is taken as it is.
fn session_of_client_id(client_id: &str) -> SessionId {
    let bytes = client_id.as_bytes();
    let is_uuid = bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
        });
    if is_uuid {
        return client_id.into();
    }
    let hash = blake3::hash(bytes).to_hex();
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32)).into()
}

/// Under which names the step of a request may have been recorded.
fn kinds(request: &Request) -> &'static [&'static str] {
    match request {
        Request::Send(_) => &["fork"],
        Request::Edit(_) => &["edit", "send", "fork"],
        Request::Retry(_) => &["retry", "send", "fork"],
        Request::Append(_) => &["append"],
        Request::Version(_) => &["switch version"],
        // A move with a summary is a step of its own kind.
        Request::Switch(_) => &["switch", "navigate"],
        Request::Navigate(_) => &["navigate"],
        Request::Rewind(_) => &["rewind", "navigate"],
        Request::Configure(_) => &["change settings", "fork"],
        Request::Fork(_) => &["fork", "navigate"],
        // Some agents are asked to do it.
        Request::Compact(_) => &["compact", "send"],
        Request::Rename(_) => &["rename"],
        Request::Label(_) => &["label"],
        Request::NameBranch(_) => &["name branch"],
        Request::Archive(_) => &["archive", "bring back"],
        Request::Clear(_) => &["clear"],
        // Any step can be taken back.
        Request::Undo(_) | Request::Redo(_) => &[""],
        _ => &[],
    }
}

/// What the last mark under an id did to its step.
enum Rearranged {
    Undone,
    Redone,
}

impl Rearranged {
    fn is_of(&self, request: &Request) -> bool {
        match self {
            Self::Undone => matches!(request, Request::Undo(_)),
            Self::Redone => matches!(request, Request::Redo(_)),
        }
    }
}

/// The step that an undo or redo under this id was about.
fn marked_under(tree: &SessionTree, id: &OperationId) -> Option<(OperationId, Rearranged)> {
    let marks = tree.log().filter(|record| record.operation.as_ref() == Some(id));
    let marks = marks.filter_map(|record| match &record.change {
        Change::Marked(mark) => match &mark.fact {
            Fact::Undone { operation } => Some((operation.clone(), Rearranged::Undone)),
            Fact::Redone { operation } => Some((operation.clone(), Rearranged::Redone)),
            _ => None,
        },
        _ => None,
    });
    marks.last()
}

/// What the records of a step say of it.
#[derive(Default)]
struct Outcome {
    entries: Vec<EntryId>,
    prompt: Option<EntryId>,
    /// The entry that it is about.
    about: Option<EntryId>,
}

impl Outcome {
    fn of(tree: &SessionTree, operation: &OperationId) -> Self {
        let mut outcome = Self::default();
        // Where each entry is a step of its own, all of them carry the id of the request.
        let prefix = format!("{operation}.");
        let is_it = |record: &&Record| {
            record.operation.as_ref().is_some_and(|id| id == operation || id.as_str().starts_with(&prefix))
        };
        for record in tree.log().filter(is_it) {
            match &record.change {
                Change::Entry(entry) => {
                    outcome.entries.push(entry.id.clone());
                    if entry.body.is_prompt() {
                        outcome.prompt.get_or_insert_with(|| entry.id.clone());
                    }
                }
                Change::Marked(mark) => outcome.about = outcome.about.or_else(|| mark.fact.target().cloned()),
                Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => {}
            }
        }
        outcome.about = outcome.about.or_else(|| outcome.prompt.clone());
        outcome
    }
}
