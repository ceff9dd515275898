//! What should happen, decided without acting.
//!
//! A plan is the records of one operation: they are appended together or not at all, and undo takes them back as
//! a whole. Functions here only read the tree; time and new ids come from [`Stamps`].

use crate::{Fact, OperationId, Record, Stamps};

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub operation: OperationId,
    pub records: Vec<Record>,
}

impl Plan {
    /// Begins an operation under the name that the list of steps shows.
    pub fn named(name: impl Into<String>, stamps: &mut dyn Stamps) -> Self {
        let operation = stamps.operation_id();
        let mut plan = Self { operation, records: Vec::new() };
        plan.push(Record::marked(stamps.now(), Fact::Operation { name: name.into() }));
        plan
    }

    pub fn push(&mut self, record: Record) {
        self.records.push(record.in_operation(self.operation.clone()));
    }
}
