//! What belongs to the caller and travels with its connection.
//!
//! An engine serves many callers and must not mix up what is theirs: settings given on a command line, variables of a
//! shell, the environment in which agents and hooks run. Each connection hands them over once, in `hello`, and they hold
//! for its requests and for the turns that those start. They stay in memory; nothing here is written to a journal or a log.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// All fields are optional: a caller that hands over nothing gets the settings of the home and an empty environment.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerContext {
    /// The directory that the caller works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Settings that hold for this caller alone, by key (`--set KEY=VALUE`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, String>,
    /// The caller's `OFFSHOOT_*` variables, a layer of settings below `overrides`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The environment for agents and hooks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Further variables of it, whose name or value is not UTF-8: both in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment_bytes: BTreeMap<String, String>,
    /// Whether a person watches the answer as it is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    /// Ids and times count from this number, so that tests get the same ones in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<StampCounter>,
}

/// Only names and counts: values may be secret, and whatever can be printed will be printed some day.
impl fmt::Debug for CallerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerContext")
            .field("folder", &self.folder)
            .field("overrides", &self.overrides.keys())
            .field("variables", &self.variables.keys())
            .field("environment", &(self.environment.len() + self.environment_bytes.len()))
            .field("interactive", &self.interactive)
            .field("stamps", &self.stamps)
            .finish()
    }
}

/// A number that counts up. Clones share it: all requests of a connection and all turns they start take from one counter.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub struct StampCounter(Arc<AtomicU64>);

impl StampCounter {
    /// Counts up and returns the new number.
    pub fn advance(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn current(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether both take from the same counter.
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<u64> for StampCounter {
    fn from(start: u64) -> Self {
        Self(Arc::new(AtomicU64::new(start)))
    }
}

impl From<StampCounter> for u64 {
    fn from(counter: StampCounter) -> Self {
        counter.current()
    }
}

/// By number, as it is on the wire.
impl PartialEq for StampCounter {
    fn eq(&self, other: &Self) -> bool {
        self.current() == other.current()
    }
}

impl Eq for StampCounter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_printed_without_its_values() {
        let secret = || BTreeMap::from([("API_KEY".to_owned(), "hunter2".to_owned())]);
        let context = CallerContext {
            overrides: secret(),
            variables: secret(),
            environment: secret(),
            environment_bytes: secret(),
            ..CallerContext::default()
        };
        assert!(!format!("{context:?}").contains("hunter2"));
    }
}
