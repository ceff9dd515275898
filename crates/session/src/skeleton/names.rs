//! Every id once, as bytes in a row, and a number in its place.

use super::NONE;

/// An id by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

#[derive(Clone, Debug, Default)]
pub struct Names {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<u32>,
    /// Open addressing by hash; a power of two, at most half full. Half of the hash lies beside the number, so
    /// that another name is seldom looked at.
    table: Vec<(u32, u32)>,
}

impl Names {
    /// Names that were numbered before. `None`: these are not the ends of names in this text.
    pub fn from_parts(text: String, ends: Vec<u32>) -> Option<Self> {
        let mut start = 0;
        for end in &ends {
            if *end < start || !text.is_char_boundary(*end as usize) {
                return None;
            }
            start = *end;
        }
        if start as usize != text.len() || ends.len() >= NONE as usize {
            return None;
        }
        let mut names = Self { text, ends, table: Vec::new() };
        names.fill((names.ends.len() + 1) * 2);
        Some(names)
    }

    /// Makes room for so many more, so that the table is filled once.
    pub(super) fn reserve(&mut self, more: usize) {
        self.ends.reserve(more);
        let room = (self.ends.len() + more + 1) * 2;
        if self.table.len() < room {
            self.fill(room);
        }
    }

    pub fn text_and_ends(&self) -> (&str, &[u32]) {
        (&self.text, &self.ends)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of an id, a new one where it was not seen before. `None`: there are too many.
    pub fn number(&mut self, id: &str) -> Option<Name> {
        if self.table.len() < (self.ends.len() + 1) * 2 {
            self.fill((self.ends.len() + 1) * 4);
        }
        let hash = hash(id.as_bytes());
        let slot = self.slot(id, hash);
        let (_, found) = *self.table.get(slot)?;
        if found != NONE {
            return Some(Name(found));
        }
        let end = u32::try_from(self.text.len() + id.len()).ok()?;
        let number = u32::try_from(self.ends.len()).ok().filter(|number| *number < NONE)?;
        self.text.push_str(id);
        self.ends.push(end);
        *self.table.get_mut(slot)? = ((hash >> 32) as u32, number);
        Some(Name(number))
    }

    pub fn find(&self, id: &str) -> Option<Name> {
        let (_, found) = *self.table.get(self.slot(id, hash(id.as_bytes())))?;
        (found != NONE).then_some(Name(found))
    }

    pub fn text(&self, name: Name) -> Option<&str> {
        let at = name.0 as usize;
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.text.get(start..*self.ends.get(at)? as usize)
    }

    fn slot(&self, id: &str, hash: u64) -> usize {
        let mask = self.table.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        // At most half full: an empty slot ends every search.
        while let Some((half, found)) = self.table.get(slot).filter(|(_, found)| *found != NONE) {
            if *half == (hash >> 32) as u32 && self.text(Name(*found)) == Some(id) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Makes the table anew with room for so many.
    fn fill(&mut self, room: usize) {
        let size = room.next_power_of_two().max(1024);
        self.table.clear();
        self.table.resize(size, (0, NONE));
        let mut start = 0;
        for (number, end) in (0..).zip(&self.ends) {
            let id = self.text.as_bytes().get(start..*end as usize).unwrap_or_default();
            start = *end as usize;
            let hash = hash(id);
            let mut slot = hash as usize & (size - 1);
            while self.table.get(slot).is_some_and(|(_, found)| *found != NONE) {
                slot = (slot + 1) & (size - 1);
            }
            if let Some(place) = self.table.get_mut(slot) {
                *place = ((hash >> 32) as u32, number);
            }
        }
    }
}

/// Spreads short ids; eight bytes at a time.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    for word in words.iter().chain((!rest.is_empty()).then_some(&last)) {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 29;
    }
    hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53) ^ (hash >> 32)
}
