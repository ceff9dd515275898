//! Sessions on disk. The journals are the truth; everything else can be made again from them.
//!
//! | idea | module |
//! |---|---|
//! | what every store promises | [`store`] |
//! | sessions as journals in a folder | [`journal_store`] |
//! | sessions that live as long as the program | [`memory_store`] |
//! | one journal: read, catch up, append | [`journal`] |
//! | a long session, read as far as it is looked at | [`lazy`] |
//! | replies that are still being written, beside the journal | [`drafts`] |
//! | prompts that wait to be said, beside the journal | [`waiting`] |
//! | the shape of a long file of Claude Code or Codex | [`light`] |
//! | the last messages of a long file of Claude Code | [`recent`] |
//! | its last turns, with their numbers and versions | [`ending`](mod@ending) |
//! | what another program's session says now, for a journal that goes on with it | [`foreign`] |
//! | files beside a session file that belong to it | [`beside`] |
//! | titles that stand beside sessions | [`titles_beside`] |
//! | the database of opencode, read where it lies | [`opencode_database`] |
//! | its older storage of many files | [`opencode_storage`] |
//! | a whole file that somebody else may be writing | [`steady`] |
//! | who may write | [`lock`] |
//! | long strings beside the journals | [`blobs`] |
//! | where things lie | [`home`] |
//! | every touch of the disk | [`files`] |
//! | files of other programs, kept for ever | [`archive`] |
//! | all sessions of this machine, listed and searched | [`catalog`] |
//! | proof that a store is sound | [`fsck`](mod@fsck) |
//!
//! An append is acknowledged when it is on the disk, and visible when it is acknowledged. What was acknowledged
//! survives the end of the process and of the power; what was not leaves no half of itself behind.
//!
//! The lines themselves are described by [`offshoot_session::format`], which knows no files.

pub mod archive;
pub mod beside;
pub mod blobs;
pub mod catalog;
pub mod drafts;
pub mod ending;
pub mod files;
pub mod foreign;
pub mod fsck;
pub mod home;
pub mod journal;
pub mod journal_store;
pub mod lazy;
pub mod light;
pub mod lock;
pub mod memory_store;
pub mod opencode_database;
pub mod opencode_storage;
pub mod private;
pub mod recent;
pub mod short_lines;
pub mod steady;
pub mod store;
pub mod titles_beside;
pub mod waiting;

pub use archive::Archive;
pub use blobs::BlobError;
pub use drafts::Drafts;
pub use files::{DiskFiles, FileError, Files};
pub use foreign::OtherPrograms;
pub use fsck::{Report, fsck};
pub use home::Home;
pub use journal::{Basis, Generation, Journal, Refreshed, Stale};
pub use journal_store::JournalStore;
pub use lazy::{LazyContext, LazyError, LazyMessage, LazySession};
pub use light::LightSession;
pub use lock::{LockError, Locking};
pub use memory_store::MemoryStore;
pub use opencode_database::{DatabaseError, OpencodeDatabase};
pub use store::{
    AppendError, Appended, CreateError, Finding, ListError, Loaded, ReadError, Repaired, SessionStore,
    WriteError, write,
};
pub use waiting::Waiting;
