//! Kinds that need no tree: titles, lists, thresholds.

use anyhow::{Context, Result};
use jiff::Timestamp;
use offshoot_session::find::{Candidate, NameFilter, Order, find};
use offshoot_session::titles::humanize;
use serde_json::{Value, json};

use super::{Case, Kind, as_recorded, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        Kind {
            product: "oh-my-pi",
            kind: "title-humanize",
            calls: "session::titles::humanize",
            run: |case| Ok(json!({"name": humanize(text(&case.input, "title")).unwrap_or_default()})),
            adjust: as_recorded,
        },
        Kind {
            product: "pi",
            kind: "session-search",
            calls: "session::find::find",
            run: session_search,
            adjust: as_recorded,
        },
    ]
}

fn session_search(case: &Case) -> Result<Value> {
    let candidates = list(&case.input, "sessions").iter().map(candidate).collect::<Result<Vec<_>>>()?;
    let order = match text(&case.input, "sort") {
        "relevance" => Order::Relevance,
        _ => Order::Recent,
    };
    let filter = match text(&case.input, "name_filter") {
        "named" => NameFilter::Named,
        _ => NameFilter::All,
    };
    let found = find(&candidates, text(&case.input, "query"), order, filter);
    Ok(json!({"ids": found.iter().map(|candidate| &candidate.id).collect::<Vec<_>>()}))
}

fn candidate(session: &Value) -> Result<Candidate> {
    let active_at: Timestamp = text(session, "modified").parse().context("`modified` is no time")?;
    Ok(Candidate {
        id: text(session, "id").to_owned(),
        name: session.get("name").and_then(Value::as_str).map(str::to_owned),
        project: text(session, "cwd").to_owned(),
        text: text(session, "allMessagesText").to_owned(),
        active_at,
    })
}
