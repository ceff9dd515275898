//! Where settings are kept: the files, the variables and the flags, and what all of them say together.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use offshoot_api::CallerContext;

use super::file;
use super::keys::{COLOR, FOR_COMMANDS, KEYS, Key, PREFIX};
use super::layers::{Given, Layer, Origin, Says, Settings, Unknown, Unreadable};
use super::nearest::nearest;
use super::value::read_text;
use crate::output;
use crate::words::config as words;

/// In the home for the person, in a folder `.offshoot` for a project.
const FILE: &str = "settings.toml";
const PROJECT_FOLDER: &str = ".offshoot";

/// How a setting for one command is typed.
pub(crate) const SET: &str = "--set";

/// Nobody sets so much.
const LONGEST: u64 = 1024 * 1024;

/// Variables that begin like those of settings and are none.
const OTHER_VARIABLES: [&str; 4] = ["OFFSHOOT_HOME", "OFFSHOOT_SOURCES", "OFFSHOOT_FIXED_STAMPS", AGENT_RUN];

/// Which run of an agent a process belongs to. Commands that an agent's tool starts inherit it.
const AGENT_RUN: &str = "OFFSHOOT_AGENT_RUN";

#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// Without a home a person has no file.
    user: Option<PathBuf>,
    variables: Vec<(String, String)>,
    flags: Vec<Flag>,
}

/// Something that was set for this command only.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    /// As it was typed.
    pub(crate) typed: String,
    pub(crate) key: &'static Key,
    pub(crate) value: String,
}

/// How a file was when it was looked at; a file that is the same says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen(PathBuf, Option<(u64, u64, SystemTime)>);

impl Reader {
    pub(crate) fn new(home: Option<&Path>, variables: Vec<(String, String)>, flags: Vec<Flag>) -> Self {
        Self { user: home.map(|home| home.join(FILE)), variables, flags }
    }

    /// What counts for somebody who has handed over variables and flags.
    pub(crate) fn of_caller(home: &Path, context: &CallerContext) -> Self {
        let variables = context.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        // A key that is unknown here comes from a newer program, which has checked it.
        let flags = context.overrides.iter().filter_map(|(name, value)| {
            Some(Flag { typed: SET.to_owned(), key: Key::named(name)?, value: value.clone() })
        });
        Self::new(Some(home), variables.collect(), flags.collect())
    }

    /// What counts in this folder.
    pub(crate) fn read(&self, folder: Option<&Path>) -> Settings {
        let mut said = vec![Ok(variables_say(&self.variables)), Ok(flags_say(&self.flags))];
        let files = [(Layer::User, self.user.clone()), (Layer::Project, folder.and_then(project_file))];
        for (layer, path) in files {
            said.extend(path.map(|path| file_says(layer, &path)));
        }
        Settings::merged(said)
    }

    /// How the files are that would be read now.
    pub(crate) fn seen(&self, folder: Option<&Path>) -> Vec<Seen> {
        let files = self.user.iter().cloned().chain(folder.and_then(project_file));
        files.map(Seen::now).collect()
    }

    pub(crate) fn user_file(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// What flags set for this command, which is to count for another one too.
    pub(crate) fn flags_for_commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let is_ours = |flag: &&Flag| FOR_COMMANDS.iter().any(|key| key.name == flag.key.name);
        self.flags.iter().filter(is_ours).map(|flag| (flag.key.name, flag.value.as_str()))
    }

    /// What flags set for the engine. The last one of a key counts.
    pub(crate) fn overrides(&self) -> BTreeMap<String, String> {
        let is_for_engine = |flag: &&Flag| FOR_COMMANDS.iter().all(|key| key.name != flag.key.name);
        let flags = self.flags.iter().filter(is_for_engine);
        flags.map(|flag| (flag.key.name.to_owned(), flag.value.clone())).collect()
    }

    /// What variables set for the engine. Those that only look like settings come along: the engine ignores them too.
    pub(crate) fn variables_for_engine(&self) -> BTreeMap<String, String> {
        let is_setting = |name: &str| name.starts_with(PREFIX) && !OTHER_VARIABLES.contains(&name);
        let is_for_engine = |name: &str| FOR_COMMANDS.iter().all(|key| key.variable() != name);
        let variables = self.variables.iter().filter(|(name, _)| is_setting(name) && is_for_engine(name));
        variables.cloned().collect()
    }
}

impl Seen {
    pub(crate) fn now(path: PathBuf) -> Self {
        let found = std::fs::metadata(&path).ok();
        let stat = found.and_then(|found| Some((found.ino(), found.len(), found.modified().ok()?)));
        Self(path, stat)
    }
}

/// The nearest one, from this folder upwards.
pub(crate) fn project_file(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FOLDER).join(FILE)).find(|file| file.is_file())
}

/// The nearest one, or where it would be made: where the repository begins, else here.
pub(crate) fn project_file_to_write(folder: &Path) -> PathBuf {
    project_file(folder).unwrap_or_else(|| {
        let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
        repository.unwrap_or(folder).join(PROJECT_FOLDER).join(FILE)
    })
}

/// The text of a file that may not be there yet.
pub(crate) fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    match offshoot_store::private::open_foreign(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(text),
        file => file?.take(LONGEST + 1).read_to_string(&mut text)?,
    };
    // A project comes from anybody, also from who wants to fill our memory.
    if text.len() as u64 > LONGEST { Err(ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// A whole file or the one before. The person's own is for nobody else; where it is a link, what it leads to is written.
pub(crate) fn write(layer: Layer, path: &Path, text: &str) -> std::io::Result<()> {
    let (folder_mode, file_mode) = if layer == Layer::User { (0o700, 0o600) } else { (0o755, 0o644) };
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    std::fs::DirBuilder::new().recursive(true).mode(folder_mode).create(folder)?;
    output::replace(&path, text.as_bytes(), file_mode)
}

fn file_says(layer: Layer, path: &Path) -> Result<Says, Unreadable> {
    let unreadable = |message| Unreadable { layer, message };
    let text = text_of(path).map_err(|error| unreadable(crate::words::cannot_read(path, &error)))?;
    file::read(&text, layer, path).map_err(|wrong| unreadable(words::no_toml(path, &wrong)))
}

/// An empty variable says nothing. One that is nearly that of a setting was meant to be it.
fn variables_say(variables: &[(String, String)]) -> Says {
    let mut says = Says::default();
    let known: Vec<(String, &'static Key)> = KEYS.into_iter().map(|key| (key.variable(), key)).collect();
    for (name, text) in variables.iter().filter(|(_, text)| !text.is_empty()) {
        let origin = Origin::named(Layer::Environment, name.as_str());
        match known.iter().find(|(variable, _)| variable == name) {
            Some((_, key)) => {
                let value = read_text(key.kind, text).map_err(|wrong| wrong.what);
                says.given.push(Given { key, origin, value });
            }
            None if name == "NO_COLOR" => {
                let value = read_text(COLOR.kind, "never").map_err(|wrong| wrong.what);
                says.given.insert(0, Given { key: &COLOR, origin, value });
            }
            None if OTHER_VARIABLES.contains(&name.as_str()) => {}
            None => {
                let own_part = |variable: &str| variable.strip_prefix(PREFIX).map(str::to_owned);
                let parts: Vec<String> =
                    known.iter().filter_map(|(variable, _)| own_part(variable)).collect();
                let meant = own_part(name).and_then(|own| {
                    nearest(&own, parts.iter().map(String::as_str)).map(|it| format!("{PREFIX}{it}"))
                });
                if meant.is_some() {
                    says.unknown.push(Unknown { name: name.clone(), origin, meant });
                }
            }
        }
    }
    says
}

fn flags_say(flags: &[Flag]) -> Says {
    let given = |flag: &Flag| Given {
        key: flag.key,
        origin: Origin::named(Layer::Flag, flag.typed.as_str()),
        value: read_text(flag.key.kind, &flag.value).map_err(|wrong| wrong.what),
    };
    Says { given: flags.iter().map(given).collect(), unknown: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::{IDLE_AGENTS, MODEL};

    fn variable(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_nearest_project_counts_and_the_person_above_it_does_not_disturb() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("a/.offshoot")).expect("a folder");
        std::fs::create_dir_all(at("a/b/c/.offshoot")).expect("a folder");
        std::fs::create_dir_all(at("a/b/d")).expect("a folder");
        std::fs::write(at("a/.offshoot/settings.toml"), "model = \"far\"\nidle_agents = 9").expect("a file");
        std::fs::write(at("a/b/c/.offshoot/settings.toml"), "model = \"near\"").expect("a file");
        std::fs::write(at("settings.toml"), "model = \"mine\"\nidle_agents = 2").expect("a file");
        let reader = Reader::new(Some(dir.path()), Vec::new(), Vec::new());
        let model = |folder: &str| reader.read(Some(&at(folder))).get::<String>(&MODEL).ok().flatten();
        assert_eq!(model("a/b/c").as_deref(), Some("near"));
        assert_eq!(model("a/b/d").as_deref(), Some("far"));
        assert_eq!(reader.read(None).get::<String>(&MODEL).ok().flatten().as_deref(), Some("mine"));
        let idle = reader.read(Some(&at("a/b/d"))).get::<u32>(&IDLE_AGENTS).ok().flatten();
        assert_eq!(idle, Some(2), "how many agents wait is the person's own");
        let seen = reader.seen(Some(&at("a")));
        write(Layer::User, &at("settings.toml"), "model = \"mind\"\nidle_agents = 2").expect("written");
        assert_ne!(reader.seen(Some(&at("a"))), seen, "of the same length, and still another file");
    }

    #[test]
    fn variables_are_read_and_slips_noticed() {
        let says = variables_say(&[
            variable("OFFSHOOT_COLOR", "always"),
            variable("NO_COLOR", "1"),
            variable("OFFSHOOT_AGENT", ""),
            variable("OFFSHOOT_AGNET", "x"),
            variable("OFFSHOOT_SOURCES", "x"),
            variable("OFFSHOOT_XY", "x"),
            variable("OFFSHOOT_AGENT_RUN", "x"),
            variable("OFFSHOOT_SOMETHING_ELSE_ALTOGETHER", "x"),
            variable("HOME", "x"),
        ]);
        let given: Vec<&str> = says.given.iter().map(|given| given.key.name).collect();
        assert_eq!(given, ["color", "color"]);
        let last = says.given.last().and_then(|given| given.value.as_ref().ok()).map(|value| value.told());
        assert_eq!(last.as_deref(), Some("always"), "what was said to us counts more");
        let unknown: Vec<Option<&str>> =
            says.unknown.iter().map(|unknown| unknown.meant.as_deref()).collect();
        assert_eq!(unknown, [Some("OFFSHOOT_AGENT")]);
    }
}
