//! What the header of a session file says of its configuration and of where it branched.

use offshoot_session::{BranchReason, Lineage, Model, SessionHeader};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The parts of a header that trees of sessions show. Empty for most files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeaderGist {
    /// The model at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The message at which it left its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_point: Option<u64>,
    /// As [`BranchReason::word`] has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_reason: Option<String>,
    /// The old and the new values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_metadata: Option<Value>,
}

impl HeaderGist {
    pub(super) fn of(header: &SessionHeader) -> Self {
        let (model, lineage) = (header.model.as_ref(), header.lineage.as_ref());
        let reason = lineage.and_then(|lineage| lineage.reason.as_ref());
        Self {
            provider: model.map(|Model { provider, .. }| provider.clone()),
            model: model.map(|Model { name, .. }| name.clone()),
            branch_point: lineage.and_then(|lineage| lineage.message_index),
            branch_reason: reason.map(|reason| reason.word().to_owned()),
            branch_metadata: lineage.and_then(|lineage| lineage.metadata.clone()),
        }
    }

    pub fn lineage(&self, parent: &str) -> Lineage {
        Lineage {
            parent: parent.to_owned(),
            at: None,
            message_index: self.branch_point,
            reason: self.branch_reason.as_deref().map(BranchReason::named),
            metadata: self.branch_metadata.clone(),
        }
    }
}
