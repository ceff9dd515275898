//! The engine process as it is seen.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::StatusRow;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineView {
    pub version: String,
    pub protocol: u32,
    pub process: u32,
    /// Counts the engines of this home; event numbers begin with it.
    pub epoch: u64,
    #[serde(with = "super::time")]
    pub started_at: Timestamp,
    pub home: String,
    /// How many sessions are open.
    pub sessions: usize,
    pub connections: usize,
    pub followers: usize,
    /// What runs.
    pub turns: Vec<StatusRow>,
}
