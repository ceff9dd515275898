//! The store of rollouts, as its cases describe it. No command of ours keeps sessions that way.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// `YYYYMMDD_HHMMSS_xxxxxx`: ids sort by the second they were made in.
pub(super) fn session_id(made_at: Timestamp, random: [u8; 3]) -> String {
    let [a, b, c] = random;
    format!("{}_{a:02x}{b:02x}{c:02x}", made_at.strftime("%Y%m%d_%H%M%S"))
}

/// What a list needs to know of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) id: String,
    pub(super) status: String,
    pub(super) tags: BTreeMap<String, String>,
}

/// Every condition that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) status: Option<String>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) limit: Option<usize>,
}

/// Newest first.
pub(super) fn list<'s>(sessions: &'s [Summary], filter: &Filter) -> Vec<&'s Summary> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_the_second_they_were_made_in() {
        assert_eq!(session_id(Timestamp::UNIX_EPOCH, [0x0a, 0xff, 0x00]), "19700101_000000_0aff00");
    }

    #[test]
    fn a_list_is_newest_first_and_every_condition_holds() {
        let session = |id: &str, status: &str, tags: &[(&str, &str)]| Summary {
            id: id.into(),
            status: status.into(),
            tags: tags.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        };
        let sessions = [
            session("1", "done", &[("k", "v")]),
            session("3", "open", &[]),
            session("2", "done", &[("k", "w")]),
        ];
        let ids = |filter: Filter| {
            list(&sessions, &filter).iter().map(|found| found.id.clone()).collect::<Vec<_>>().join(" ")
        };
        let tag =
            |value: &str| Filter { tags: [("k".to_owned(), value.to_owned())].into(), ..Filter::default() };
        assert_eq!(ids(Filter::default()), "3 2 1");
        assert_eq!(ids(Filter { status: Some("done".into()), ..Filter::default() }), "2 1");
        assert_eq!(ids(Filter { status: Some("open".into()), ..tag("v") }), "");
        assert_eq!(ids(tag("v")), "1");
        assert_eq!(ids(tag("x")), "");
        assert_eq!(ids(Filter { limit: Some(1), ..Filter::default() }), "3");
    }
}
