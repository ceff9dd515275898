//! A rollout of Codex for its gist, line by line.
//!
//! Later lines may say that an earlier one was no prompt of the person, or that an event only repeats an item. Where
//! that changes something that was taken already, the file is for the whole reading.

use jiff::Timestamp;
use offshoot_session::cost::{Counted, Counting, ReplyWords};
use offshoot_session::{Block, Body, Interruption, RawLine, Reply, System, TurnId, text_of};
use serde::{Deserialize, Serialize};

use super::header::Meta;
use super::item::Words;
use super::names::rollout_id_from_file_name;
use super::read::is_before_prompt;
use super::said::{Echo, What, said};
use super::settings::Settings;
use super::usage::Count;
use crate::gist::{Taken, Unusual};
use crate::lines::{Content, Line};

/// What has to be remembered of a rollout.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Thread {
    /// The first part of all ids.
    rollout: Option<String>,
    tip: Option<String>,
    prompts: Vec<PromptLink>,
    /// The last prompt on the path.
    prompt: Option<usize>,
    settings: Settings,
    /// All settings that were in force, in their order.
    known_settings: Vec<Settings>,
    turn_start: TurnStart,
    is_in_turn: bool,
    /// The next count is about this reply.
    uncounted: Option<Uncounted>,
    /// Under which threads its replies are known: its own, and the one that it was copied from.
    threads: Vec<String>,
    /// All tokens that were counted.
    so_far: i64,
    /// The running total of the last count.
    total: Option<[i64; 5]>,
    /// Kinds of which there are items, and events that were taken because there were none.
    items: Kinds,
    echoes: Kinds,
    turn: Turn,
    /// Unclear words before the first turn, once there is one.
    untold_before_turns: Option<u64>,
    is_anything_told: bool,
    /// In microseconds since 1970.
    now: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Uncounted {
    entry: String,
    at: Option<i64>,
    words: u64,
}

/// As in the whole reading.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct TurnStart {
    tip: Option<String>,
    /// Index of the settings in force.
    settings: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct PromptLink {
    above: TurnStart,
    earlier: Option<usize>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kinds {
    user: bool,
    agent: bool,
    reasoning: bool,
}

/// As in the whole reading, but only counted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Turn {
    untold: u64,
    ahead: u64,
    is_told: bool,
}

impl Kinds {
    fn of(&mut self, echo: Echo) -> &mut bool {
        match echo {
            Echo::User => &mut self.user,
            Echo::Agent => &mut self.agent,
            Echo::Reasoning => &mut self.reasoning,
        }
    }
}

impl Thread {
    pub(crate) fn of_file(file_name: Option<&str>) -> Self {
        Self { rollout: file_name.and_then(rollout_id_from_file_name).map(str::to_owned), ..Self::default() }
    }
}

pub(crate) fn take(mut file: Taken<'_>, line: &[u8]) -> Result<(), Unusual> {
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Ok(()) };
    let mut thread = std::mem::take(&mut file.heard.codex);
    let said = said(&map);
    let at = said.written_at.flatten().map(Timestamp::as_microsecond);
    let ordinal = said.ordinal.unwrap_or_else(|| file.heard.lines.saturating_sub(1));
    if let What::Header(meta) = &said.what
        && !file.heard.has_header
    {
        thread.open(&mut file, meta, at)?;
    }
    if !file.heard.has_header {
        return Err(Unusual);
    }
    thread.now = at.or(thread.now);
    thread.line(&mut file, said.what, ordinal)?;
    file.heard.codex = thread;
    Ok(())
}

impl Thread {
    fn open(&mut self, file: &mut Taken<'_>, meta: &Meta, at: Option<i64>) -> Result<(), Unusual> {
        let named = self.rollout.take().or_else(|| meta.thread.clone()).ok_or(Unusual)?;
        let thread = meta.thread.clone().unwrap_or_else(|| named.clone());
        let opened_at = meta.opened_at.map(Timestamp::as_microsecond).or(at).ok_or(Unusual)?;
        let header = meta.header(thread.into(), Timestamp::from_microsecond(opened_at).map_err(|_| Unusual)?);
        self.rollout = Some(named);
        self.now = Some(opened_at);
        self.settings = Settings::with_provider(meta.provider.clone());
        self.threads = Counting::of(Some(&header)).threads;
        file.heard.has_header = true;
        file.open(&header);
        Ok(())
    }

    fn line(&mut self, file: &mut Taken<'_>, what: What, ordinal: u64) -> Result<(), Unusual> {
        match what {
            What::Header(_) | What::Nothing | What::Nameless => {}
            What::Count(count) => self.count(file, &count),
            What::Settings(told, turn) => {
                self.is_in_turn |= turn.is_some();
                for (name, setting) in self.settings.change_to(*told) {
                    self.entry(file, ordinal, &format!(".{name}"), &Body::Setting(setting))?;
                }
            }
            What::Entry(body) => {
                self.hear_items(&body)?;
                self.entry(file, ordinal, "", &self.completed(body))?;
            }
            What::User { prompt, words } => {
                if words != Words::OfTheProgram {
                    self.item(Echo::User)?;
                }
                if words == Words::OfTheProgram || (words == Words::Unclear && self.is_of_the_program()) {
                    let context = Body::System(System { text: text_of(&prompt.blocks) });
                    self.entry(file, ordinal, "", &context)?;
                } else {
                    self.prompt(file, ordinal, &Body::Prompt(prompt))?;
                }
            }
            What::Echo(echo, body) => {
                if echo == Echo::User {
                    self.tell()?;
                }
                if !*self.items.of(echo) {
                    *self.echoes.of(echo) = true;
                    match body {
                        Body::Prompt(_) => self.prompt(file, ordinal, &body)?,
                        body => self.entry(file, ordinal, "", &self.completed(body))?,
                    }
                }
            }
            What::TurnStarted(_) => {
                self.start_turn()?;
                self.is_in_turn = true;
            }
            What::TurnEnded(turn) => self.end_turn(file, turn.as_ref()),
            What::TurnAborted(turn) => {
                self.entry(file, ordinal, "", &Body::Interrupted(Interruption::Wanted))?;
                self.end_turn(file, turn.as_ref());
            }
            What::RolledBack { turns } => self.roll_back(file, turns),
            What::Title(title) => {
                file.gist.user_title = Some(title).filter(|title| !title.trim().is_empty());
                file.moment(self.now);
            }
        }
        Ok(())
    }

    fn completed(&self, body: Body) -> Body {
        match body {
            Body::Reply(reply) => Body::Reply(Reply { model: self.settings.model(), ..reply }),
            other => other,
        }
    }

    fn prompt(&mut self, file: &mut Taken<'_>, ordinal: u64, body: &Body) -> Result<(), Unusual> {
        let above = match self.prompt {
            Some(_) => self.turn_start.clone(),
            None => self.here(),
        };
        self.prompts.push(PromptLink { above, earlier: self.prompt });
        self.prompt = Some(self.prompts.len() - 1);
        self.entry(file, ordinal, "", body)
    }

    fn entry(
        &mut self,
        file: &mut Taken<'_>,
        ordinal: u64,
        suffix: &str,
        body: &Body,
    ) -> Result<(), Unusual> {
        let id = format!("{}:{ordinal}{suffix}", self.rollout.as_deref().unwrap_or_default());
        if file.shape.knows(&id) {
            return Err(Unusual);
        }
        if let Body::Reply(reply) = body {
            let uncounted = Uncounted { entry: id.clone(), at: self.now, words: ReplyWords::of(reply).0 };
            self.uncounted = (!reply.failed()).then_some(uncounted);
        }
        file.entry(&id, self.tip.as_deref(), self.now, body);
        self.tip = Some(id);
        if !is_before_prompt(body) {
            self.turn_start = self.here();
        }
        Ok(())
    }

    fn here(&mut self) -> TurnStart {
        if self.known_settings.last() != Some(&self.settings) {
            self.known_settings.push(self.settings.clone());
        }
        TurnStart { tip: self.tip.clone(), settings: self.known_settings.len() - 1 }
    }

    fn end_turn(&mut self, file: &mut Taken<'_>, turn: Option<&TurnId>) {
        if turn.is_some() || self.is_in_turn {
            file.moment(self.now);
        }
        self.is_in_turn = false;
    }

    /// A count that no reply has caused is a record of its own.
    fn count(&mut self, file: &mut Taken<'_>, count: &Count) {
        let total = count.total.map(|of| [of.input, of.output, of.cache_read, of.cache_write, of.total]);
        if total.is_some() && total == self.total {
            return;
        }
        self.total = total;
        let moment = |at: Option<i64>| at.and_then(|at| Timestamp::from_microsecond(at).ok());
        let mut counting = Counting { threads: std::mem::take(&mut self.threads), so_far: self.so_far };
        match self.uncounted.take() {
            Some(Uncounted { entry, at, words }) => {
                if let Some(at) = moment(at) {
                    let reply = Counted { entry: &entry, at, words: ReplyWords(words) };
                    file.charge(counting.counted(&reply, self.settings.model(), count.last, None));
                }
            }
            None => {
                file.moment(self.now);
                if let Some(at) = moment(self.now) {
                    file.charge(counting.beside(None, at, &count.last, None));
                }
            }
        }
        Counting { threads: self.threads, so_far: self.so_far } = counting;
    }

    fn roll_back(&mut self, file: &mut Taken<'_>, turns: u64) {
        for _ in 0..turns {
            let Some(link) = self.prompt.and_then(|at| self.prompts.get(at)) else { break };
            self.turn_start.clone_from(&link.above);
            self.prompt = link.earlier;
            self.tip.clone_from(&self.turn_start.tip);
            if let Some(settings) = self.known_settings.get(self.turn_start.settings) {
                self.settings.clone_from(settings);
            }
            self.uncounted = None;
            file.moment(self.now);
        }
    }

    fn hear_items(&mut self, body: &Body) -> Result<(), Unusual> {
        let Body::Reply(reply) = body else { return Ok(()) };
        for block in &reply.blocks {
            match block {
                Block::Text(_) => self.item(Echo::Agent)?,
                Block::Thinking(_) => self.item(Echo::Reasoning)?,
                Block::Other { kind } if kind == "reasoning" => self.item(Echo::Reasoning)?,
                Block::Other { .. } | Block::ToolUse(_) | Block::Image { .. } => {}
            }
        }
        Ok(())
    }

    /// An item makes the events of its kind repetitions.
    fn item(&mut self, kind: Echo) -> Result<(), Unusual> {
        *self.items.of(kind) = true;
        if *self.echoes.of(kind) { Err(Unusual) } else { Ok(()) }
    }

    /// Unclear words: whether they are context, as far as the turn tells now.
    fn is_of_the_program(&mut self) -> bool {
        match self.turn.ahead.checked_sub(1) {
            Some(ahead) => {
                self.turn.ahead = ahead;
                false
            }
            None => {
                self.turn.untold += 1;
                self.turn.is_told && self.untold_before_turns.is_some()
            }
        }
    }

    /// An event tells that the person wrote something.
    fn tell(&mut self) -> Result<(), Unusual> {
        let was_told = std::mem::replace(&mut self.turn.is_told, true);
        let was_anything_told = std::mem::replace(&mut self.is_anything_told, true);
        let found = self.turn.untold.checked_sub(1);
        match found {
            Some(untold) => self.turn.untold = untold,
            None => self.turn.ahead += 1,
        }
        let Some(untold_before) = self.untold_before_turns else { return Ok(()) };
        // what was context is the person's word now, or the reverse
        let changes_turn = if was_told { found.is_some() } else { self.turn.untold > 0 };
        let changes_before = !was_anything_told && untold_before > 0;
        if changes_turn || changes_before { Err(Unusual) } else { Ok(()) }
    }

    fn start_turn(&mut self) -> Result<(), Unusual> {
        let ended = std::mem::take(&mut self.turn);
        if self.untold_before_turns.is_none() {
            self.untold_before_turns = Some(ended.untold);
            if self.is_anything_told && ended.untold > 0 {
                return Err(Unusual);
            }
        }
        Ok(())
    }
}

/// The head stands at the end since the last line.
pub(crate) fn finish(thread: &Thread, gist: &mut crate::gist::Gist) {
    if thread.tip.is_some() {
        gist.updated_at = gist.updated_at.max(thread.now);
    }
}

/// What a line may say. Its id is not known here: it is the place of the line.
pub(crate) fn bodies_of(line: &[u8]) -> Vec<Body> {
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Vec::new() };
    match said(&map).what {
        What::Entry(body) | What::Echo(_, body) => vec![body],
        What::User { prompt, .. } => vec![Body::Prompt(prompt)],
        What::Header(_)
        | What::Settings(..)
        | What::TurnStarted(_)
        | What::TurnEnded(_)
        | What::TurnAborted(_)
        | What::Count(_)
        | What::RolledBack { .. }
        | What::Title(_)
        | What::Nothing
        | What::Nameless => Vec::new(),
    }
}
