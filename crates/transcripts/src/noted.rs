//! What reading forgave, while a file is read.

use std::collections::BTreeMap;

use offshoot_session::{Odd, Oddity};

use crate::lines::{Content, Line};

const NOT_UTF_8: &str = "some bytes are not UTF-8 and are shown as `�`";
const JOINED: &str = "the newline after it is missing; both lines were read";

#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) oddities: Vec<Oddity>,
    pub(crate) unknown_types: BTreeMap<String, u64>,
}

/// What a document that was read shows by its bytes.
pub(crate) fn oddity_of_document(bytes: &[u8]) -> Option<Oddity> {
    std::str::from_utf8(bytes).is_err().then(|| Oddity::new(Odd::Repaired(NOT_UTF_8.to_owned())))
}

/// What a line shows by its bytes, under the number that it has for its reader.
pub(crate) fn oddities_of_line(line: &Line, number: u64) -> impl Iterator<Item = Oddity> {
    let content = match &line.content {
        Content::Object(_) => line.is_lossy.then(|| Odd::Repaired(NOT_UTF_8.to_owned())),
        Content::Unreadable(reason) => Some(Odd::UnreadableLine(reason.clone())),
        Content::Torn => Some(Odd::TornTail { bytes: line.raw.bytes().len() as u64 }),
        Content::Blank => None,
    };
    let joined = line.is_joined.then(|| Odd::Repaired(JOINED.to_owned()));
    content.into_iter().chain(joined).map(move |odd| Oddity::at_line(number, odd))
}

impl Noted {
    /// What a line shows before anybody asks what it says.
    pub(crate) fn line(&mut self, line: &Line) {
        self.oddities.extend(oddities_of_line(line, line.number));
    }

    pub(crate) fn odd(&mut self, line: u64, what: Odd) {
        self.oddities.push(Oddity::at_line(line, what));
    }

    pub(crate) fn repaired(&mut self, line: u64, what: impl Into<String>) {
        self.odd(line, Odd::Repaired(what.into()));
    }

    /// Without a line: about the file, or about several.
    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.oddities.push(Oddity::new(Odd::Repaired(what.into())));
    }

    /// Every occurrence is counted, the first one is told.
    pub(crate) fn unknown_type(&mut self, line: Option<u64>, kind: &str) {
        let count = self.unknown_types.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count == 1 {
            self.oddities.push(Oddity { line, what: Odd::UnknownType(kind.to_owned()) });
        }
    }
}
