//! A disk in memory that remembers what was synced. A crash keeps that, and of the rest whatever it likes: each
//! write whole, in part or not at all, whether or not an earlier one is kept; each name or not.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use offshoot_store::files::{Files, Held, Identity, Open, OpenFile, Stat, TryLock};

use super::Dice;

/// No hole in a file is smaller. Real ones are larger; small ones are harder.
const SECTOR: usize = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    files: BTreeMap<u64, File>,
    folders: BTreeMap<PathBuf, Folder>,
    locks: BTreeSet<PathBuf>,
    made: u64,
    /// Writes are cut short now and then.
    dice: Option<Dice>,
    /// The disk as it was before each change, when that is wanted.
    moments: Option<Vec<Moment>>,
    told: usize,
}

/// The disk at a moment when it may crash.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    state: Arc<State>,
    /// What the test had said by then; see [`SimDisk::tell`].
    pub(crate) told: usize,
}

#[derive(Clone, Debug, Default)]
struct File {
    now: Arc<Vec<u8>>,
    safe: Arc<Vec<u8>>,
    pending: Vec<Write>,
}

#[derive(Clone, Debug)]
enum Write {
    Bytes { at: usize, bytes: Arc<Vec<u8>> },
    Length(usize),
}

#[derive(Clone, Debug, Default)]
struct Folder {
    now: BTreeMap<String, Node>,
    safe: BTreeMap<String, Node>,
    pending: Vec<Naming>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    File(u64),
    Folder,
}

#[derive(Clone, Debug)]
enum Naming {
    Add(String, Node),
    Remove(String),
    Rename(String, String),
}

impl SimDisk {
    pub(crate) fn new() -> Self {
        let disk = Self::default();
        disk.state().folders.insert("/".into(), Folder::default());
        disk
    }

    /// From now on every change is preceded by a moment to crash at, and writes may be short.
    pub(crate) fn record_moments(&self, dice: Dice) {
        let mut state = self.state();
        state.moments = Some(Vec::new());
        state.dice = Some(dice);
    }

    pub(crate) fn take_moments(&self) -> Vec<Moment> {
        let mut state = self.state();
        let mut moments = state.moments.take().unwrap_or_default();
        state.dice = None;
        moments.push(Moment { state: Arc::new(state.clone()), told: state.told });
        moments
    }

    /// Remembers a number that moments carry.
    pub(crate) fn tell(&self, told: usize) {
        self.state().told = told;
    }

    pub(crate) fn read(&self, path: &Path) -> Vec<u8> {
        let state = self.state();
        match state.node(path) {
            Some(Node::File(inode)) => state.files[&inode].now.to_vec(),
            other => panic!("{path:?} is {other:?}"),
        }
    }

    /// Changes a file behind everybody's back.
    pub(crate) fn overwrite(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.state();
        let Some(Node::File(inode)) = state.node(path) else { panic!("{path:?} is not a file") };
        let bytes = Arc::new(bytes);
        state.files.insert(inode, File { now: bytes.clone(), safe: bytes, pending: Vec::new() });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Moment {
    /// The disk after the power came back.
    pub(crate) fn crash(&self, dice: &mut Dice) -> SimDisk {
        let mut state = State::clone(&self.state);
        state.moments = None;
        state.dice = None;
        state.locks.clear();
        let kept = [0, 30, 60, 90, 100][dice.roll(5)];
        for file in state.files.values_mut() {
            let mut bytes = file.safe.to_vec();
            for write in std::mem::take(&mut file.pending) {
                if dice.chance(kept) {
                    write.apply(&mut bytes, None);
                } else if dice.chance(50) {
                    let Write::Bytes { bytes: written, .. } = &write else { continue };
                    let kept = dice.roll(written.len() + 1);
                    write.apply(&mut bytes, (written.len() - kept >= SECTOR).then_some(kept));
                }
            }
            file.now = Arc::new(bytes);
            file.safe = file.now.clone();
        }
        for folder in state.folders.values_mut() {
            let mut names = std::mem::take(&mut folder.safe);
            for naming in std::mem::take(&mut folder.pending) {
                if dice.chance(kept) {
                    naming.apply(&mut names);
                }
            }
            folder.now = names.clone();
            folder.safe = names;
        }
        state.forget_unreachable();
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }
}

impl Write {
    fn apply(&self, file: &mut Vec<u8>, only: Option<usize>) {
        match self {
            Self::Length(length) => file.resize(*length, 0),
            Self::Bytes { at, bytes } => {
                let bytes = &bytes[..only.unwrap_or(bytes.len())];
                if file.len() < at + bytes.len() {
                    file.resize(at + bytes.len(), 0);
                }
                file[*at..at + bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

impl Naming {
    fn apply(&self, names: &mut BTreeMap<String, Node>) {
        match self {
            Self::Add(name, node) => {
                names.insert(name.clone(), *node);
            }
            Self::Remove(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
        }
    }
}

impl State {
    fn node(&self, path: &Path) -> Option<Node> {
        let (folder, name) = split(path);
        self.folders.get(&folder)?.now.get(&name).copied()
    }

    fn folder(&mut self, path: &Path) -> io::Result<&mut Folder> {
        self.folders.get_mut(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn name(&mut self, folder: &Path, naming: Naming) -> io::Result<()> {
        let folder = self.folder(folder)?;
        naming.apply(&mut folder.now);
        folder.pending.push(naming);
        Ok(())
    }

    fn moment(&mut self) {
        if self.moments.is_some() {
            let moments = self.moments.take();
            let moment = Moment { state: Arc::new(self.clone()), told: self.told };
            self.moments = moments;
            self.moments.get_or_insert_default().push(moment);
        }
    }

    fn forget_unreachable(&mut self) {
        let mut reachable = BTreeSet::from([PathBuf::from("/")]);
        let mut open = vec![PathBuf::from("/")];
        while let Some(at) = open.pop() {
            for (name, node) in self.folders.entry(at.clone()).or_default().now.clone() {
                if node == Node::Folder {
                    reachable.insert(at.join(&name));
                    open.push(at.join(name));
                }
            }
        }
        self.folders.retain(|path, _| reachable.contains(path));
    }
}

impl Files for SimDisk {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        let mut state = self.state();
        let inode = match (state.node(path), how) {
            (Some(Node::File(_)), Open::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(Node::File(inode)), Open::Read | Open::ReadForeign | Open::Append) => inode,
            (Some(Node::Folder), _) => return Err(io::ErrorKind::IsADirectory.into()),
            (None, Open::Read | Open::ReadForeign | Open::Append) => {
                return Err(io::ErrorKind::NotFound.into());
            }
            (None, Open::CreateNew) => {
                state.moment();
                state.made += 1;
                let inode = state.made;
                let (folder, name) = split(path);
                state.name(&folder, Naming::Add(name, Node::File(inode)))?;
                state.files.insert(inode, File::default());
                inode
            }
        };
        Ok(Box::new(SimFile { disk: self.clone(), inode }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.open(path, Open::Read)?.stat()
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        Ok(self.state().folder(folder)?.now.keys().cloned().collect())
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let mut missing: Vec<&Path> = Vec::new();
        let mut state = self.state();
        for above in folder.ancestors() {
            if state.folders.contains_key(above) {
                break;
            }
            missing.push(above);
        }
        for folder in missing.into_iter().rev() {
            state.moment();
            let (above, name) = split(folder);
            state.name(&above, Naming::Add(name, Node::Folder))?;
            state.folders.insert(folder.to_owned(), Folder::default());
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.moment();
        let ((folder, from), (other, to)) = (split(from), split(to));
        assert_eq!(folder, other, "this disk renames within a folder");
        state.name(&folder, Naming::Rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.moment();
        let (folder, name) = split(path);
        state.name(&folder, Naming::Remove(name))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.moment();
        let folder = state.folder(folder)?;
        folder.safe = folder.now.clone();
        folder.pending.clear();
        Ok(())
    }

    fn try_lock(&self, path: &Path, _: &str) -> io::Result<TryLock> {
        let mut state = self.state();
        let (folder, _) = split(path);
        state.folder(&folder)?;
        Ok(if state.locks.insert(path.to_owned()) {
            TryLock::Taken(Box::new(SimLock { disk: self.clone(), path: path.to_owned() }))
        } else {
            TryLock::HeldBy("the test".into())
        })
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: u64,
}

impl OpenFile for SimFile {
    fn stat(&self) -> io::Result<Stat> {
        let length = self.disk.state().files[&self.inode].now.len() as u64;
        Ok(Stat { length, identity: Identity { device: 1, inode: self.inode }, modified: 0 })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state();
        let rest = state.files[&self.inode].now.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.moment();
        let count = match &mut state.dice {
            Some(dice) => {
                if dice.chance(15) {
                    SECTOR + dice.roll(bytes.len())
                } else {
                    bytes.len()
                }
            }
            None => bytes.len(),
        };
        let count = count.min(bytes.len());
        let bytes = Arc::new(bytes[..count].to_vec());
        let at = state.files[&self.inode].now.len();
        self.change(&mut state, Write::Bytes { at, bytes });
        Ok(count)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.moment();
        self.change(&mut state, Write::Length(length as usize));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.moment();
        let file = state.files.get_mut(&self.inode).unwrap();
        file.safe = file.now.clone();
        file.pending.clear();
        Ok(())
    }

    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        self.disk.state().moment();
        Ok(())
    }

    fn give_back(&mut self, length: u64) -> io::Result<()> {
        self.truncate(length)
    }
}

impl SimFile {
    fn change(&self, state: &mut State, write: Write) {
        let file = state.files.get_mut(&self.inode).unwrap();
        write.apply(Arc::make_mut(&mut file.now), None);
        file.pending.push(write);
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl Held for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.state().locks.remove(&self.path);
    }
}

fn split(path: &Path) -> (PathBuf, String) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    (path.parent().unwrap_or(Path::new("/")).to_owned(), name.to_owned())
}
