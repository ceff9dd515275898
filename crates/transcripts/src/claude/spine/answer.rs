//! The answer of a tool that is alone in its line, stepped over with one search.
//!
//! ```text
//! ,"message":{"role":"user","content":[{"tool_use_id":"…","type":"tool_result","content":"…"}]},"uuid":"…
//!                                       `--- short texts, in any order ----'            `-- closers
//! ```
//!
//! Behind the beginning of a long text the next name with a text is looked for. In the text itself there is none,
//! because quotation marks in it are escaped. If that name is the `uuid` of the line, and what closes before it is
//! exactly what was opened, then nothing stands between.

use memchr::memmem::Finder;

use super::short_text;

const BEGINNING: &[u8] = br#","message":{"role":"user","content":[{"#;
/// The answer, the list and the message end, and the line goes on.
const END: &[u8] = br#"}]},"uuid"#;
const CALL_BEHIND: &[u8] = br#","tool_use_id"#;
/// How a long text begins and ends that is all of what was said.
pub(super) const CONTENTS: [(&[u8], &[u8]); 2] =
    [(br#"""#, br#"""#), (br#"[{"type":"text","text":""#, br#""}]"#)];

#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'l> {
    pub(super) call: &'l [u8],
    /// What stands behind `"uuid":"`.
    pub(super) uuid: &'l [u8],
}

/// `rest` stands behind the type of a line of the user. `None` where there is more in the line, or something else.
pub(super) fn answer<'l>(named_text: &Finder<'static>, rest: &'l [u8]) -> Option<Answer<'l>> {
    let (call, content) = head(rest.strip_prefix(BEGINNING)?)?;
    let (text, close) =
        CONTENTS.iter().find_map(|(open, close)| Some((content.strip_prefix(*open)?, *close)))?;
    let (before, behind) = at_named_text(named_text, text)?;
    if let Some(before) = before.strip_suffix(END) {
        return (call.is_some() && without_failure(before).ends_with(close))
            .then_some(Answer { call: call?, uuid: behind });
    }
    let before = before.strip_suffix(CALL_BEHIND).filter(|_| call.is_none())?;
    if !without_failure(before).ends_with(close) {
        return None;
    }
    let end = behind.get(..=super::LONGEST_CALL).unwrap_or(behind);
    let (call, behind) = behind.split_at_checked(memchr::memchr2(b'"', b'\\', end)?)?;
    let behind = behind.strip_prefix(b"\"")?;
    let (between, uuid) = at_named_text(named_text, behind)?;
    let is_end = without_failure(between.strip_suffix(END)?).is_empty();
    is_end.then_some(Answer { call, uuid })
}

/// The call that is answered, where it is named before the content, and the content.
fn head(mut rest: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (mut call, mut is_answer) = (None, false);
    loop {
        let (key, behind) = short_text(rest)?;
        let value = behind.strip_prefix(b":")?;
        if key == b"content" {
            return is_answer.then_some((call, value));
        }
        let (text, behind) = short_text(value)?;
        match key {
            b"type" if text == b"tool_result" => is_answer = true,
            b"tool_use_id" if text.len() <= super::LONGEST_CALL => call = Some(text),
            _ => return None,
        }
        rest = behind.strip_prefix(b",")?;
    }
}

/// What stands before the next name of a text, with the name, and the text.
pub(super) fn at_named_text<'l>(
    named_text: &Finder<'static>,
    rest: &'l [u8],
) -> Option<(&'l [u8], &'l [u8])> {
    let at = named_text.find(rest)?;
    Some((rest.get(..at)?, rest.get(at + named_text.needle().len()..)?))
}

fn without_failure(before: &[u8]) -> &[u8] {
    let said = [br#","is_error":false"#.as_slice(), br#","is_error":true"#];
    said.iter().find_map(|said| before.strip_suffix(*said)).unwrap_or(before)
}
