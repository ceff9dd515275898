//! The last message of a transcript, read from its end: it costs the same for a transcript of any length.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use offshoot_session::EntryId;
use serde_json::Value;

use super::files;

const FIRST_READ: u64 = 64 * 1024;

/// Lines that are longer than this are left to the reader of the whole transcript.
const LONGEST_READ: u64 = 4 * 1024 * 1024;

/// `None`: there is no message, or it is not near the end.
pub(super) fn last_message(home: &Path, path: &Path) -> io::Result<Option<EntryId>> {
    let mut file = files::open(home, path, OpenOptions::new().read(true))?;
    let length = file.metadata()?.len();
    let mut read = FIRST_READ;
    loop {
        let from = length.saturating_sub(read);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&mut file).take(length - from).read_to_end(&mut bytes)?;
        // The first line may have begun before.
        let whole = match from {
            0 => bytes.as_slice(),
            _ => memchr::memchr(b'\n', &bytes).and_then(|at| bytes.get(at..)).unwrap_or_default(),
        };
        let last = whole.rsplit(|byte| *byte == b'\n').find_map(message);
        if last.is_some() || from == 0 || read >= LONGEST_READ {
            return Ok(last);
        }
        read *= 8;
    }
}

fn message(line: &[u8]) -> Option<EntryId> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let is = |field: &str| line.get(field).and_then(Value::as_bool).unwrap_or_default();
    let kind = line.get("type").and_then(Value::as_str)?;
    let is_message = matches!(kind, "user" | "assistant") && !is("isSidechain") && !is("isMeta");
    line.get("uuid").filter(|_| is_message)?.as_str().map(EntryId::from)
}
