//! What everybody says about the settings, and what counts: default < user < project < environment < flag.
//!
//! Nothing is lost on the way: what is overridden, ignored, unknown or wrong is still there to be told. A wrong value
//! concerns only who asks for it.

use std::path::{Path, PathBuf};

use super::keys::{KEYS, Key, Whose};
use super::value::{FromValue, Value, read_text};
use crate::failure::Failure;
use crate::words::config as words;

/// Who says something. The order is that of their weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Default,
    User,
    Project,
    Environment,
    Flag,
}

impl Layer {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) layer: Layer,
    pub(crate) place: Place,
}

/// Where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Nowhere,
    File {
        path: PathBuf,
        line: usize,
    },
    /// A variable or a flag.
    Name(String),
}

impl Origin {
    pub(crate) fn in_file(layer: Layer, path: &Path, line: usize) -> Self {
        Self { layer, place: Place::File { path: path.to_owned(), line } }
    }

    pub(crate) fn named(layer: Layer, name: impl Into<String>) -> Self {
        Self { layer, place: Place::Name(name.into()) }
    }
}

/// One thing that is set by somebody.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) key: &'static Key,
    pub(crate) origin: Origin,
    /// Or what it should have been.
    pub(crate) value: Result<Value, String>,
}

/// A key that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) meant: Option<String>,
}

/// What one file or the environment says.
#[derive(Debug, Default)]
pub(crate) struct Says {
    pub(crate) given: Vec<Given>,
    pub(crate) unknown: Vec<Unknown>,
}

/// A file that could not be read at all.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) layer: Layer,
    pub(crate) message: String,
}

#[derive(Debug)]
pub(crate) struct Settings {
    /// The weightiest last.
    given: Vec<Given>,
    pub(crate) unknown: Vec<Unknown>,
    pub(crate) unreadable: Vec<Unreadable>,
}

impl Settings {
    pub(crate) fn merged(said: Vec<Result<Says, Unreadable>>) -> Self {
        let mut merged = Self { given: defaults(), unknown: Vec::new(), unreadable: Vec::new() };
        for says in said {
            match says {
                Ok(Says { given, unknown }) => {
                    merged.given.extend(given);
                    merged.unknown.extend(unknown);
                }
                Err(unreadable) => merged.unreadable.push(unreadable),
            }
        }
        // What one layer says twice is said by its last.
        merged.given.sort_by_key(|given| given.origin.layer);
        merged
    }

    /// What counts. `None`: nothing is set.
    pub(crate) fn what_counts(&self, key: &Key) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.key.name == key.name && counts(given))
    }

    /// What is set where it has no effect.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = &Given> {
        self.given.iter().filter(|given| !counts(given))
    }

    pub(crate) fn get<T: FromValue>(&self, key: &Key) -> Result<Option<T>, Failure> {
        match self.wrong(key) {
            Some(message) => Err(Failure::usage(message).hint(words::SHOW_HINT)),
            None => {
                let value = self.what_counts(key).and_then(|given| given.value.as_ref().ok());
                Ok(value.and_then(T::from_value))
            }
        }
    }

    /// Why what counts cannot be told: it is wrong, or stands in a file that cannot be read.
    pub(crate) fn wrong(&self, key: &Key) -> Option<String> {
        let given = self.what_counts(key);
        let weight = given.map_or(Layer::Default, |given| given.origin.layer);
        let may_hide_it = |file: &&Unreadable| {
            file.layer > weight && (file.layer != Layer::Project || key.whose == Whose::Project)
        };
        if let Some(file) = self.unreadable.iter().find(may_hide_it) {
            return Some(file.message.clone());
        }
        let given = given?;
        given.value.as_ref().err().map(|what| words::wrong(&given.origin, given.key.name, what))
    }
}

fn counts(given: &Given) -> bool {
    match given.key.whose {
        Whose::Project => true,
        Whose::Person => given.origin.layer != Layer::Project,
        Whose::Engine => matches!(given.origin.layer, Layer::Default | Layer::User),
    }
}

fn defaults() -> Vec<Given> {
    let given = |key: &'static Key| {
        let value = read_text(key.kind, key.default?).map_err(|wrong| wrong.what);
        Some(Given { key, origin: Origin { layer: Layer::Default, place: Place::Nowhere }, value })
    };
    KEYS.into_iter().filter_map(given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::{AGENT, ENGINE_IDLE, HOOKS, IDLE_AGENTS, KEEP, MODEL};

    fn given(layer: Layer, key: &'static Key, text: &str) -> Given {
        let value = read_text(key.kind, text).map_err(|wrong| wrong.what);
        Given { key, origin: Origin::named(layer, "here"), value }
    }

    fn said(given: Vec<Given>) -> Result<Says, Unreadable> {
        Ok(Says { given, unknown: Vec::new() })
    }

    fn model(settings: &Settings) -> String {
        settings.get::<String>(&MODEL).ok().flatten().unwrap_or_default()
    }

    #[test]
    fn the_weightiest_counts_in_whatever_order_they_come() {
        let layers = [Layer::User, Layer::Project, Layer::Environment, Layer::Flag];
        let mut so_far = Vec::new();
        for layer in layers {
            so_far.insert(0, said(vec![given(layer, &MODEL, layer.word())]));
            let again =
                so_far.iter().map(|says| said(says.as_ref().map(|it| it.given.clone()).unwrap_or_default()));
            assert_eq!(model(&Settings::merged(again.collect())), layer.word());
        }
        let none = Settings::merged(Vec::new());
        let agent = none.get::<String>(&AGENT).ok().flatten();
        assert_eq!((agent.as_deref(), none.get::<String>(&MODEL).ok()), (Some("built_in"), Some(None)));
    }

    #[test]
    fn a_project_does_not_run_programs_or_turn_off_what_is_yours() {
        let hooks = r#"[{ events = ["turn_ended"], program = "/bin/evil" }]"#;
        let project = vec![given(Layer::Project, &HOOKS, hooks), given(Layer::Project, &KEEP, "false")];
        let settings = Settings::merged(vec![said(project)]);
        assert_eq!(settings.get::<bool>(&KEEP).ok(), Some(Some(true)));
        assert_eq!(settings.what_counts(&HOOKS).map(|given| given.origin.layer), Some(Layer::Default));
        let ignored: Vec<&str> = settings.ignored().map(|given| given.key.name).collect();
        assert_eq!(ignored, ["hooks", "keep"]);
    }

    #[test]
    fn only_the_users_file_sets_what_concerns_the_engine_process() {
        let layers = [Layer::Project, Layer::Environment, Layer::Flag];
        let elsewhere = layers.map(|layer| given(layer, &ENGINE_IDLE, "1s"));
        let user = given(Layer::User, &ENGINE_IDLE, "30m");
        let settings = Settings::merged(vec![said(vec![user]), said(elsewhere.to_vec())]);
        assert_eq!(settings.what_counts(&ENGINE_IDLE).map(|given| given.origin.layer), Some(Layer::User));
        let ignored: Vec<Layer> = settings.ignored().map(|given| given.origin.layer).collect();
        assert_eq!(ignored, layers);
    }

    #[test]
    fn a_wrong_value_concerns_who_asks_for_it_and_not_who_overrides_it() {
        let settings = Settings::merged(vec![said(vec![given(Layer::User, &IDLE_AGENTS, "many")])]);
        let wrong = settings.get::<u32>(&IDLE_AGENTS).expect_err("wrong");
        assert_eq!(wrong.message(), "here: `idle_agents` is a whole number, not `many`");
        assert_eq!(settings.get::<bool>(&KEEP).ok(), Some(Some(true)));
        let flag = given(Layer::Flag, &IDLE_AGENTS, "2");
        let settings = Settings::merged(vec![said(vec![given(Layer::User, &IDLE_AGENTS, "many"), flag])]);
        assert_eq!(settings.get::<u32>(&IDLE_AGENTS).ok(), Some(Some(2)));
    }

    #[test]
    fn a_file_that_cannot_be_read_may_have_said_anything_that_it_may_say() {
        let broken = |layer| Err(Unreadable { layer, message: "broken".to_owned() });
        let settings =
            Settings::merged(vec![broken(Layer::User), said(vec![given(Layer::Flag, &MODEL, "a")])]);
        assert_eq!((model(&settings).as_str(), settings.wrong(&KEEP).as_deref()), ("a", Some("broken")));
        let settings = Settings::merged(vec![broken(Layer::Project)]);
        assert_eq!((settings.wrong(&KEEP), settings.wrong(&AGENT).as_deref()), (None, Some("broken")));
    }
}
