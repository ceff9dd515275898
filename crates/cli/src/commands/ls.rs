//! `offshoot ls`: the sessions there are, newest threads first, forks below the session they came from.
//!
//! The catalog tells of them, after it has looked at every file. A session that is damaged or cannot be read is listed
//! with a mark. People see sessions about the same project together; scripts see the newest threads first.

mod changed;
mod listed;
mod nested;
mod threads;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use offshoot_api::views::StatusView;
use offshoot_session::Stamps;
use offshoot_session::cost::PriceLookup;
use offshoot_store::beside::session_of_agent;
use offshoot_store::{Archive, SessionStore};
use serde_json::{Value, json};

use super::json::printed;
use super::{reason_of, wanted};
use crate::ago::ago;
use crate::args::LsArgs;
use crate::cataloged::{Cataloged, Fresh, agent_name, cataloged};
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::current::{current_in, current_session};
use crate::failure::Failure;
use crate::here::Here;
use crate::known::{Known, name_of};
use crate::living::{Running, state_in_words};
use crate::look::{Ink, Look, Sign};
use crate::naming::Name;
use crate::numbers::{counted, grouped, money};
use crate::prices;
use crate::refusals::unknown_agent;
use crate::register::Register;
use crate::stored::list_failed;
use crate::which::{Among, which};
use crate::words::{catalog as about_all, reading as words};
use crate::{Answer, text};
use changed::together;
use listed::{Listed, State};
use nested::{below, nested};
use offshoot_store::catalog::{Problem, SessionRow};
use threads::{Ids, Names, Row, threaded};

/// More than these are counted, not listed, unless all are wanted. Only people are spared: a pipe gets all.
const LISTED: usize = 20;

/// Forks of forks of forks are not drawn further to the right than this.
const DEEPEST: usize = 6;

/// Reasons leave room for titles; `--tree` and `show` tell them whole.
const LONGEST_REASON: usize = 24;

const COLUMNS: [Column; 10] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "STATUS", side: Side::Left, room: Room::Lead },
    Column { title: "ID", side: Side::Left, room: Room::Lead },
    Column { title: "SESSION", side: Side::Left, room: Room::Text(16) },
    Column { title: "PROJECT", side: Side::Left, room: Room::GivesWay(8) },
    Column { title: "AGENT", side: Side::Left, room: Room::GivesWay(5) },
    Column { title: "PROMPTS", side: Side::Right, room: Room::Fixed },
    Column { title: "COST", side: Side::Right, room: Room::Fixed },
    Column { title: "ACTIVE", side: Side::Right, room: Room::Fixed },
    Column { title: "BRANCH", side: Side::Left, room: Room::GivesWay(6) },
];

/// A tree shows what the headers say.
const TREE_COLUMNS: [Column; 6] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "ID", side: Side::Left, room: Room::Lead },
    Column { title: "SESSION", side: Side::Left, room: Room::Text(16) },
    Column { title: "AGENT", side: Side::Left, room: Room::Fixed },
    Column { title: "MODEL", side: Side::Left, room: Room::GivesWay(8) },
    Column { title: "BRANCH", side: Side::Left, room: Room::GivesWay(8) },
];

pub(crate) fn run(args: &LsArgs, here: &Here) -> Result<Answer, Failure> {
    let root = args.tree.as_ref().and_then(|root| root.as_deref());
    let root = root.map(|root| which(here, Some(root))).transpose()?;
    let now = here.stamps().now();
    let wanted = Wanted::of(args, here, now)?;
    // whoever may not look into the home is told so
    here.store()?.list().map_err(|error| list_failed(&error))?;
    let mut ready = cataloged(here, &args.source, Fresh::Whatever)?;
    let archive = Archive::of(&ready.sources.home);
    let sessions = ready.list(here)?;
    let aside = sessions.iter().filter(|row| Listed::is_aside(row)).map(|row| name_of(row, &archive));
    let aside: Vec<Name> = aside.collect();
    let of_agents = files_of_sub_agents(&sessions, &archive);
    let mut everything: Vec<Listed> =
        sessions.into_iter().filter_map(|row| Listed::of(row, &archive)).collect();
    add_sub_agents(&mut everything, of_agents, &mut ready, here)?;
    let references = here.store()?.references().map_err(|error| list_failed(&error))?;
    let mut everything = together(everything, &references, &archive, here);
    let (current, ready) = current_of(ready, args, here);
    if let Some(current) = current {
        everything.iter_mut().for_each(|session| session.is_current = session.is(&current));
    }
    everything.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
    let look = &here.look;
    let ids = if look.for_a_person && args.json.json.is_none() { Ids::Short } else { Ids::Whole };
    let names = Names::of(&everything, aside, ids);
    let is_empty_home = everything.is_empty();
    if let Some(agent) = args.agent.as_deref().filter(|agent| !wanted::is_known_agent(agent))
        && !everything.iter().any(|session| wanted.is_of_agent(session))
    {
        return Err(unknown_agent(agent));
    }
    let sessions: Vec<Listed> =
        everything.into_iter().filter(|session| wanted.lets_through(session)).collect();
    let mut rows = threaded(sessions, &names);
    if let Some(root) = &root {
        rows = below(rows, root);
    }
    let prices = PriceLookup::new(prices::usable(here));
    let running = Running::now(here);
    if let Some(shape) = args.json.json {
        let as_json = |row: &Row| {
            let status = status_of(&row.session, &running);
            row.session.as_json(&row.called, row.parent.as_deref(), status, &prices)
        };
        let sessions: Vec<Value> = match args.tree {
            Some(_) => nested(&rows, as_json),
            None => rows.iter().map(as_json).collect(),
        };
        return Ok(Answer {
            text: printed(json!({ "sessions": sessions }), "sessions", shape),
            ..Answer::default()
        });
    }
    let shown = if args.all || !look.for_a_person { rows.len() } else { LISTED.min(rows.len()) };
    if look.for_a_person {
        by_project(&mut rows, shown);
    }
    let listed = rows.get(..shown).unwrap_or_default();
    let mut text = match args.tree {
        Some(_) => {
            drawn(&TREE_COLUMNS, &listed.iter().map(|row| tree_cells(row, look)).collect::<Vec<_>>(), look)
        }
        None => table(listed, now, &prices, &running, look),
    };
    if look.for_a_person && !look.quiet {
        text.push_str(&closing(&rows, shown, is_empty_home));
    }
    let (mut notes, synced) = ready.map_or((Vec::new(), None), |ready| (ready.notes, ready.synced));
    let unread =
        synced.map_or(0, |synced| synced.problems.iter().filter(|one| !is_listed(&rows, one)).count());
    if unread > 0 && look.for_a_person {
        notes.push(about_all::some_not_read(unread));
    }
    Ok(Answer { text, notes, ..Answer::default() })
}

/// The session that a command without SESSION means, found with the catalog that was just brought up to date. A list is
/// complete without it, so no failure ends the command.
fn current_of(ready: Cataloged, args: &LsArgs, here: &Here) -> (Option<Known>, Option<Cataloged>) {
    if !args.source.is_empty() {
        return (current_session(here, Among::Standing).ok().flatten(), Some(ready));
    }
    let Ok(mut register) = Register::over(here, ready) else { return (None, None) };
    let current = current_in(&mut register, here, Among::Standing).ok().flatten();
    (current, register.into_catalog())
}

/// More rows than this are worth a second thread.
const MANY: usize = 500;

fn table(rows: &[Row], now: Timestamp, prices: &PriceLookup, running: &Running, look: &Look) -> String {
    let cells = |rows: &[Row]| {
        let cells = |row| with_status(row_cells(row, now, prices, look), row, running, look);
        rows.iter().map(cells).collect::<Vec<Vec<Cell>>>()
    };
    // columns are as wide as their widest row; without a width each row stands for itself
    if look.width.is_some() || rows.len() < MANY {
        return drawn(&COLUMNS, &cells(rows), look);
    }
    let (one, other) = rows.split_at(rows.len() / 2);
    let draw = |rows: &[Row]| drawn(&COLUMNS, &cells(rows), look);
    let (mut text, rest) = std::thread::scope(|scope| {
        let other = scope.spawn(|| draw(other));
        (draw(one), other.join())
    });
    // whoever panicked has said so
    text.push_str(&rest.unwrap_or_default());
    text
}

/// A journal that cannot be read has a row that says so.
fn is_listed(rows: &[Row], problem: &Problem) -> bool {
    rows.iter().any(|row| row.session.path == problem.path)
}

/// Threads about the same folder come together, at the place of the newest of them.
fn by_project(rows: &mut Vec<Row>, shown: usize) {
    let hidden = rows.split_off(shown);
    let mut groups: Vec<(Option<String>, Vec<Row>)> = Vec::new();
    let mut at = 0;
    for row in rows.drain(..) {
        if row.depth == 0 {
            let project = row.session.about().and_then(|about| about.project.clone());
            at = groups.iter().position(|(of, _)| *of == project).unwrap_or_else(|| {
                groups.push((project, Vec::new()));
                groups.len() - 1
            });
        }
        if let Some((_, group)) = groups.get_mut(at) {
            group.push(row);
        }
    }
    rows.extend(groups.into_iter().flat_map(|(_, group)| group).chain(hidden));
}

/// Which sessions are asked for.
struct Wanted {
    project: Option<PathBuf>,
    since: Option<Timestamp>,
    label: Option<String>,
    agent: Option<Vec<String>>,
    model: Option<String>,
}

impl Wanted {
    fn of(args: &LsArgs, here: &Here, now: Timestamp) -> Result<Self, Failure> {
        Ok(Self {
            project: args.project.as_deref().map(|project| wanted::folder(project, here)),
            since: args.since.as_deref().map(|since| wanted::since(since, now)).transpose()?,
            label: args.label.as_deref().map(wanted::part),
            agent: args.agent.as_deref().map(wanted::agents),
            model: args.model.as_deref().map(wanted::part),
        })
    }

    fn lets_through(&self, session: &Listed) -> bool {
        let about = session.about();
        let is_in = |folder: &PathBuf| {
            let project = about.and_then(|about| about.project.as_deref());
            project.is_some_and(|project| Path::new(project).starts_with(folder))
        };
        let answers = |model: &String| {
            let by = about.and_then(|about| about.model.as_deref());
            by.is_some_and(|by| by.to_lowercase().contains(model.as_str()))
        };
        let has = |label: &String| {
            let labels = about.map(|about| about.labels.as_slice()).unwrap_or_default();
            labels.iter().any(|one| one.trim().to_lowercase() == *label)
        };
        self.project.as_ref().is_none_or(is_in)
            && self.since.is_none_or(|since| session.updated_at >= since)
            && self.label.as_ref().is_none_or(has)
            && self.is_of_agent(session)
            && self.model.as_ref().is_none_or(answers)
    }

    fn is_of_agent(&self, session: &Listed) -> bool {
        let by = session.about().and_then(|about| about.agent.as_deref()).map(str::to_lowercase);
        let is_of = |agents: &Vec<String>| {
            by.as_ref().is_some_and(|by| agents.iter().any(|agent| by.contains(agent.as_str())))
        };
        self.agent.as_ref().is_none_or(is_of)
    }
}

/// The keys of the files of sub-agents, by the file of the session that set them to work. They have no rows of their own.
fn files_of_sub_agents(sessions: &[SessionRow], archive: &Archive) -> HashMap<PathBuf, Vec<i64>> {
    let mut files: HashMap<PathBuf, Vec<i64>> = HashMap::new();
    for row in sessions.iter().filter(|row| row.is_side && row.spent.is_some()) {
        let kept_from = archive.kept_at(&row.path).map(|kept| kept.original);
        let file = kept_from.as_deref().unwrap_or(&row.path);
        if let Some(session) = session_of_agent(file, row.parent.as_deref()) {
            files.entry(session).or_default().push(row.key);
        }
    }
    files
}

/// A session has used what its sub-agents have used. A reply that is in several files counts once, as in `cost`.
fn add_sub_agents(
    sessions: &mut [Listed],
    files: HashMap<PathBuf, Vec<i64>>,
    ready: &mut Cataloged,
    here: &Here,
) -> Result<(), Failure> {
    for session in sessions {
        let file = session.kept_from.as_ref().unwrap_or(&session.path);
        let Some(of_agents) = files.get(file) else { continue };
        let keys: Vec<i64> = std::iter::once(session.key).chain(of_agents.iter().copied()).collect();
        session.has_spent(ready.ask(here, |catalog, _| catalog.spent_by(&keys))?);
    }
    Ok(())
}

/// Our own sessions have a state, told while something runs: at a terminal in front, in a pipe behind what was always
/// there. At a terminal the current session has a mark before it.
fn with_status(mut cells: Vec<Cell>, row: &Row, running: &Running, look: &Look) -> Vec<Cell> {
    let is_ours = row.session.is_own || row.session.changed_as.is_some();
    let state = match status_of(&row.session, running) {
        Some(status) => Some(status.state.as_str()),
        None => Some("ready").filter(|_| is_ours && !running.is_nothing()),
    };
    let cell = state.map(|state| state_in_words(state, look)).map(|(words, ink)| Cell::new(ink, words));
    match look.width {
        Some(_) => {
            let mark = if row.session.is_current { look.sign(Sign::Shown) } else { "" };
            let front = [Cell::new(Ink::Accent, mark), cell.unwrap_or_else(|| Cell::plain(""))];
            cells.splice(0..0, front);
        }
        None => cells.extend(cell),
    }
    cells
}

fn status_of<'r>(session: &Listed, running: &'r Running) -> Option<&'r StatusView> {
    let changed = session.changed_as.as_deref().and_then(|id| running.in_session(id));
    changed.or_else(|| running.in_session(&session.id).filter(|_| session.is_own))
}

/// Nested in a pipe too.
fn tree_cells(row: &Row, look: &Look) -> Vec<Cell> {
    let session = &row.session;
    let about = session.about();
    let agent = about.and_then(|about| about.agent.as_deref());
    let agent = if look.for_a_person { agent.map(agent_name) } else { agent };
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let model =
        about.and_then(|about| if look.for_a_person { about.model_name() } else { about.whole_model() });
    let mut cells = vec![
        Cell::faint(harmless(&row.called)),
        title_cell(row, Nesting::Always, look),
        Cell::plain(agent.map(harmless).unwrap_or_default()),
        Cell::plain(model.as_deref().map(harmless).unwrap_or_default()),
        Cell::faint(branch_reason(session, look)),
    ];
    if look.width.is_some() {
        let mark = if session.is_current { look.sign(Sign::Shown) } else { "" };
        cells.insert(0, Cell::new(Ink::Accent, mark));
    }
    cells
}

/// Why it branched; empty for a root.
fn branch_reason(session: &Listed, look: &Look) -> String {
    session.lineage().and_then(|lineage| reason_of(&lineage, look)).unwrap_or_default()
}

/// For whom a session is drawn to the right of its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Always,
    ForPeople,
}

fn title_cell(row: &Row, nesting: Nesting, look: &Look) -> Cell {
    let session = &row.session;
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let mut title = String::new();
    if (look.for_a_person || nesting == Nesting::Always) && row.depth > 0 {
        title.push_str(&"  ".repeat(row.depth.min(DEEPEST) - 1));
        title.push_str(look.sign(Sign::Offspring));
    }
    if session.kept_from.is_some() {
        title.push_str(words::KEPT);
    }
    let mark = look.sign(Sign::Error);
    match &session.state {
        State::Whole(about) => title.push_str(&harmless(about.name())),
        State::Damaged(about, _) => title.push_str(&format!("{mark} {}", harmless(about.name()))),
        State::Unreadable(reason) => title.push_str(&format!("{mark} {}", harmless(reason))),
    }
    if look.for_a_person && session.changed_as.is_some() {
        title.push_str(words::CHANGED_HERE);
    }
    let ink = if matches!(session.state, State::Whole(_)) { Ink::Plain } else { Ink::Error };
    Cell::new(ink, title)
}

fn row_cells(row: &Row, now: Timestamp, prices: &PriceLookup, look: &Look) -> Vec<Cell> {
    let session = &row.session;
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let about = session.about();
    let project = about.and_then(|about| about.project.as_deref()).map(harmless).unwrap_or_default();
    let project = match Path::new(&project).file_name() {
        Some(name) if look.for_a_person => name.to_string_lossy().into_owned(),
        _ => project,
    };
    let agent = about.and_then(|about| about.agent.as_deref());
    let agent = if look.for_a_person { agent.map(agent_name) } else { agent };
    let agent = agent.map(harmless).unwrap_or_default();
    let prompts = about.map(|about| about.prompts);
    let cost = about.and_then(|about| about.cost(prices)).and_then(money).unwrap_or_default();
    let active = if look.for_a_person {
        ago(session.updated_at, now, &TimeZone::system())
    } else {
        session.updated_at.to_string()
    };
    let mut cells = vec![
        Cell::faint(harmless(&row.called)),
        title_cell(row, Nesting::ForPeople, look),
        Cell::plain(project),
        Cell::plain(agent),
        Cell::plain(prompts.map(grouped).unwrap_or_default())
            .or_alone(prompts.map(|prompts| counted(prompts, "prompt", "prompts")).unwrap_or_default()),
        Cell::plain(cost),
        Cell::faint(active),
    ];
    // scripts that read columns know these
    if look.width.is_some() {
        let reason = text::cut(&branch_reason(session, look), LONGEST_REASON, look.sign(Sign::Cut));
        cells.push(Cell::faint(reason));
    }
    cells
}

fn closing(rows: &[Row], shown: usize, is_empty_home: bool) -> String {
    if rows.is_empty() {
        let nothing = if is_empty_home { words::NO_SESSIONS } else { words::NO_SUCH_SESSIONS };
        return format!("{nothing}\n");
    }
    let mut closing = words::sessions_shown(shown, rows.len());
    let bad = rows.iter().filter(|row| !matches!(row.session.state, State::Whole(_))).count();
    if bad > 0 {
        closing.push_str(&words::sessions_damaged(bad));
    }
    closing
}
