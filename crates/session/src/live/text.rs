//! Text that grows at its end while others read it.

use std::sync::Arc;

use rpds::VectorSync;

/// What grows is short, for a snapshot copies it.
const OPEN_BYTES: usize = 4096;

/// Cloning takes a snapshot; adding to one of the two costs what is added, however long the text is.
#[derive(Clone, Debug, Default)]
pub(super) struct GrowingText {
    closed: VectorSync<Arc<str>>,
    open: String,
}

impl GrowingText {
    #[inline]
    pub(super) fn push(&mut self, words: &str) {
        if self.open.len() + words.len() > OPEN_BYTES {
            self.push_behind_closed(words);
        } else {
            self.open.push_str(words);
        }
    }

    /// The memory of what was open is used again.
    #[cold]
    fn push_behind_closed(&mut self, words: &str) {
        if !self.open.is_empty() {
            self.closed.push_back_mut(Arc::from(self.open.as_str()));
            self.open.clear();
        }
        if words.len() > OPEN_BYTES {
            self.closed.push_back_mut(Arc::from(words));
        } else {
            self.open.push_str(words);
        }
    }

    pub(super) fn read(&self) -> String {
        let parts = || self.closed.iter().map(AsRef::as_ref).chain([self.open.as_str()]);
        let mut text = String::with_capacity(parts().map(str::len).sum());
        parts().for_each(|part| text.push_str(part));
        text
    }
}

impl From<&str> for GrowingText {
    fn from(words: &str) -> Self {
        let mut text = Self::default();
        text.push(words);
        text
    }
}
