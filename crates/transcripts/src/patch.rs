//! One field of a JSON object changed in its text, all other bytes as they were.
//!
//! Parsing and printing again would lose the spacing, the spelling of numbers and repeated keys of a line that is
//! not ours. The text given has been parsed before; where it is not an object after all, it stays as it is.

use std::ops::Range;

struct Field {
    /// From the opening quote of the key to the end of the value.
    whole: Range<usize>,
    value: Range<usize>,
}

/// Sets a field in place, or adds it at the end.
pub(crate) fn set(object: &str, key: &str, value: &str) -> String {
    match fields(object).into_iter().rev().find(|(name, _)| name == key) {
        Some((_, field)) => splice(object, field.value, value),
        None => add(object, key, value),
    }
}

/// Changes the value of a field by its text; a field that is not there stays away.
pub(crate) fn change(object: &str, key: &str, change: impl FnOnce(&str) -> String) -> String {
    match fields(object).into_iter().rev().find(|(name, _)| name == key) {
        Some((_, field)) => {
            let value = object.get(field.value.clone()).unwrap_or_default();
            splice(object, field.value, &change(value))
        }
        None => object.to_owned(),
    }
}

/// Takes a field away, every time it occurs.
pub(crate) fn remove(object: &str, key: &str) -> String {
    let mut text = object.to_owned();
    while let Some((_, field)) = fields(&text).into_iter().find(|(name, _)| name == key) {
        let mut cut = field.whole;
        let behind = text.get(cut.end..).unwrap_or_default();
        let before = text.get(..cut.start).unwrap_or_default();
        if let Some(comma) = before.trim_end().strip_suffix(',') {
            cut.start = comma.len();
        } else if behind.trim_start().starts_with(',') {
            let rest = behind.trim_start().trim_start_matches(',').trim_start();
            cut.end = text.len() - rest.len();
        }
        text = splice(&text, cut, "");
    }
    text
}

/// Changes the objects of an array by their text.
pub(crate) fn change_each(array: &str, change: impl Fn(&str) -> String) -> String {
    let mut text = array.to_owned();
    for element in elements(array).into_iter().rev() {
        let new = change(array.get(element.clone()).unwrap_or_default());
        text = splice(&text, element, &new);
    }
    text
}

/// Behind the last field; on a line of its own where the first one has one.
fn add(object: &str, key: &str, value: &str) -> String {
    let Some(body) = object.trim_end().strip_suffix('}') else { return object.to_owned() };
    let key = serde_json::Value::from(key);
    let inside = body.trim_start().strip_prefix('{').unwrap_or_default();
    let blanks = inside.get(..inside.len() - inside.trim_start().len()).unwrap_or_default();
    if blanks.contains('\n') && !inside.trim().is_empty() {
        let (fields, tail) = object.split_at(body.trim_end().len());
        return format!("{fields},{blanks}{key}: {value}{tail}");
    }
    let tail = object.get(body.len()..).unwrap_or_default();
    let comma = if inside.trim().is_empty() { "" } else { "," };
    format!("{body}{comma}{key}:{value}{tail}")
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let behind = text.get(range.end..).unwrap_or_default();
    format!("{before}{new}{behind}")
}

/// The fields of the outermost object.
fn fields(object: &str) -> Vec<(String, Field)> {
    let bytes = object.as_bytes();
    let mut fields = Vec::new();
    let mut at = skip_blanks(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return fields;
    }
    at += 1;
    loop {
        let start = skip_blanks(bytes, at);
        if bytes.get(start) != Some(&b'"') {
            return fields;
        }
        let key_end = string_end(bytes, start);
        let colon = skip_blanks(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            return fields;
        }
        let value_start = skip_blanks(bytes, colon + 1);
        let value_end = value_end(bytes, value_start);
        let key = object.get(start..key_end).and_then(|key| serde_json::from_str(key).ok());
        if let Some(key) = key {
            fields.push((key, Field { whole: start..value_end, value: value_start..value_end }));
        }
        at = skip_blanks(bytes, value_end);
        if bytes.get(at) != Some(&b',') {
            return fields;
        }
        at += 1;
    }
}

/// The elements of the outermost array.
fn elements(array: &str) -> Vec<Range<usize>> {
    let bytes = array.as_bytes();
    let mut elements = Vec::new();
    let mut at = skip_blanks(bytes, 0);
    let mut separator = b'[';
    while bytes.get(at) == Some(&separator) {
        let start = skip_blanks(bytes, at + 1);
        let end = value_end(bytes, start);
        if end > start {
            elements.push(start..end);
        }
        at = skip_blanks(bytes, end);
        separator = b',';
    }
    elements
}

fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let blanks = bytes.iter().skip(from).take_while(|byte| byte.is_ascii_whitespace()).count();
    from + blanks
}

/// Behind the closing quote of the string that begins here.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind the value that begins here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{change, change_each, remove, set};

    #[test]
    fn only_the_named_field_changes() {
        let line = r#"{ "a" : 1.50,"parentId": "x,}\"" , "m":{"parentId":7}}"#;
        assert_eq!(set(line, "parentId", "null"), r#"{ "a" : 1.50,"parentId": null , "m":{"parentId":7}}"#);
        assert_eq!(
            set(line, "new", "[1]"),
            r#"{ "a" : 1.50,"parentId": "x,}\"" , "m":{"parentId":7},"new":[1]}"#
        );
        assert_eq!(set("{}", "new", "1"), r#"{"new":1}"#);
        let nested = change(line, "m", |inner| set(inner, "parentId", "8"));
        assert_eq!(nested, r#"{ "a" : 1.50,"parentId": "x,}\"" , "m":{"parentId":8}}"#);
    }

    #[test]
    fn a_new_field_is_laid_out_like_the_others() {
        let pretty = "{\n  \"a\": 1,\n  \"b\": 2\n}";
        assert_eq!(set(pretty, "c", "3"), "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}");
        assert_eq!(set("{\"a\":1}", "c", "3"), "{\"a\":1,\"c\":3}");
    }

    #[test]
    fn elements_of_an_array_are_changed_in_place() {
        let each = |array: &str| change_each(array, |object| set(object, "a", "0"));
        assert_eq!(each(r#"[ {"a":1} , 7,{"b":"],"}]"#), r#"[ {"a":0} , 7,{"b":"],","a":0}]"#);
        assert_eq!(each("[]"), "[]");
        assert_eq!(each("{}"), "{}");
    }

    #[test]
    fn a_field_is_removed_with_its_comma() {
        assert_eq!(remove(r#"{"a":1,"b":{"c":[2]},"d":3}"#, "b"), r#"{"a":1,"d":3}"#);
        assert_eq!(remove(r#"{"a":1, "d":3}"#, "a"), r#"{"d":3}"#);
        assert_eq!(remove(r#"{"a":1}"#, "a"), "{}");
        assert_eq!(remove(r#"{"a":1,"a":2}"#, "a"), "{}");
        assert_eq!(remove(r#"{"a":1}"#, "b"), r#"{"a":1}"#);
    }

    #[test]
    fn the_last_of_repeated_keys_is_the_one_that_counts() {
        assert_eq!(set(r#"{"a":1,"\u0061":2}"#, "a", "3"), r#"{"a":1,"\u0061":3}"#);
    }
}
