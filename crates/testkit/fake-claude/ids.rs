//! Ids that are equal in every run: hashes of the session, the start and a counter.

use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) struct Ids {
    session: String,
    start: u64,
    made: u64,
}

impl Ids {
    pub(super) fn new(session: &str, start: u64) -> Self {
        Self { session: session.to_owned(), start, made: 0 }
    }

    pub(super) fn uuid(&mut self) -> String {
        let (high, low) = (self.next("high"), self.next("low"));
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    pub(super) fn short(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}", self.next(prefix))
    }

    fn next(&mut self, salt: &str) -> u64 {
        self.made += 1;
        let mut hasher = DefaultHasher::new();
        (&self.session, self.start, self.made, salt).hash(&mut hasher);
        hasher.finish()
    }
}
