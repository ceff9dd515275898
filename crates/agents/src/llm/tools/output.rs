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

/// The beginning and the end of something that may have no end.
#[derive(Debug)]
pub(super) struct Kept {
    begin: Vec<u8>,
    end: std::collections::VecDeque<u8>,
    dropped: u64,
    /// Bytes of each of the two.
    limit: usize,
}

impl Kept {
    pub(super) fn new(limit: usize) -> Self {
        Self { begin: Vec::new(), end: std::collections::VecDeque::new(), dropped: 0, limit }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (begin, rest) = bytes.split_at(bytes.len().min(self.limit - self.begin.len()));
        self.begin.extend_from_slice(begin);
        self.end.extend(rest);
        let dropped = self.end.len().saturating_sub(self.limit);
        self.end.drain(..dropped);
        self.dropped += dropped as u64;
    }

    pub(super) fn text(self) -> String {
        let end = Vec::from(self.end);
        match self.dropped {
            0 => String::from_utf8_lossy(&[self.begin, end].concat()).into_owned(),
            dropped => format!(
                "{}\n[{dropped} bytes were not kept]\n{}",
                String::from_utf8_lossy(&self.begin),
                String::from_utf8_lossy(&end)
            ),
        }
    }
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

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let kept = |parts: &[&str]| {
            let mut kept = Kept::new(4);
            parts.iter().for_each(|part| kept.push(part.as_bytes()));
            kept.text()
        };
        assert_eq!(kept(&["01", "23", "45", "67"]), "01234567");
        assert_eq!(kept(&["012345678"]), "0123\n[1 bytes were not kept]\n5678");
        assert_eq!(kept(&["0123", "456789", "ab"]), "0123\n[4 bytes were not kept]\n89ab");
        assert_eq!(kept(&[]), "");
    }
}
