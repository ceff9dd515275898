//! What is said about settings.

use std::path::Path;

use crate::settings::file::NoToml;
use crate::settings::keys::{Key, Whose};
use crate::settings::layers::{Given, Origin, Place, Unknown};

pub(crate) const SHOW_HINT: &str =
    "`offshoot config show --origin` lists all settings and where they come from";
pub(crate) const NO_KEY_AND_VALUE: &str = "`KEY=VALUE` is needed";
pub(crate) const BUILT_IN_INSTEAD: &str = "`built_in` is the built-in agent";

/// `default`, `OFFSHOOT_AGENT`, `--set`, or a file with its line.
pub(crate) fn place(origin: &Origin) -> String {
    match &origin.place {
        Place::Nowhere => origin.layer.word().to_owned(),
        Place::File { path, line } => format!("{}:{line}", path.display()),
        Place::Name(name) => name.clone(),
    }
}

/// At the beginning of what is wrong.
fn at(origin: &Origin) -> String {
    match &origin.place {
        Place::Nowhere => origin.layer.word().to_owned(),
        Place::File { path, line } => format!("`{}`, line {line}", path.display()),
        Place::Name(name) => name.clone(),
    }
}

pub(crate) fn wrong(origin: &Origin, key: &str, what: &str) -> String {
    format!("{}: `{key}` {what}", at(origin))
}

pub(crate) fn no_toml(path: &Path, wrong: &NoToml) -> String {
    format!("`{}`, line {}: {}", path.display(), wrong.line, wrong.what)
}

pub(crate) fn unknown(unknown: &Unknown) -> String {
    let meant = match &unknown.meant {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => String::new(),
    };
    match &unknown.origin.place {
        Place::File { .. } => format!("{}: `{}` is not known{meant}", at(&unknown.origin), unknown.name),
        Place::Nowhere | Place::Name(_) => format!("`{}` is not known{meant}", unknown.name),
    }
}

pub(crate) fn ignored(given: &Given) -> String {
    let why = match given.key.whose {
        Whose::Project | Whose::Person => "a project may not set it",
        Whose::Engine => "one engine serves all commands, so only your own settings file sets it",
    };
    format!("{}: `{}` is ignored; {why}", at(&given.origin), given.key.name)
}

pub(crate) fn overridden(key: &str, origin: &Origin) -> String {
    format!("Here `{key}` still comes from {}.", place(origin))
}

pub(crate) fn no_such_key(name: &str) -> String {
    format!("there is no setting `{name}`")
}

pub(crate) fn no_such_key_hint(meant: Option<&str>) -> String {
    match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`offshoot config show` lists what there is".to_owned(),
    }
}

pub(crate) fn can_be(key: &Key) -> String {
    let default = key.default.map(|default| format!("; by default `{default}`")).unwrap_or_default();
    let variable = key.effective_variable().map(|name| format!(" Variable: {name}")).unwrap_or_default();
    format!("It is {}{default}.{variable}", key.kind.told())
}

pub(crate) fn bad_value(key: &str, what: &str) -> String {
    format!("`{key}` {what}")
}

pub(crate) fn not_for_projects(key: &str) -> String {
    format!("a project may not set `{key}`")
}

pub(crate) fn not_for_projects_hint(key: &str) -> String {
    format!(
        "a project comes from anybody; `offshoot config set {key} VALUE` sets it for you, in all projects"
    )
}

pub(crate) fn set(key: &str, value: &str, path: &Path) -> String {
    format!("{key} = {value}  in {}\n", path.display())
}

pub(crate) fn taken_out(key: &str, path: &Path) -> String {
    format!("{key} is taken out of {}\n", path.display())
}

pub(crate) fn was_not_set(key: &str, path: &Path) -> String {
    format!("{key} was not set in {}\n", path.display())
}
