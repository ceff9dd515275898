//! Files that change under their reader.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use offshoot_store::files::{Files, Identity, Open, OpenFile, Stat, TryLock};
use offshoot_store::steady::{Changed, read_steadily};

/// A file whose content is another one each time somebody looks.
#[derive(Clone, Debug)]
struct Restless(Arc<Mutex<VecDeque<(&'static str, i128)>>>);

impl Restless {
    /// One state for each call; the last one stays.
    fn through(states: &[(&'static str, i128)]) -> Self {
        Self(Arc::new(Mutex::new(states.iter().copied().collect())))
    }

    fn next(&self) -> (&'static str, i128) {
        let mut states = self.0.lock().unwrap();
        if states.len() > 1 { states.pop_front().unwrap() } else { states[0] }
    }
}

impl Files for Restless {
    fn open(&self, _: &Path, _: Open) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(self.clone()))
    }

    fn stat(&self, _: &Path) -> io::Result<Stat> {
        OpenFile::stat(self)
    }

    fn names(&self, _: &Path) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, _: &Path, _: &str) -> io::Result<TryLock> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl OpenFile for Restless {
    fn stat(&self) -> io::Result<Stat> {
        let (content, modified) = self.next();
        Ok(Stat { length: content.len() as u64, identity: Identity::default(), modified })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (content, _) = self.next();
        let rest = content.as_bytes().get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn append(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn give_back(&mut self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The states at: the first look, the look for how much to read, the reading, the last look.
fn check(states: &[(&'static str, i128)], bytes: &str, changed: Option<Changed>) {
    let steady = read_steadily(&Restless::through(states), Path::new("/session.jsonl")).unwrap();
    assert_eq!((String::from_utf8(steady.bytes).unwrap().as_str(), steady.changed), (bytes, changed));
}

#[test]
fn a_file_that_holds_still_is_read() {
    check(&[("one\ntwo\n", 1)], "one\ntwo\n", None);
}

#[test]
fn what_is_added_meanwhile_is_told_of() {
    let (old, new) = (("one\n", 1), ("one\ntwo\n", 2));
    check(&[old, old, old, new], "one\n", Some(Changed::Grew { by: 4 }));
    check(&[old, old, new, new], "one\n", Some(Changed::Grew { by: 4 }));
    check(&[old, new, new, new], "one\n", Some(Changed::Grew { by: 4 }));
}

#[test]
fn a_file_that_became_shorter_or_another_is_read_again() {
    let (old, short, other) = (("one\ntwo\n", 1), ("one\n", 2), ("eno\nowt\n", 3));
    check(&[old, old, short, short], "one\n", None);
    check(&[old, old, old, short], "one\n", None);
    check(&[old, old, old, other], "eno\nowt\n", None);
}

#[test]
fn a_file_that_never_holds_still_is_given_with_a_word() {
    let states: Vec<(&str, i128)> = (0..40).map(|at| ("one\n", at)).collect();
    check(&states, "one\n", Some(Changed::Rewritten));
    let shrinking = [
        "aaaaaaaa", "aaaaaaaa", "aaaaaaa", "aaaaaaa", "aaaaaa", "aaaaaa", "aaaaa", "aaaaa", "aaaa", "aaaa",
        "aaa", "aaa", "aa", "aa", "a",
    ];
    let states: Vec<(&str, i128)> = shrinking.iter().zip(0..).map(|(content, at)| (*content, at)).collect();
    let steady = read_steadily(&Restless::through(&states), Path::new("/session.jsonl")).unwrap();
    assert!(matches!(steady.changed, Some(Changed::Shrank { .. })), "{steady:?}");
    assert_eq!(
        Changed::Grew { by: 4 }.to_string(),
        "the file grew while it was read; 4 bytes at its end are not in here yet"
    );
}
