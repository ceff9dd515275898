//! What is set, by whom: default < user < project < environment < flag.
//!
//! | idea | module |
//! |---|---|
//! | everything that can be set | [`keys`] |
//! | what a setting can be | [`value`], [`hook`], [`provider`] |
//! | who says what, and what counts | [`layers`] |
//! | a file as text | `file` |
//! | files, variables and flags | [`reader`] |
//! | as the engine takes it | [`engine`] |
//!
//! Only [`reader`] reads files; the others decide. [`value`] looks whether a program is there.

pub(crate) mod engine;
pub(crate) mod file;
pub(crate) mod hook;
pub(crate) mod keys;
pub(crate) mod layers;
pub(crate) mod nearest;
pub(crate) mod provider;
pub(crate) mod reader;
pub(crate) mod value;

use std::path::Path;

use offshoot_engine::HookEvent;

use crate::failure::Failure;
use crate::here::Here;
use crate::words::config as words;
use hook::HookSetting;
use keys::{AUTO_SYNC, HOOKS, KEEP, KEYS, Key, SYNC_INTERVAL};
use layers::{Layer, Settings};
use nearest::nearest;
use reader::Flag;
use value::{Value, read_text};

/// What counts here and now.
pub(crate) fn load(here: &Here) -> Settings {
    here.settings.read(Some(&here.folder))
}

/// Whether sessions of other programs are kept when they are seen.
pub(crate) fn keeps(here: &Here) -> Result<bool, Failure> {
    Ok(load(here).get(&KEEP)?.unwrap_or(true))
}

/// Settings that are wrong stop nobody from finding something: then it is as if the last look were long ago.
pub(crate) fn sync_interval(here: &Here) -> std::time::Duration {
    load(here).get(&SYNC_INTERVAL).ok().flatten().unwrap_or_default()
}

/// Whether somebody wants to be told of this.
pub(crate) fn is_hooked(here: &Here, event: HookEvent) -> bool {
    hooks(here).iter().any(|hook| hook.hears_of(event))
}

fn hooks(here: &Here) -> Vec<HookSetting> {
    load(here).get(&HOOKS).ok().flatten().unwrap_or_default()
}

/// Settings that are wrong are told by whoever needs them; until then nothing is done behind anybody's back.
pub(crate) fn auto_sync(here: &Here) -> bool {
    load(here).get(&AUTO_SYNC).ok().flatten().unwrap_or(false)
}

pub(crate) fn known(name: &str) -> Result<&'static Key, Failure> {
    Key::named(name).ok_or_else(|| {
        let meant = nearest(name, KEYS.iter().map(|key| key.name));
        Failure::not_found(words::no_such_key(name)).hint(words::no_such_key_hint(meant))
    })
}

/// What somebody wrote in vain.
pub(crate) fn odd(settings: &Settings) -> Vec<String> {
    settings.ignored().map(words::ignored).chain(settings.unknown.iter().map(words::unknown)).collect()
}

/// `KEY=VALUE` of `--set`. The message says what is wrong with it.
pub(crate) fn flag(text: &str) -> Result<Flag, String> {
    let (name, value) = text.split_once('=').ok_or(words::NO_KEY_AND_VALUE)?;
    let key = Key::named(name.trim()).ok_or_else(|| {
        let meant = nearest(name.trim(), KEYS.iter().map(|key| key.name));
        format!("{}; {}", words::no_such_key(name.trim()), words::no_such_key_hint(meant))
    })?;
    read_text(key.kind, value).map_err(|wrong| format!("`{}` {}", key.name, wrong.what))?;
    Ok(Flag { typed: reader::SET.to_owned(), key, value: value.to_owned() })
}

/// Writes a setting into a file; everything else in it stays.
pub(crate) fn set(layer: Layer, path: &Path, key: &Key, value: &Value) -> Result<(), Failure> {
    let text = text_of(path)?;
    let text = file::with(&text, key, value).map_err(|wrong| Failure::usage(words::no_toml(path, &wrong)))?;
    write(layer, path, &text)
}

/// Takes a setting out of a file. `false`: it was not there.
pub(crate) fn unset(layer: Layer, path: &Path, key: &Key) -> Result<bool, Failure> {
    let text = text_of(path)?;
    let without = file::without(&text, key).map_err(|wrong| Failure::usage(words::no_toml(path, &wrong)))?;
    match without {
        Some(text) => write(layer, path, &text).map(|()| true),
        None => Ok(false),
    }
}

/// What is written in one layer may count for nothing; then this says so.
pub(crate) fn overridden(here: &Here, key: &Key, layer: Layer) -> Option<String> {
    let settings = load(here);
    let given = settings.what_counts(key).filter(|given| given.origin.layer > layer)?;
    Some(words::overridden(key.name, &given.origin))
}

/// The person's own file.
pub(crate) fn user_file(here: &Here) -> Result<&Path, Failure> {
    let no_home = || Failure::failed(crate::words::NO_HOME).hint(crate::words::NO_HOME_HINT);
    here.settings.user_file().ok_or_else(no_home)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    reader::text_of(path).map_err(|error| Failure::failed(crate::words::cannot_read(path, &error)))
}

fn write(layer: Layer, path: &Path, text: &str) -> Result<(), Failure> {
    reader::write(layer, path, text)
        .map_err(|error| Failure::failed(crate::words::reading::not_written(path, &error)))
}
