//! What the program did, for whoever looks for a mistake: `log/offshoot.log` in the home.
//!
//! The log tells what was done, with ids, counts and times, and never what was said. That is so by construction: the words
//! of an event are its name, which is fixed when the program is built; a message that is put together from other texts is
//! not written; a field is written only if its name is known here, and a text in it only if it is a single word (`line`).
//! What still looks like a secret is taken out last (`secrets`).
//!
//! The price: an error is told by its code. Its sentence may quote somebody, so only the person sees it.

mod file;
mod line;
mod secrets;

use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;
use jiff::Timestamp;
use offshoot_api::CallerContext;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use self::file::LogFile;
use self::line::Fields;
use self::secrets::Secrets;
pub(crate) use self::secrets::is_secret_name;

/// How much is told; each level tells what those before it tell, and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// Everything that is told from now on by any part of the program goes to the log of this home.
pub(crate) fn start(home: &Path, level: LogLevel) {
    if level == LogLevel::Off {
        return;
    }
    let log = Log { level: level.filter(), file: LogFile::in_home(home) };
    // Only one can be told, and this is the first.
    let _ = tracing::subscriber::set_global_default(log);
}

/// What a caller of the engine has handed over under the name of a secret appears in no line from now on.
pub(crate) fn hide_secrets_of(context: &CallerContext) {
    let all = context.environment.iter().chain(&context.variables).chain(&context.overrides);
    secrets().learn(all.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value.clone()));
}

/// Neither do these values.
pub(crate) fn hide(values: impl Iterator<Item = String>) {
    secrets().learn(values);
}

pub(crate) fn without_secrets(text: &str) -> String {
    secrets().taken_out(text).into_owned()
}

/// Of this process, and of all callers that it has served.
fn secrets() -> &'static Secrets {
    static SECRETS: OnceLock<Secrets> = OnceLock::new();
    SECRETS.get_or_init(Secrets::of_environment)
}

/// The last lines, the oldest of them first.
pub(crate) fn last_lines(home: &Path, count: usize) -> Vec<String> {
    LogFile::in_home(home).last_lines(count)
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

#[derive(Debug)]
struct Log {
    level: LevelFilter,
    file: LogFile,
}

/// Only our own parts are listened to: what others would say is not known to be harmless.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    !metadata.is_span() && metadata.target().starts_with("offshoot")
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata) && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let line = line::line(Timestamp::now(), metadata.level(), metadata.name(), &fields);
        // Whoever cannot write the log works on without it.
        let _ = self.file.add(&secrets().taken_out(&line));
    }

    // There are no spans: a line says by itself what it is about.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn word(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}
