//! Lines that are too long to be held in memory.
//!
//! No program writes a line of [`LONGEST_LINE`] bytes: such a line is an accident or an attack. [`LongLines`] collects
//! the bytes of a file chunk by chunk and puts a short note in the place of each longer line, so a file costs no more
//! memory than its other lines. The note is not JSON, so a reader reports it like any unreadable line, with its place.

/// Longer lines are skipped by readers and refused by writers.
pub const LONGEST_LINE: usize = 64 << 20;

const NOTE: &str = "offshoot: skipped a line of ";
const UNIT: &str = " bytes, checksum ";

/// The bytes of a file without its longest lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortLines {
    pub bytes: Vec<u8>,
    /// In the order of the file.
    pub skipped: Vec<SkippedLine>,
    /// How many bytes of the file these stand for.
    pub length: u64,
}

/// A line that was replaced by a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    /// Where the note begins in [`ShortLines::bytes`].
    pub at: usize,
    /// The length of the note.
    pub note: usize,
    /// The length of the line in the file, without its newline.
    pub length: u64,
}

impl SkippedLine {
    /// How much longer the line is than its note.
    pub fn left_out(&self) -> u64 {
        self.length.saturating_sub(self.note as u64)
    }
}

/// Collects a file; see the module.
#[derive(Debug)]
pub struct LongLines {
    longest: usize,
    short: ShortLines,
    /// Where the current line begins in the collected bytes.
    line: usize,
    /// What is known of the current line, if it is too long.
    skipping: Option<Skipping>,
}

/// The checksum tells one skipped line from another of the same length.
#[derive(Debug, Default)]
struct Skipping {
    length: u64,
    checksum: crc32fast::Hasher,
}

impl Skipping {
    fn add(&mut self, part: &[u8]) {
        self.length += part.len() as u64;
        self.checksum.update(part);
    }
}

impl Default for LongLines {
    fn default() -> Self {
        Self::longer_than(LONGEST_LINE)
    }
}

impl LongLines {
    /// Skips lines that are longer than `longest`.
    pub fn longer_than(longest: usize) -> Self {
        Self { longest, short: ShortLines::default(), line: 0, skipping: None }
    }

    /// Begins with the first bytes of the file, without copying them. They may not be longer than a line may be, so
    /// that there is no line to skip among them.
    pub fn beginning_with(bytes: Vec<u8>) -> Self {
        let line = memchr::memrchr(b'\n', &bytes).map_or(0, |newline| newline + 1);
        let short = ShortLines { length: bytes.len() as u64, bytes, skipped: Vec::new() };
        Self { short, line, ..Self::default() }
    }

    /// Takes the next bytes of the file.
    pub fn push(&mut self, mut chunk: &[u8]) {
        self.short.length += chunk.len() as u64;
        if self.skipping.is_none() && self.short.bytes.len() - self.line + chunk.len() <= self.longest {
            self.line = memchr::memrchr(b'\n', chunk)
                .map_or(self.line, |newline| self.short.bytes.len() + newline + 1);
            return self.short.bytes.extend_from_slice(chunk);
        }
        while let Some(newline) = memchr::memchr(b'\n', chunk) {
            let (line, behind) = chunk.split_at(newline);
            self.extend(line);
            self.end_line();
            self.short.bytes.push(b'\n');
            self.line = self.short.bytes.len();
            chunk = behind.get(1..).unwrap_or_default();
        }
        self.extend(chunk);
    }

    pub fn finish(mut self) -> ShortLines {
        self.end_line();
        self.short
    }

    fn extend(&mut self, part: &[u8]) {
        if let Some(skipping) = &mut self.skipping {
            return skipping.add(part);
        }
        let begun = self.short.bytes.len() - self.line;
        if begun + part.len() > self.longest {
            let mut skipping = Skipping::default();
            skipping.add(self.short.bytes.get(self.line..).unwrap_or_default());
            skipping.add(part);
            self.short.bytes.truncate(self.line);
            self.skipping = Some(skipping);
            return;
        }
        self.short.bytes.extend_from_slice(part);
    }

    fn end_line(&mut self) {
        if let Some(Skipping { length, checksum }) = self.skipping.take() {
            let note = format!("{NOTE}{length}{UNIT}{:08x}", checksum.finalize());
            self.short.skipped.push(SkippedLine { at: self.line, note: note.len(), length });
            self.short.bytes.extend_from_slice(note.as_bytes());
        }
    }
}

/// The length of the line that this note stands for; `None` if it is not a note.
pub fn skipped_length(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    let (length, _) = text.strip_prefix(NOTE)?.split_once(UNIT)?;
    length.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(chunks: &[&str]) -> String {
        let mut lines = LongLines::longer_than(8);
        chunks.iter().for_each(|chunk| lines.push(chunk.as_bytes()));
        String::from_utf8(lines.finish().bytes).expect("text")
    }

    #[test]
    fn a_beginning_is_continued_like_any_chunk() {
        let long = "l".repeat(LONGEST_LINE);
        for (beginning, more) in [("a\nbc", "d\ne"), ("", "a\n"), ("a\n", ""), ("bc", long.as_str())] {
            let mut begun = LongLines::beginning_with(beginning.as_bytes().to_vec());
            let mut pushed = LongLines::default();
            pushed.push(beginning.as_bytes());
            begun.push(more.as_bytes());
            pushed.push(more.as_bytes());
            assert_eq!(begun.finish(), pushed.finish(), "{beginning:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_replaced_by_a_note() {
        let note = "offshoot: skipped a line of 9 bytes, checksum cbf43926";
        assert_eq!(short(&["12345678\n123456789\nabc\n"]), format!("12345678\n{note}\nabc\n"));
        assert_eq!(short(&["abc\n123456789"]), format!("abc\n{note}"));
        assert_eq!(short(&[""]), "");
    }

    #[test]
    fn chunks_do_not_change_what_is_skipped() {
        let file = "abc\n12345678901234567890\n12345678\n\n123456789\nx";
        let whole = short(&[file]);
        for cut in 1..file.len() {
            let (one, other) = file.split_at(cut);
            assert_eq!(short(&[one, other]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_skipped_line_is_held_in_no_chunk() {
        let mut lines = LongLines::longer_than(1_000);
        for _ in 0..1_000 {
            lines.push(&[b'x'; 500]);
            assert!(lines.short.bytes.len() <= 1_000);
        }
        lines.push(b"\n");
        let short = lines.finish();
        assert_eq!(short.skipped, [SkippedLine { at: 0, note: short.bytes.len() - 1, length: 500_000 }]);
        assert_eq!(skipped_length(short.bytes.trim_ascii_end()), Some(500_000));
    }
}
