//! Reads the beginning of a line whose fields stand in a known order. What is not there is simply not met: the
//! caller then reads the line as JSON.

use super::Moment;

#[derive(Clone, Copy, Debug)]
pub struct Cursor<'l> {
    rest: &'l [u8],
}

impl<'l> Cursor<'l> {
    #[inline]
    pub fn new(line: &'l [u8]) -> Self {
        Self { rest: line }
    }

    /// Steps over these bytes if they come next.
    #[inline]
    pub fn skip(&mut self, bytes: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes.as_bytes())?;
        Some(())
    }

    /// A string without escapes, quotes included.
    #[inline]
    pub fn string(&mut self) -> Option<&'l str> {
        let mut ahead = *self;
        let text = std::str::from_utf8(ahead.word()?).ok()?;
        *self = ahead;
        Some(text)
    }

    /// The same where it is only compared: whether it is UTF-8 is not asked.
    #[inline]
    pub fn word(&mut self) -> Option<&'l [u8]> {
        let rest = self.rest.strip_prefix(b"\"")?;
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        if rest.get(end) != Some(&b'"') {
            return None;
        }
        self.rest = rest.get(end + 1..)?;
        rest.get(..end)
    }

    /// A string, or `null`.
    #[inline]
    pub fn string_or_null(&mut self) -> Option<Option<&'l str>> {
        match self.skip("null") {
            Some(()) => Some(None),
            None => self.string().map(Some),
        }
    }

    #[inline]
    pub fn moment(&mut self) -> Option<Moment> {
        self.word().and_then(Moment::read_bytes)
    }
}
