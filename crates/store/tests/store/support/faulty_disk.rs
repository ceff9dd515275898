//! A disk that fails when it is told to.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use offshoot_store::files::{Files, Open, OpenFile, Stat, TryLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// One call fails, and the next ones work again.
    Once(io::ErrorKind),
    /// One append writes half of its bytes, then fails.
    Half(io::ErrorKind),
    /// From then on nothing can be added; taking away and syncing work.
    Full,
    /// From then on nothing can be changed at all.
    Dead,
}

#[derive(Clone, Debug)]
pub(crate) struct FaultyDisk<D> {
    disk: D,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    calls: usize,
    fault: Option<(usize, Fault)>,
    struck: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read,
    Add,
    Change,
}

impl<D: Files + Clone> FaultyDisk<D> {
    pub(crate) fn over(disk: D) -> Self {
        Self { disk, plan: Arc::default() }
    }

    pub(crate) fn disk(&self) -> &D {
        &self.disk
    }

    /// Counting starts again; the call with this number fails.
    pub(crate) fn fail_at(&self, call: usize, fault: Fault) {
        *self.plan.lock().unwrap() = Plan { fault: Some((call, fault)), ..Plan::default() };
    }

    pub(crate) fn heal(&self) {
        self.plan.lock().unwrap().fault = None;
    }

    pub(crate) fn calls(&self) -> usize {
        self.plan.lock().unwrap().calls
    }

    pub(crate) fn has_struck(&self) -> bool {
        self.plan.lock().unwrap().struck
    }
}

impl Plan {
    fn strike(&mut self, call: Call) -> Option<Fault> {
        let number = self.calls;
        self.calls += 1;
        let (at, fault) = self.fault?;
        let strikes = match fault {
            Fault::Once(_) => number == at,
            Fault::Half(_) => number == at && call == Call::Add,
            Fault::Full => number >= at && call == Call::Add,
            Fault::Dead => number >= at && call != Call::Read,
        };
        self.struck |= strikes;
        strikes.then_some(fault)
    }
}

fn check(plan: &Mutex<Plan>, call: Call) -> io::Result<()> {
    match plan.lock().unwrap().strike(call) {
        None => Ok(()),
        Some(Fault::Once(kind) | Fault::Half(kind)) => Err(kind.into()),
        Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
        Some(Fault::Dead) => Err(io::Error::from_raw_os_error(5)),
    }
}

impl<D: Files> Files for FaultyDisk<D> {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        check(&self.plan, if how == Open::CreateNew { Call::Add } else { Call::Read })?;
        Ok(Box::new(FaultyFile { file: self.disk.open(path, how)?, plan: self.plan.clone() }))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        check(&self.plan, Call::Read)?;
        self.disk.stat(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        check(&self.plan, Call::Read)?;
        self.disk.names(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        check(&self.plan, Call::Add)?;
        self.disk.create_folder(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.disk.remove(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.disk.sync_folder(folder)
    }

    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<TryLock> {
        check(&self.plan, Call::Change)?;
        self.disk.try_lock(path, holder)
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Box<dyn OpenFile>,
    plan: Arc<Mutex<Plan>>,
}

impl OpenFile for FaultyFile {
    fn stat(&self) -> io::Result<Stat> {
        check(&self.plan, Call::Read)?;
        self.file.stat()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        check(&self.plan, Call::Read)?;
        self.file.read_at(offset, buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let struck = self.plan.lock().unwrap().strike(Call::Add);
        match struck {
            None => self.file.append(bytes),
            Some(Fault::Once(kind)) => Err(kind.into()),
            Some(Fault::Half(kind)) => {
                self.file.append(&bytes[..bytes.len() / 2])?;
                Err(kind.into())
            }
            Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::Dead) => Err(io::Error::from_raw_os_error(5)),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.file.truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.file.sync()
    }

    fn reserve(&mut self, from: u64, room: u64) -> io::Result<()> {
        check(&self.plan, Call::Add)?;
        self.file.reserve(from, room)
    }

    fn give_back(&mut self, length: u64) -> io::Result<()> {
        check(&self.plan, Call::Change)?;
        self.file.give_back(length)
    }
}
