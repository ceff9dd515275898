//! Replies that are being written.
//!
//! Words arrive in pieces and may still change, so they are kept beside the tree until they are final:
//! [`LiveReplies`] holds them by turn. Adding to one costs what is added, whatever the size of the session; a clone
//! is a snapshot that never changes under its reader.
//!
//! Nearly always the next words go on where the last ones ended. So what they go on in, the last block of the last
//! reply, stands apart from what is shared with snapshots, in memory that is only its owner's: a word is copied and
//! nothing else. A snapshot copies that one block's end, which is kept short.
//!
//! A live reply has the id it will have as an entry. What a person sees is the tree as if every live reply were
//! final now ([`LiveReplies::over`]), so nothing jumps when it becomes so.

mod text;

use std::sync::Arc;

use jiff::Timestamp;
use rpds::VectorSync;
use thiserror::Error;

use crate::{Block, Body, Entry, EntryId, Record, Reply, SessionTree, Stamps, TurnId};
use text::GrowingText;

/// What has been said so far in turns that are still running.
#[derive(Clone, Debug, Default)]
pub struct LiveReplies {
    /// In the order of their names. There are one or two at a time.
    turns: Vec<(TurnId, LiveTurn)>,
}

/// Something to add at the end of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta<'d> {
    Words(&'d str),
    Thinking(&'d str),
    Block(Block),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("turn `{0}` is not running")]
pub struct NotLive(pub TurnId);

#[derive(Clone, Debug)]
struct LiveTurn {
    /// The last entry the turn has written.
    tip: EntryId,
    earlier: VectorSync<Piece>,
    last: Option<Piece>,
}

/// An entry to be.
#[derive(Clone, Debug)]
struct Piece {
    id: EntryId,
    started_at: Timestamp,
    body: PieceBody,
}

#[derive(Clone, Debug)]
enum PieceBody {
    Whole(Arc<Body>),
    /// `reply` is what is known beside the blocks.
    Growing {
        reply: Arc<Reply>,
        earlier: VectorSync<GrowingBlock>,
        last: Option<GrowingBlock>,
    },
}

#[derive(Clone, Debug)]
enum GrowingBlock {
    Words(GrowingText),
    Thinking(GrowingText),
    Whole(Arc<Block>),
}

impl LiveReplies {
    /// Listens to a turn, which has written down to `tip`: its prompt, at first. A turn that is heard already goes on.
    pub fn begin(&mut self, turn: TurnId, tip: EntryId) {
        if let Err(place) = self.turns.binary_search_by(|(known, _)| known.cmp(&turn)) {
            let live = LiveTurn { tip, earlier: VectorSync::new_sync(), last: None };
            self.turns.insert(place, (turn, live));
        }
    }

    pub fn is_live(&self, turn: &TurnId) -> bool {
        self.live(turn).is_some()
    }

    pub fn turns(&self) -> impl Iterator<Item = &TurnId> {
        self.turns.iter().map(|(turn, _)| turn)
    }

    /// A further response; an interruption is one too.
    pub fn append(&mut self, turn: &TurnId, body: Body, stamps: &mut dyn Stamps) -> Result<(), NotLive> {
        self.live_mut(turn)?.add(body, stamps);
        Ok(())
    }

    /// The last response in other words; nothing happens where there is none.
    pub fn replace_last(&mut self, turn: &TurnId, body: Body) -> Result<(), NotLive> {
        self.live_mut(turn)?.replace_last(body);
        Ok(())
    }

    /// A final entry at the turn's tip; live responses hang below it from now on. `id` is the agent's own, where it has
    /// one.
    pub fn write(
        &mut self,
        turn: &TurnId,
        id: Option<EntryId>,
        body: Body,
        stamps: &mut dyn Stamps,
    ) -> Result<Record, NotLive> {
        let live = self.live_mut(turn)?;
        let id = id.unwrap_or_else(|| stamps.entry_id());
        let parent = Some(std::mem::replace(&mut live.tip, id.clone()));
        Ok(Record::entry(Entry { id, parent, written_at: stamps.now(), turn: Some(turn.clone()), body }))
    }

    /// The last response gets another id; nothing happens where there is none.
    pub fn name_last(&mut self, turn: &TurnId, id: EntryId) -> Result<(), NotLive> {
        if let Some(last) = &mut self.live_mut(turn)?.last {
            last.id = id;
        }
        Ok(())
    }

    /// Live responses are void.
    pub fn discard(&mut self, turn: &TurnId) -> Result<(), NotLive> {
        let live = self.live_mut(turn)?;
        (live.earlier, live.last) = (VectorSync::new_sync(), None);
        Ok(())
    }

    /// Adds to the reply that is being written, or begins one.
    pub fn extend(
        &mut self,
        turn: &TurnId,
        delta: Delta<'_>,
        stamps: &mut dyn Stamps,
    ) -> Result<(), NotLive> {
        self.live_mut(turn)?.extend(delta, stamps);
        Ok(())
    }

    /// Says more about the reply that is being written than its words: model, usage, how it ended. What `change` does to
    /// the blocks of a reply that grows is not kept. `false` where no reply is being written.
    pub fn amend(&mut self, turn: &TurnId, change: impl FnOnce(&mut Reply)) -> Result<bool, NotLive> {
        let live = self.live_mut(turn)?;
        Ok(live.last.as_mut().is_some_and(|last| last.body.amend(change)))
    }

    /// Whether a reply is being written.
    pub fn is_writing(&self, turn: &TurnId) -> bool {
        let last = self.live(turn).and_then(|live| live.last.as_ref());
        last.is_some_and(|last| last.body.is_reply())
    }

    /// The last entry that is final.
    pub fn tip(&self, turn: &TurnId) -> Option<&EntryId> {
        self.live(turn).map(|live| &live.tip)
    }

    /// The turn's live responses as the entries they would be now.
    pub fn responses(&self, turn: &TurnId) -> Vec<Entry> {
        self.live(turn).map(|live| live.entries(turn)).unwrap_or_default()
    }

    /// What was said so far is final: its records, to append below the turn's tip. The turn goes on.
    pub fn settle(&mut self, turn: &TurnId) -> Vec<Record> {
        let entries = self.responses(turn);
        if let Ok(live) = self.live_mut(turn) {
            (live.earlier, live.last) = (VectorSync::new_sync(), None);
            if let Some(last) = entries.last() {
                live.tip = last.id.clone();
            }
        }
        entries.into_iter().map(Record::entry).collect()
    }

    /// The same, and whatever arrives later for this turn is refused.
    pub fn finish(&mut self, turn: &TurnId) -> Vec<Record> {
        let records = self.settle(turn);
        self.turns.retain(|(known, _)| known != turn);
        records
    }

    /// The tree as if every live reply were final now. A turn that has lost its place in the tree (undone) is left
    /// out.
    pub fn over(&self, tree: &SessionTree) -> SessionTree {
        let mut shown = tree.clone();
        for (turn, live) in &self.turns {
            let records: Vec<Record> = live.entries(turn).into_iter().map(Record::entry).collect();
            if let Ok(extended) = shown.extended(&records) {
                shown = extended;
            }
        }
        shown
    }

    fn live(&self, turn: &TurnId) -> Option<&LiveTurn> {
        self.turns.iter().find(|(known, _)| known == turn).map(|(_, live)| live)
    }

    #[inline]
    fn live_mut(&mut self, turn: &TurnId) -> Result<&mut LiveTurn, NotLive> {
        let live = self.turns.iter_mut().find(|(known, _)| known == turn);
        live.map(|(_, live)| live).ok_or_else(|| NotLive(turn.clone()))
    }
}

impl LiveTurn {
    fn add(&mut self, body: Body, stamps: &mut dyn Stamps) {
        let id = stamps.entry_id();
        let body = PieceBody::Whole(Arc::new(body));
        let before = self.last.replace(Piece { id, started_at: stamps.now(), body });
        before.into_iter().for_each(|piece| self.earlier.push_back_mut(piece));
    }

    fn replace_last(&mut self, body: Body) {
        if let Some(last) = &mut self.last {
            last.body = PieceBody::Whole(Arc::new(body));
        }
    }

    fn extend(&mut self, delta: Delta<'_>, stamps: &mut dyn Stamps) {
        if !self.last.as_ref().is_some_and(|last| last.body.is_reply()) {
            self.add(Body::Reply(Reply::default()), stamps);
        }
        if let Some(last) = &mut self.last {
            last.body.extend(delta);
        }
    }

    /// A reply of which nothing is known yet is not an entry.
    fn entries(&self, turn: &TurnId) -> Vec<Entry> {
        let mut parent = self.tip.clone();
        let mut entries = Vec::with_capacity(self.earlier.len() + 1);
        for piece in self.earlier.iter().chain(&self.last) {
            let body = piece.body.read();
            if body == Body::Reply(Reply::default()) {
                continue;
            }
            let above = std::mem::replace(&mut parent, piece.id.clone());
            entries.push(Entry {
                id: piece.id.clone(),
                parent: Some(above),
                written_at: piece.started_at,
                turn: Some(turn.clone()),
                body,
            });
        }
        entries
    }
}

impl PieceBody {
    fn is_reply(&self) -> bool {
        match self {
            Self::Whole(body) => matches!(&**body, Body::Reply(_)),
            Self::Growing { .. } => true,
        }
    }

    fn extend(&mut self, delta: Delta<'_>) {
        if let Self::Whole(body) = self
            && let Body::Reply(whole) = &**body
        {
            let mut blocks: Vec<GrowingBlock> =
                whole.blocks.iter().cloned().map(GrowingBlock::from).collect();
            let last = blocks.pop();
            let reply = Reply { blocks: Vec::new(), ..whole.clone() };
            *self = Self::Growing { reply: Arc::new(reply), earlier: blocks.into_iter().collect(), last };
        }
        if let Self::Growing { earlier, last, .. } = self
            && let Some(next) = grow(last.as_mut(), delta)
        {
            last.replace(next).into_iter().for_each(|block| earlier.push_back_mut(block));
        }
    }

    fn amend(&mut self, change: impl FnOnce(&mut Reply)) -> bool {
        match self {
            Self::Whole(body) => match Arc::make_mut(body) {
                Body::Reply(reply) => change(reply),
                _ => return false,
            },
            Self::Growing { reply, .. } => change(Arc::make_mut(reply)),
        }
        true
    }

    fn read(&self) -> Body {
        match self {
            Self::Whole(body) => Body::clone(body),
            Self::Growing { reply, earlier, last } => Body::Reply(Reply {
                blocks: earlier.iter().chain(last).map(GrowingBlock::read).collect(),
                model: reply.model.clone(),
                usage: reply.usage,
                stop: reply.stop.clone(),
                said_at: reply.said_at,
                signatures: reply.signatures.clone(),
            }),
        }
    }
}

/// Words go on in the last block where it is of their kind; otherwise they are the next one.
#[inline]
fn grow(last: Option<&mut GrowingBlock>, delta: Delta<'_>) -> Option<GrowingBlock> {
    match (delta, last) {
        (Delta::Words(words), Some(GrowingBlock::Words(text)))
        | (Delta::Thinking(words), Some(GrowingBlock::Thinking(text))) => {
            text.push(words);
            None
        }
        (Delta::Words(words), _) => Some(GrowingBlock::Words(words.into())),
        (Delta::Thinking(words), _) => Some(GrowingBlock::Thinking(words.into())),
        (Delta::Block(block), _) => Some(block.into()),
    }
}

impl GrowingBlock {
    fn read(&self) -> Block {
        match self {
            Self::Words(text) => Block::Text(text.read()),
            Self::Thinking(text) => Block::Thinking(text.read()),
            Self::Whole(block) => Block::clone(block),
        }
    }
}

impl From<Block> for GrowingBlock {
    fn from(block: Block) -> Self {
        match block {
            Block::Text(words) => Self::Words(words.as_str().into()),
            Block::Thinking(words) => Self::Thinking(words.as_str().into()),
            Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => Self::Whole(Arc::new(block)),
        }
    }
}
