//! Text that grows at its end while others read it.

use std::sync::Arc;

use rpds::VectorSync;

/// What grows is short, so that a reader who holds a snapshot costs the writer no more than this to copy.
const OPEN_BYTES: usize = 4096;

/// Cloning takes a snapshot; adding to one of the two costs what is added, however long the text is.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowingText {
    closed: VectorSync<Arc<String>>,
    open: Arc<String>,
}

impl GrowingText {
    pub(super) fn push(&mut self, words: &str) {
        if !self.open.is_empty() && self.open.len() + words.len() > OPEN_BYTES {
            self.closed.push_back_mut(std::mem::take(&mut self.open));
        }
        Arc::make_mut(&mut self.open).push_str(words);
    }

    pub(super) fn read(&self) -> String {
        let parts = || self.closed.iter().chain([&self.open]);
        let mut text = String::with_capacity(parts().map(|part| part.len()).sum());
        parts().for_each(|part| text.push_str(part));
        text
    }
}
