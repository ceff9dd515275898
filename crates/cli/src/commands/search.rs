//! `offshoot search QUERY`: who said it, in all sessions of all agents.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use offshoot_session::{ForeignSource, SessionId, Stamps};
use offshoot_store::catalog::query::Bounds;
use offshoot_store::catalog::{Filter, Found, Hit, Query, Within};
use offshoot_transcripts::gist::Role;
use serde_json::{Value, json};

use super::json::printed;
use super::ls::absolute;
use crate::ago::since;
use crate::args::{RoleName, SearchArgs};
use crate::cataloged::{Fresh, agent_name, cataloged};
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::failure::Failure;
use crate::here::Here;
use crate::look::{Look, Sign};
use crate::stored::list_failed;
use crate::words::{catalog as words, reading};
use crate::{Answer, text};

/// People are spared more than these; a pipe gets all.
const SHOWN: usize = 20;

/// So much of what was said is shown before the words that were asked for, and in all where nothing limits it.
const BEFORE: usize = 24;
const LINE: usize = 160;

/// Ids of sessions are not shown shorter than this.
const SHORT_ID: usize = 6;

const COLUMNS: [Column; 4] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::GivesWay(4) },
    Column { title: "", side: Side::Left, room: Room::Text(20) },
    Column { title: "", side: Side::Left, room: Room::GivesWay(6) },
];

pub(crate) fn run(args: &SearchArgs, here: &Here) -> Result<Answer, Failure> {
    let asked = args.query.join(" ");
    let bounds = if args.inside { Bounds::Anywhere } else { Bounds::Words };
    let query = Query::read(&asked, bounds)
        .map_err(|error| Failure::usage(error.to_string()).hint(words::QUERY_HINT))?;
    let within = match (args.tools, args.inside) {
        (true, _) => Within::Everything,
        (false, true) => Within::SaidInFiles,
        (false, false) => Within::Said,
    };
    let filter = filter(args, here)?;
    let is_for_scripts = args.json.json.is_some() || !here.look.for_a_person;
    let limit = args.limit.unwrap_or(if is_for_scripts { usize::MAX } else { SHOWN });
    let mut ready = cataloged(here, &args.source, Fresh::Lately)?;
    let mut found =
        ready.ask(here, |catalog, sources| catalog.search(&query, within, &filter, limit, sources))?;
    let references = here.store()?.references().map_err(|error| list_failed(&error))?;
    for hit in &mut found.hits {
        as_one_session(hit, &references);
    }
    let text = match args.json.json {
        Some(shape) => printed(as_json(&asked, &found, &query), "hits", shape),
        None => table(&asked, &found, &query, &here.look),
    };
    Ok(Answer { text, notes: ready.notes, ..Answer::default() })
}

/// What was added here to another program's session is a part of that. Turns are counted there, and not in the journal,
/// which holds only what is new.
fn as_one_session(hit: &mut Hit, references: &[(SessionId, ForeignSource)]) {
    let source = references.iter().find(|(id, _)| hit.session.is_own && id.as_str() == hit.session.id);
    if let Some((_, source)) = source {
        hit.turn = None;
        hit.session.id.clone_from(&source.session);
    }
    if references.iter().any(|(_, source)| Path::new(&source.path) == hit.session.path) {
        // the way to the head may be another one now
        hit.session.branches = hit.session.branches.max(2);
    }
}

fn filter(args: &SearchArgs, here: &Here) -> Result<Filter, Failure> {
    let now = here.stamps().now();
    let moment = |text: &String| {
        since(text, now, &TimeZone::system())
            .ok_or_else(|| Failure::usage(reading::no_moment(text)).hint(reading::MOMENT_HINT))
    };
    Ok(Filter {
        agent: args.agent.as_ref().map(|agent| agent.trim().to_lowercase()),
        project: args.project.as_deref().map(|project| absolute(&here.folder, project)),
        role: args.role.map(|role| match role {
            RoleName::User => Role::User,
            RoleName::Assistant => Role::Assistant,
            RoleName::Tool => Role::Tool,
        }),
        since: args.since.as_ref().map(moment).transpose()?.map(Timestamp::as_microsecond),
    })
}

fn table(asked: &str, found: &Found, query: &Query, look: &Look) -> String {
    if found.hits.is_empty() {
        let nothing = words::nothing_found(asked, found.searched, found.agents, look.ascii);
        return if look.for_a_person && !look.quiet { nothing } else { String::new() };
    }
    let rows: Vec<Vec<Cell>> = found.hits.iter().map(|hit| cells(hit, query, look)).collect();
    let mut text = drawn(&COLUMNS, &rows, look);
    if look.for_a_person && !look.quiet {
        let open = found.hits.last().map(|hit| match point(hit) {
            Some(point) => format!("{} --at {point}", short(hit)),
            None => short(hit),
        });
        text.push_str(&words::found(found.matches, found.sessions, found.hits.len(), open.as_deref()));
    }
    text
}

fn cells(hit: &Hit, query: &Query, look: &Look) -> Vec<Cell> {
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let branch = Cell::faint(harmless(hit.branch.as_deref().unwrap_or_default()));
    let who = Cell::plain(harmless(who(hit)));
    let said = hit.text.as_deref().unwrap_or_default();
    if !look.for_a_person {
        // the whole ids of session and entry, and the whole text
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let ids = [&hit.session.id, &hit.entry].map(|id| Cell::plain(harmless(id)));
        return ids.into_iter().chain([who, Cell::plain(harmless(&said)), branch]).collect();
    }
    let turn = hit.turn.map(|turn| format!(" #{turn}")).unwrap_or_default();
    let address = Cell::faint(harmless(&format!("{}{turn}", short(hit))));
    vec![address, who, Cell::plain(harmless(&snippet(said, query, look))), branch]
}

fn who(hit: &Hit) -> &str {
    match hit.role {
        Role::User => "you",
        Role::Assistant => hit.session.agent.as_deref().map_or("agent", agent_name),
        Role::Tool => "tool",
        Role::Title => "title",
    }
}

fn short(hit: &Hit) -> String {
    hit.session.id.chars().take(SHORT_ID).collect()
}

/// A number names a turn on the way to the head; in a session with branches that may be another one. A title is no
/// point.
fn point(hit: &Hit) -> Option<String> {
    match hit.turn {
        _ if hit.role == Role::Title => None,
        Some(turn) if hit.session.branches <= 1 => Some(turn.to_string()),
        Some(_) | None => Some(hit.entry.clone()),
    }
}

/// One line around what was asked for.
fn snippet(said: &str, query: &Query, look: &Look) -> String {
    let at = query.first(said).map_or(0, |place| place.start);
    let cut = look.sign(Sign::Cut);
    let before: Vec<&str> = said.get(..at).unwrap_or_default().split_whitespace().collect();
    let is_mid_word =
        said.get(..at).is_some_and(|before| before.ends_with(|last: char| !last.is_whitespace()));
    let behind = said.get(at..).unwrap_or_default();
    let mut kept = Vec::new();
    let mut length = 0;
    for word in before.iter().rev() {
        length += word.chars().count() + 1;
        if length > BEFORE && !(is_mid_word && kept.is_empty()) {
            break;
        }
        kept.push(*word);
    }
    let is_cut = kept.len() < before.len();
    kept.reverse();
    let mut line = if is_cut { format!("{cut} ") } else { String::new() };
    line.push_str(&kept.join(" "));
    if !kept.is_empty() && !is_mid_word {
        line.push(' ');
    }
    let mut rest = String::new();
    for word in behind.split_whitespace() {
        if rest.len() > LINE {
            rest.push(' ');
            rest.push_str(cut);
            break;
        }
        if !rest.is_empty() {
            rest.push(' ');
        }
        rest.push_str(word);
    }
    line.push_str(&rest);
    line
}

fn as_json(asked: &str, found: &Found, query: &Query) -> Value {
    let moment = |at: i64| Timestamp::from_microsecond(at).ok().map(|at| at.to_string());
    let hit = |hit: &Hit| {
        let place = hit.text.as_deref().and_then(|text| query.first(text));
        json!({
            "session": hit.session.id,
            "entry": Some(&hit.entry).filter(|entry| !entry.is_empty()),
            "turn": hit.turn,
            "role": match hit.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
                Role::Title => "title",
            },
            "text": hit.text,
            "match": place.map(|place| json!([place.start, place.end])),
            "branch": hit.branch,
            "written_at": hit.at.and_then(moment),
            "agent": hit.session.agent,
            "project": hit.session.project,
            "title": hit.session.title,
            "path": hit.session.path.to_string_lossy(),
        })
    };
    json!({
        "query": asked,
        "matches": found.matches,
        "sessions": found.sessions,
        "searched": found.searched,
        "hits": found.hits.iter().map(hit).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(said: &str, asked: &str) -> String {
        let query = Query::read(asked, Bounds::Words).expect("a query");
        snippet(said, &query, &Look::plain(Some(80)))
    }

    #[test]
    fn what_was_asked_for_is_in_sight() {
        assert_eq!(
            cut("Burst credit is lost\n  when it reloads.", "credit"),
            "Burst credit is lost when it reloads."
        );
        let long = "It moves the bucket into the new limiter, so the burst credit travels along";
        assert_eq!(cut(long, "credit"), "… limiter, so the burst credit travels along");
        assert_eq!(cut("a(credit)", "credit"), "a(credit)");
        assert_eq!(cut("nothing of it", "credit"), "nothing of it");
        assert!(cut(&"word ".repeat(90), "word").ends_with(" …"));
    }
}
