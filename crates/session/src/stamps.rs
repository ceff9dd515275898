//! Time and new names come from outside, so that this crate stays a function of its inputs.

use std::fmt;

use jiff::Timestamp;

use crate::{EntryId, OperationId, SessionId, TurnId};

pub trait Stamps {
    fn now(&mut self) -> Timestamp;
    /// Never the same twice within a session.
    fn entry_id(&mut self) -> EntryId;
    fn turn_id(&mut self) -> TurnId;
    fn operation_id(&mut self) -> OperationId;
    fn session_id(&mut self) -> SessionId;
    /// A UUID (version 4), for agents that take names of messages and sessions from us.
    fn uuid(&mut self) -> String;
}

/// Stamps for one request whose ids were chosen by the caller, where they were. The same request sent twice then has the
/// same ids, and is recognised.
pub struct ChosenIds<'s> {
    stamps: &'s mut (dyn Stamps + Send),
    operation: Option<OperationId>,
    /// How many operations have got an id so far, where each gets one that begins with the chosen one.
    numbered: Option<usize>,
    turn: Option<TurnId>,
    session: Option<SessionId>,
    has_uuids: bool,
}

impl fmt::Debug for ChosenIds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stamps: _, operation, numbered: _, turn, session, has_uuids: _ } = self;
        f.debug_struct("ChosenIds")
            .field("operation", operation)
            .field("turn", turn)
            .field("session", session)
            .finish_non_exhaustive()
    }
}

impl<'s> ChosenIds<'s> {
    pub fn new(stamps: &'s mut (dyn Stamps + Send)) -> Self {
        Self { stamps, operation: None, numbered: None, turn: None, session: None, has_uuids: false }
    }

    pub fn operation(self, operation: Option<OperationId>) -> Self {
        Self { operation, ..self }
    }

    /// A request that takes many steps: the first has the chosen id, the others have it with a number behind it.
    pub fn each_numbered(self) -> Self {
        Self { numbered: Some(0), ..self }
    }

    pub fn turn(self, turn: Option<TurnId>) -> Self {
        Self { turn, ..self }
    }

    pub fn session(self, session: Option<SessionId>) -> Self {
        Self { session, ..self }
    }

    /// Entries get UUIDs: an agent with ids of its own uses the id of the prompt.
    pub fn with_uuids(self, has_uuids: bool) -> Self {
        Self { has_uuids, ..self }
    }
}

/// Each chosen id is given once, unless operations are numbered.
impl Stamps for ChosenIds<'_> {
    fn now(&mut self) -> Timestamp {
        self.stamps.now()
    }

    fn entry_id(&mut self) -> EntryId {
        if self.has_uuids { self.stamps.uuid().into() } else { self.stamps.entry_id() }
    }

    fn turn_id(&mut self) -> TurnId {
        self.turn.take().unwrap_or_else(|| self.stamps.turn_id())
    }

    /// An id is drawn either way, so that the ids behind it do not depend on whether this one was chosen.
    fn operation_id(&mut self) -> OperationId {
        let drawn = self.stamps.operation_id();
        let Some(given) = &mut self.numbered else { return self.operation.take().unwrap_or(drawn) };
        *given += 1;
        match (&self.operation, *given) {
            (None, _) => drawn,
            (Some(chosen), 1) => chosen.clone(),
            (Some(chosen), number) => format!("{chosen}.{number}").into(),
        }
    }

    fn session_id(&mut self) -> SessionId {
        let drawn = self.stamps.session_id();
        self.session.take().unwrap_or(drawn)
    }

    fn uuid(&mut self) -> String {
        self.stamps.uuid()
    }
}

/// Whether an id has the form of a UUID.
pub fn is_uuid(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(is_hex)
}
