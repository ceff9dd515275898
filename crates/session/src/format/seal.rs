//! The frame of a line: its kind first, a checksum last.
//!
//! ```text
//! {"k":"entry","more":1,…,"sum":"0a1b2c3d"}
//! ```
//! The checksum has a fixed length and a fixed place, so a reader finds the end of a line even where the newline
//! was lost, and no byte of the line is outside of it.

use thiserror::Error;

/// Length of `,"sum":"xxxxxxxx"}`.
pub const SEAL_LENGTH: usize = 18;

pub(super) const KIND: &[u8] = br#"{"k":""#;
pub(super) const SUM: &[u8] = br#","sum":""#;
const MORE: &[u8] = br#","more":1"#;

/// Why a complete line cannot be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Damage {
    #[error("no checksum")]
    NoChecksum,
    #[error("wrong checksum")]
    WrongChecksum,
    #[error("not readable: {0}")]
    NotJson(String),
    #[error("longer than a line can be")]
    TooLong,
}

/// What the frame of a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'l> {
    pub(super) kind: &'l str,
    /// Further lines of the same batch follow.
    pub(super) more: bool,
    /// What stands between the frame's head and the checksum.
    payload: &'l [u8],
}

/// Closes a JSON object with its checksum.
pub(super) fn sealed(mut object: Vec<u8>) -> Vec<u8> {
    close(&mut object, 0);
    object
}

/// The same for an object that begins here, behind others.
pub(super) fn close(bytes: &mut Vec<u8>, start: usize) {
    if bytes.last() == Some(&b'}') {
        bytes.pop();
    }
    let sum = checksum(bytes.get(start..).unwrap_or_default());
    bytes.extend_from_slice(&sum);
}

/// Checks the checksum of a line without its ending.
pub(super) fn check(line: &[u8]) -> Result<(), Damage> {
    let at = line.len().checked_sub(SEAL_LENGTH).ok_or(Damage::NoChecksum)?;
    let (covered, seal) = line.split_at(at);
    if !is_seal(seal) {
        return Err(Damage::NoChecksum);
    }
    if checksum(covered) == seal { Ok(()) } else { Err(Damage::WrongChecksum) }
}

/// Whether these bytes begin with something of the shape of a seal.
pub(super) fn is_seal(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.strip_prefix(SUM) else { return false };
    rest.get(..8).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        && rest.get(8..10) == Some(br#""}"#)
}

/// The frame of a line whose checksum has been checked; `None` where it does not begin with its kind.
pub(super) fn frame(line: &[u8]) -> Option<Frame<'_>> {
    let covered = line.get(..line.len().checked_sub(SEAL_LENGTH)?)?;
    let rest = covered.strip_prefix(KIND)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let kind = std::str::from_utf8(rest.get(..end)?).ok()?;
    let payload = rest.get(end + 1..)?;
    match payload.strip_prefix(MORE) {
        Some(payload) if matches!(payload.first(), None | Some(b',')) => {
            Some(Frame { kind, more: true, payload })
        }
        Some(_) | None => Some(Frame { kind, more: false, payload }),
    }
}

impl Frame<'_> {
    /// The same line as a member of another batch.
    pub(super) fn line(&self, more: bool) -> Vec<u8> {
        let mut line = Vec::with_capacity(self.payload.len() + 48);
        line.extend_from_slice(KIND);
        line.extend_from_slice(self.kind.as_bytes());
        line.push(b'"');
        if more {
            line.extend_from_slice(MORE);
        }
        line.extend_from_slice(self.payload);
        line.push(b'}');
        sealed(line)
    }
}

fn checksum(covered: &[u8]) -> [u8; SEAL_LENGTH] {
    let mut seal = *br#","sum":"00000000"}"#;
    let sum = crc32fast::hash(covered);
    for (place, digit) in (0..8).rev().zip(seal.iter_mut().skip(SUM.len())) {
        *digit = char::from_digit(sum >> (place * 4) & 0xf, 16).map_or(b'0', |digit| digit as u8);
    }
    seal
}
