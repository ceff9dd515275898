//! A session of a database, as lines: one for each row, with all its columns.
//!
//! A backup of the database would hold one state of all its sessions, and one that was deleted between two backups
//! would be in neither. Rows of one session can be kept when that session changes.

use offshoot_transcripts::Transcript;
use offshoot_transcripts::opencode::{Row, Rows, Table, read_rows};
use serde_json::Value;

const BEGINS: &[u8] = b"{\"table\":";

/// Rows without a source of their own have nothing to keep.
pub fn lines_of(rows: &Rows) -> Vec<u8> {
    let all = rows.session.iter().chain(&rows.messages).chain(&rows.parts);
    all.filter_map(|row| row.source.as_ref()).flat_map(|source| source.bytes().to_vec()).collect()
}

/// `None` where these are not lines of this kind.
pub(super) fn read(bytes: &[u8]) -> Option<Transcript> {
    bytes.starts_with(BEGINS).then_some(())?;
    let mut rows = Rows::default();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut line: Value = serde_json::from_slice(line).ok()?;
        let columns = line.get_mut("row")?.as_object_mut().map(std::mem::take)?;
        match line.get("table")?.as_str()? {
            "session" => rows.session = Some(Row::of_table(Table::Session, columns)),
            "message" => rows.messages.push(Row::of_table(Table::Message, columns)),
            "part" => rows.parts.push(Row::of_table(Table::Part, columns)),
            _ => {}
        }
    }
    Some(read_rows(rows))
}
