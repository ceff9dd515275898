//! `offshoot search QUERY`: who said it, in all sessions of all agents.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use jiff::Timestamp;
use offshoot_session::{ForeignSource, SessionId, Stamps};
use offshoot_store::catalog::query::Bounds;
use offshoot_store::catalog::{Filter, Found, Hit, Query, SessionRow, Within};
use offshoot_transcripts::gist::Role;
use serde_json::{Value, json};

use super::json::printed;
use super::wanted;
use crate::args::{RoleName, SearchArgs};
use crate::cataloged::{Fresh, agent_name, cataloged};
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::failure::Failure;
use crate::here::Here;
use crate::look::{Look, Sign};
use crate::naming::{self, Name, SHORT_ID};
use crate::refusals::unknown_agent;
use crate::register::Register;
use crate::stored::list_failed;
use crate::text::for_shell;
use crate::words::catalog as words;
use crate::{Answer, text};

/// People are spared more than these; a pipe gets all.
const SHOWN: usize = 20;

/// So much of what was said is shown before the words that were asked for, and in all where nothing limits it.
const BEFORE: usize = 24;
const LINE: usize = 160;

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
    // what tools say is said nowhere else
    let with_tools = args.tools || args.role == Some(RoleName::Tool);
    let within = match (with_tools, args.inside) {
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
    if let Some(agent) = args.agent.as_deref().filter(|agent| !wanted::is_known_agent(agent))
        && found.hits.is_empty()
    {
        return Err(unknown_agent(agent));
    }
    if found.hits.is_empty() || args.json.json.is_some() {
        (found.searched, found.agents) = ready.count(here)?;
    }
    let notes = std::mem::take(&mut ready.notes);
    let called = match args.source.is_empty() {
        true => called(&found.hits, Register::over(here, ready)?, is_for_scripts)?,
        false => called_by_path(&found.hits),
    };
    let references = here.store()?.references().map_err(|error| list_failed(&error))?;
    for hit in &mut found.hits {
        as_one_session(hit, &references);
    }
    let hits: Vec<Named<'_>> =
        found.hits.iter().zip(called).map(|(hit, called)| Named { hit, called }).collect();
    let text = match args.json.json {
        Some(shape) => printed(as_json(&asked, &found, &hits, &query), "hits", shape),
        None => table(&asked, &found, &hits, &query, &here.look),
    };
    Ok(Answer { text, notes, ..Answer::default() })
}

/// A hit, and the word that names its session.
struct Named<'h> {
    hit: &'h Hit,
    called: String,
}

impl Named<'_> {
    /// A path is too long for a table.
    fn shown(&self) -> String {
        match self.called.contains(std::path::MAIN_SEPARATOR) {
            true => self.hit.session.id.chars().take(SHORT_ID).collect(),
            false => self.called.clone(),
        }
    }
}

/// What to call the session of each hit, so that it can be opened.
fn called(hits: &[Hit], mut register: Register<'_>, is_for_scripts: bool) -> Result<Vec<String>, Failure> {
    let beginning = |hit: &Hit| hit.session.id.chars().take(SHORT_ID).collect::<String>();
    let beginnings: BTreeSet<String> = hits.iter().map(beginning).collect();
    let known = register.beginning_like(&beginnings.into_iter().collect::<Vec<_>>())?;
    let names: Vec<Name> = known.iter().map(|known| known.name.clone()).collect();
    let called = if is_for_scripts { naming::whole(&names) } else { naming::short(&names) };
    let mut by_file: HashMap<&Path, &String> = HashMap::new();
    let mut by_journal: HashMap<&str, &String> = HashMap::new();
    for (known, called) in known.iter().zip(&called) {
        by_file.insert(&known.path, called);
        by_journal.extend(known.journal.as_ref().map(|id| (id.as_str(), called)));
    }
    let name = |hit: &Hit| match hit.session.is_own {
        true => by_journal.get(hit.session.id.as_str()),
        false => by_file.get(hit.session.path.as_path()),
    };
    Ok(hits.iter().map(|hit| name(hit).map_or(hit.session.id.clone(), |name| (*name).clone())).collect())
}

/// Where other places than the usual ones were looked through, an id tells nobody where it was found.
fn called_by_path(hits: &[Hit]) -> Vec<String> {
    let name = |session: &SessionRow| match session.is_own {
        true => session.id.clone(),
        false => session.path.to_string_lossy().into_owned(),
    };
    hits.iter().map(|hit| name(&hit.session)).collect()
}

/// What was added here to another program's session is a part of that. Turns are counted there, and not in the journal,
/// which holds only what is new.
fn as_one_session(hit: &mut Hit, references: &[(SessionId, ForeignSource)]) {
    let source = references.iter().find(|(id, _)| hit.session.is_own && id.as_str() == hit.session.id);
    if let Some((_, source)) = source {
        hit.turn = None;
        hit.session.id.clone_from(&source.session);
    }
    // a rollout goes on with another one, and its turns are counted from there
    if hit.session.agent.as_deref() == Some("codex") && hit.session.parent.is_some() {
        hit.turn = None;
    }
    if references.iter().any(|(_, source)| Path::new(&source.path) == hit.session.path) {
        // the way to the head may be another one now
        hit.session.branches = hit.session.branches.max(2);
    }
}

fn filter(args: &SearchArgs, here: &Here) -> Result<Filter, Failure> {
    let now = here.stamps().now();
    let moment = |text: Option<&str>| -> Result<Option<i64>, Failure> {
        let moment = text.map(|text| wanted::since(text, now)).transpose()?;
        Ok(moment.map(Timestamp::as_microsecond))
    };
    Ok(Filter {
        agent: args.agent.as_deref().map(wanted::agents),
        project: args.project.as_deref().map(|project| wanted::folder(project, here)),
        role: args.role.map(|role| match role {
            RoleName::User => Role::User,
            RoleName::Assistant => Role::Assistant,
            RoleName::Tool => Role::Tool,
        }),
        since: moment(args.since.as_deref())?,
        until: moment(args.until.as_deref())?,
    })
}

fn table(asked: &str, found: &Found, hits: &[Named<'_>], query: &Query, look: &Look) -> String {
    if found.hits.is_empty() {
        let nothing = words::nothing_found(asked, found.searched, found.agents, look.ascii);
        return if look.for_a_person && !look.quiet { nothing } else { String::new() };
    }
    let rows: Vec<Vec<Cell>> = hits.iter().map(|hit| cells(hit, query, look)).collect();
    let mut text = drawn(&COLUMNS, &rows, look);
    if look.for_a_person && !look.quiet {
        let open = hits.last().map(|Named { hit, called }| match point(hit) {
            Some(point) => format!("{} --at {}", for_shell(called), for_shell(&point)),
            None => for_shell(called),
        });
        text.push_str(&words::found(found.matches, found.sessions, found.hits.len(), open.as_deref()));
    }
    text
}

fn cells(named: &Named<'_>, query: &Query, look: &Look) -> Vec<Cell> {
    let Named { hit, called } = named;
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let branch = Cell::faint(harmless(hit.branch.as_deref().unwrap_or_default()));
    let who = Cell::plain(harmless(who(hit)));
    let said = hit.text.as_deref().unwrap_or_default();
    if !look.for_a_person {
        // what names the session, the whole id of the entry, and the whole text
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let ids = [called, &hit.entry].map(|id| Cell::plain(harmless(id)));
        return ids.into_iter().chain([who, Cell::plain(harmless(&said)), branch]).collect();
    }
    let turn = hit.turn.map(|turn| format!(" #{turn}")).unwrap_or_default();
    let address = Cell::faint(harmless(&format!("{}{turn}", named.shown())));
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

fn as_json(asked: &str, found: &Found, hits: &[Named<'_>], query: &Query) -> Value {
    let moment = |at: i64| Timestamp::from_microsecond(at).ok().map(|at| at.to_string());
    let hit = |Named { hit, called }: &Named<'_>| {
        let place = hit.text.as_deref().and_then(|text| query.first(text));
        json!({
            "session": hit.session.id,
            "named": called,
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
        "hits": hits.iter().map(hit).collect::<Vec<_>>(),
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
