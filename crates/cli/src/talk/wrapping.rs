//! Words as they come, broken between words where a line of the terminal is full.
//!
//! The last word may still go on, so it is kept back until something follows it. Code is left as it is: lines that are
//! indented, and what stands between fences, can be copied whole.

use crate::text::width;

const FENCE: &str = "```";

/// So much space at the beginning of a line makes it code.
const CODE_INDENT: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Wrapping {
    /// `None`: nothing is broken, and nothing kept back.
    columns: Option<usize>,
    /// So much of the line is full.
    column: usize,
    /// Between what was told and the word that is kept back.
    gap: String,
    word: String,
    /// Inside of fences.
    is_fenced: bool,
    /// Something was told on this line.
    has_begun: bool,
    is_code: bool,
}

impl Wrapping {
    pub(crate) fn to(columns: Option<usize>) -> Self {
        Self { columns, ..Self::default() }
    }

    pub(crate) fn is_wide(&mut self, columns: Option<usize>) {
        self.columns = columns;
    }

    /// What can be told of it now. Lines may begin behind a margin of so many columns.
    pub(crate) fn take(&mut self, text: &str, margin: usize) -> String {
        if self.columns.is_none() {
            return text.to_owned();
        }
        let mut out = String::new();
        for letter in text.chars() {
            match letter {
                '\n' => {
                    self.tell_word(&mut out, margin);
                    out.push_str(&std::mem::take(&mut self.gap));
                    out.push('\n');
                    self.begin_line();
                }
                ' ' | '\t' => {
                    self.tell_word(&mut out, margin);
                    self.gap.push(letter);
                }
                letter => self.word.push(letter),
            }
        }
        out
    }

    /// The word that was kept back.
    pub(crate) fn rest(&mut self, margin: usize) -> String {
        let mut out = String::new();
        self.tell_word(&mut out, margin);
        out
    }

    /// Whatever comes next begins a line.
    pub(crate) fn begin_line(&mut self) {
        self.gap.clear();
        (self.column, self.has_begun, self.is_code) = (0, false, false);
    }

    fn tell_word(&mut self, out: &mut String, margin: usize) {
        if self.word.is_empty() {
            return;
        }
        if !self.has_begun {
            let is_fence = self.word.starts_with(FENCE);
            self.is_code = self.is_fenced || is_fence || width(&self.gap) >= CODE_INDENT;
            self.is_fenced ^= is_fence;
            self.has_begun = true;
        }
        let more = width(&self.gap) + width(&self.word);
        let is_full = self.columns.is_some_and(|columns| margin + self.column + more > columns);
        if is_full && self.column > 0 && !self.is_code {
            out.push('\n');
            self.column = width(&self.word);
        } else {
            out.push_str(&self.gap);
            self.column += more;
        }
        self.gap.clear();
        out.push_str(&std::mem::take(&mut self.word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However it comes, it reads the same.
    fn check(text: &str, columns: usize, expected: &str) {
        for size in 1..=text.len() {
            let mut wrapping = Wrapping::to(Some(columns));
            let letters: Vec<char> = text.chars().collect();
            let mut told: String = letters
                .chunks(size)
                .map(|piece| wrapping.take(&piece.iter().collect::<String>(), 0))
                .collect();
            told.push_str(&wrapping.rest(0));
            assert_eq!(told, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("one two three four\nfive", 9, "one two\nthree\nfour\nfive");
        check("  1. one two", 9, "  1. one\ntwo");
        check("a-word-that-is-too-long for it", 9, "a-word-that-is-too-long\nfor it");
        check("日本 語の", 6, "日本\n語の");
    }

    #[test]
    fn code_is_left_as_it_is() {
        check("    let one = two + three;", 9, "    let one = two + three;");
        check("```\nlet one = two;\n```\none two three", 9, "```\nlet one = two;\n```\none two\nthree");
    }

    #[test]
    fn without_a_width_nothing_is_kept_back() {
        let mut wrapping = Wrapping::to(None);
        assert_eq!(wrapping.take("one two thr", 0), "one two thr");
        assert_eq!(wrapping.rest(0), "");
    }
}
