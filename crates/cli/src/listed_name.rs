//! Whether a typed text is the name that `ls` shows for a session.
//!
//! `ls` shows the title, else the first prompt, in one line and cut to the width of the terminal. All of that can be typed
//! or copied: the whole name, or its beginning up to the `…`. Case and white space do not matter.

use crate::text::harmless_line;
use crate::words::UNTITLED;
use crate::words::reading::{CHANGED_HERE, KEPT};

/// What the typed text is. The first of these wins: a title that was given, then a name that is only listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    Title,
    FirstPrompt,
    CutTitle,
    CutFirstPrompt,
}

impl NameMatch {
    /// Whether the session is called so whatever is printed where.
    pub(crate) fn is_title(self) -> bool {
        match self {
            Self::Title => true,
            Self::FirstPrompt | Self::CutTitle | Self::CutFirstPrompt => false,
        }
    }
}

/// A text that may name a session, prepared to be compared with many names.
#[derive(Clone, Debug)]
pub(crate) struct TypedName {
    whole: String,
    /// What is in front of the sign of a cut.
    beginning: Option<String>,
}

impl TypedName {
    pub(crate) fn new(typed: &str) -> Self {
        let whole = folded(typed, Signs::Unicode);
        let shown = typed.trim().strip_prefix(KEPT).unwrap_or(typed);
        let shown = folded(shown, Signs::Unicode);
        let beginning = shown.strip_suffix('…').or_else(|| shown.strip_suffix("...")).map(str::trim_end);
        let beginning = beginning.filter(|text| !text.is_empty()).map(str::to_owned);
        Self { whole, beginning }
    }

    /// Compares with a session of this title, or with this first prompt.
    pub(crate) fn matches(&self, title: Option<&str>, first_prompt: Option<&str>) -> Option<NameMatch> {
        let name = title.or(first_prompt).unwrap_or(UNTITLED);
        let (whole, cut) = match title {
            Some(_) => (NameMatch::Title, NameMatch::CutTitle),
            None => (NameMatch::FirstPrompt, NameMatch::CutFirstPrompt),
        };
        // Most names differ in their first letter.
        if !self.may_begin_like(name) {
            return None;
        }
        let shown = [Signs::Unicode, Signs::Ascii].map(|signs| folded(name, signs));
        let is_whole = |shown: &String| {
            let is_long = title.is_none() && name.chars().count() >= FIRST_PROMPT_LENGTH;
            self.whole == *shown
                || self.whole.strip_prefix(&folded(KEPT, Signs::Unicode)).map(str::trim_start) == Some(shown)
                || self.whole.strip_suffix(CHANGED_HERE) == Some(shown)
                // the catalog keeps only the beginning of a long prompt
                || (is_long && self.whole.starts_with(shown))
        };
        let begins = |shown: &String| {
            let beginning = self.beginning.as_deref();
            beginning.is_some_and(|text| format!("{shown}{CHANGED_HERE}").starts_with(text))
        };
        if shown.iter().any(is_whole) { Some(whole) } else { shown.iter().any(begins).then_some(cut) }
    }

    fn may_begin_like(&self, name: &str) -> bool {
        let first =
            |text: &str| text.trim_start().chars().next().map(|first| first.to_lowercase().to_string());
        let name = first(name);
        let kept = folded(KEPT, Signs::Unicode);
        let typed = self.whole.strip_prefix(&kept).unwrap_or(&self.whole);
        name == first(typed) || name == first(&self.whole) || name.is_some_and(|first| !is_plain(&first))
    }
}

/// Whether a name that begins so is shown as it is, and not as a symbol.
fn is_plain(first: &str) -> bool {
    harmless_line(first, false) == first
}

/// How much of a first prompt the catalog keeps.
const FIRST_PROMPT_LENGTH: usize = offshoot_transcripts::gist::FIRST_PROMPT;

#[derive(Clone, Copy, Debug)]
enum Signs {
    Unicode,
    Ascii,
}

/// As it is printed in one line, in lower case, with single spaces.
fn folded(text: &str, signs: Signs) -> String {
    let line = harmless_line(text, matches!(signs, Signs::Ascii)).to_lowercase();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn check(typed: &str, title: Option<&str>, first_prompt: Option<&str>) -> Option<NameMatch> {
        TypedName::new(typed).matches(title, first_prompt)
    }

    /// A13: the name in `ls` is a name.
    #[test]
    fn the_listed_name_can_be_typed_whole_and_cut_at_any_width() {
        let prompt = "Show me around, über Gärten\tand 日本語 \u{1b}[1m quickly";
        for ascii in [false, true] {
            let shown = harmless_line(prompt, ascii);
            let sign = if ascii { "..." } else { "…" };
            assert_eq!(check(&shown, None, Some(prompt)), Some(NameMatch::FirstPrompt), "{shown}");
            for width in 4..text::width(&shown) {
                let cut = text::cut(&shown, width, sign);
                assert_eq!(check(&cut, None, Some(prompt)), Some(NameMatch::CutFirstPrompt), "{cut}");
                assert_eq!(check(&cut, Some(prompt), None), Some(NameMatch::CutTitle), "{cut}");
            }
        }
        assert_eq!(check("show ME  around, ÜBER…", None, Some(prompt)), Some(NameMatch::CutFirstPrompt));
        assert_eq!(check("show me", None, Some(prompt)), None, "a beginning without the sign of a cut");
        assert_eq!(check("…", None, Some(prompt)), None);
        assert_eq!(check("", None, Some(prompt)), None);
    }

    #[test]
    fn what_ls_adds_to_a_name_may_be_typed_too() {
        assert_eq!(check("(kept) Bursts", Some("Bursts"), None), Some(NameMatch::Title));
        assert_eq!(check("(kept) Bur…", Some("Bursts"), None), Some(NameMatch::CutTitle));
        assert_eq!(check("Bursts (changed here)", Some("Bursts"), None), Some(NameMatch::Title));
        assert_eq!(check("Bursts (chan…", Some("Bursts"), None), Some(NameMatch::CutTitle));
        assert_eq!(check("untitled", None, None), Some(NameMatch::FirstPrompt));
        assert_eq!(check("Wait...", Some("Wait..."), None), Some(NameMatch::Title));
    }

    #[test]
    fn a_first_prompt_is_not_the_name_of_a_session_with_a_title() {
        assert_eq!(check("hello", Some("Bursts"), Some("hello")), None);
    }

    #[test]
    fn a_long_prompt_can_be_typed_whole() {
        let prompt = "word ".repeat(100);
        let kept: String = prompt.chars().take(FIRST_PROMPT_LENGTH).collect();
        assert_eq!(check(&prompt, None, Some(&kept)), Some(NameMatch::FirstPrompt));
        assert_eq!(check(&prompt, Some(&kept), None), None);
    }
}
