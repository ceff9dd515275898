//! What hooks answer.

use serde::Deserialize;
use serde_json::Value;

use super::{HookError, HookFailure};

/// The answer of one hook. Fields it does not know are stepped over.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Said {
    #[serde(default)]
    cancel: bool,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    summary: Option<Supplied>,
    #[serde(default)]
    requests: Vec<HookRequest>,
}

/// A summary in the place of the one that a model would write.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Supplied {
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) details: Option<Value>,
    /// The hook insists: the summary is written also if nobody asked for one.
    #[serde(default)]
    always: bool,
}

/// What a hook wants to happen afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum HookRequest {
    /// A session of its own from an entry.
    Branch {
        #[serde(rename = "entryId")]
        entry: String,
    },
    NavigateTree {
        #[serde(rename = "targetId")]
        target: String,
        #[serde(default)]
        summarize: bool,
    },
}

/// What a hook wants, and which one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) hook: String,
    pub(crate) request: HookRequest,
}

/// What all hooks of an event said together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Why it shall not be done.
    pub(crate) cancelled: Option<String>,
    /// In the order in which the hooks were asked.
    summaries: Vec<Supplied>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) failures: Vec<HookFailure>,
}

impl Said {
    pub(super) fn read(answer: &[u8]) -> Result<Self, HookError> {
        let text = String::from_utf8_lossy(answer);
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_str(&text).map_err(|error| HookError::Nonsense(error.to_string()))
    }
}

impl Verdict {
    /// The first summary that applies: any if one is wanted, else one that a hook insists on.
    pub(crate) fn summary(&self, is_wanted: bool) -> Option<&Supplied> {
        self.summaries.iter().find(|summary| is_wanted || summary.always)
    }

    pub(super) fn hear(&mut self, said: Said, hook: &str) {
        if said.cancel {
            self.cancelled = Some(said.reason.unwrap_or_else(|| format!("hook `{hook}` said no")));
        }
        self.summaries.extend(said.summary);
        let wishes = said.requests.into_iter();
        self.wishes.extend(wishes.map(|request| Wish { hook: hook.to_owned(), request }));
    }
}
