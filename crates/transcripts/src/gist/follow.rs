//! A file taken line by line.

use jiff::Timestamp;
use offshoot_session::cost::{Charge, Counting};
use offshoot_session::outline::one_line;
use offshoot_session::{Body, EntryId, Fact, Model, Note, Reply, SessionHeader, Usage};
use serde::{Deserialize, Serialize};

use super::header::HeaderGist;
use super::shape::Step;
use super::{Beginning, Gist, Place, Role, Said, Shape, Unusual, beginning, journal, said_in, tools_in};
use crate::dialect::{Family, family_of};
use crate::lines::pieces;
use crate::{claude, codex, pi, rollouts};

/// Formats whose lines stand for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    Pi,
    Claude,
    Codex,
    Rollouts,
    /// Our own.
    Journal,
}

const ALL_LINES: [Lines; 5] = [Lines::Pi, Lines::Claude, Lines::Codex, Lines::Rollouts, Lines::Journal];

impl Lines {
    /// Whether a line tells by itself who says what in which entry, so that it can be looked at alone.
    pub fn stand_alone(self) -> bool {
        match self {
            Self::Pi | Self::Claude => true,
            // whether it is a prompt, and its name, depends on other lines; or it lies in a blob
            Self::Codex | Self::Rollouts | Self::Journal => false,
        }
    }

    /// The lines that were written as this one, with their offsets. In a journal checksums tell where lines end.
    pub fn pieces(self, line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
        let (sealed, joined) = match self {
            Self::Journal => (Some((0, line)), None),
            Self::Pi | Self::Claude | Self::Codex | Self::Rollouts => (None, Some(pieces(line))),
        };
        sealed.into_iter().chain(joined.into_iter().flatten())
    }
}

/// Whether a file can be followed, from how it begins: some whole lines. `None`: it is for the whole reading.
pub fn lines_of(file_name: Option<&str>, first_lines: &[u8]) -> Option<Lines> {
    match family_of(file_name, first_lines).ok()? {
        Family::Pi => Some(Lines::Pi),
        Family::Claude => Some(Lines::Claude),
        Family::Codex => Some(Lines::Codex),
        Family::Rollouts => Some(Lines::Rollouts),
        // a message is told again and again, with more in it each time
        Family::Gemini | Family::OpenCode => None,
    }
}

/// What the lines so far have told.
#[derive(Debug)]
pub struct Follow {
    lines: Lines,
    heard: Heard,
    shape: Shape,
    gist: Gist,
    /// What was used, as far as nobody took it.
    charges: Vec<Charge>,
}

/// What has to be remembered of lines beside the gist.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) has_header: bool,
    pub(crate) has_title_slot: bool,
    pub(crate) is_oh_my_pi: bool,
    /// The session that the first entry says it belongs to, and that the first line says.
    pub(crate) stated: Option<String>,
    pub(crate) stated_anywhere: Option<String>,
    pub(crate) has_own_entries: bool,
    pub(crate) side_agent: Option<String>,
    pub(crate) forked_from: Option<String>,
    pub(crate) cost_so_far: i64,
    /// When the last line was written that has a time.
    pub(crate) now: Option<i64>,
    beginning: Beginning,
    /// Titles that count once the entry they name has come, in the order they were told.
    pub(crate) titles_to_come: Vec<(String, Option<String>)>,
    pub(crate) permission_mode: Option<String>,
    pub(crate) mode: Option<String>,
    /// Changed settings that wait for the entry they stand above.
    pub(crate) settings_to_place: u64,
    /// Sub-agents that have a note.
    pub(crate) noted_agents: Vec<String>,
    /// All lines so far, blank ones too.
    pub(crate) lines: u64,
    /// The last line was taken before its newline was written.
    owes_newline: bool,
    pub(crate) codex: codex::follow::Thread,
    pub(crate) rollout: rollouts::follow::Tip,
    /// Further lines belong to the last one.
    pub(crate) is_in_batch: bool,
}

/// A file on its way, as the readers of the formats see it.
pub(crate) struct Taken<'f> {
    pub(crate) heard: &'f mut Heard,
    pub(crate) shape: &'f mut Shape,
    pub(crate) gist: &'f mut Gist,
    said: &'f mut Vec<Said>,
    charges: &'f mut Vec<Charge>,
    place: Place,
}

impl Follow {
    pub fn begin(lines: Lines, file_name: Option<&str>) -> Self {
        let heard = Heard { codex: codex::follow::Thread::of_file(file_name), ..Heard::default() };
        Self { lines, heard, shape: Shape::default(), gist: Gist::default(), charges: Vec::new() }
    }

    /// Takes one line, without its newline, that begins at `offset`. What it says is added to `said`.
    pub fn take(&mut self, line: &[u8], offset: u64, said: &mut Vec<Said>) -> Result<(), Unusual> {
        if std::mem::take(&mut self.heard.owes_newline) && line.trim_ascii().is_empty() {
            return Ok(()); // the end of the line that was taken without one
        }
        let lines = self.lines;
        lines.pieces(line).try_for_each(|(at, piece)| self.take_piece(piece, offset + at as u64, said))
    }

    /// Takes the last line of a file, which has no newline yet, as far as it is whole. Returns how many bytes were taken.
    pub fn take_end(&mut self, line: &[u8], offset: u64, said: &mut Vec<Said>) -> Result<usize, Unusual> {
        let mut taken = 0;
        for (at, piece) in self.lines.pieces(line) {
            if serde_json::from_slice::<serde_json::Map<_, _>>(piece).is_err() {
                break;
            }
            self.heard.owes_newline = false;
            self.take_piece(piece, offset + at as u64, said)?;
            self.heard.owes_newline = true;
            taken = at + piece.len();
        }
        Ok(taken)
    }

    /// A line that is too long to be read counts as a line.
    pub fn skip(&mut self) -> Result<(), Unusual> {
        self.heard.owes_newline = false;
        self.heard.lines += 1;
        if self.lines == Lines::Journal { Err(Unusual) } else { Ok(()) }
    }

    fn take_piece(&mut self, line: &[u8], offset: u64, said: &mut Vec<Said>) -> Result<(), Unusual> {
        self.heard.lines += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let length = u32::try_from(line.len()).map_err(|_| Unusual)?;
        let before = said.len();
        let taken = Taken {
            heard: &mut self.heard,
            shape: &mut self.shape,
            gist: &mut self.gist,
            said,
            charges: &mut self.charges,
            place: Place { offset, length },
        };
        let is_taken = match self.lines {
            Lines::Pi => pi::follow::take(taken, line),
            Lines::Claude => claude::follow::take(taken, line),
            Lines::Codex => codex::follow::take(taken, line),
            Lines::Rollouts => rollouts::follow::take(taken, line),
            Lines::Journal => journal::take(taken, line),
        };
        self.heard.beginning.hear(said.get(before..).unwrap_or_default());
        is_taken
    }

    /// What was used according to the lines since this was last asked. A reply that is told in several lines may come
    /// several times; the last one counts.
    pub fn take_charges(&mut self) -> Vec<Charge> {
        std::mem::take(&mut self.charges)
    }

    /// What a list says of the file as far as it was taken.
    pub fn gist(&self, file_name: Option<&str>) -> Result<Gist, Unusual> {
        let mut gist = self.gist.clone();
        gist.prompts = self.shape.prompts();
        gist.branches = self.shape.branches();
        gist.beginning = self.heard.beginning.told();
        match self.lines {
            Lines::Pi => pi::follow::finish(&self.heard, &mut gist)?,
            Lines::Claude => claude::follow::finish(&self.heard, &self.shape, file_name, &mut gist),
            _ if !self.heard.has_header || self.heard.is_in_batch => return Err(Unusual),
            Lines::Codex => codex::follow::finish(&self.heard.codex, &mut gist),
            Lines::Rollouts => rollouts::follow::finish(&self.heard.rollout, &mut gist),
            Lines::Journal => {}
        }
        Ok(gist)
    }

    /// The number of the turn that an entry belongs to.
    pub fn turn_of(&self, entry: &str) -> Option<u32> {
        self.shape.number(entry)
    }

    pub fn lines(&self) -> Lines {
        self.lines
    }

    /// What [`Follow::resume`] goes on with.
    pub fn keep(&self) -> Vec<u8> {
        let words = serde_json::to_vec(&(&self.gist, &self.heard)).unwrap_or_default();
        let mut bytes = vec![self.lines as u8];
        bytes.extend((words.len() as u32).to_le_bytes());
        bytes.extend(words);
        self.shape.keep(&mut bytes);
        bytes
    }

    /// `None` where the bytes were not kept by this version.
    pub fn resume(kept: &[u8]) -> Option<Self> {
        let (lines, rest) = kept.split_first()?;
        let lines = ALL_LINES.into_iter().find(|known| *known as u8 == *lines)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (words, shape) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let (gist, heard) = serde_json::from_slice(words).ok()?;
        Some(Self { lines, heard, shape: Shape::kept(shape)?, gist, charges: Vec::new() })
    }
}

impl Taken<'_> {
    pub(crate) fn open(&mut self, header: &SessionHeader) {
        self.gist.id = Some(header.id.to_string());
        self.gist.agent.clone_from(&header.agent);
        self.gist.project.clone_from(&header.project);
        self.gist.parent = header.lineage.as_ref().map(|lineage| lineage.parent.clone());
        self.gist.header = HeaderGist::of(header);
        self.gist.opened_at = Some(header.opened_at.as_microsecond());
        self.moment(self.gist.opened_at);
    }

    /// An entry; `parent` may be an id that nobody has.
    pub(crate) fn entry(&mut self, id: &str, parent: Option<&str>, at: Option<i64>, body: &Body) {
        self.entry_billed(id, parent, at, body, None);
    }

    /// The same; `provider` is the name under which a reply was counted. The next line may tell it again.
    pub(crate) fn entry_billed(
        &mut self,
        id: &str,
        parent: Option<&str>,
        at: Option<i64>,
        body: &Body,
        provider: Option<&str>,
    ) {
        let step = match body {
            Body::Prompt(_) => Step::Prompt,
            Body::Note(note) if note.kind == Note::SUB_AGENT => Step::Task,
            _ => Step::On,
        };
        self.gist.at(at);
        if !self.pass(id, parent, step) {
            return;
        }
        self.gist.entries += 1;
        if self.gist.first_prompt.is_none() && step == Step::Prompt && !self.shape.is_delegated(id) {
            self.gist.first_prompt = Some(beginning(&one_line(body))).filter(|line| !line.is_empty());
        }
        self.hear_reply(id, at, body, provider);
        self.hear(id, self.shape.number(id), at, body);
    }

    /// Who answered, and what for.
    fn hear_reply(&mut self, id: &str, at: Option<i64>, body: &Body, provider: Option<&str>) {
        if let Body::Reply(Reply { model: Some(model), .. }) = body {
            self.gist.model = Some(model.name.clone());
        }
        self.pay(id, at, body, provider);
    }

    fn hear(&mut self, id: &str, turn: Option<u32>, at: Option<i64>, body: &Body) {
        if let Some((role, text)) = said_in(body) {
            let place = Some(self.place);
            self.said.push(Said { entry: id.to_owned(), role, turn, branch: None, at, text, place });
        }
    }

    fn pay(&mut self, id: &str, at: Option<i64>, body: &Body, provider: Option<&str>) {
        let Some(at) = at.and_then(|at| Timestamp::from_microsecond(at).ok()) else { return };
        if let Some(charge) = Counting::default().entry(id, at, body, provider) {
            self.charge(charge);
        }
    }

    /// One that has the name of the last one takes its place.
    pub(crate) fn charge(&mut self, charge: Charge) {
        match self.charges.last_mut().filter(|last| last.own_name() == charge.own_name()) {
            Some(last) => *last = charge,
            None => self.charges.push(charge),
        }
    }

    /// A fact that a list tells of, or a sum.
    pub(crate) fn tell(&mut self, id: Option<&EntryId>, fact: &Fact, at: Option<i64>) {
        match fact {
            Fact::Spent { usage, model } => self.spend(id, at, usage, model.as_ref()),
            fact => self.gist.tell(fact),
        }
    }

    /// What belongs to no entry.
    pub(crate) fn spend(
        &mut self,
        id: Option<&EntryId>,
        at: Option<i64>,
        usage: &Usage,
        model: Option<&Model>,
    ) {
        if let Some(at) = at.and_then(|at| Timestamp::from_microsecond(at).ok()) {
            let charge = Counting::default().beside(id, at, usage, model);
            self.charge(charge);
        }
    }

    /// What a sub-agent said or was asked, which is no turn of the person, and was used all the same. `step`: whether it
    /// begins here.
    pub(crate) fn side_entry(
        &mut self,
        id: &str,
        parent: Option<&str>,
        at: Option<i64>,
        body: &Body,
        step: Step,
        provider: Option<&str>,
    ) {
        self.pass(id, parent, step);
        self.gist.entries += 1;
        self.gist.at(at);
        self.hear_reply(id, at, body, provider);
        self.hear(id, None, at, body);
    }

    /// An entry of which only its usage is read.
    pub(crate) fn charged_entry(&mut self, id: &str, parent: Option<&str>, at: Option<i64>, body: &Body) {
        self.silent_entry(id, parent, at);
        self.pay(id, at, body, None);
    }

    /// An entry that says nothing to anybody.
    pub(crate) fn silent_entry(&mut self, id: &str, parent: Option<&str>, at: Option<i64>) {
        self.gist.at(at);
        self.gist.entries += u64::from(self.pass(id, parent, Step::On));
    }

    /// A link of the chain, entry or not. `false` where the id is taken.
    pub(crate) fn pass(&mut self, id: &str, parent: Option<&str>, step: Step) -> bool {
        self.shape.add(id, parent, step)
    }

    pub(crate) fn moment(&mut self, at: Option<i64>) {
        self.gist.at(at);
    }
}

/// What a line says and tells of tools, by entry: for whoever looks for words in a line. The name of an entry is empty
/// where the line alone does not tell it.
pub fn words_of_line(lines: Lines, line: &[u8]) -> Vec<(String, Role, String)> {
    let nameless = |bodies: Vec<Body>| bodies.into_iter().map(|body| (String::new(), body)).collect();
    let entries = match lines {
        Lines::Pi => pi::follow::entries_of(line),
        Lines::Claude => claude::follow::entries_of(line),
        Lines::Codex => nameless(codex::follow::bodies_of(line)),
        Lines::Rollouts => nameless(rollouts::follow::bodies_of(line)),
        Lines::Journal => journal::entries_of(line),
    };
    let mut words = Vec::new();
    for (id, body) in entries {
        if let Some((role, text)) = said_in(&body) {
            words.push((id.clone(), role, text));
        }
        if let Some(text) = tools_in(&body) {
            words.push((id, Role::Tool, text));
        }
    }
    words
}

/// When a line was written, in microseconds since 1970.
pub fn moment_of_line(line: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Outside<'l> {
        #[serde(borrow)]
        timestamp: Option<std::borrow::Cow<'l, str>>,
    }
    let outside: Outside<'_> = serde_json::from_slice(line).ok()?;
    let moment: Timestamp = outside.timestamp?.parse().ok()?;
    Some(moment.as_microsecond())
}
