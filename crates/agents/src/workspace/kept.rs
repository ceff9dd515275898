//! What is kept of an output that may have no end.

use std::collections::VecDeque;

/// Its beginning and its end.
#[derive(Debug)]
pub(super) struct Kept {
    begin: Vec<u8>,
    end: VecDeque<u8>,
    dropped: u64,
    /// Bytes of each of the two.
    limit: usize,
}

impl Kept {
    pub(super) fn new(limit: usize) -> Self {
        Self { begin: Vec::new(), end: VecDeque::new(), dropped: 0, limit }
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
