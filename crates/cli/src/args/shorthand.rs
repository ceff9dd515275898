//! `offshoot --resume SESSION` and `offshoot --continue [SESSION]`: a chat without its command word, as other agents
//! have it.

use std::ffi::{OsStr, OsString};

use clap::CommandFactory;

use super::Args;

const CHAT: &str = "chat";
const OPTIONS: [&str; 3] = ["--resume", "--continue", "-c"];

/// The words of a command line, the program's name first, with the command that is meant.
pub(crate) fn expanded(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    // Building all commands once more to know their options takes a while, and most command lines do not need it.
    if !words.iter().any(|word| is_chat(word)) {
        return words;
    }
    if let Some(at) = first_own_word(&words).filter(|at| words.get(*at).is_some_and(|word| is_chat(word))) {
        words.insert(at, CHAT.into());
    }
    words
}

/// Index of the first word that is not an option of every command, or the value of one.
fn first_own_word(words: &[OsString]) -> Option<usize> {
    let program = Args::command();
    let named = |word: &str| {
        program.get_arguments().find(|option| {
            let long = option.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            long || option.get_short().is_some_and(|short| word == format!("-{short}"))
        })
    };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_string_lossy();
        let (name, has_value) = word.split_once('=').map_or((&*word, false), |(name, _)| (name, true));
        match named(name) {
            Some(option) if option.get_action().takes_values() && !has_value => at += 2,
            Some(_) => at += 1,
            None => return Some(at),
        }
    }
    None
}

fn is_chat(word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let name = word.split_once('=').map_or(&*word, |(name, _)| name);
    OPTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words = format!("offshoot {line}");
        let words = expanded(words.split_whitespace().map(OsString::from));
        let told: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
        assert_eq!(told.join(" "), expected);
    }

    /// the two options alone mean a chat.
    #[test]
    fn resume_and_continue_without_a_command_are_a_chat() {
        check("--resume fix", "chat --resume fix");
        check("--resume=fix --model p/m", "chat --resume=fix --model p/m");
        check("--continue", "chat --continue");
        check("-c", "chat -c");
        check("--home /h --set a=b -q --continue fix", "--home /h --set a=b -q chat --continue fix");
        check("--home=/h --resume fix", "--home=/h chat --resume fix");
        check("--home --resume fix", "--home --resume fix");
    }

    #[test]
    fn what_names_its_command_stays() {
        for line in
            ["chat --resume fix", "send --resume", "ls", "", "--no-color", "--help", "--list-sessions"]
        {
            check(line, line);
        }
    }
}
