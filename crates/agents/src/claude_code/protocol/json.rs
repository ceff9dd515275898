//! Questions to a line of the CLI. A field of another kind counts as missing.

use serde_json::Value;

pub(super) type Map = serde_json::Map<String, Value>;

pub(super) fn text<'j>(map: &'j Map, key: &str) -> Option<&'j str> {
    map.get(key).and_then(Value::as_str)
}

pub(super) fn flag(map: &Map, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub(super) fn number(map: &Map, key: &str) -> Option<i64> {
    map.get(key).and_then(Value::as_i64)
}

pub(super) fn object<'j>(map: &'j Map, key: &str) -> Option<&'j Map> {
    map.get(key).and_then(Value::as_object)
}

pub(super) fn list<'j>(map: &'j Map, key: &str) -> &'j [Value] {
    map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
