//! Events that are longer than a line of the connection: of each long text only the beginning is sent, and the entry says
//! how much was left out. The journal has the whole.
//!
//! It works on the JSON of an event, so it holds for entries of every kind.

use serde_json::Value;

use crate::Event;
use crate::frame::{MAX_LINE, Reply, encode};
use crate::views::ElidedView;

/// So much of each text is sent; less where there are many.
const TEXT_BYTES: [usize; 3] = [256 * 1024, 16 * 1024, 1024];

/// The event with as much of its texts as fits into a line; `None` where it is long for another reason.
pub(crate) fn elided(event: &Event) -> Result<Option<Vec<u8>>, serde_json::Error> {
    for most in TEXT_BYTES {
        let mut value = serde_json::to_value(event)?;
        let mut left_out = ElidedView::default();
        cut(&mut value, most, &mut left_out);
        if let Some(Value::Object(entry)) = value.get_mut("entry") {
            entry.insert("elided".to_owned(), serde_json::to_value(left_out)?);
        }
        let event = Box::new(serde_json::from_value(value)?);
        let line = encode(&Reply::Event { event })?;
        if line.len() <= MAX_LINE {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Views are a few levels deep, and what tools were given was parsed with a limit.
fn cut(value: &mut Value, most: usize, left_out: &mut ElidedView) {
    match value {
        Value::String(text) if text.len() > most => {
            let rest = text.split_off(text.floor_char_boundary(most));
            left_out.bytes += rest.len() as u64;
            left_out.lines += rest.bytes().filter(|byte| *byte == b'\n').count() as u64;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, most, left_out)),
        Value::Object(fields) => {
            // A part of an image is none.
            if let Some(image) = fields.get("base64").and_then(Value::as_str).filter(|it| it.len() > most) {
                left_out.bytes += image.len() as u64;
                fields.remove("base64");
            }
            fields.values_mut().for_each(|field| cut(field, most, left_out));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::frame::decode_reply;

    fn sent(body: Value) -> Value {
        let mut event = json!({
            "seq": 1, "session": "s", "at": "2025-01-01T00:00:00Z", "type": "entry",
            "entry": { "id": "e", "parent": null, "at": "2025-01-01T00:00:00Z" },
        });
        if let (Some(entry), Value::Object(body)) = (event["entry"].as_object_mut(), body) {
            entry.extend(body);
        }
        let event: Event = serde_json::from_value(event).expect("an event");
        let line = elided(&event).expect("JSON").expect("it fits");
        let Reply::Event { event } = decode_reply(&line).expect("a reply") else { panic!("an event") };
        serde_json::to_value(event).expect("JSON")
    }

    fn reply(blocks: &[Value]) -> Value {
        json!({ "kind": "reply", "blocks": blocks, "model": null, "usage": null, "stop": "end_turn" })
    }

    #[test]
    fn a_text_keeps_its_beginning_and_the_entry_says_what_is_missing() {
        let text = format!("{}\n{}", "x".repeat(262_143), "é\n".repeat(8_000_000));
        let event =
            sent(reply(&[json!({ "kind": "text", "text": text }), json!({ "kind": "text", "text": "end" })]));
        let entry = &event["entry"];
        let told = entry["blocks"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with(told));
        assert_eq!(told.len(), 262_144);
        assert_eq!(entry["blocks"][1]["text"], "end");
        let missing = json!({ "bytes": text.len() - told.len(), "lines": 8_000_000 });
        assert_eq!(entry["elided"], missing);
    }

    #[test]
    fn of_many_texts_less_is_kept() {
        let blocks = vec![json!({ "kind": "text", "text": "x".repeat(300_000) }); 100];
        let entry = sent(reply(&blocks))["entry"].take();
        let told = entry["blocks"][99]["text"].as_str().map(str::len);
        assert_eq!(told, Some(16 * 1024));
    }

    #[test]
    fn a_part_of_an_image_is_not_sent() {
        let image = json!({ "kind": "image", "media_type": "image/png", "base64": "A".repeat(20_000_000) });
        let entry = sent(reply(&[image]))["entry"].take();
        assert_eq!(entry["blocks"][0], json!({ "kind": "image", "media_type": "image/png" }));
    }
}
