//! Time and new names come from outside, so that this crate stays a function of its inputs.

use jiff::Timestamp;

use crate::{EntryId, OperationId, SessionId, TurnId};

pub trait Stamps {
    fn now(&mut self) -> Timestamp;
    /// Never the same twice within a session.
    fn entry_id(&mut self) -> EntryId;
    fn turn_id(&mut self) -> TurnId;
    fn operation_id(&mut self) -> OperationId;
    fn session_id(&mut self) -> SessionId;
}
