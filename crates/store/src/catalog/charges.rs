//! What sessions have used: every charge of a session in one value, and their sum in its row.
//!
//! A charge is some forty bytes: flags and the number of its names, its model where that is another than before, when
//! it was, its tokens and money, its names. What a file adds when it grows stands behind what was there, so a reply that
//! is told again replaces the one of the same name before it.
//!
//! Prices are no part of it: they may be changed at any time.

use jiff::Timestamp;
use offshoot_session::cost::{Charge, ChargeName, Spent, once};
use offshoot_session::{Model, Usage};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Catalog, CatalogError};

/// The charges of one session.
#[derive(Clone, Debug)]
pub struct SessionCharges {
    /// The number of its row.
    pub session: i64,
    pub charges: Vec<Charge>,
}

impl Catalog {
    /// What each session has used. Charges do not say which reply they are of.
    pub fn charges(&self) -> Result<Vec<SessionCharges>, CatalogError> {
        let all = || -> Result<Vec<SessionCharges>, rusqlite::Error> {
            let mut statement = self.connection.prepare_cached("SELECT session, bytes FROM charges")?;
            let rows = statement.query_map([], |row| {
                let charges = once(&unpacked(row.get_ref(1)?.as_blob()?)).cloned().collect();
                Ok(SessionCharges { session: row.get(0)?, charges })
            })?;
            rows.collect()
        };
        all().map_err(|error| self.failed(error))
    }

    /// What some sessions have used together, each reply once: those of sub-agents may be in several files.
    pub fn spent_by(&self, sessions: &[i64]) -> Result<SpentText, CatalogError> {
        let all = || -> Result<Vec<Charge>, rusqlite::Error> {
            let mut statement =
                self.connection.prepare_cached("SELECT bytes FROM charges WHERE session = ?1")?;
            let mut charges = Vec::new();
            for session in sessions {
                let bytes: Option<Vec<u8>> = statement.query_row([session], |row| row.get(0)).optional()?;
                charges.extend(unpacked(&bytes.unwrap_or_default()));
            }
            Ok(charges)
        };
        let charges = all().map_err(|error| self.failed(error))?;
        Ok(SpentText::of(&Spent::of(once(&charges))))
    }
}

/// Whether what is new stands behind what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behind {
    /// What was known is right.
    All,
    Nothing,
}

/// Writes charges, and tells what the session has used in all as its row says it.
pub(super) fn put(
    batch: &Connection,
    key: i64,
    new: &[Charge],
    behind: Behind,
) -> Result<Option<SpentText>, rusqlite::Error> {
    let known: Option<Vec<u8>> = match behind {
        Behind::Nothing => None,
        Behind::All => batch
            .prepare_cached("SELECT bytes FROM charges WHERE session = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?,
    };
    let mut bytes = known.unwrap_or_default();
    pack(new, &mut bytes);
    if bytes.is_empty() {
        forget(batch, key)?;
        return Ok(None);
    }
    let sql = "INSERT OR REPLACE INTO charges(session, bytes) VALUES (?1, ?2)";
    batch.prepare_cached(sql)?.execute(params![key, bytes])?;
    let spent = match behind {
        Behind::Nothing => Spent::of(once(new)),
        Behind::All => Spent::of(once(&unpacked(&bytes))),
    };
    Ok((!spent.is_nothing()).then(|| SpentText::of(&spent)))
}

pub(super) fn forget(batch: &Connection, key: i64) -> Result<(), rusqlite::Error> {
    batch.prepare_cached("DELETE FROM charges WHERE session = ?1")?.execute([key]).map(drop)
}

const HAS_MODEL: u8 = 1;
const HAS_NO_MODEL: u8 = 2;
const IS_SUM: u8 = 4;

fn pack(charges: &[Charge], bytes: &mut Vec<u8>) {
    let mut before: Option<&Option<Model>> = None;
    for charge in charges {
        let usage = &charge.usage;
        if usage.context_tokens() == 0 && usage.cost_micros == 0 {
            continue;
        }
        let model = match (before == Some(&charge.model), &charge.model) {
            (true, _) => 0,
            (false, Some(_)) => HAS_MODEL,
            (false, None) => HAS_NO_MODEL,
        };
        bytes.push(model | if charge.is_sum { IS_SUM } else { 0 });
        if let (HAS_MODEL, Some(of)) = (model, &charge.model) {
            pack_text(&of.provider, bytes);
            pack_text(&of.name, bytes);
        }
        before = Some(&charge.model);
        let Usage { input, output, cache_read, cache_write, total, cost_micros } = *usage;
        for number in [charge.at.as_millisecond(), input, output, cache_read, cache_write, total, cost_micros]
        {
            pack_number(number, bytes);
        }
        let names = charge.names.get(..charge.names.len().min(255)).unwrap_or_default();
        bytes.push(names.len() as u8);
        names.iter().for_each(|name| bytes.extend(name.0.to_le_bytes()));
    }
}

/// As many as are whole: a catalog that is damaged elsewhere is noticed there.
fn unpacked(bytes: &[u8]) -> Vec<Charge> {
    let (mut rest, mut model, mut charges) = (bytes, None, Vec::new());
    while let Some(charge) = unpack(&mut rest, &mut model) {
        charges.push(charge);
    }
    charges
}

fn unpack(rest: &mut &[u8], model: &mut Option<Model>) -> Option<Charge> {
    let flags = unpack_byte(rest)?;
    if flags & HAS_MODEL != 0 {
        *model = Some(Model { provider: unpack_text(rest)?, name: unpack_text(rest)? });
    }
    if flags & HAS_NO_MODEL != 0 {
        *model = None;
    }
    let at = Timestamp::from_millisecond(unpack_number(rest)?).ok()?;
    let usage = Usage {
        input: unpack_number(rest)?,
        output: unpack_number(rest)?,
        cache_read: unpack_number(rest)?,
        cache_write: unpack_number(rest)?,
        total: unpack_number(rest)?,
        cost_micros: unpack_number(rest)?,
    };
    let count = unpack_byte(rest)?;
    let names: Option<Vec<ChargeName>> = (0..count)
        .map(|_| {
            let (name, more) = rest.split_first_chunk::<8>()?;
            *rest = more;
            Some(ChargeName(u64::from_le_bytes(*name)))
        })
        .collect();
    let is_sum = flags & IS_SUM != 0;
    Some(Charge { names: names?, entry: None, at, model: model.clone(), usage, is_sum, is_unpriced: false })
}

fn unpack_byte(rest: &mut &[u8]) -> Option<u8> {
    let (byte, more) = rest.split_first()?;
    *rest = more;
    Some(*byte)
}

fn pack_text(text: &str, bytes: &mut Vec<u8>) {
    pack_number(text.len() as i64, bytes);
    bytes.extend(text.as_bytes());
}

fn unpack_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(unpack_number(rest)?).ok()?;
    let (text, more) = rest.split_at_checked(length)?;
    *rest = more;
    String::from_utf8(text.to_vec()).ok()
}

/// Seven bits a byte, the lowest first; a sign is the lowest bit of all.
fn pack_number(number: i64, bytes: &mut Vec<u8>) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn unpack_number(rest: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = unpack_byte(rest)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    None
}

/// What a session has used in all, as its row has it: understood when it is shown, as most rows of a list are not.
///
/// A line of money that is told, then one for each model: its provider, its name and four counts of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpentText(String);

impl SpentText {
    pub(super) fn of(spent: &Spent) -> Self {
        let plain = |word: &str| word.replace(['\t', '\n'], " ");
        let mut text = format!("{}\t{}", spent.told, spent.sums);
        for (model, usage) in &spent.unpriced {
            let (provider, name) =
                model.as_ref().map_or_else(Default::default, |of| (plain(&of.provider), plain(&of.name)));
            let Usage { input, output, cache_read, cache_write, .. } = usage;
            text.push_str(&format!("\n{provider}\t{name}\t{input}\t{output}\t{cache_read}\t{cache_write}"));
        }
        Self(text)
    }

    pub(super) fn kept(text: String) -> Self {
        Self(text)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Nothing where it cannot be what was written.
    pub fn understood(&self) -> Spent {
        let mut lines = self.0.lines();
        let told = lines.next().and_then(|line| line.split_once('\t'));
        let number = |word: &str| word.parse().unwrap_or(0);
        let (told, sums) = told.map_or((0, 0), |(told, sums)| (number(told), number(sums)));
        Spent { told, sums, unpriced: lines.filter_map(unpriced).collect() }
    }
}

fn unpriced(line: &str) -> Option<(Option<Model>, Usage)> {
    let mut words = line.split('\t');
    let model = Model { provider: words.next()?.to_owned(), name: words.next()?.to_owned() };
    let mut number = || words.next()?.parse().ok();
    let usage = Usage {
        input: number()?,
        output: number()?,
        cache_read: number()?,
        cache_write: number()?,
        ..Usage::default()
    };
    Some((Some(model).filter(|model| !model.name.is_empty()), usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(name: u64, model: Option<&str>, input: i64, cost_micros: i64) -> Charge {
        Charge {
            names: vec![ChargeName(name), ChargeName(u64::MAX - name)],
            entry: None,
            at: Timestamp::from_millisecond(1_741_096_800_123).unwrap_or_default(),
            model: model.map(|name| Model { provider: "p".to_owned(), name: name.to_owned() }),
            usage: Usage { input, output: -7, cost_micros, ..Usage::default() },
            is_sum: false,
            is_unpriced: false,
        }
    }

    #[test]
    fn what_is_packed_is_the_same_again() {
        let charges = [
            charge(1, Some("m"), i64::MAX, 0),
            charge(2, Some("m"), 300, i64::MIN),
            charge(3, None, 1_000_000, 5),
            Charge { is_sum: true, ..charge(4, Some("n"), 0, 9) },
        ];
        let mut bytes = Vec::new();
        pack(&charges[..2], &mut bytes);
        pack(&charges[2..], &mut bytes);
        assert_eq!(unpacked(&bytes), charges);
        for end in 0..bytes.len() {
            assert!(unpacked(bytes.get(..end).unwrap_or_default()).len() < charges.len());
        }
    }

    #[test]
    fn the_last_that_is_told_of_a_reply_counts() {
        let charges = [charge(1, None, 10, 0), charge(2, None, 20, 0), charge(1, None, 30, 0)];
        let tokens: Vec<i64> = once(&charges).map(|charge| charge.usage.input).collect();
        assert_eq!(tokens, [20, 30]);
    }

    #[test]
    fn a_sum_is_the_same_again() {
        let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() };
        let model = Model { provider: "p".to_owned(), name: "m/1".to_owned() };
        let spent = Spent { told: -8, sums: 9, unpriced: vec![(Some(model), usage), (None, usage)] };
        assert_eq!(SpentText::of(&spent).understood(), spent);
        assert_eq!(SpentText::kept("nonsense".to_owned()).understood(), Spent::default());
    }
}
