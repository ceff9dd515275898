//! What was said, as most programs write it: one string, or a list of blocks.

use offshoot_session::Block;
use serde_json::Value;

use crate::json::Map;

/// `block` reads one block of the program's own kind.
pub(crate) fn blocks(content: Option<&Value>, block: impl Fn(&Map) -> Block) -> Vec<Block> {
    match content {
        Some(Value::String(words)) => vec![Block::Text(words.clone())],
        Some(Value::Array(items)) => items.iter().map(|item| one(item, &block)).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    }
}

/// One item of such a list.
pub(crate) fn one(item: &Value, block: impl Fn(&Map) -> Block) -> Block {
    match item {
        Value::Object(item) => block(item),
        Value::String(words) => Block::Text(words.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Block::Other { kind: "unknown".to_owned() }
        }
    }
}
