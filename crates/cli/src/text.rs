//! Foreign text made fit to print: nothing in it can move the cursor, recolour the screen or reverse a line.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One line: line ends and tabs are shown as single spaces, everything else that is not text as a symbol.
pub(crate) fn harmless_line(text: &str, ascii: bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            _ => push_harmless(&mut line, c, ascii),
        }
    }
    line
}

/// Output on its way to a terminal: control characters and direction marks are shown as symbols, except line ends, tabs and
/// our own colours.
/// Commands escape foreign text themselves; this catches what one of them forgot.
pub(crate) fn harmless_output(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || direction_mark(c).is_some();
    // Nearly every line is plain, and that is found out many bytes at a time.
    let is_harmless = |line: &str| is_plain(line.as_bytes()) || !line.chars().any(is_harmful);
    if text.split_inclusive('\n').all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour_length(rest).unwrap_or(c.len_utf8());
        let (taken, after) = rest.split_at(length);
        match c {
            '\u{1b}' if length > 1 => output.push_str(taken),
            c if is_harmful(c) => push_harmless(&mut output, c, false),
            c => output.push(c),
        }
        rest = after;
    }
    Cow::Owned(output)
}

/// Whether there is nothing but printable ASCII, line ends and tabs. Looks at all bytes, so that no branch depends on one.
fn is_plain(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .fold(true, |plain, byte| plain & (matches!(byte, b' '..=b'~') | matches!(byte, b'\n' | b'\t')))
}

/// The length of a colour sequence at the start of the text.
fn colour_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters.get(end..)?.starts_with('m').then_some(end + 3)
}

/// One line of something that is about to be done: where a line ends a sign says so, because what follows is another
/// command and no argument.
pub(crate) fn harmless_command(text: &str, ascii: bool) -> String {
    let sign = if ascii { " \\n " } else { " ⏎ " };
    harmless_lines(text, ascii).join(sign)
}

/// A piece of something longer, as it arrives: line ends stay, tabs become four spaces.
pub(crate) fn harmless_piece(text: &str, ascii: bool) -> String {
    let mut piece = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => piece.push('\n'),
            '\r' => {}
            '\t' => piece.push_str("    "),
            _ => push_harmless(&mut piece, c, ascii),
        }
    }
    piece
}

/// Several lines; tabs become four spaces.
pub(crate) fn harmless_lines(text: &str, ascii: bool) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let one = |line: &str| {
        let mut harmless = String::with_capacity(line.len());
        for c in line.chars() {
            match c {
                '\t' => harmless.push_str("    "),
                _ => push_harmless(&mut harmless, c, ascii),
            }
        }
        harmless
    };
    text.trim_matches('\n').split('\n').map(|line| one(line.trim_end())).collect()
}

fn push_harmless(line: &mut String, c: char, ascii: bool) {
    let code = u32::from(c);
    if let Some(name) = direction_mark(c) {
        push_mark(line, name, ascii);
    } else if code < 0x20 || code == 0x7f {
        if ascii {
            line.push('^');
            line.push(char::from_u32(code ^ 0x40).unwrap_or('?'));
        } else {
            let picture = if code == 0x7f { 0x2421 } else { 0x2400 + code };
            line.push(char::from_u32(picture).unwrap_or('?'));
        }
    } else if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
        push_mark(line, &format!("U+{code:04X}"), ascii);
    } else {
        line.push(c);
    }
}

fn push_mark(line: &mut String, name: &str, ascii: bool) {
    let (open, close) = if ascii { ('<', '>') } else { ('‹', '›') };
    line.push(open);
    line.push_str(name);
    line.push(close);
}

/// Characters that turn the direction of what follows and cannot be seen.
fn direction_mark(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{061c}' => "ALM",
        '\u{200e}' => "LRM",
        '\u{200f}' => "RLM",
        '\u{202a}' => "LRE",
        '\u{202b}' => "RLE",
        '\u{202c}' => "PDF",
        '\u{202d}' => "LRO",
        '\u{202e}' => "RLO",
        '\u{2066}' => "LRI",
        '\u{2067}' => "RLI",
        '\u{2068}' => "FSI",
        '\u{2069}' => "PDI",
        _ => return None,
    })
}

pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text that fits, with the sign of the cut at its end.
pub(crate) fn cut(text: &str, columns: usize, sign: &str) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(width(sign));
    let mut kept = beginning(text, room).trim_end().to_owned();
    kept.push_str(if columns >= width(sign) { sign } else { "" });
    kept
}

/// Beginning and end of a text, as paths and commands are told apart by both.
pub(crate) fn cut_middle(text: &str, columns: usize, sign: &str) -> String {
    let room = columns.saturating_sub(width(sign));
    if width(text) <= columns {
        return text.to_owned();
    }
    if room < 8 {
        return cut(text, columns, sign);
    }
    let end_room = room / 2;
    let mut end_at = text.len();
    let mut taken = 0;
    for (at, c) in text.char_indices().rev() {
        taken += c.width().unwrap_or(0);
        if taken > end_room {
            break;
        }
        end_at = at;
    }
    let end = text.get(end_at..).unwrap_or_default();
    format!("{}{sign}{end}", beginning(text, room - end_room))
}

fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

pub(crate) fn padded_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

pub(crate) fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A line as lines of at most so many columns, broken between words. What follows a break keeps the indent of the
/// line. A word that is too long stays whole, so that it can still be copied; scripts that are written without
/// spaces are broken where the line ends.
pub(crate) fn wrapped(line: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns.filter(|columns| width(line) > *columns) else {
        return vec![line.to_owned()];
    };
    let indent: String = line.chars().take_while(|c| *c == ' ').take(columns / 2).collect();
    let mut lines = Vec::new();
    let mut current = indent.clone();
    let mut is_blank = true;
    let room = columns.saturating_sub(width(&indent)).max(2);
    let words = line.split(' ').filter(|word| !word.is_empty());
    // Pieces of one word stay together where they fit after all.
    let spaced = |word| pieces(word, room).into_iter().zip(std::iter::once(" ").chain(std::iter::repeat("")));
    for (piece, space) in words.flat_map(spaced) {
        if !is_blank && width(&current) + width(space) + width(piece) > columns {
            lines.push(std::mem::replace(&mut current, indent.clone()));
            is_blank = true;
        }
        if !is_blank {
            current.push_str(space);
        }
        current.push_str(piece);
        is_blank = false;
    }
    lines.push(current);
    lines
}

/// A word of wide letters that does not fit, in pieces that do.
fn pieces(word: &str, columns: usize) -> Vec<&str> {
    let is_wide = |c: char| c.width() == Some(2);
    let mut pieces = Vec::new();
    let mut rest = word;
    while width(rest) > columns && rest.contains(is_wide) {
        let piece = beginning(rest, columns);
        pieces.push(piece);
        rest = rest.get(piece.len()..).unwrap_or_default();
    }
    pieces.push(rest);
    pieces
}

/// A word as a shell takes it.
pub(crate) fn for_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,@%+=~".contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() && !word.starts_with('~') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_fits_and_never_splits_a_letter() {
        assert_eq!(cut("deadline", 8, "…"), "deadline");
        assert_eq!(cut("deadline", 7, "…"), "deadli…");
        assert_eq!(cut("dead line", 6, "…"), "dead…", "no space before the sign");
        assert_eq!(cut("日本語", 5, "…"), "日本…");
        assert_eq!(cut("日本語", 4, "…"), "日…");
        assert_eq!(cut("deadline", 2, "..."), "");
        assert_eq!(cut("deadline", 0, "…"), "");
    }

    #[test]
    fn a_shell_takes_a_word_as_it_is() {
        for plain in ["01a1e0~2", "/home/dev/a.jsonl", "thread:7", "日本"] {
            assert_eq!(for_shell(plain), plain);
        }
        assert_eq!(for_shell("/a b/$c.jsonl"), "'/a b/$c.jsonl'");
        assert_eq!(for_shell("it's"), r"'it'\''s'");
        assert_eq!(for_shell("~2"), "'~2'");
        assert_eq!(for_shell(""), "''");
    }

    #[test]
    fn a_path_is_cut_in_the_middle() {
        assert_eq!(cut_middle("src/very/long/path/bucket.rs", 17, "…"), "src/very…ucket.rs");
        assert_eq!(cut_middle("src/bucket.rs", 20, "…"), "src/bucket.rs");
        assert_eq!(cut_middle("src/very/long/path", 6, "…"), "src/v…");
    }

    #[test]
    fn lines_are_broken_between_words_and_keep_their_indent() {
        assert_eq!(wrapped("  one two three", Some(9)), ["  one two", "  three"]);
        assert_eq!(
            wrapped("https://a.very/long/address end", Some(10)),
            ["https://a.very/long/address", "end"]
        );
        assert_eq!(wrapped("日本語日本語", Some(4)), ["日本", "語日", "本語"]);
        assert_eq!(wrapped("one two", None), ["one two"]);
        // One sign of several letters, narrower than they are.
        let signs = "👩‍👩‍👧‍👦".repeat(30);
        let lines = wrapped(&signs, Some(40));
        assert_eq!((lines.concat(), lines.iter().all(|line| width(line) <= 40)), (signs, true));
    }

    #[test]
    fn a_terminal_gets_colours_and_nothing_else() {
        assert_eq!(harmless_output("a\tb\n"), "a\tb\n");
        assert_eq!(harmless_output("\u{1b}[1;31mred\u{1b}[0m"), "\u{1b}[1;31mred\u{1b}[0m");
        assert_eq!(harmless_output("\u{1b}]52;c;eA==\u{7}"), "␛]52;c;eA==␇", "the clipboard");
        assert_eq!(harmless_output("\u{1b}[2J\u{1b}[5\u{9b}\r"), "␛[2J␛[5‹U+009B›␍");
        assert_eq!(harmless_output("a\u{202e}b"), "a‹RLO›b", "a line that runs backwards");
    }

    #[test]
    fn what_is_not_text_is_shown_as_a_symbol() {
        assert_eq!(harmless_line("a\u{1b}[0m\u{7f}\n\u{202e}b\u{85}", false), "a␛[0m␡ ‹RLO›b‹U+0085›");
        assert_eq!(harmless_line("a\u{1b}[0m\u{7f}", true), "a^[[0m^?");
        assert_eq!(harmless_lines("\n\ta\r\nb  \n\n", false), ["    a", "b"]);
    }
}
