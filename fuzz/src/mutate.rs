//! Files that begin as somebody would write them and end in any state. The same seed gives the same files.

#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % sides.max(1) as u64) as usize
    }
}

/// Pieces that parsers stumble over.
const PIECES: &[&[u8]] = &[
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\\ud800",
    b"\\u0000",
    b"\xff",
    b"\0",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"\xef\xa3\xbf",
    b"\"",
    b"\\",
    b"{",
    b"}{",
    b"}",
    b"[[[[",
    b"true",
    b" ",
    b"\"type\":",
    b"\"id\":\"",
];

/// Some of the lines, in any order, and then some damage.
pub fn file(samples: &[&str], chance: &mut Chance) -> Vec<u8> {
    let lines: Vec<&str> = samples.iter().flat_map(|sample| sample.lines()).collect();
    let mut bytes = Vec::new();
    match chance.roll(4) {
        0 => bytes.extend_from_slice(pick(samples, chance).unwrap_or_default().as_bytes()),
        _ => {
            for _ in 0..chance.roll(24) {
                bytes.extend_from_slice(pick(&lines, chance).unwrap_or_default().as_bytes());
                bytes.push(b'\n');
            }
        }
    }
    for _ in 0..chance.roll(6) {
        damage(&mut bytes, chance);
    }
    bytes
}

fn pick<'s>(from: &[&'s str], chance: &mut Chance) -> Option<&'s str> {
    from.get(chance.roll(from.len())).copied()
}

fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.roll(bytes.len() + 1);
    let until = (at + chance.roll(40)).min(bytes.len());
    match chance.roll(6) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..until)),
        2 => {
            let again = bytes.get(at..until).unwrap_or_default().to_vec();
            bytes.splice(at..at, again);
        }
        3 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.roll(8);
            }
        }
        _ => {
            let piece = PIECES.get(chance.roll(PIECES.len())).copied().unwrap_or_default();
            bytes.splice(at..at, piece.iter().copied());
        }
    }
}
