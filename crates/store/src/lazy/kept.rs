//! Entries that were read, kept while there is room, and which lines were found to be right.

use std::collections::VecDeque;
use std::sync::Arc;

use offshoot_session::Entry;

/// By the place of their lines among all entries. When room is short, one goes that was not asked for since the last
/// look.
#[derive(Debug)]
pub(super) struct Kept {
    /// In blocks, which are made when something is put there: most of a session is never read, and memory that is
    /// only touched costs time.
    blocks: Vec<Vec<Option<Slot>>>,
    order: VecDeque<u32>,
    bytes: u64,
    limit: u64,
    /// A bit for every line.
    checked: Vec<u64>,
}

const BLOCK: usize = 256;

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    /// Of the line.
    bytes: u64,
    was_asked_for: bool,
}

impl Kept {
    pub(super) fn new(limit: u64) -> Self {
        Self { blocks: Vec::new(), order: VecDeque::new(), bytes: 0, limit, checked: Vec::new() }
    }

    pub(super) fn get(&mut self, line: u32) -> Option<Arc<Entry>> {
        let slot = slot_of(&mut self.blocks, line)?.as_mut()?;
        slot.was_asked_for = true;
        Some(slot.entry.clone())
    }

    pub(super) fn put(&mut self, line: u32, entry: &Arc<Entry>, bytes: u64) {
        let at = line as usize / BLOCK;
        if self.blocks.len() <= at {
            self.blocks.resize_with(at + 1, Vec::new);
        }
        if let Some(block) = self.blocks.get_mut(at).filter(|block| block.is_empty()) {
            block.resize_with(BLOCK, || None);
        }
        let Some(slot) = slot_of(&mut self.blocks, line) else { return };
        if slot.is_none() {
            *slot = Some(Slot { entry: entry.clone(), bytes, was_asked_for: false });
            self.order.push_back(line);
            self.bytes += bytes;
        }
        while self.bytes > self.limit {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(slot) = slot_of(&mut self.blocks, oldest) else { continue };
            match slot {
                Some(kept) if kept.was_asked_for => {
                    kept.was_asked_for = false;
                    self.order.push_back(oldest);
                }
                Some(gone) => {
                    self.bytes -= gone.bytes;
                    *slot = None;
                }
                None => {}
            }
        }
    }

    pub(super) fn is_checked(&self, line: u32) -> bool {
        self.checked.get(line as usize / 64).is_some_and(|bits| bits >> (line % 64) & 1 == 1)
    }

    pub(super) fn set_checked(&mut self, line: u32) {
        let at = line as usize / 64;
        if self.checked.len() <= at {
            self.checked.resize(at + 1, 0);
        }
        if let Some(bits) = self.checked.get_mut(at) {
            *bits |= 1 << (line % 64);
        }
    }
}

fn slot_of(blocks: &mut [Vec<Option<Slot>>], line: u32) -> Option<&mut Option<Slot>> {
    blocks.get_mut(line as usize / BLOCK)?.get_mut(line as usize % BLOCK)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use offshoot_session::Body;

    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let written_at = Timestamp::UNIX_EPOCH;
        let entry = Entry { id: "e".into(), parent: None, written_at, turn: None, body: Body::Cleared };
        let entry = Arc::new(entry);
        let mut kept = Kept::new(10_000);
        for line in 0..500_u32 {
            kept.put(line, &entry, 100 + u64::from(line % 7) * 300);
            assert!(kept.bytes <= 10_000);
            kept.get(line - line % 3);
        }
        let held: Vec<u64> = kept.blocks.iter().flatten().flatten().map(|slot| slot.bytes).collect();
        assert_eq!(kept.bytes, held.iter().sum::<u64>());
        assert_eq!(Arc::strong_count(&entry), 1 + held.len());
        assert!(kept.get(499).is_some() && kept.get(0).is_none());
    }
}
