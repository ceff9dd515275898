//! What models read of results.

use std::borrow::Cow;

/// The longest result that a model reads.
pub(super) const LONGEST_FOR_MODEL: usize = 256 * 1024;

pub(super) const CANCELLED: &str = "the call was interrupted";

pub(super) fn no_such_tool(name: &str) -> String {
    format!("there is no tool `{name}`")
}

/// The part of a result that a model reads: its beginning and its end, where it is too long. It depends on nothing but the
/// text, so that the same result is the same bytes in every request.
pub(crate) fn for_model(text: &str) -> Cow<'_, str> {
    shortened(text, LONGEST_FOR_MODEL)
}

fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    let begin = text.get(..text.floor_char_boundary(longest / 2)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - longest / 2)..).unwrap_or_default();
    let bytes = text.len() - begin.len() - end.len();
    Cow::Owned(format!(
        "{begin}\n[{bytes} bytes are left out here; ask for less at once to read them]\n{end}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_loses_its_middle() {
        assert_eq!(shortened("0123456789", 10), "0123456789");
        let expected = "0123\n[4 bytes are left out here; ask for less at once to read them]\n89ab";
        assert_eq!(shortened("0123456789ab", 8), expected);
        // Characters are not cut.
        let umlauts = shortened("ääääääää", 6);
        assert!(umlauts.starts_with("ä\n[") && umlauts.ends_with("\nä"), "{umlauts}");
    }
}
