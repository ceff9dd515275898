//! A session of another program and what was added to it here are one session, whoever goes on with it and in whatever
//! order; and the file of the other program stays as that program wrote it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{Dice, SimDisk, patient, rounds, store_on};
use offshoot_session::foreign::journal_id;
use offshoot_session::plan::{Plan, plan_redo, plan_undo};
use offshoot_session::{
    Body, Entry, EntryId, Fact, ForeignSource, HeadMove, HeadName, Odd, Record, SessionId, SessionTree,
    Stamps,
};
use offshoot_store::foreign::{Copied, ForeignBytes, ForeignContent, ForeignCopy, SourceTrouble};
use offshoot_store::{Finding, Home, Journal, JournalStore, OtherPrograms, SessionStore, fsck, write};
use offshoot_testkit::FixedStamps;

/// A file of pi in a folder of its own.
struct Agent {
    folder: tempfile::TempDir,
    written: Vec<u8>,
}

impl Agent {
    fn new() -> Self {
        let mut agent = Self { folder: tempfile::tempdir().unwrap(), written: Vec::new() };
        agent.append(
            r#"{"type":"session","version":3,"id":"their-session","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}"#,
        );
        agent
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("2025_their-session.jsonl")
    }

    fn append(&mut self, line: &str) {
        self.written.extend_from_slice(line.as_bytes());
        self.written.push(b'\n');
        std::fs::write(self.path(), &self.written).unwrap();
    }

    fn says(&mut self, id: &str, parent: Option<&str>) {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        self.append(&format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2025-01-01T00:00:01.000Z","message":{{"role":"user","content":"{id}"}}}}"#
        ));
    }

    fn others(&self) -> OtherPrograms {
        OtherPrograms::on_disk(self.folder.path().to_owned())
    }

    /// A store that may change the session, and the id it has there.
    fn introduced(&self, store: JournalStore) -> (JournalStore, SessionId) {
        let others = self.others();
        let id =
            others.introduce(&self.path(), |source| journal_id(&source.agent, &source.session, 0)).unwrap();
        (store.with(others), id)
    }

    fn store(&self) -> (JournalStore, SessionId) {
        self.introduced(JournalStore::at(Home::at(self.folder.path().join("home")), patient()))
    }
}

fn said(tree: &SessionTree, id: &EntryId, below: Option<&EntryId>, stamps: &mut dyn Stamps) -> Vec<Record> {
    let mut plan = Plan::named("say", stamps);
    let (id, parent) = (id.clone(), below.cloned());
    let entry =
        Entry { id: id.clone(), parent, written_at: stamps.now(), turn: None, body: Body::prompt("own") };
    plan.push(Record::entry(entry));
    plan.push(to(tree, Some(id), stamps));
    plan.records
}

fn to(tree: &SessionTree, to: Option<EntryId>, stamps: &mut dyn Stamps) -> Record {
    let from = tree.main_head().cloned();
    Record::head_moved(HeadMove { head: HeadName::main(), moved_at: stamps.now(), from, to })
}

/// What should be there, told without a tree.
#[derive(Default)]
struct Expected {
    theirs: Vec<(EntryId, Option<EntryId>)>,
    steps: Vec<Step>,
    /// Steps that redo would take again.
    undone: Vec<usize>,
}

struct Step {
    does: Does,
    stands: bool,
}

enum Does {
    Say { id: EntryId, below: Option<EntryId> },
    Label { target: EntryId, label: String },
    Move { to: EntryId },
}

impl Expected {
    fn step(&mut self, does: Does) {
        self.steps.push(Step { does, stands: true });
        self.undone.clear();
    }

    fn standing(&self) -> impl DoubleEndedIterator<Item = &Does> {
        self.steps.iter().filter(|step| step.stands).map(|step| &step.does)
    }

    fn entries(&self) -> BTreeMap<EntryId, Option<EntryId>> {
        let own = self.standing().filter_map(|does| match does {
            Does::Say { id, below } => Some((id.clone(), below.clone())),
            Does::Label { .. } | Does::Move { .. } => None,
        });
        self.theirs.iter().cloned().chain(own).collect()
    }

    /// Where the person went last; whoever never went anywhere goes along with the program.
    fn head(&self) -> Option<EntryId> {
        let mut gone_to = self.standing().filter_map(|does| match does {
            Does::Say { id, .. } => Some(id.clone()),
            Does::Move { to } => Some(to.clone()),
            Does::Label { .. } => None,
        });
        let last = self.theirs.last().map(|(id, _)| id.clone());
        gone_to.next_back().or(last)
    }

    fn labels(&self) -> BTreeMap<EntryId, String> {
        let labels = self.standing().filter_map(|does| match does {
            Does::Label { target, label } => Some((target.clone(), label.clone())),
            Does::Say { .. } | Does::Move { .. } => None,
        });
        labels.collect()
    }

    fn check(&self, tree: &SessionTree, when: &str) {
        let found: BTreeMap<EntryId, Option<EntryId>> = tree
            .entries()
            .map(|entry| (entry.id.clone(), tree.parent(&entry.id).map(|parent| parent.id.clone())))
            .collect();
        assert_eq!(found, self.entries(), "{when}: entries below their parents");
        assert_eq!(tree.main_head().cloned(), self.head(), "{when}: the head");
        let labels: BTreeMap<EntryId, String> =
            tree.labels().into_iter().map(|(id, label)| (id.clone(), label.to_owned())).collect();
        assert_eq!(labels, self.labels(), "{when}: labels");
    }
}

#[test]
fn both_go_on_in_any_order() {
    let mut did = [0; 7];
    for seed in 0..rounds(60, 2_000) as u64 {
        let mut dice = Dice::seeded(seed);
        let mut agent = Agent::new();
        agent.says("t0", None);
        let (mut store, id) = agent.store();
        let mut journal = store.journal(&id).unwrap().unwrap();
        let mut expected = Expected { theirs: vec![("t0".into(), None)], ..Expected::default() };
        let mut stamps = FixedStamps::default();
        for number in 0..24 {
            let when = format!("seed {seed}, step {number}");
            let entries: Vec<EntryId> = expected.entries().into_keys().collect();
            let some = entries[dice.roll(entries.len())].clone();
            let doing = dice.roll(7);
            did[doing] += 1;
            match doing {
                0 => {
                    let place = dice.roll(expected.theirs.len());
                    let below = expected.theirs[place].0.clone();
                    let new = format!("t{}", expected.theirs.len());
                    agent.says(&new, Some(below.as_str()));
                    expected.theirs.push((new.as_str().into(), Some(below)));
                }
                1 => {
                    let new = EntryId::from(format!("own-{number}"));
                    change(&mut journal, |tree| said(tree, &new, Some(&some), &mut stamps));
                    expected.step(Does::Say { id: new, below: Some(some) });
                }
                2 => {
                    let label = format!("label {number}");
                    let fact = Fact::Label { target: some.clone(), label: Some(label.clone()) };
                    change(&mut journal, |_| named(&mut stamps, |stamps| Record::marked(stamps.now(), fact)));
                    expected.step(Does::Label { target: some, label });
                }
                3 => {
                    let target = some.clone();
                    change(&mut journal, |tree| named(&mut stamps, |stamps| to(tree, Some(target), stamps)));
                    expected.step(Does::Move { to: some });
                }
                4 => {
                    change(&mut journal, |tree| plan_undo(tree, &mut stamps).unwrap_or_default());
                    if let Some(last) = expected.steps.iter().rposition(|step| step.stands) {
                        expected.steps[last].stands = false;
                        expected.undone.push(last);
                    }
                }
                5 => {
                    change(&mut journal, |tree| plan_redo(tree, &mut stamps).unwrap_or_default());
                    if let Some(last) = expected.undone.pop() {
                        expected.steps[last].stands = true;
                    }
                }
                _ => {
                    (store, _) = agent.store();
                    journal = store.journal(&id).unwrap().unwrap();
                }
            }
            journal.refresh().unwrap();
            expected.check(journal.tree(), &when);
            assert_eq!(std::fs::read(agent.path()).unwrap(), agent.written, "{when}: the file is theirs");
            assert!(journal.findings().is_empty(), "{when}: {:?}", journal.findings());
        }
        assert!(fsck(&store, &mut |_| {}).unwrap().is_clean(), "seed {seed}");
    }
    assert!(did.iter().all(|count| *count > 100), "{did:?}");
}

fn named(stamps: &mut dyn Stamps, record: impl FnOnce(&mut dyn Stamps) -> Record) -> Vec<Record> {
    let mut plan = Plan::named("step", stamps);
    plan.push(record(stamps));
    plan.records
}

fn change(journal: &mut Journal, plan: impl FnOnce(&SessionTree) -> Vec<Record>) {
    journal.write(|tree| Ok::<_, ()>(plan(tree))).unwrap();
}

#[test]
fn looking_and_refusing_make_no_journal() {
    let mut agent = Agent::new();
    agent.says("t0", None);
    let (store, id) = agent.store();
    assert_eq!(store.read(&id).unwrap().unwrap().tree.len(), 1);
    let declined = write(&store, &id, |_| Err::<Vec<Record>, _>("no"));
    assert!(declined.is_err());
    write(&store, &id, |_| Ok::<_, ()>(Vec::new())).unwrap();
    assert_eq!(store.list().unwrap(), []);
    assert!(store.references().unwrap().is_empty());
}

#[test]
fn two_that_begin_at_once_share_a_journal() {
    let mut agent = Agent::new();
    agent.says("t0", None);
    let (store, id) = agent.store();
    let mut one = store.journal(&id).unwrap().unwrap();
    let mut other = agent.store().0.journal(&id).unwrap().unwrap();
    let mut stamps = FixedStamps::default();
    change(&mut one, |tree| said(tree, &"mine".into(), tree.main_head(), &mut stamps));
    change(&mut other, |tree| said(tree, &"yours".into(), tree.main_head(), &mut stamps));
    one.refresh().unwrap();
    assert_eq!(one.tree().path_to(Some(&"yours".into())).len(), 3, "what came second knows the first");
    assert_eq!(store.list().unwrap(), [id]);
}

/// The power fails at any moment of the first change: there is a whole journal afterwards, or none.
#[test]
fn the_first_change_is_whole_or_not_there() {
    let mut agent = Agent::new();
    agent.says("t0", None);
    let (mut whole, mut none) = (0, 0);
    for seed in 0..rounds(60, 1_000) as u64 {
        let mut dice = Dice::seeded(seed);
        let disk = SimDisk::new();
        disk.record_moments(dice.clone());
        let (store, id) = agent.introduced(store_on(disk.clone()));
        let mut stamps = FixedStamps::default();
        write(&store, &id, |tree| Ok::<_, ()>(said(tree, &"own".into(), tree.main_head(), &mut stamps)))
            .unwrap();
        disk.tell(1);
        for moment in disk.take_moments() {
            let after = store_on(moment.crash(&mut dice)).with(agent.others());
            let told = moment.told;
            match after.read(&id).unwrap() {
                None => {
                    none += 1;
                    assert_eq!(told, 0, "seed {seed}: it was acknowledged");
                }
                Some(loaded) => {
                    whole += 1;
                    let ids: Vec<&str> = loaded.tree.entries().map(|entry| entry.id.as_str()).collect();
                    assert_eq!(ids, ["t0", "own"], "seed {seed}");
                }
            }
            // Whatever is left does not stand in the way of the next one.
            let (again, id) = agent.introduced(after);
            let mut stamps = FixedStamps::after(100);
            write(&again, &id, |tree| Ok::<_, ()>(said(tree, &"next".into(), tree.main_head(), &mut stamps)))
                .unwrap();
            assert!(again.read(&id).unwrap().unwrap().tree.contains(&"next".into()));
        }
    }
    assert!(whole > 20 && none > 20, "{whole} whole, {none} not there");
    assert_eq!(std::fs::read(agent.path()).unwrap(), agent.written);
}

/// What somebody kept of it.
#[derive(Debug)]
struct Archive(Vec<u8>);

impl ForeignBytes for Archive {
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy> {
        let path = PathBuf::from(&source.path);
        Some(ForeignCopy { path, content: ForeignContent::Bytes(self.0.clone()), of: Copied::Kept })
    }
}

/// A session with a change below an entry that the file then loses.
fn changed_then(lose: impl FnOnce(&Path)) -> (Agent, SessionId) {
    let mut agent = Agent::new();
    agent.says("t0", None);
    agent.says("t1", Some("t0"));
    let (store, id) = agent.store();
    let mut stamps = FixedStamps::default();
    write(&store, &id, |tree| Ok::<_, ()>(said(tree, &"own".into(), Some(&"t1".into()), &mut stamps)))
        .unwrap();
    lose(&agent.path());
    (agent, id)
}

fn rewrite_without_its_last_line(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let shorter: Vec<&str> = text.lines().take(2).collect();
    std::fs::write(path, shorter.join("\n") + "\n").unwrap();
}

#[test]
fn a_file_that_was_rewritten_loses_nobody() {
    let (agent, id) = changed_then(rewrite_without_its_last_line);
    let loaded = agent.store().0.read(&id).unwrap().unwrap();
    assert!(loaded.tree.contains(&"own".into()), "it begins a tree of its own");
    let path = agent.path().display().to_string();
    assert!(loaded.findings.contains(&Finding::Source(SourceTrouble::Rewritten { path })));
    let is_told = |finding: &Finding| matches!(finding, Finding::Odd(odd) if matches!(odd.what, Odd::MissingParent { .. }));
    assert!(loaded.findings.iter().any(is_told), "{:?}", loaded.findings);
}

#[test]
fn what_a_rewritten_file_lost_comes_from_what_was_kept() {
    let (agent, id) = changed_then(rewrite_without_its_last_line);
    let (store, _) = agent.store();
    let store = store.with(agent.others().and_then(Arc::new(Archive(agent.written))));
    let loaded = store.read(&id).unwrap().unwrap();
    let path: Vec<&str> =
        loaded.tree.path_to(Some(&"own".into())).iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(path, ["t0", "t1", "own"]);
    assert!(fsck(&store, &mut |_| {}).unwrap().is_clean());
}

#[test]
fn a_file_that_is_gone_is_missed_unless_it_was_kept() {
    let (agent, id) = changed_then(|path| std::fs::remove_file(path).unwrap());
    let store = JournalStore::at(Home::at(agent.folder.path().join("home")), patient());
    let alone = store.clone().with(agent.others());
    assert_eq!(alone.read(&id).unwrap().unwrap().tree.len(), 1);
    let report = fsck(&alone, &mut |_| {}).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    let kept = store.with(agent.others().and_then(Arc::new(Archive(agent.written))));
    assert_eq!(kept.read(&id).unwrap().unwrap().tree.len(), 3);
    assert!(fsck(&kept, &mut |_| {}).unwrap().is_clean());
}

#[test]
fn a_file_that_moved_is_found_where_it_is_said_to_be() {
    let (agent, id) =
        changed_then(|path| std::fs::rename(path, path.with_file_name("elsewhere.jsonl")).unwrap());
    let others = agent.others();
    let store = JournalStore::at(Home::at(agent.folder.path().join("home")), patient()).with(others.clone());
    let source = store.reference(&id).unwrap();
    others.lies_at(&source, agent.path().with_file_name("elsewhere.jsonl"));
    let loaded = store.read(&id).unwrap().unwrap();
    assert_eq!((loaded.tree.len(), loaded.findings), (3, Vec::new()));
}
