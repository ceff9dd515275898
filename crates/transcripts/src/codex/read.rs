//! From the lines of rollouts to records.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{
    Body, Change, Entry, EntryId, Fact, Interruption, Odd, Oddity, Prompt, RawLine, Record, Reply,
    SessionHeader, SessionId, System, TitleSource, TurnId, Usage, text_of,
};

use super::echo::{Items, places_taken_over, settle};
use super::header::Meta;
use super::item::Words;
use super::names::rollout_id_from_file_name;
use super::said::{Said, What, said};
use super::settings::Settings;
use super::usage::Count;
use crate::heads::{Heads, Place};
use crate::ids::fresh_id;
use crate::lines::{Content, Line, Sources, Watched, lines};
use crate::noted::Noted;
use crate::{Dialect, Transcript};

/// Reads one rollout, whatever state it is in. What lies before its base is missing, and that is said; use
/// [`super::resolve`] where the files of the family are at hand.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Transcript {
    let mut rollout = Lines::keeping(Sources::Kept);
    lines(bytes).for_each(|line| rollout.take(line));
    rollout.finish(file_name)
}

/// A rollout that is read line by line.
pub(crate) struct Lines {
    pieces: Vec<Piece>,
    noted: Noted,
    sources: Sources,
}

impl Lines {
    pub(crate) fn keeping(sources: Sources) -> Self {
        Self { pieces: Vec::new(), noted: Noted::default(), sources }
    }

    pub(crate) fn take(&mut self, line: Line) {
        let mut piece = Piece::new(line, &mut self.noted);
        piece.raw = self.sources.of(piece.raw, self.pieces.is_empty());
        self.pieces.push(piece);
    }

    pub(crate) fn finish(self, file_name: Option<&str>) -> Transcript {
        let mut reader = Reader { noted: self.noted, ..Reader::default() };
        let rollout = Rollout::of(file_name, self.pieces);
        reader.noted.oddities.extend(rollout.missing_base());
        let end = reader.take(rollout, State::default(), Opening::Header).end;
        reader.finish(end.tip)
    }
}

/// A file, line by line understood and not yet connected.
pub(super) struct Rollout {
    pub(super) id: String,
    pub(super) thread: String,
    pub(super) meta: Option<Meta>,
    pub(super) opened_at: Timestamp,
    lines: Vec<Piece>,
    items: Items,
}

struct Piece {
    line: u64,
    raw: RawLine,
    said: Option<Said>,
    /// The place of an event that stood for it as long as it was not there.
    taken_over: Option<u64>,
}

impl Rollout {
    pub(super) fn new<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>, noted: &mut Noted) -> Self {
        Self::of(file_name, lines(bytes).map(|line| Piece::new(line, noted)).collect())
    }

    fn of(file_name: Option<&str>, mut pieces: Vec<Piece>) -> Self {
        let items = settle(pieces.iter_mut().filter_map(|piece| Some(&mut piece.said.as_mut()?.what)));
        let told = pieces.iter().filter_map(|piece| Some((piece.ordinal(), &piece.said.as_ref()?.what)));
        let mut taken_over = places_taken_over(told);
        let told = pieces.iter_mut().filter(|piece| piece.said.is_some());
        told.enumerate().for_each(|(at, piece)| piece.taken_over = taken_over.remove(&at));
        let meta = pieces.iter().find_map(|piece| match &piece.said.as_ref()?.what {
            What::Header(meta) => Some(Meta::clone(meta)),
            _ => None,
        });
        let thread = meta.as_ref().and_then(|meta| meta.thread.clone());
        let named = file_name.and_then(rollout_id_from_file_name).map(str::to_owned);
        let id = named.or_else(|| thread.clone()).unwrap_or_else(|| {
            let seed = pieces.first().map_or(&b""[..], |piece| piece.raw.content());
            fresh_id(&[seed], &mut HashSet::new()).to_string()
        });
        let first_time = pieces.iter().find_map(|piece| piece.said.as_ref()?.written_at.flatten());
        let opened_at = meta.as_ref().and_then(|meta| meta.opened_at).or(first_time);
        Self {
            thread: thread.unwrap_or_else(|| id.clone()),
            id,
            meta,
            opened_at: opened_at.unwrap_or(Timestamp::UNIX_EPOCH),
            lines: pieces,
            items,
        }
    }

    pub(super) fn header(&self) -> SessionHeader {
        let meta = self.meta.clone().unwrap_or_default();
        meta.header(SessionId::from(self.thread.as_str()), self.opened_at)
    }

    pub(super) fn missing_base(&self) -> Option<Oddity> {
        let base = self.meta.as_ref()?.base.as_ref()?;
        Some(Oddity::new(Odd::Repaired(format!(
            "`{}` continues `{}`, which is not here: everything before ordinal {} is missing",
            self.id, base.rollout, base.end
        ))))
    }
}

impl Piece {
    fn new(line: Line, noted: &mut Noted) -> Self {
        noted.line(&line);
        let said = match &line.content {
            Content::Object(map) => Some(said(map)),
            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
        };
        if let Some(said) = &said {
            if let Some(kind) = &said.unknown_type {
                noted.unknown_type(Some(line.number), kind);
            }
            if matches!(said.what, What::Nameless) {
                noted.odd(line.number, Odd::UnreadableLine("an object without a type".to_owned()));
            }
        }
        Self { line: line.number, raw: line.raw, said, taken_over: None }
    }

    fn ordinal(&self) -> u64 {
        self.said.as_ref().and_then(|said| said.ordinal).unwrap_or(self.line - 1)
    }
}

/// How a line finds the conversation: all that a fork takes over from its base.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) tip: Option<Place>,
    /// The last prompt on the path, for going back over turns.
    prompt: Option<usize>,
    settings: Arc<Settings>,
    turn_start: TurnStart,
    /// The running total of the last count.
    total: Option<Usage>,
    context_tokens: i64,
}

/// Where the next turn begins: behind the last entry that is neither a setting nor context from the program. Codex
/// writes both above the prompt of the turn that they are for, so they leave the path with it.
#[derive(Clone, Debug, Default)]
struct TurnStart {
    tip: Option<Place>,
    settings: Arc<Settings>,
}

/// A prompt on a path, as a link of a chain that branches share.
struct PromptLink {
    above: TurnStart,
    earlier: Option<usize>,
}

/// What was read of a file: the state at its end and after each of its lines.
pub(super) struct Reading {
    after: Vec<(u64, State)>,
    pub(super) end: State,
    pub(super) has_entries: bool,
}

impl Reading {
    pub(super) fn begins_before(&self, end: u64) -> bool {
        self.after.first().is_some_and(|(ordinal, _)| *ordinal < end)
    }

    /// The state before the line with this ordinal, and whether the file reaches that far.
    pub(super) fn before(&self, end: u64) -> (State, bool) {
        let count = self.after.partition_point(|(ordinal, _)| *ordinal < end);
        let state = count.checked_sub(1).and_then(|at| self.after.get(at));
        let reaches = state.is_some_and(|(ordinal, _)| ordinal.saturating_add(1) >= end);
        (state.map(|(_, state)| state.clone()).unwrap_or_default(), reaches || end == 0)
    }
}

/// What becomes of the header of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Header,
    /// The session is opened already.
    None,
}

/// Makes records of one rollout after the other.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) records: Vec<Record>,
    pub(super) noted: Noted,
    heads: Heads,
    taken: HashSet<EntryId>,
    /// Names of tools by call.
    calls: HashMap<String, String>,
    prompts: Vec<PromptLink>,
    now: Option<Timestamp>,
}

impl Reader {
    pub(super) fn take(&mut self, rollout: Rollout, state: State, opening: Opening) -> Reading {
        self.now = Some(rollout.opened_at);
        let header = (opening == Opening::Header).then(|| rollout.header());
        let mut file = File {
            entries_before: self.taken.len(),
            reader: self,
            id: rollout.id,
            items: rollout.items,
            state,
            turn: None,
            last_reply: None,
            line: 0,
            ordinal: 0,
            taken_over: None,
        };
        file.adopt_provider(rollout.meta.and_then(|meta| meta.provider));
        let mut after = Vec::with_capacity(rollout.lines.len());
        let mut header = file.open(header, &rollout.lines);
        let mut has_header = false;
        for piece in rollout.lines {
            file.line = piece.line;
            file.ordinal = piece.ordinal();
            file.taken_over = piece.taken_over;
            let Some(said) = piece.said else {
                file.reader.records.push(Record::unknown(piece.raw));
                continue;
            };
            file.tell_time(said.written_at);
            if matches!(said.what, What::Header(_)) && std::mem::replace(&mut has_header, true) {
                file.reader.noted.odd(piece.line, Odd::SecondHeader);
            }
            file.take(said.what, piece.raw, &mut header);
            after.push((file.ordinal, file.state.clone()));
        }
        let has_entries = file.reader.taken.len() > file.entries_before;
        let end = file.state;
        after.sort_by_key(|(ordinal, _)| *ordinal);
        Reading { after, end, has_entries }
    }

    pub(super) fn finish(mut self, tip: Option<Place>) -> Transcript {
        let now = self.now();
        self.records.extend(self.heads.go(tip, now).map(Record::head_moved));
        Transcript {
            dialect: Dialect::Codex,
            records: self.records,
            oddities: self.noted.oddities,
            unknown_types: self.noted.unknown_types,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now.unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

/// One file on its way into the records.
struct File<'r> {
    reader: &'r mut Reader,
    id: String,
    items: Items,
    state: State,
    turn: Option<TurnId>,
    /// The reply that the next count of tokens is about, as a place among the records.
    last_reply: Option<usize>,
    line: u64,
    ordinal: u64,
    taken_over: Option<u64>,
    entries_before: usize,
}

impl File<'_> {
    fn adopt_provider(&mut self, provider: Option<String>) {
        if self.state.tip.is_none() {
            self.state.settings = Arc::new(Settings::with_provider(provider));
        }
    }

    /// A header that no line brings stands before all lines.
    fn open(&mut self, header: Option<SessionHeader>, lines: &[Piece]) -> Option<SessionHeader> {
        let is_in_file =
            |piece: &Piece| piece.said.as_ref().is_some_and(|said| matches!(said.what, What::Header(_)));
        if header.is_some() && !lines.iter().any(is_in_file) {
            self.reader.noted.oddities.push(Oddity::new(Odd::MissingHeader));
            self.reader.records.extend(header.map(Record::opened));
            return None;
        }
        header
    }

    fn tell_time(&mut self, written_at: Option<Option<Timestamp>>) {
        match written_at {
            Some(Some(moment)) => self.reader.now = Some(moment),
            Some(None) => {
                self.reader.noted.repaired(self.line, "the time is not readable; the one before is taken");
            }
            None => {}
        }
    }

    fn take(&mut self, what: What, raw: RawLine, header: &mut Option<SessionHeader>) {
        let record = match what {
            What::Header(_) => header.take().map(Record::opened),
            What::Settings(told, turn) => {
                self.turn = turn.or_else(|| self.turn.take());
                return self.settings(*told, raw);
            }
            What::Entry(body) => Some(self.entry(body, "")),
            What::User { prompt, words: Words::OfTheProgram } => {
                Some(self.entry(Body::System(System { text: text_of(&prompt.blocks) }), ""))
            }
            What::User { prompt, words: Words::OfThePerson | Words::Unclear } => Some(self.prompt(prompt)),
            What::Echo(echo, _) if self.items.has(echo) => None,
            What::Echo(_, Body::Prompt(prompt)) => Some(self.prompt(prompt)),
            What::Echo(_, body) => Some(self.entry(body, "")),
            What::TurnStarted(turn) => {
                self.turn = Some(turn);
                None
            }
            What::TurnEnded(turn) => self.end_turn(turn),
            What::TurnAborted(turn) => {
                let interrupted = self.entry(Body::Interrupted(Interruption::Wanted), "");
                self.reader.records.push(interrupted.from_line(raw));
                let ended = self.end_turn(turn);
                return self.reader.records.extend(ended);
            }
            What::Count(count) => self.count(&count),
            What::RolledBack { turns } => self.roll_back(turns),
            What::Title(title) => {
                let fact = Fact::Title { title: Some(title), source: TitleSource::User };
                Some(Record::marked(self.reader.now(), fact))
            }
            What::Nothing | What::Nameless => None,
        };
        let record = record.unwrap_or_else(|| Record::new(Change::Unknown));
        self.reader.records.push(record.from_line(raw));
    }

    fn settings(&mut self, told: Settings, raw: RawLine) {
        let mut settings = Settings::clone(&self.state.settings);
        let changes = settings.change_to(told);
        self.state.settings = Arc::new(settings);
        let mut source = Some(raw);
        for (name, setting) in changes {
            let record = self.entry(Body::Setting(setting), &format!(".{name}"));
            self.reader.records.push(Record { source: source.take(), ..record });
        }
        self.reader.records.extend(source.map(Record::unknown));
    }

    fn prompt(&mut self, prompt: Prompt) -> Record {
        // What stands above the first prompt is how the session began, and stays.
        let above = match self.state.prompt {
            Some(_) => self.state.turn_start.clone(),
            None => self.here(),
        };
        self.reader.prompts.push(PromptLink { above, earlier: self.state.prompt });
        self.state.prompt = Some(self.reader.prompts.len() - 1);
        self.entry(Body::Prompt(prompt), "")
    }

    /// The next entry, below the tip.
    fn entry(&mut self, body: Body, suffix: &str) -> Record {
        let body = self.completed(body);
        if let Body::Reply(reply) = &body {
            self.last_reply = Some(self.reader.records.len()).filter(|_| !reply.failed());
        }
        let entry = Entry {
            id: self.fresh_id(suffix),
            parent: self.state.tip.as_ref().map(|tip| tip.id.clone()),
            written_at: self.reader.now(),
            turn: self.turn.clone(),
            body,
        };
        self.state.tip = Some(Place::of(&entry));
        if !is_before_prompt(&entry.body) {
            self.state.turn_start = self.here();
        }
        self.reader.heads.pass(&entry);
        Record::entry(entry)
    }

    fn here(&self) -> TurnStart {
        TurnStart { tip: self.state.tip.clone(), settings: self.state.settings.clone() }
    }

    /// Adds what other lines tell of a body.
    fn completed(&mut self, body: Body) -> Body {
        match body {
            Body::Reply(reply) => {
                for call in reply.tool_uses() {
                    self.reader.calls.insert(call.id.to_string(), call.name.clone());
                }
                Body::Reply(Reply { model: self.state.settings.model(), ..reply })
            }
            Body::ToolResult(mut result) => {
                if let Some(name) = self.reader.calls.get(result.call.as_str()) {
                    result.tool.clone_from(name);
                }
                Body::ToolResult(result)
            }
            Body::Compaction(mut compaction) => {
                compaction.tokens_before = self.state.context_tokens;
                Body::Compaction(compaction)
            }
            other => other,
        }
    }

    fn fresh_id(&mut self, suffix: &str) -> EntryId {
        let place = self.taken_over.unwrap_or(self.ordinal);
        let mut id = EntryId::from(format!("{}:{place}{suffix}", self.id));
        if self.reader.taken.contains(&id) {
            let what = format!("ordinal {} is used twice; the line tells them apart", self.ordinal);
            self.reader.noted.repaired(self.line, what);
            id = EntryId::from(format!("{id}#{}", self.line));
        }
        while !self.reader.taken.insert(id.clone()) {
            id = EntryId::from(format!("{id}+"));
        }
        id
    }

    fn end_turn(&mut self, turn: Option<TurnId>) -> Option<Record> {
        let turn = turn.or_else(|| self.turn.clone());
        self.turn = None;
        Some(Record::marked(self.reader.now(), Fact::TurnEnded { turn: turn? }))
    }

    /// A count belongs to the reply before it. What no reply has caused is spent all the same.
    fn count(&mut self, count: &Count) -> Option<Record> {
        let is_repeated = count.total.is_some() && count.total == self.state.total;
        self.state.context_tokens = count.last.context_tokens();
        if is_repeated {
            return None;
        }
        self.state.total = count.total;
        let reply = self.last_reply.take().and_then(|at| self.reader.records.get_mut(at));
        if let Some(Record { change: Change::Entry(entry), .. }) = reply
            && let Body::Reply(reply) = &mut Arc::make_mut(entry).body
        {
            reply.usage = Some(count.last);
            return None;
        }
        Some(Record::marked(self.reader.now(), Fact::Spent { usage: count.last, model: None }))
    }

    /// Goes back over the last prompts; what follows branches off there.
    fn roll_back(&mut self, turns: u64) -> Option<Record> {
        let mut back = None;
        for _ in 0..turns {
            let Some(link) = self.state.prompt.and_then(|at| self.reader.prompts.get(at)) else { break };
            self.state.prompt = link.earlier;
            back = Some(link.above.clone());
        }
        let back = back?;
        let to = back.tip.clone();
        self.state.tip.clone_from(&to);
        self.state.settings = back.settings.clone();
        self.state.turn_start = back;
        self.last_reply = None;
        let now = self.reader.now();
        self.reader.heads.go(to, now).map(Record::head_moved)
    }
}

/// Whether Codex writes it above the prompt of the turn that it is for.
pub(super) fn is_before_prompt(body: &Body) -> bool {
    matches!(body, Body::Setting(_) | Body::System(_))
}
