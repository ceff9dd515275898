//! A journal begins with its header; files of other programs may have lines before it. The header goes to the front,
//! and its line stays where it was as a line that says nothing, so that the file can be written back as it was.

use offshoot_session::{Change, Fact, Record, SessionTree};
use offshoot_transcripts::{Dialect, read};

/// The records of a file as a journal holds them.
pub(crate) fn for_the_store(mut records: Vec<Record>) -> Vec<Record> {
    let header = records.iter().position(|record| matches!(record.change, Change::Opened(_)));
    if let Some(at) = header.filter(|at| *at > 0) {
        let header = records.remove(at);
        if let Some(line) = header.source.clone() {
            records.insert(at, Record::unknown(line));
        }
        records.insert(0, header);
    }
    records
}

/// Whether a stored session holds just what the file does.
pub(crate) fn says_the_same(stored: &SessionTree, file: &SessionTree) -> bool {
    let lines = |tree: &SessionTree| -> Vec<Record> {
        tree.log().filter(|record| record.source.is_some()).cloned().collect()
    };
    lines(stored) == for_the_store(lines(file))
}

/// The records of a journal as they were in the file.
pub(crate) fn as_read(mut records: Vec<Record>) -> Vec<Record> {
    records.retain(|record| !is_beginning(record));
    // A damaged journal may begin with anything; then nothing was moved.
    let is_header = |record: &&Record| matches!(record.change, Change::Opened(_));
    let Some(line) = records.first().filter(is_header).and_then(|header| header.source.clone()) else {
        return records;
    };
    let is_place =
        |record: &Record| record.change == Change::Unknown && record.source.as_ref() == Some(&line);
    if let Some(at) = records.iter().position(is_place) {
        // The header goes to its place, and what came before it moves up.
        if let Some(to_its_place) = records.get_mut(..=at) {
            to_its_place.rotate_left(1);
        }
        records.remove(at - 1);
    }
    records
}

/// That the session was imported is ours to know, and no line of the file.
fn is_beginning(record: &Record) -> bool {
    matches!(&record.change, Change::Marked(mark) if matches!(mark.fact, Fact::Began { .. }))
}

/// The file of pi that says just what these records say, where there was one and nothing has changed since: also one
/// of an old version, which would be written anew otherwise.
pub(crate) fn unchanged_pi_file(records: &[Record]) -> Option<Vec<u8>> {
    let lines = records.iter().filter_map(|record| record.source.as_ref());
    let bytes: Vec<u8> = lines.flat_map(|line| line.bytes()).copied().collect();
    let transcript = read(None, &bytes).ok()?;
    let is_of_pi = matches!(transcript.dialect, Dialect::Pi { .. } | Dialect::OhMyPi { .. });
    // A header that was made up has its id from the name of the file.
    let is_made_up = |record: &Record| matches!(record.change, Change::Opened(_)) && record.source.is_none();
    let says_the_same =
        |(one, other): (&Record, &Record)| one == other || (is_made_up(one) && is_made_up(other));
    let is_unchanged = transcript.records.len() == records.len()
        && records.iter().zip(&transcript.records).all(says_the_same);
    (is_of_pi && is_unchanged).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use offshoot_session::{RawLine, SessionHeader};

    use super::*;

    fn line(text: &str) -> RawLine {
        RawLine::new(format!("{text}\n").into_bytes())
    }

    fn header() -> Record {
        let header = SessionHeader::new("s".into(), jiff::Timestamp::UNIX_EPOCH);
        Record::opened(header).from_line(line("header"))
    }

    #[test]
    fn a_late_header_goes_to_the_front_and_back_again() {
        let file = vec![Record::unknown(line("title")), header(), Record::unknown(line("more"))];
        let stored = for_the_store(file.clone());
        assert!(matches!(stored.first().map(|record| &record.change), Some(Change::Opened(_))));
        assert_eq!(as_read(stored), file);
    }

    #[test]
    fn records_without_a_header_stay_as_they_are() {
        let file = vec![Record::unknown(line("a")), Record::unknown(line("a"))];
        assert_eq!(as_read(file.clone()), file);
        assert_eq!(as_read(Vec::new()), Vec::new());
    }

    #[test]
    fn a_header_that_is_first_stays_alone() {
        let file = vec![header(), Record::unknown(line("more"))];
        assert_eq!(for_the_store(file.clone()), file);
        assert_eq!(as_read(file.clone()), file);
    }
}
