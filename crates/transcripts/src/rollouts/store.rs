//! How a folder of rollouts is laid out, as far as that can be said without touching it.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// `YYYYMMDD_HHMMSS_xxxxxx`: ids sort by the second they were made in.
pub fn session_id(made_at: Timestamp, random: [u8; 3]) -> String {
    let [a, b, c] = random;
    format!("{}_{a:02x}{b:02x}{c:02x}", made_at.strftime("%Y%m%d_%H%M%S"))
}

/// What a list needs to know of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub id: String,
    pub status: String,
    pub tags: BTreeMap<String, String>,
    pub message_count: u64,
}

/// Every condition that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub status: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub limit: Option<usize>,
}

/// Newest first.
pub fn list<'s>(sessions: &'s [Summary], filter: &Filter) -> Vec<&'s Summary> {
    let mut found: Vec<&Summary> = sessions.iter().filter(|session| filter.lets_through(session)).collect();
    found.sort_by(|one, other| other.id.cmp(&one.id));
    found.truncate(filter.limit.unwrap_or(usize::MAX));
    found
}

impl Filter {
    fn lets_through(&self, session: &Summary) -> bool {
        self.status.as_ref().is_none_or(|status| *status == session.status)
            && self.tags.iter().all(|(key, value)| session.tags.get(key) == Some(value))
    }
}
