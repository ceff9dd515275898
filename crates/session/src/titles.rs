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
