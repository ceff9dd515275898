//! Lines that Claude Code never wrote.

use jiff::Timestamp;
use offshoot_session::{Block, ImageData, SessionId};
use serde_json::{Value, json};

use crate::json::{Map, rfc3339};

/// Makes lines with what all lines of a session share.
pub(super) struct Maker {
    pub(super) session: SessionId,
    pub(super) project: String,
    pub(super) version: String,
    pub(super) git_branch: Option<String>,
}

impl Maker {
    pub(super) fn line(
        &self,
        kind: &str,
        uuid: &str,
        parent: Option<&str>,
        at: Timestamp,
        message: Value,
        more: Map,
    ) -> String {
        let mut line = Map::new();
        line.insert("parentUuid".into(), parent.into());
        line.insert("isSidechain".into(), false.into());
        line.insert("type".into(), kind.into());
        if !message.is_null() {
            line.insert("message".into(), message);
        }
        line.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
        line.insert("uuid".into(), uuid.into());
        line.insert("timestamp".into(), rfc3339(at).into());
        line.insert("userType".into(), "external".into());
        // Sessions of programs (`sdk-…`) are not offered by its list of sessions to resume.
        line.insert("entrypoint".into(), "cli".into());
        line.insert("cwd".into(), self.project.as_str().into());
        line.insert("sessionId".into(), self.session.as_str().into());
        line.insert("version".into(), self.version.as_str().into());
        if let Some(branch) = &self.git_branch {
            line.insert("gitBranch".into(), branch.as_str().into());
        }
        Value::Object(line).to_string()
    }
}

/// Words alone are a string, as the program writes them.
pub(super) fn content_json(blocks: &[Block]) -> Value {
    match blocks {
        [] => "".into(),
        [Block::Text(words)] => words.as_str().into(),
        blocks => blocks.iter().filter_map(block_json).collect(),
    }
}

/// `None` for what no message may hold.
pub(super) fn block_json(block: &Block) -> Option<Value> {
    match block {
        Block::Text(words) if words.is_empty() => None,
        Block::Text(words) => Some(json!({ "type": "text", "text": words })),
        Block::Image { media_type, data: ImageData::Inline(data) } => Some(json!({
            "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data },
        })),
        Block::ToolUse(call) => Some(json!({
            "type": "tool_use", "id": call.id.as_str(), "name": call.name, "input": call.input,
        })),
        Block::Image { data: ImageData::Blob(_), .. } | Block::Thinking(_) | Block::Other { .. } => None,
    }
}
