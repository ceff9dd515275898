//! The log grows, shrinks or is replaced while somebody looks at it, and the index beside it is old, cut, of another
//! file or nonsense. What is seen is what the whole reading sees.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use offshoot_session::context::ContextOptions;
use offshoot_session::format::Flaw;
use offshoot_session::{EntryId, SessionId, SessionTree};
use offshoot_store::lazy::{Format, OpenError, UseIndex};
use offshoot_store::{Finding, JournalStore, LazyError, LazySession, SessionStore};
use tempfile::tempdir;

use crate::lazy::{append_raw, assert_same, random_pi, random_records, whole_pi};
use crate::support::{Dice, header, rounds, step, store_in};

const STEPS: usize = 12;

struct Scene {
    store: JournalStore,
    log: Log,
    /// Each change is later than the one before, also where the clock of the disk is coarse.
    now: SystemTime,
    old_logs: Vec<Vec<u8>>,
    old_indexes: Vec<Vec<u8>>,
}

enum Log {
    Journal(SessionId),
    Pi(PathBuf),
}

#[test]
fn a_log_that_changes_is_seen_as_it_is() {
    watch_it_change(|store, _| {
        store.create(&[header("s")]).unwrap();
        Log::Journal("s".into())
    });
}

#[test]
fn a_file_of_pi_that_changes_is_seen_as_it_is() {
    watch_it_change(|_, folder| {
        let path = folder.join("session.jsonl");
        fs::write(&path, random_pi(&mut Dice::seeded(3), 0, true)).unwrap();
        Log::Pi(path)
    });
}

fn watch_it_change(begin: impl Fn(&JournalStore, &Path) -> Log) {
    let (mut asked, mut seen) = (0, 0);
    for round in 0..rounds(25, 1_000) {
        let folder = tempdir().unwrap();
        let mut dice = Dice::seeded(round as u64 + 1);
        let store = store_in(folder.path());
        let log = begin(&store, folder.path());
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let mut scene = Scene { store, log, now, old_logs: Vec::new(), old_indexes: Vec::new() };
        scene.grow(&mut dice);
        scene.later();
        let mut open = scene.open();
        for _ in 0..STEPS {
            let before = scene.whole();
            scene.change_log(&mut dice);
            scene.change_index(&mut dice);
            let after = scene.whole();
            asked += 1;
            if let Some(lazy) = &mut open {
                ask_before_refresh(lazy, &[&before, &after], &mut dice, round);
                match lazy.refresh() {
                    Ok(()) if scene.is_damaged() => {}
                    Ok(()) => match &after {
                        Some(tree) => assert_same(tree, lazy, &ContextOptions::default(), round),
                        None => assert!(lazy.skeleton().is_empty(), "round {round}"),
                    },
                    Err(OpenError::Unusual { .. }) => open = None,
                    Err(error) => panic!("round {round}: {error}"),
                }
            }
            if let (Some(mut lazy), Some(tree)) = (scene.open(), &after) {
                if !scene.is_damaged() {
                    assert_same(tree, &mut lazy, &ContextOptions::default(), round);
                    seen += 1;
                }
                if dice.chance(50) {
                    lazy.save_index().unwrap();
                    scene.old_indexes.extend(fs::read(scene.index()).ok());
                }
                open = Some(lazy);
            }
        }
    }
    assert!(seen * 3 > asked, "only {seen} of {asked} were usual");
}

/// Whatever is answered about a log that has changed was true before or is true now.
fn ask_before_refresh(lazy: &mut LazySession, trees: &[&Option<SessionTree>], dice: &mut Dice, round: usize) {
    let known: Vec<EntryId> = trees
        .iter()
        .flat_map(|tree| tree.iter())
        .flat_map(|tree| tree.entries())
        .map(|e| e.id.clone())
        .collect();
    if known.is_empty() {
        return;
    }
    for _ in 0..3 {
        let at = &known[dice.roll(known.len())];
        match lazy.last_messages(Some(at), 3) {
            Ok(messages) => {
                for message in messages {
                    let is_said = |tree: &&Option<SessionTree>| {
                        tree.as_ref().and_then(|tree| tree.entry(&message.entry.id)) == Some(&message.entry)
                    };
                    assert!(trees.iter().any(is_said), "round {round}: {:?}", message.entry);
                }
            }
            Err(LazyError::NotFound(_) | LazyError::Changed { .. } | LazyError::Damaged { .. }) => {}
            Err(LazyError::Open(OpenError::Unusual { .. })) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
    }
}

impl Scene {
    fn path(&self) -> PathBuf {
        match &self.log {
            Log::Journal(id) => self.store.home().journal(id),
            Log::Pi(path) => path.clone(),
        }
    }

    fn index(&self) -> PathBuf {
        match &self.log {
            Log::Journal(id) => self.store.home().journal_index(id),
            Log::Pi(path) => self.store.home().index_of(path),
        }
    }

    fn whole(&self) -> Option<SessionTree> {
        match &self.log {
            Log::Journal(id) => self.store.read(id).unwrap().map(|loaded| loaded.tree),
            Log::Pi(path) => Some(whole_pi(path)),
        }
    }

    /// A line that was cut and written over may still begin as an entry does: a shape is read without its checksums,
    /// and such a line is named when somebody looks at it.
    fn is_damaged(&self) -> bool {
        let id = match &self.log {
            Log::Journal(id) => id,
            Log::Pi(path) => {
                let is_broken = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_err();
                let log = fs::read(path).unwrap();
                return log.split(|byte| *byte == b'\n').any(|line| !line.is_empty() && is_broken(line));
            }
        };
        let findings = self.store.read(id).unwrap().map(|loaded| loaded.findings).unwrap_or_default();
        findings.iter().any(
            |finding| matches!(finding, Finding::Flaw(found) if matches!(found.flaw, Flaw::Damaged { .. })),
        )
    }

    fn open(&self) -> Option<LazySession> {
        let opened = match &self.log {
            Log::Journal(id) => self.store.lazy(id, UseIndex::Yes),
            Log::Pi(path) => LazySession::of_file(path, Format::Pi, Some(self.store.home()), UseIndex::Yes),
        };
        match opened {
            Ok(lazy) => lazy,
            Err(OpenError::Unusual { .. }) => None,
            Err(error) => panic!("{error}"),
        }
    }

    fn grow(&self, dice: &mut Dice) {
        match &self.log {
            Log::Journal(id) => append_raw(&self.store, id, &random_records(dice), dice),
            Log::Pi(path) => {
                let lines = fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count();
                let mut file = OpenOptions::new().append(true).open(path).unwrap();
                file.write_all(random_pi(dice, 100 + lines, false).as_bytes()).unwrap();
            }
        }
    }

    fn later(&mut self) {
        self.now += Duration::from_secs(1);
        let file = OpenOptions::new().write(true).open(self.path()).unwrap();
        file.set_modified(self.now).unwrap();
    }

    fn change_log(&mut self, dice: &mut Dice) {
        let path = self.path();
        let log = fs::read(&path).unwrap();
        self.old_logs.push(log.clone());
        match dice.roll(7) {
            0 | 1 => self.grow(dice),
            2 => {
                let file = OpenOptions::new().write(true).open(&path).unwrap();
                file.set_len(dice.roll(log.len() + 1) as u64).unwrap();
            }
            3 => {
                let end = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let lines: Vec<usize> = log[..end]
                    .iter()
                    .enumerate()
                    .filter(|(_, b)| **b == b'\n')
                    .map(|(at, _)| at + 1)
                    .collect();
                let keep = lines.get(dice.roll(lines.len())).copied().unwrap_or(end);
                fs::write(&path, &log[..keep]).unwrap();
            }
            4 => {
                // Another file takes the name.
                let other = self.old_logs[dice.roll(self.old_logs.len())].clone();
                let temporary = path.with_extension("new");
                fs::write(&temporary, other).unwrap();
                fs::rename(&temporary, &path).unwrap();
            }
            5 => {
                // The same file is written anew.
                fs::write(&path, &self.old_logs[dice.roll(self.old_logs.len())]).unwrap();
            }
            _ => {}
        }
        if fs::read(&path).unwrap() != log {
            self.later();
        }
    }

    fn change_index(&mut self, dice: &mut Dice) {
        let path = self.index();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let some = |scene: &Self, dice: &mut Dice| match scene.old_indexes.len() {
            0 => Vec::new(),
            count => scene.old_indexes[dice.roll(count)].clone(),
        };
        match dice.roll(6) {
            0 => drop(fs::remove_file(&path)),
            1 => fs::write(&path, some(self, dice)).unwrap(),
            2 => {
                let mut index = some(self, dice);
                index.truncate(dice.roll(index.len() + 1));
                fs::write(&path, index).unwrap();
            }
            3 => fs::write(&path, self.of_another_session(dice)).unwrap(),
            4 => {
                let nonsense: Vec<u8> = (0..dice.roll(400)).map(|_| dice.roll(256) as u8).collect();
                fs::write(&path, nonsense).unwrap();
            }
            _ => {}
        }
    }

    fn of_another_session(&self, dice: &mut Dice) -> Vec<u8> {
        let id = SessionId::from("another");
        if self.store.read(&id).unwrap().is_none() {
            self.store.create(&[header("another")]).unwrap();
            append_raw(&self.store, &id, &step("x", None, None), dice);
        }
        let other = self.store.lazy(&id, UseIndex::No).unwrap().unwrap();
        other.save_index().unwrap();
        fs::read(self.store.home().journal_index(&id)).unwrap()
    }
}

#[test]
fn a_log_that_grows_while_it_is_opened_is_seen_up_to_some_step() {
    let folder = tempdir().unwrap();
    let (store, id) = (store_in(folder.path()), SessionId::from("s"));
    store.create(&[header("s")]).unwrap();
    let steps = rounds(60, 2_000);
    let is_done = AtomicBool::new(false);
    let mut openings = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut journal = store.journal(&id).unwrap().unwrap();
            for number in 0..steps {
                journal
                    .write(|tree| Ok::<_, ()>(step(&number.to_string(), tree.main_head(), tree.main_head())))
                    .unwrap();
            }
            is_done.store(true, Ordering::Release);
        });
        let mut kept: Option<LazySession> = None;
        while !is_done.load(Ordering::Acquire) {
            let lazy = match &mut kept {
                Some(lazy) => lazy.refresh().map(|()| None),
                None => store.lazy(&id, UseIndex::Yes),
            };
            match lazy {
                Ok(opened) => kept = opened.or(kept.take()),
                // The last batch is being written at this moment.
                Err(OpenError::Unusual { .. }) => kept = None,
                Err(error) => panic!("{error}"),
            }
            if let Some(lazy) = &mut kept {
                let ids: Vec<EntryId> =
                    (0..lazy.skeleton().len() as u32).map(|node| lazy.skeleton().id(node).unwrap()).collect();
                let said: Vec<EntryId> =
                    lazy.last_messages(None, 4).unwrap().into_iter().map(|m| m.entry.id.clone()).collect();
                assert!(ids.ends_with(&said), "{said:?} of {ids:?}");
                if openings.len() % 3 == 0 {
                    lazy.save_index().unwrap();
                    kept = None;
                }
                openings.push(ids);
            }
        }
    });
    let all: Vec<EntryId> =
        store.read(&id).unwrap().unwrap().tree.entries().map(|entry| entry.id.clone()).collect();
    assert_eq!(all.len(), steps * 2);
    for ids in &openings {
        assert!(all.starts_with(ids) && ids.len() % 2 == 0, "{ids:?}");
    }
    assert!(!openings.is_empty());
}
