//! The command line without its texts: which command, with which options.

use std::ffi::OsString;

use clap::CommandFactory;

use crate::args::Args;

/// Stands for anything that a person may have written.
const TEXT: &str = "...";

/// Options without their values, and a sign for every other word.
pub(crate) fn command(words: impl IntoIterator<Item = OsString>) -> String {
    let program = Args::command();
    let mut is_named = false;
    let told = words.into_iter().map(|word| {
        let word = word.to_string_lossy().into_owned();
        let is_command = !is_named && program.find_subcommand(&word).is_some();
        is_named |= is_command;
        if is_command {
            return word;
        }
        let (option, _) = word.split_once('=').unwrap_or((&word, ""));
        let is_option = |option: &str| {
            option.len() > 1
                && option.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                && option.len() <= 24
        };
        if option.starts_with('-') && is_option(option) { option.to_owned() } else { TEXT.to_owned() }
    });
    told.collect::<Vec<_>>().join(" ")
}

/// Which command, and no more.
pub(crate) fn command_name(told: &str) -> &str {
    told.split(' ').find(|word| !word.starts_with('-') && *word != TEXT).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_left_out() {
        for (line, told) in [
            ("chat --continue", "chat --continue"),
            ("--home /secret send Title text --edit 3", "--home ... send ... ... --edit ..."),
            ("send --at=here my-words -q", "send --at ... -q"),
            ("send chat --Not-an-option", "send ... ..."),
            ("", ""),
        ] {
            let told_of = command(line.split_whitespace().map(Into::into));
            assert_eq!(told_of, told);
        }
        assert_eq!(command_name("--home ... send ..."), "send");
    }
}
