//! The plainest value that fits a JSON schema, for programs that ask for a title or a decision.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; behind that stands `null`.
const DEPTH: usize = 16;

pub(super) fn value_of(schema: &Value) -> Value {
    value(schema, DEPTH)
}

fn value(schema: &Value, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else { return Value::Null };
    if let Some(fixed) = schema.get("const") {
        return fixed.clone();
    }
    let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|list| list.first());
    if let Some(choice) = first("enum") {
        return choice.clone();
    }
    if let Some(choice) = first("anyOf").or_else(|| first("oneOf")) {
        return value(choice, depth);
    }
    let kind = schema.get("type").and_then(Value::as_str).or_else(|| first("type").and_then(Value::as_str));
    match kind.map(str::to_ascii_lowercase).as_deref() {
        Some("string") => json!("Made up"),
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("array") => json!([]),
        Some("object") | None => {
            let fields = schema.get("properties").and_then(Value::as_object);
            let made = fields.into_iter().flatten().map(|(name, field)| (name.clone(), value(field, depth)));
            Value::Object(made.collect::<Map<_, _>>())
        }
        Some(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_gets_a_value_of_its_type() {
        let schema = json!({"type": "object", "properties": {
            "title": {"type": "string"}, "score": {"type": "INTEGER", "minimum": 1},
            "next": {"type": "string", "enum": ["user", "model"]}, "list": {"type": ["array", "null"]},
            "inner": {"anyOf": [{"type": "boolean"}]},
        }});
        let made = json!({"title": "Made up", "score": 1, "next": "user", "list": [], "inner": false});
        assert_eq!(value_of(&schema), made);
    }
}
