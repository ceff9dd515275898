//! Markdown of others made harmless: what agents and people wrote keeps its paragraphs, lists and code, and has no
//! HTML of its own.
//!
//! A renderer must see code exactly where this does, else HTML could hide in what only looks like code. So blocks
//! of code are fenced anew, and a backtick without a partner on its line is escaped.

use crate::text::harmless_lines;

pub(super) fn markdown(text: &str) -> String {
    let mut written = String::new();
    let mut lines = harmless_lines(text, false).into_iter().peekable();
    while let Some(line) = lines.next() {
        let Some(fence) = Fence::opened_by(&line) else {
            written.push_str(&one_line(&line));
            written.push('\n');
            continue;
        };
        let mut code = Vec::new();
        for line in lines.by_ref() {
            if fence.is_closed_by(&line) {
                break;
            }
            code.push(line.get(fence.indent.min(leading_spaces(&line))..).unwrap_or_default().to_owned());
        }
        if !written.is_empty() && !written.ends_with("\n\n") {
            written.push('\n');
        }
        written.push_str(&fenced(&fence.language, &code.join("\n"), ""));
        if lines.peek().is_some_and(|next| !next.is_empty()) {
            written.push('\n');
        }
    }
    written
}

/// A block of code that nothing in it can end.
pub(super) fn fenced(language: &str, code: &str, indent: &str) -> String {
    let marks = "`".repeat(longest_run(code).max(2) + 1);
    let mut block = format!("{indent}{marks}{language}\n");
    for line in code.split('\n') {
        block.push_str(format!("{indent}{line}").trim_end());
        block.push('\n');
    }
    block.push_str(&format!("{indent}{marks}\n"));
    block
}

/// One line in code, as it is.
pub(super) fn code(text: &str) -> String {
    let marks = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

/// One line of text: HTML is escaped outside of code.
pub(super) fn one_line(line: &str) -> String {
    let mut written = String::with_capacity(line.len());
    let mut rest = line;
    // In a table a bar ends its cell even inside of code, and with it the code.
    let may_be_table = line.contains('|');
    while let Some(c) = rest.chars().next() {
        match c {
            '`' => {
                let run = rest.len() - rest.trim_start_matches('`').len();
                let (marks, behind) = rest.split_at(run);
                match span_end(behind, run) {
                    Some(end) => {
                        let (span, after) = behind.split_at(end + run);
                        written.push_str(marks);
                        written.push_str(&if may_be_table {
                            span.replace('<', "&lt;")
                        } else {
                            span.to_owned()
                        });
                        rest = after;
                    }
                    None => {
                        written.push_str(&"\\`".repeat(run));
                        rest = behind;
                    }
                }
            }
            '\\' => {
                let length = 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
                let (escape, after) = rest.split_at(length);
                // An escape of `<` or of a backtick stays one; of anything else the rules do not change.
                written.push_str(escape);
                rest = after;
            }
            '<' => {
                written.push_str("&lt;");
                rest = rest.get(1..).unwrap_or_default();
            }
            '~' if rest.starts_with("~~~") => {
                // A fence that stands behind a list mark would open code that is not seen here.
                written.push_str("\\~");
                rest = rest.get(1..).unwrap_or_default();
            }
            c => {
                written.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    written
}

/// Where in `text` a run of exactly so many backticks begins.
fn span_end(text: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text.get(at..)?.find('`') {
        let begin = at + found;
        let length = text.get(begin..)?.len() - text.get(begin..)?.trim_start_matches('`').len();
        if length == run {
            return Some(begin);
        }
        at = begin + length;
    }
    None
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn leading_spaces(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    language: String,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let indent = leading_spaces(line);
        let text = line.trim_start_matches(' ');
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = text.len() - text.trim_start_matches(mark).len();
        let info = text.get(length..)?.trim();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | '.');
        Some(Self { mark, length, indent, language: info.chars().take_while(is_plain).collect() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.chars().all(|c| c == self.mark) && text.len() >= self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_text() {
        assert_eq!(markdown("a <script>alert(1)</script>"), "a &lt;script>alert(1)&lt;/script>\n");
        assert_eq!(markdown("see `Vec<T>` and <b>"), "see `Vec<T>` and &lt;b>\n");
        assert_eq!(markdown("``a ` <b>`` <i>"), "``a ` <b>`` &lt;i>\n");
        assert_eq!(markdown("| ` | <b> ` |"), "| ` | &lt;b> ` |\n");
    }

    #[test]
    fn a_lone_backtick_hides_nothing() {
        assert_eq!(markdown("a ` b\n` <b> `"), "a \\` b\n` <b> `\n");
        assert_eq!(markdown("a ` b <i>"), "a \\` b &lt;i>\n");
        assert_eq!(markdown(r"\` <b> `"), "\\` &lt;b> \\`\n");
        assert_eq!(markdown(r"\\` <b> `"), "\\\\` <b> `\n");
        assert_eq!(markdown(r"a \<b>"), "a \\<b>\n");
        assert_eq!(markdown(r"a \\<b>"), "a \\\\&lt;b>\n");
    }

    #[test]
    fn code_is_fenced_anew() {
        assert_eq!(markdown("so:\n  ```rust\n  Vec<T>\n```\n<b>"), "so:\n\n```rust\nVec<T>\n```\n\n&lt;b>\n");
        assert_eq!(markdown("~~~\n```\n<b>"), "````\n```\n<b>\n````\n");
        assert_eq!(markdown("- ```\n<b>"), "- \\`\\`\\`\n&lt;b>\n");
        assert_eq!(markdown("- ~~~\n<b>"), "- \\~~~\n&lt;b>\n");
    }

    #[test]
    fn code_in_a_line_keeps_its_backticks() {
        assert_eq!(code("cargo test"), "`cargo test`");
        assert_eq!(code("a `b`"), "`` a `b` ``");
    }
}
