//! What is absent from our sources: the outside world in the pure crates, and the person's environment and
//! terminal everywhere but in `cli`.
//!
//! The sources are read as words and paths, with comments and literals taken out and `use` groups written out.
//! Limitation: a name smuggled in under another (`use std as s`) is not seen; review has to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::metadata::root;
use anyhow::Context as _;

/// Invariant 1: no IO, no waiting, no clock, no chance. A name that ends in `::` counts only where the path goes
/// on behind it: a value may well be called `uuid`.
const OUTSIDE_WORLD: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "Zoned::now",
    "RandomState",
    "async",
    "await",
    "tokio::",
    "rand::",
    "getrandom::",
    "uuid::",
];

/// Invariant 10: environment, home and current directory; and nobody but `cli` speaks to the terminal.
const THE_PERSON: &[&str] = &[
    "std::env",
    "home_dir",
    "etcetera::",
    "directories::",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "dbg!",
];

#[test]
fn the_model_and_the_formats_do_not_see_the_outside_world() {
    for pure in ["session", "transcripts"] {
        assert_eq!(
            offences_in(&root().join("crates").join(pure), OUTSIDE_WORLD).unwrap(),
            Vec::<String>::new()
        );
    }
}

#[test]
fn only_the_command_line_sees_the_person() {
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.ends_with("cli") {
            assert_eq!(offences_in(&folder, THE_PERSON).unwrap(), Vec::<String>::new());
        }
    }
}

#[test]
fn an_offence_is_found_however_it_is_written() {
    let check = |source: &str| offences(source, OUTSIDE_WORLD);
    assert_eq!(check("use std::fs;"), [(1, "std::fs")]);
    assert_eq!(check("fn f() {\n    ::std :: fs::read(path)\n}"), [(2, "std::fs")]);
    assert_eq!(check("use std::{\n    collections::{HashMap, HashSet},\n    fs,\n};"), [(3, "std::fs")]);
    assert_eq!(check("use std::time::{Duration, SystemTime as Now};"), [(1, "SystemTime")]);
    assert_eq!(check("let at = jiff::Timestamp::now();"), [(1, "Timestamp::now")]);
    assert_eq!(check("call().await"), [(1, "await")]);
    assert_eq!(offences("println!(\"{x}\");", THE_PERSON), [(1, "println!")]);
}

#[test]
fn words_in_comments_and_literals_are_no_offence() {
    let check = |source: &str| offences(source, OUTSIDE_WORLD);
    assert!(check("// std::fs\n/* std::net /* rand */ rand */ fn f() {}").is_empty());
    assert!(check("let a = \"std::fs \\\" rand\"; let b = r#\"std::fs \" rand\"#;").is_empty());
    assert!(
        check("let quote = '\"'; let life: &'static str = \"rand\"; let c = '\\''; let d = 'r';").is_empty()
    );
    assert!(check("use std::fmt; struct InstantReply; let uuid = line.uuid; fn brand() {}").is_empty());
    assert_eq!(check("let quote = '\"';\nrand::random()"), [(2, "rand::")]);
}

pub(crate) fn offences_in(package: &Path, banned: &[&'static str]) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for file in rust_files(&package.join("src"))?.iter().filter(|file| !is_test(file)) {
        let source = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let shown = file.strip_prefix(root()).unwrap_or(file).display().to_string();
        found.extend(
            offences(&source, banned).into_iter().map(|(line, word)| format!("{shown}:{line}: {word}")),
        );
    }
    Ok(found)
}

/// Tests that lie below the sources, in files of their own.
pub(crate) fn is_test(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "tests") || file.ends_with("tests.rs")
}

pub(crate) fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for item in fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
            let path = item?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    anyhow::ensure!(!files.is_empty(), "no sources in `{}`", folder.display());
    files.sort();
    Ok(files)
}

/// Lines, from 1, where one of the banned names is used.
fn offences(source: &str, banned: &[&'static str]) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (line, path) in paths(&tokens(source)) {
        found.extend(banned.iter().find(|name| uses(&path, name)).map(|name| (line, *name)));
    }
    found
}

pub(crate) fn uses(path: &[&str], name: &str) -> bool {
    let (name, more) = name.strip_suffix("::").map_or((name, 0), |name| (name, 1));
    let name: Vec<&str> = name.split("::").collect();
    path.windows(name.len() + more).any(|part| part.starts_with(&name))
}

#[derive(Debug, PartialEq)]
pub(crate) enum Token<'s> {
    /// With its `!` where a macro is called.
    Word(&'s str),
    Colons,
    Other(char),
}

/// Every path of the source with the groups of `use` written out: `a::{b, c::d}` is `a::b` and `a::c::d`.
pub(crate) fn paths<'s>(tokens: &[(usize, Token<'s>)]) -> Vec<(usize, Vec<&'s str>)> {
    let mut paths = Vec::new();
    let mut groups: Vec<Vec<&str>> = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut joined = Joined::No;
    for (line, token) in tokens {
        joined = match (token, joined) {
            (Token::Word(word), Joined::Behind) => {
                path.push(word);
                paths.push((*line, path.clone()));
                Joined::Here
            }
            (Token::Word(word), Joined::Here | Joined::No) => {
                path = groups.last().cloned().unwrap_or_default();
                path.push(word);
                paths.push((*line, path.clone()));
                Joined::Here
            }
            (Token::Colons, Joined::Here) => Joined::Behind,
            (Token::Other('{'), Joined::Behind) => {
                groups.push(path.clone());
                Joined::No
            }
            (Token::Other('{'), Joined::Here | Joined::No) => {
                groups.push(Vec::new());
                Joined::No
            }
            (Token::Other('}'), _) => {
                groups.pop();
                Joined::No
            }
            (Token::Colons | Token::Other(_), _) => Joined::No,
        };
    }
    longest(paths)
}

/// Whether the next word continues a path.
#[derive(Clone, Copy)]
enum Joined {
    No,
    /// The path may go on with `::`.
    Here,
    /// `::` has been read.
    Behind,
}

/// Of `a`, `a::b`, `a::b::c` on their way, only the last.
fn longest(paths: Vec<(usize, Vec<&str>)>) -> Vec<(usize, Vec<&str>)> {
    let mut kept: Vec<(usize, Vec<&str>)> = Vec::new();
    for (line, path) in paths {
        match kept.last_mut() {
            Some(last) if path.len() == last.1.len() + 1 && path.starts_with(&last.1) => *last = (line, path),
            _ => kept.push((line, path)),
        }
    }
    kept
}

/// The source as words and signs, without comments, strings and characters.
pub(crate) fn tokens(source: &str) -> Vec<(usize, Token<'_>)> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, token) = match literal_or_comment(rest) {
            Some(length) => (length, None),
            None if first.is_alphanumeric() || first == '_' => {
                let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest);
                let called = rest[word.len()..].starts_with('!') && !rest[word.len()..].starts_with("!=");
                let length = word.len() + usize::from(called);
                (length, Some(Token::Word(&rest[..length])))
            }
            None if rest.starts_with("::") => (2, Some(Token::Colons)),
            None if first.is_whitespace() => (first.len_utf8(), None),
            None => (first.len_utf8(), Some(Token::Other(first))),
        };
        tokens.extend(token.map(|token| (line, token)));
        let (taken, behind) = rest.split_at(length);
        line += taken.matches('\n').count();
        rest = behind;
    }
    tokens
}

/// How long the comment, string or character is that begins here.
fn literal_or_comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    let string = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - string.len();
    if let Some(raw) = string.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = prefix + 1 + hashes + 1;
            return Some(text[start..].find(&end).map_or(text.len(), |at| start + at + end.len()));
        }
    }
    if string.starts_with('"') {
        return Some(prefix + quoted(string, '"')?);
    }
    // A lifetime has no second quote behind its first letter.
    let is_character = string
        .strip_prefix('\'')
        .is_some_and(|inside| inside.starts_with('\\') || inside.chars().nth(1) == Some('\''));
    if is_character { Some(prefix + quoted(string, '\'')?) } else { None }
}

fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}
