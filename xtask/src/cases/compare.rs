//! The difference between what was expected and what came.

use serde_json::Value;

/// Every place where the answer differs. Keys that only the answer has do not count, and neither do keys of the
/// expectation as a whole that the runner knows nothing of ([`unsupported`]).
pub(crate) fn differences(expected: &Value, answer: &Value) -> Vec<String> {
    let mut expected = expected.clone();
    for key in unsupported(&expected, answer) {
        if let Some(fields) = expected.as_object_mut() {
            fields.shift_remove(&key);
        }
    }
    let mut found = Vec::new();
    compare("", &expected, answer, &mut found);
    found
}

/// Keys of the expectation for which the runner has no answer.
pub(crate) fn unsupported(expected: &Value, answer: &Value) -> Vec<String> {
    match (expected.as_object(), answer.as_object()) {
        (Some(fields), Some(answers)) if !fields.contains_key("error") && !answers.contains_key("error") => {
            fields.keys().filter(|key| !answers.contains_key(*key)).cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn compare(place: &str, expected: &Value, answer: &Value, found: &mut Vec<String>) {
    match (expected, answer) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "note") {
                let inner = format!("{place}.{key}");
                match answer.get(key) {
                    Some(answer) => compare(&inner, value, answer, found),
                    None if value.is_null() => {}
                    None => found.push(line(&inner, value, &Value::String("(absent)".into()))),
                }
            }
        }
        (Value::Array(expected_items), Value::Array(items)) if expected_items.len() == items.len() => {
            for (index, (expected, answer)) in expected_items.iter().zip(items).enumerate() {
                compare(&format!("{place}[{index}]"), expected, answer, found);
            }
        }
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => {}
        _ if expected == answer => {}
        _ => found.push(line(place, expected, answer)),
    }
}

fn line(place: &str, expected: &Value, answer: &Value) -> String {
    let place = if place.is_empty() { "." } else { place };
    format!("    {place}\n      - {expected}\n      + {answer}")
}
