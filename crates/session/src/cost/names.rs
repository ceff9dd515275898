//! Under which names a reply was counted.
//!
//! Programs copy histories: a fork is a second file that begins with the first one's words. Each copies in its own way,
//! so a reply has several names, and a copy shares at least one of them with its original:
//!
//! | name | survives |
//! |---|---|
//! | entry and moment | copies that keep ids (pi, Claude Code, our own forks) |
//! | the provider's name of it | copies under new ids that keep the line (Claude Code) |
//! | moment, model and tokens | copies under new ids that keep the time (opencode) |
//! | thread, and all tokens so far | copies that keep neither, of a thread that they name (Codex before `history_base`) |
//!
//! A name is a hash: two replies that share one by chance cost a wrong sum on one machine in some millions.

use std::collections::HashSet;

use jiff::Timestamp;

use super::Charge;
use crate::{Block, Model, Reply, Usage};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChargeName(pub u64);

impl ChargeName {
    pub fn of_entry(id: &str, at: Timestamp) -> Self {
        Hash::of("entry").text(id).number(at.as_millisecond()).name()
    }

    pub fn by_provider(name: &str) -> Self {
        Hash::of("provider").text(name).name()
    }

    /// `None` where nothing was counted: such replies look alike.
    pub fn of_moment(at: Timestamp, model: Option<&Model>, usage: &Usage) -> Option<Self> {
        let model = model.map_or("", |model| model.name.as_str());
        let hash = Hash::of("moment").number(at.as_millisecond()).text(model).usage(usage);
        (usage.context_tokens() > 0).then(|| hash.name())
    }

    /// `so_far` are the tokens of the thread before this reply, which says `words`.
    pub fn in_thread(thread: &str, so_far: i64, usage: &Usage, words: ReplyWords) -> Option<Self> {
        let hash = Hash::of("thread").text(thread).number(so_far).usage(usage).number(words.0 as i64);
        (usage.context_tokens() > 0).then(|| hash.name())
    }
}

/// What a reply says and calls, as far as it tells it from another with the same count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyWords(pub u64);

impl ReplyWords {
    pub fn of(reply: &Reply) -> Self {
        let hash = reply.blocks.iter().fold(Hash::of("words"), |hash, block| match block {
            Block::Text(text) => hash.text(text),
            Block::ToolUse(call) => hash.text(call.id.as_str()),
            Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => hash,
        });
        Self(hash.name().0)
    }
}

/// Charges of many sessions, each reply once: with the session that is asked first.
#[derive(Debug, Default)]
pub struct CountedOnce {
    seen: HashSet<ChargeName>,
}

impl CountedOnce {
    /// What no session before this one had. Inside of one session nothing is a copy: its replies have ids.
    pub fn new_among(&mut self, charges: Vec<Charge>) -> Vec<Charge> {
        let is_new = |charge: &&Charge| !charge.names.iter().any(|name| self.seen.contains(name));
        let new = charges.iter().filter(is_new).cloned().collect();
        self.seen.extend(charges.iter().flat_map(|charge| &charge.names));
        new
    }
}

/// FNV-1a, and its bits mixed once more: the same in every build, as names are kept in catalogs.
struct Hash(u64);

impl Hash {
    fn of(kind: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).text(kind)
    }

    fn bytes(self, bytes: impl IntoIterator<Item = u8>) -> Self {
        let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(bytes.into_iter().fold(self.0, add))
    }

    /// Its end is a byte that no text has, so that two texts are not another two.
    fn text(self, text: &str) -> Self {
        self.bytes(text.bytes().chain([0xff]))
    }

    fn number(self, number: i64) -> Self {
        self.bytes(number.to_le_bytes())
    }

    fn usage(self, usage: &Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, total: _, cost_micros: _ } = *usage;
        [input, output, cache_read, cache_write].into_iter().fold(self, Self::number)
    }

    fn name(self) -> ChargeName {
        ChargeName((self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}
