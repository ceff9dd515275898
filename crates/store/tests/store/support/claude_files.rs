//! Files as Claude Code writes them, by chance: branches, sub-agents, compactions, answers side by side, markers,
//! settings, lines that only tell of progress, and now and then something that should not be there.

use serde_json::{Value, json};

use super::Dice;

/// A file with about so many lines. `oddly` lets in what the program would not write.
pub(crate) fn claude_file(dice: &mut Dice, lines: usize, oddly: bool) -> Vec<u8> {
    let mut file = File { lines: Vec::new(), ids: Vec::new(), tip: None, count: 0, calls: 0, oddly };
    while file.lines.len() < lines {
        file.turn(dice);
    }
    file.lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

struct File {
    lines: Vec<Value>,
    /// Entries that a later line may hang below.
    ids: Vec<String>,
    tip: Option<String>,
    count: usize,
    calls: usize,
    oddly: bool,
}

impl File {
    fn turn(&mut self, dice: &mut Dice) {
        match dice.roll(12) {
            0 => self.tip = self.any_id(dice),
            1 => self.compact(),
            2 => {
                let mode = if dice.roll(2) == 0 { "plan" } else { "default" };
                self.lines.push(json!({"type": "permission-mode", "permissionMode": mode, "sessionId": "s"}));
            }
            3 => {
                let leaf = self.any_id(dice);
                self.lines.push(json!({"type": "last-prompt", "leafUuid": leaf, "sessionId": "s"}));
            }
            4 => self.shell(),
            5 => self.lines.push(
                json!({"type": "custom-title", "customTitle": format!("T{}", self.count), "sessionId": "s"}),
            ),
            _ => {}
        }
        let words = format!("question {} {}", self.count, "long ".repeat(dice.roll(60)));
        self.entry(json!({"type": "user", "message": {"role": "user", "content": words}}));
        for _ in 0..dice.roll(4) {
            self.step(dice);
        }
        if self.oddly && dice.roll(9) == 0 {
            self.odd(dice);
        }
    }

    /// A reply in several lines, its calls answered side by side.
    fn step(&mut self, dice: &mut Dice) {
        let message = format!("msg_{}", self.count);
        self.reply(
            &message,
            json!({"type": "text", "text": format!("answer {}", "word ".repeat(dice.roll(80)))}),
        );
        let mut calls = Vec::new();
        for _ in 0..dice.roll(3) {
            self.calls += 1;
            let call = format!("toolu_{}", self.calls);
            self.reply(&message, json!({"type": "tool_use", "id": call, "name": format!("Tool{}", self.calls % 3), "input": {"x": 1}}));
            calls.push((call, self.tip.clone()));
            if dice.roll(4) == 0 {
                self.entry(json!({"type": "progress", "data": {"n": 1}}));
            }
        }
        for (call, asked) in calls {
            if dice.roll(2) == 0 {
                self.tip = asked;
            }
            let content = json!([{"type": "tool_result", "tool_use_id": call, "content": "out ".repeat(dice.roll(200))}]);
            self.entry(json!({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": {"stdout": "x"}}));
        }
        if dice.roll(8) == 0 {
            self.entry(
                json!({"type": "attachment", "attachment": {"type": "task_reminder", "content": "remember"}}),
            );
        }
    }

    fn reply(&mut self, message: &str, block: Value) {
        let usage = json!({"input_tokens": self.count, "output_tokens": 2});
        self.entry(json!({"type": "assistant", "message": {"id": message, "role": "assistant", "model": "m",
            "content": [block], "usage": usage}}));
    }

    fn compact(&mut self) {
        let above = self.tip.take();
        self.entry(json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": above,
            "compactMetadata": {"trigger": "auto", "preTokens": self.count}}));
        self.entry(json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": "in short"}}));
    }

    fn shell(&mut self) {
        self.entry(
            json!({"type": "user", "message": {"role": "user", "content": "<bash-input>ls</bash-input>"}}),
        );
        self.entry(json!({"type": "user", "message": {"role": "user", "content": "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>"}}));
    }

    fn odd(&mut self, dice: &mut Dice) {
        match dice.roll(6) {
            0 => {
                let again = self.lines[dice.roll(self.lines.len())].clone();
                self.lines.push(again);
            }
            1 => self.tip = Some("nowhere".to_owned()),
            2 => self.lines.push(json!({"type": "user", "uuid": format!("n{}", self.count), "sessionId": "s", "message": {"content": "no parent, no time"}})),
            3 => {
                let agent = format!("a{}", self.count);
                let id = self.id();
                self.lines.push(json!({"parentUuid": null, "isSidechain": true, "agentId": agent, "type": "user", "sessionId": "s",
                    "message": {"role": "user", "content": "do it"}, "uuid": id, "timestamp": self.time()}));
            }
            4 => {
                let id = format!("toolu_{}", dice.roll(self.calls + 1));
                let content = json!([{"type": "tool_result", "tool_use_id": id, "content": "again"}, {"type": "tool_result", "tool_use_id": "toolu_x", "content": "two"}]);
                self.entry(json!({"type": "user", "message": {"role": "user", "content": content}}));
            }
            _ => self.lines.push(json!({"type": "novelty", "sessionId": "s"})),
        }
    }

    fn entry(&mut self, body: Value) {
        let id = self.id();
        let mut line = json!({"parentUuid": self.tip, "isSidechain": false, "sessionId": "s", "cwd": "/w"});
        if let (Value::Object(line), Value::Object(body)) = (&mut line, body) {
            line.extend(body);
        }
        let kept_beside = line.as_object_mut().and_then(|line| line.shift_remove("toolUseResult"));
        line["uuid"] = json!(id);
        line["timestamp"] = json!(self.time());
        if let Some(kept_beside) = kept_beside {
            line["toolUseResult"] = kept_beside;
        }
        self.lines.push(line);
        self.ids.push(id.clone());
        self.tip = Some(id);
    }

    fn id(&mut self) -> String {
        self.count += 1;
        // short ids come from the first digits
        let first = (self.count as u32).wrapping_mul(0x9e37_79b1) >> (self.count % 2 * 20);
        format!("{first:08x}-0000-4000-8000-{:012x}", self.count)
    }

    fn time(&self) -> String {
        format!(
            "2026-01-01T{:02}:{:02}:{:02}.000Z",
            self.count / 3600 % 24,
            self.count / 60 % 60,
            self.count % 60
        )
    }

    fn any_id(&self, dice: &mut Dice) -> Option<String> {
        (!self.ids.is_empty()).then(|| self.ids[dice.roll(self.ids.len())].clone())
    }
}
