//! Titles of sessions.

/// A title for people from a name for programs: `fix_session_naming` becomes "Fix session naming".
/// `None` where nothing but separators is left.
pub fn humanize(name: &str) -> Option<String> {
    let mut title = String::with_capacity(name.len());
    let mut in_gap = false;
    for letter in name.chars() {
        if letter == '-' || letter == '_' {
            if !in_gap {
                title.push(' ');
            }
            in_gap = true;
        } else {
            title.push(letter);
            in_gap = false;
        }
    }
    let title = title.trim();
    let first = title.chars().next()?;
    Some(first.to_uppercase().chain(title.chars().skip(1)).collect())
}

/// A longer title is cut at a word.
const LONGEST: usize = 80;

/// The title in what a model replied: its first line, without the marks that models put around titles. `None` where nothing
/// is left.
pub fn title_in(reply: &str) -> Option<String> {
    let line = reply.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches('#').trim();
    let line = line.strip_prefix("Title:").unwrap_or(line);
    let line = unquoted(line.trim().trim_end_matches('.')).trim_end_matches('.');
    let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.is_empty() { None } else { Some(cut(&line)) }
}

fn unquoted(mut text: &str) -> &str {
    let is_mark = |c: char| matches!(c, '"' | '\'' | '`' | '*' | '“' | '”' | '„' | '«' | '»');
    while let Some(inner) = text.strip_prefix(is_mark).and_then(|text| text.strip_suffix(is_mark)) {
        text = inner.trim();
    }
    text
}

fn cut(title: &str) -> String {
    let Some((end, _)) = title.char_indices().nth(LONGEST) else { return title.to_owned() };
    let begin = title.get(..end).unwrap_or(title);
    let whole_words = begin.rsplit_once(' ').map_or(begin, |(words, _)| words);
    format!("{whole_words}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_found_in_what_models_reply() {
        for (reply, title) in [
            ("Fix the parser", Some("Fix the parser")),
            ("\n  \"Fix the  parser.\"\n\nIt says …", Some("Fix the parser")),
            ("# Title: **Größere Eimer**", Some("Größere Eimer")),
            ("„Der Eimer“.", Some("Der Eimer")),
            ("Rename `a` to 'b'", Some("Rename `a` to 'b'")),
            ("What's new in `a.rs`?", Some("What's new in `a.rs`?")),
            ("\"\"", None),
            (" \n", None),
        ] {
            assert_eq!(title_in(reply).as_deref(), title, "{reply:?}");
        }
        let long = title_in(&"word ".repeat(40)).unwrap();
        assert!(long.ends_with("word…") && long.chars().count() <= LONGEST + 1, "{long}");
    }
}
