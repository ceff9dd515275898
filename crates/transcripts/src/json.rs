//! Small questions to JSON that somebody else wrote: nothing may be missing, nothing may be of another kind.

use jiff::{Timestamp, civil, tz::TimeZone};
use offshoot_session::{EntryId, FileLists};
use serde_json::Value;

pub(crate) type Map = serde_json::Map<String, Value>;

pub(crate) fn text<'j>(map: &'j Map, key: &str) -> Option<&'j str> {
    map.get(key).and_then(Value::as_str)
}

pub(crate) fn string(map: &Map, key: &str) -> String {
    text(map, key).unwrap_or_default().to_owned()
}

pub(crate) fn flag(map: &Map, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A field that is there and not `null`.
pub(crate) fn given<'j>(map: &'j Map, key: &str) -> Option<&'j Value> {
    map.get(key).filter(|value| !value.is_null())
}

/// Whole numbers, also where they were written with a fraction.
pub(crate) fn integer(map: &Map, key: &str) -> Option<i64> {
    let value = map.get(key)?;
    value.as_i64().or_else(|| value.as_f64().map(|number| number.round() as i64))
}

/// An id; numbers are taken for one too, the empty text is not.
pub(crate) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

pub(crate) fn entry_id(map: &Map, key: &str) -> Option<EntryId> {
    map.get(key).and_then(id_text).map(EntryId::from)
}

/// RFC 3339, the same without an offset (taken as UTC), or milliseconds since 1970.
pub(crate) fn timestamp(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => text.parse().ok().or_else(|| without_offset(text)),
        Value::Number(number) => {
            let millisecond = number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))?;
            Timestamp::from_millisecond(millisecond).ok()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn without_offset(text: &str) -> Option<Timestamp> {
    let moment: civil::DateTime = text.parse().ok()?;
    TimeZone::UTC.to_timestamp(moment).ok()
}

/// As JavaScript writes it, with more digits only where they are needed.
pub(crate) fn rfc3339(moment: Timestamp) -> String {
    if moment.subsec_nanosecond() % 1_000_000 == 0 {
        moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    } else {
        moment.to_string()
    }
}

pub(crate) fn strings(map: &Map, key: &str) -> Vec<String> {
    let items = map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

pub(crate) fn file_lists(details: &Value) -> FileLists {
    let Value::Object(details) = details else { return FileLists::default() };
    FileLists { read: strings(details, "readFiles"), modified: strings(details, "modifiedFiles") }
}
