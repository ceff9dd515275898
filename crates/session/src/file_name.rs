//! File names made of ids that other programs chose.
//!
//! An id is foreign text: it can contain `/`, `..` or a control character. Every path that contains an id is built from
//! [`file_name`], so that no id leads out of the directory that the file belongs in. An id that already is a safe name
//! stays as it is. Every other id gets a hash behind a `~`, which no safe id contains, so two ids never share a name.

use std::borrow::Cow;

/// File systems allow 255 bytes; endings such as `.torn-1` come on top.
const LONGEST: usize = 200;

/// How much of an unsafe id stays readable in its name.
const READABLE: usize = 80;

const HASH_DIGITS: usize = 16;

/// Whether an id is used as a file name unchanged: ASCII letters, digits, `-`, `_` and `.`, at most 200, no leading `.`.
pub fn is_file_name(id: &str) -> bool {
    !id.is_empty() && id.len() <= LONGEST && !id.starts_with('.') && id.chars().all(is_allowed)
}

/// A file name for an id: the id itself, or its allowed characters, `~` and a hash.
pub fn file_name(id: &str) -> Cow<'_, str> {
    if is_file_name(id) {
        return Cow::Borrowed(id);
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    let hash = hash.get(..HASH_DIGITS).unwrap_or_default();
    let readable: String = id.chars().take(READABLE).map(|c| if is_allowed(c) { c } else { '_' }).collect();
    let readable = readable.trim_matches(['.', '_']);
    Cow::Owned(if readable.is_empty() { format!("id~{hash}") } else { format!("{readable}~{hash}") })
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_id_is_its_own_file_name() {
        for id in ["6f2a", "0f5c-11d2", "a.b_c", "ses_1"] {
            assert_eq!(file_name(id), id);
        }
    }

    #[test]
    fn no_id_leads_out_of_a_directory() {
        let long = "x".repeat(5_000);
        let ids = [
            "",
            ".",
            "..",
            "../../etc/passwd",
            "/etc/passwd",
            "a/b",
            "a\0b",
            ".hidden",
            "\u{1b}c",
            "日本",
            &long,
        ];
        for id in ids {
            let name = file_name(id);
            assert!(is_file_name(&name.replacen('~', "-", 1)), "{id:?} became {name:?}");
        }
        assert!(file_name("../../planted").starts_with("planted~"), "the readable part stays");
    }

    #[test]
    fn two_ids_never_share_a_name() {
        assert_ne!(file_name("a/b"), file_name("a_b"));
        assert_ne!(file_name("a/b"), file_name("a:b"));
    }

    /// Found by fuzzing: an id could be the name that was made of another id.
    #[test]
    fn no_id_has_the_name_of_an_unsafe_one() {
        for id in ["", "a/b", "../../planted"] {
            let name = file_name(id);
            assert_ne!(file_name(&name), name, "{id:?}");
            assert_ne!(file_name(&name.replace('~', "-")), name, "{id:?}");
        }
    }
}
