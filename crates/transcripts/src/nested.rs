//! One step down into JSON that somebody else wrote; nothing there is the same as something of another kind.

use serde_json::Value;

use crate::json::Map;

pub(crate) fn object<'j>(map: &'j Map, key: &str) -> Option<&'j Map> {
    map.get(key).and_then(Value::as_object)
}

pub(crate) fn array<'j>(map: &'j Map, key: &str) -> &'j [Value] {
    map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The objects of an array; what else is in it is passed over.
pub(crate) fn objects<'j>(map: &'j Map, key: &str) -> impl Iterator<Item = &'j Map> {
    array(map, key).iter().filter_map(Value::as_object)
}

/// JSON inside a text, where it is JSON; the text itself where it is not.
pub(crate) fn unquoted(value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    parsed.unwrap_or_else(|| value.clone())
}
