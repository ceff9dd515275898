//! Where a command runs: the look of its output, the home of the sessions, the folder it was called in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use offshoot_api::CallerContext;
use offshoot_session::Stamps;
use offshoot_store::catalog::Sources;
use offshoot_store::{Archive, Home, JournalStore, Locking, OtherPrograms};

use crate::args::Args;
use crate::failure::Failure;
use crate::foreign::InCatalog;
use crate::log::LogLevel;
use crate::look::{Colour, Look, Signs};
use crate::settings::keys::{ASCII, COLOR, LOG, PREFIX};
use crate::settings::layers::Settings;
use crate::settings::reader::{Flag, Reader};
use crate::sources::{Variables, sources};
use crate::stamps::{SystemStamps, fixed_start};
use crate::which::ShownNames;
use crate::words;

#[derive(Clone, Debug)]
pub(crate) struct Here {
    pub(crate) look: Look,
    /// The folder a session is about, where the person does not say otherwise.
    pub(crate) folder: PathBuf,
    home: Option<PathBuf>,
    home_from: &'static str,
    pub(crate) settings: Reader,
    /// Those that other programs keep, and which of them may be changed in this command.
    others: OtherPrograms,
    pub(crate) shown_names: ShownNames,
}

impl Here {
    /// And what there is to say about how output looks: settings that are wrong stop no command from being read.
    pub(crate) fn new(args: &Args) -> (Self, Vec<String>) {
        let told = std::env::var_os("OFFSHOOT_HOME").filter(|told| !told.is_empty()).map(PathBuf::from);
        let home = args.home.as_ref().or(told.as_ref());
        // Whoever stands in a folder that is gone can still name files and sessions.
        let folder = std::env::current_dir().unwrap_or_default();
        let home_from = match home {
            _ if args.home.is_some() => "from --home",
            Some(_) => "from OFFSHOOT_HOME",
            None if data_home().is_some() => "from XDG_DATA_HOME",
            None => "the usual place",
        };
        let home = home.cloned().or_else(usual_home);
        let others = match &home {
            Some(home) => others_in(home, std::env::temp_dir()),
            None => OtherPrograms::on_disk(std::env::temp_dir()),
        };
        let settings = Reader::new(home.as_deref(), variables(), flags(args));
        let (signs, notes) = signs(&settings.read(Some(&folder)));
        let look = Look::of_this_terminal(&args.look, signs);
        let shown_names = ShownNames::default();
        (Self { look, folder, home, home_from, settings, others, shown_names }, notes)
    }

    /// Who says that the home is there.
    pub(crate) fn home_from(&self) -> &'static str {
        self.home_from
    }

    /// The same for whoever draws again, in a window that may have another size by now.
    pub(crate) fn as_wide_as_now(&self) -> Self {
        Self { look: self.look.as_wide_as_now(), ..self.clone() }
    }

    /// Where it is, whether or not it is there yet.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.home.clone()
    }

    /// Only commands on stored sessions need a home.
    pub(crate) fn store(&self) -> Result<JournalStore, Failure> {
        let home =
            self.home.as_ref().ok_or_else(|| Failure::failed(words::NO_HOME).hint(words::NO_HOME_HINT))?;
        Ok(store_in(home, self.others.clone()))
    }

    pub(crate) fn others(&self) -> &OtherPrograms {
        &self.others
    }

    /// Where sessions may lie: the home, and the places of other programs, or those that are named instead.
    pub(crate) fn sources(&self, named: &[PathBuf]) -> Result<Sources, Failure> {
        let store = self.store()?;
        let named: Vec<PathBuf> = named.iter().map(|path| self.folder.join(path)).collect();
        let variable = |name: &str| std::env::var_os(name);
        Ok(sources(store.home().root(), &named, &Variables(&variable), std::env::temp_dir()))
    }

    /// What is kept of other programs. Without a home there is nothing.
    pub(crate) fn archive(&self) -> Option<Archive> {
        self.home.as_ref().map(|home| Archive::of(&Home::at(home)))
    }

    /// The id of one request, so that it is recognised where it is sent twice.
    pub(crate) fn client_id(&self) -> String {
        self.stamps().operation_id().to_string()
    }

    /// Time and new ids for one command.
    pub(crate) fn stamps(&self) -> SystemStamps {
        SystemStamps::new()
    }

    /// What the engine has to know of this process to act on its behalf.
    pub(crate) fn context(&self) -> CallerContext {
        let (environment, environment_bytes) = environment();
        CallerContext {
            folder: self.folder.to_str().map(str::to_owned),
            overrides: self.settings.overrides(),
            variables: self.settings.variables_for_engine(),
            environment,
            environment_bytes,
            interactive: std::io::stdout().is_terminal(),
            stamps: fixed_start(),
        }
    }

    /// How much the log tells. Settings that are wrong are told by whoever needs them.
    pub(crate) fn log_level(&self) -> LogLevel {
        let said = self.settings.read(Some(&self.folder)).get::<String>(&LOG);
        let level = said.ok().flatten().and_then(|level| LogLevel::from_str(&level, true).ok());
        level.unwrap_or_default()
    }

    /// Where things lie that need not outlive a restart of the machine.
    pub(crate) fn short_lived(&self) -> PathBuf {
        folder_in("XDG_RUNTIME_DIR").unwrap_or_else(std::env::temp_dir)
    }
}

/// The sessions of a home for its engine, which copies databases of other programs to `scratch`: the folder for temporary files
/// of its own environment is that of whichever command has started it.
pub(crate) fn engine_store(home: &Path, scratch: PathBuf) -> JournalStore {
    store_in(home, others_in(home, scratch))
}

fn store_in(home: &Path, others: OtherPrograms) -> JournalStore {
    JournalStore::at(Home::at(home), Locking::by("another Offshoot")).with(others)
}

fn others_in(home: &Path, scratch: PathBuf) -> OtherPrograms {
    let home = Home::at(home);
    let archive = Archive::of(&home);
    OtherPrograms::on_disk(scratch).and_then(Arc::new(InCatalog { home })).keeping(archive)
}

/// For agents and hooks, without our own variables: those that are UTF-8, and the others in base64.
fn environment() -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut texts, mut bytes) = (BTreeMap::new(), BTreeMap::new());
    let is_ours = |name: &OsStr| name.as_bytes().starts_with(PREFIX.as_bytes());
    for (name, value) in std::env::vars_os().filter(|(name, _)| !is_ours(name)) {
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => texts.insert(name.to_owned(), value.to_owned()),
            _ => bytes.insert(STANDARD.encode(name.as_bytes()), STANDARD.encode(value.as_bytes())),
        };
    }
    (texts, bytes)
}

/// Those that may be settings. What is not text is none.
fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let ours = all.filter(|(name, _)| name.starts_with(PREFIX) || name == "NO_COLOR");
    ours.map(|(name, value)| (name, value.to_string_lossy().into_owned())).collect()
}

/// Flags that are settings, the general ones last.
fn flags(args: &Args) -> Vec<Flag> {
    let flag = |typed: &str, key, value: &str| Flag { typed: typed.to_owned(), key, value: value.to_owned() };
    let no_color = args.look.no_color.then(|| flag("--no-color", &COLOR, "never"));
    let ascii = args.look.ascii.then(|| flag("--ascii", &ASCII, "true"));
    let level = |level: LogLevel| level.to_possible_value().map(|value| value.get_name().to_owned());
    let log = args.log.and_then(level).map(|level| flag("--log", &LOG, &level));
    no_color.into_iter().chain(ascii).chain(log).chain(args.set.iter().cloned()).collect()
}

fn signs(settings: &Settings) -> (Signs, Vec<String>) {
    let colour = settings.get::<String>(&COLOR);
    let ascii = settings.get::<bool>(&ASCII);
    let mut notes: Vec<String> = [colour.as_ref().err(), ascii.as_ref().err()]
        .into_iter()
        .flatten()
        .map(|it| it.message().to_owned())
        .collect();
    notes.dedup();
    let colour = match colour.ok().flatten().as_deref() {
        Some("always") => Colour::Always,
        Some("never") => Colour::Never,
        _ => Colour::Auto,
    };
    (Signs { colour, ascii: ascii.ok().flatten().unwrap_or_default() }, notes)
}

/// `$XDG_DATA_HOME/offshoot`, else `~/.local/share/offshoot`.
fn usual_home() -> Option<PathBuf> {
    let data = data_home().or_else(|| Some(folder_in("HOME")?.join(".local/share")))?;
    Some(data.join("offshoot"))
}

fn data_home() -> Option<PathBuf> {
    folder_in("XDG_DATA_HOME")
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where an agent keeps what is its own: where its variable says, else in the usual place below the person's home.
pub(crate) fn agent_home(variable: &str, usual: &str) -> Option<PathBuf> {
    folder_in(variable).or_else(|| Some(folder_in("HOME")?.join(usual)))
}
