//! What the person has set: `settings.toml` in the home. It is made when something is set, and lines that this version
//! does not know stay as they are.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::here::Here;
use crate::session_file::cannot_read;
use crate::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Sessions of other programs are kept when they are seen.
    pub(crate) keep: bool,
}

pub(crate) fn load(here: &Here) -> Result<Settings, Failure> {
    let file = file_of(here)?;
    let text = text_of(&file)?;
    read(&text).map_err(|why| Failure::failed(words::keep::bad_settings(&file, &why)))
}

pub(crate) fn set_keep(here: &Here, keep: bool) -> Result<(), Failure> {
    let file = file_of(here)?;
    let text = with_keep(&text_of(&file)?, keep);
    read(&text).map_err(|why| Failure::failed(words::keep::bad_settings(&file, &why)))?;
    write(&file, &text).map_err(|error| Failure::failed(words::reading::not_written(&file, &error)))
}

fn file_of(here: &Here) -> Result<PathBuf, Failure> {
    Ok(here.store()?.home().root().join("settings.toml"))
}

fn text_of(file: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(cannot_read(file, &error)),
    }
}

fn read(text: &str) -> Result<Settings, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    match table.get("keep") {
        None => Ok(Settings { keep: true }),
        Some(value) => {
            value.as_bool().map(|keep| Settings { keep }).ok_or("`keep` is `true` or `false`".to_owned())
        }
    }
}

/// The line is put before all others where there is none: behind a table it would belong to that.
fn with_keep(text: &str, keep: bool) -> String {
    let ours = format!("keep = {keep}\n");
    let is_keep = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "keep");
    let before_tables = text.lines().take_while(|line| !line.trim_start().starts_with('['));
    if !before_tables.into_iter().any(is_keep) {
        return ours + text;
    }
    let mut is_set = false;
    let line = |line: &str| {
        let is_ours = !is_set && is_keep(line);
        is_set |= is_ours;
        if is_ours { ours.clone() } else { line.to_owned() }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// A whole file or the one before.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().ok_or(ErrorKind::InvalidInput)?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let new = file.with_extension("toml.new");
    let mut options = std::fs::OpenOptions::new();
    let mut opened = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all())?;
    std::fs::rename(new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_is_changed_and_the_others_stay() {
        assert_eq!(read(""), Ok(Settings { keep: true }));
        let off = with_keep("", false);
        assert_eq!((off.as_str(), read(&off)), ("keep = false\n", Ok(Settings { keep: false })));
        let text = "# mine\nkeep = false # for now\nother = 1\n[table]\nkeep = 3\n";
        assert_eq!(with_keep(text, true), "# mine\nkeep = true\nother = 1\n[table]\nkeep = 3\n");
        assert_eq!(with_keep("[table]\nkeep = 3\n", true), "keep = true\n[table]\nkeep = 3\n");
        assert!(read("keep = 1").is_err() && read("[").is_err());
    }
}
