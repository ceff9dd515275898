//! One answer as it grows, from the pieces of its stream.

use std::collections::{HashMap, HashSet};

use offshoot_session::agent::DeltaField;
use offshoot_session::{Block, Model, Reply, Signature, Stop, ToolCallId, ToolUse, Usage};
use serde_json::{Map, Value};

use super::conversation::REDACTED_THINKING;
use super::wire::{Piece, Refusal};

/// No model says more in one answer. A server that never stops is stopped here.
const LONGEST_ANSWER: usize = 4 * 1024 * 1024;

/// No answer has more parts, so an answer of many small ones ends too.
const MOST_BLOCKS: usize = 1000;

const MOST_CALLS: usize = 128;

/// No tool takes an input that is nested deeper.
const DEEPEST_INPUT: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Answer {
    blocks: Vec<Growing>,
    /// Where the block with a number of the stream is.
    places: HashMap<u32, usize>,
    calls: usize,
    usage: Usage,
    stop: Option<Stop>,
    has_ended: bool,
    bytes: usize,
}

#[derive(Debug)]
struct Growing {
    content: Content,
    is_finished: bool,
}

#[derive(Debug)]
enum Content {
    Text(String),
    Thinking { text: String, signature: String },
    RedactedThinking(String),
    Call { id: Option<String>, name: String, json: String },
}

/// What a person sees of a piece.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) part: u32,
    pub(crate) field: DeltaField,
    pub(crate) text: String,
}

/// Why an answer is given up before its end.
#[derive(Debug, PartialEq)]
pub(crate) enum Broken {
    Refused(Refusal),
    TooLong,
    /// With more of these than any answer has.
    TooMany(&'static str),
}

/// Which blocks of an answer that has not ended are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Those of which nothing more comes.
    Finished,
    /// Everything that was shown.
    Shown,
}

impl Answer {
    pub(crate) fn take(&mut self, piece: Piece) -> Result<Option<Shown>, Broken> {
        match piece {
            Piece::Text { block, text } => {
                self.count(&text)?;
                match self.block(block, || Content::Text(String::new()))? {
                    Content::Text(whole) => whole.push_str(&text),
                    Content::Thinking { .. } | Content::RedactedThinking(_) | Content::Call { .. } => {}
                }
                return Ok(Some(Shown { part: block, field: DeltaField::Text, text }));
            }
            Piece::Thinking { block, text } => {
                self.count(&text)?;
                if let Content::Thinking { text: whole, .. } = self.block(block, no_thinking)? {
                    whole.push_str(&text);
                }
                return Ok(Some(Shown { part: block, field: DeltaField::Thinking, text }));
            }
            Piece::Signature { block, data } => {
                self.count(&data)?;
                if let Content::Thinking { signature, .. } = self.block(block, no_thinking)? {
                    signature.push_str(&data);
                }
            }
            Piece::RedactedThinking { block, data } => {
                self.count(&data)?;
                self.block(block, || Content::RedactedThinking(data))?;
            }
            Piece::CallStarted { block, id, name } => {
                self.count(&name)?;
                self.calls += 1;
                if self.calls > MOST_CALLS {
                    return Err(Broken::TooMany("calls"));
                }
                self.block(block, || Content::Call { id, name, json: String::new() })?;
            }
            Piece::CallInput { block, json } => {
                self.count(&json)?;
                let open = self.places.get(&block).and_then(|at| self.blocks.get_mut(*at));
                if let Some(Growing { content: Content::Call { json: whole, .. }, .. }) = open {
                    whole.push_str(&json);
                }
            }
            Piece::BlockEnded { block } => {
                let ended = self.places.get(&block).and_then(|at| self.blocks.get_mut(*at));
                ended.into_iter().for_each(|open| open.is_finished = true);
            }
            Piece::Usage(usage) => self.usage = later(self.usage, usage),
            Piece::Stop(stop) => {
                self.stop = Some(stop);
                self.blocks.iter_mut().for_each(|open| open.is_finished = true);
            }
            Piece::Error(refusal) => return Err(Broken::Refused(refusal)),
            Piece::End => self.has_ended = true,
        }
        Ok(None)
    }

    /// Nothing more has to come. The end itself may be missing where the stop was said.
    pub(crate) fn is_complete(&self) -> bool {
        self.stop.is_some() || self.has_ended
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    /// Whether a person has seen something of it.
    pub(crate) fn is_shown(&self) -> bool {
        self.blocks.iter().any(|open| open.content.is_shown())
    }

    /// The complete answer. `call_id` names a call that the server has not named, by its number in the answer.
    pub(crate) fn reply(self, model: &Model, call_id: impl Fn(usize) -> ToolCallId) -> Reply {
        let (usage, stop) = (self.usage, self.stop.clone());
        self.reply_of(model, |_| true, usage, stop, call_id)
    }

    /// What is kept of an answer that has not ended: words and thoughts. Its calls were not made.
    pub(crate) fn partial(mut self, kept: Kept, model: &Model, stop: Option<Stop>) -> Reply {
        let usage = self.usage;
        for open in self.blocks.iter_mut().filter(|open| !open.is_finished) {
            // A part of a signature signs nothing, and servers refuse it.
            if let Content::Thinking { signature, .. } = &mut open.content {
                signature.clear();
            }
        }
        let is_kept = |open: &Growing| open.content.is_shown() && (kept == Kept::Shown || open.is_finished);
        self.reply_of(model, is_kept, usage, stop, |_| ToolCallId::from(String::new()))
    }

    fn reply_of(
        self,
        model: &Model,
        is_kept: impl Fn(&Growing) -> bool,
        usage: Usage,
        stop: Option<Stop>,
        call_id: impl Fn(usize) -> ToolCallId,
    ) -> Reply {
        let (mut blocks, mut signatures, mut calls) = (Vec::new(), Vec::new(), 0);
        let mut called = HashSet::new();
        for open in self.blocks.into_iter().filter(is_kept) {
            let at = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
            let mut sign = |data: String| signatures.push(Signature { block: at, data });
            match open.content {
                Content::Text(text) => blocks.push(Block::Text(text)),
                Content::Thinking { text, signature } => {
                    if !signature.is_empty() {
                        sign(signature);
                    }
                    blocks.push(Block::Thinking(text));
                }
                Content::RedactedThinking(data) => {
                    sign(data);
                    blocks.push(Block::Other { kind: REDACTED_THINKING.to_owned() });
                }
                Content::Call { id, name, json } => {
                    // Servers that count their calls may use an id twice.
                    let id = id.map(ToolCallId::from).filter(|id| !called.contains(id));
                    let id = id.unwrap_or_else(|| call_id(calls));
                    called.insert(id.clone());
                    calls += 1;
                    blocks.push(Block::ToolUse(ToolUse { id, name, input: input_of(&json) }));
                }
            }
        }
        // Zero is what a server says that does not count.
        let usage = Some(usage).filter(|usage| *usage != Usage::default());
        Reply { blocks, model: Some(model.clone()), usage, stop, said_at: None, signatures }
    }

    fn count(&mut self, text: &str) -> Result<(), Broken> {
        self.bytes += text.len();
        if self.bytes > LONGEST_ANSWER { Err(Broken::TooLong) } else { Ok(()) }
    }

    /// The block of this number; a new one finishes those before it.
    fn block(&mut self, number: u32, new: impl FnOnce() -> Content) -> Result<&mut Content, Broken> {
        let at = match self.places.get(&number) {
            Some(at) => *at,
            None if self.blocks.len() >= MOST_BLOCKS => return Err(Broken::TooMany("parts")),
            None => {
                // Those before the last one were finished by the one behind them.
                self.blocks.iter_mut().next_back().into_iter().for_each(|last| last.is_finished = true);
                self.blocks.push(Growing { content: new(), is_finished: false });
                self.places.insert(number, self.blocks.len() - 1);
                self.blocks.len() - 1
            }
        };
        #[expect(clippy::indexing_slicing, reason = "the index was just found or made")]
        Ok(&mut self.blocks[at].content)
    }
}

impl Content {
    fn is_shown(&self) -> bool {
        match self {
            Self::Text(text) | Self::Thinking { text, .. } => !text.is_empty(),
            Self::RedactedThinking(_) | Self::Call { .. } => false,
        }
    }
}

fn no_thinking() -> Content {
    Content::Thinking { text: String::new(), signature: String::new() }
}

/// Servers count on, and leave out what has not changed.
fn later(before: Usage, now: Usage) -> Usage {
    let either = |before: i64, now: i64| if now == 0 { before } else { now };
    Usage {
        input: either(before.input, now.input),
        output: either(before.output, now.output),
        cache_read: either(before.cache_read, now.cache_read),
        cache_write: either(before.cache_write, now.cache_write),
        ..before
    }
}

/// What is no JSON stays as text, and so does what is nested too deep to be written: the call fails with it, and the model
/// reads why.
fn input_of(json: &str) -> Value {
    if json.trim().is_empty() {
        return Value::Object(Map::new());
    }
    let input = serde_json::from_str(json).ok().filter(|input| is_shallow(input, DEEPEST_INPUT));
    input.unwrap_or_else(|| Value::String(json.to_owned()))
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match value {
        Value::Array(values) => values.iter().all(|value| is_shallow(value, below)),
        Value::Object(object) => object.values().all(|value| is_shallow(value, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Model {
        Model { provider: "anthropic".into(), name: "m".into() }
    }

    fn answer(pieces: Vec<Piece>) -> Answer {
        let mut answer = Answer::default();
        for piece in pieces {
            answer.take(piece).unwrap();
        }
        answer
    }

    fn text(block: u32, text: &str) -> Piece {
        Piece::Text { block, text: text.into() }
    }

    #[test]
    fn pieces_become_blocks_with_their_signatures() {
        let answer = answer(vec![
            Piece::Usage(Usage { input: 7, output: 1, ..Usage::default() }),
            Piece::Thinking { block: 0, text: "hm".into() },
            Piece::Signature { block: 0, data: "sig".into() },
            Piece::RedactedThinking { block: 1, data: "secret".into() },
            text(2, "a"),
            text(2, "b"),
            Piece::CallStarted { block: 3, id: None, name: "read".into() },
            Piece::CallInput { block: 3, json: "{\"path\":".into() },
            Piece::CallInput { block: 3, json: "\"x\"}".into() },
            Piece::CallStarted { block: 4, id: Some("c".into()), name: "list".into() },
            Piece::CallInput { block: 4, json: "{".into() },
            Piece::Usage(Usage { output: 9, ..Usage::default() }),
            Piece::Stop(Stop::ToolUse),
        ]);
        assert!(answer.is_complete());
        let reply = answer.reply(&model(), |at| format!("own{at}").into());
        let call = |id: &str, name: &str, input: Value| {
            Block::ToolUse(ToolUse { id: id.into(), name: name.into(), input })
        };
        assert_eq!(
            reply.blocks,
            [
                Block::Thinking("hm".into()),
                Block::Other { kind: REDACTED_THINKING.into() },
                Block::Text("ab".into()),
                call("own0", "read", serde_json::json!({ "path": "x" })),
                call("c", "list", Value::String("{".into())),
            ]
        );
        let signatures: Vec<(u32, &str)> =
            reply.signatures.iter().map(|signature| (signature.block, signature.data.as_str())).collect();
        assert_eq!(signatures, [(0, "sig"), (1, "secret")]);
        assert_eq!(reply.usage, Some(Usage { input: 7, output: 9, ..Usage::default() }));
    }

    #[test]
    fn calls_have_different_ids() {
        let call = |block| Piece::CallStarted { block, id: Some("call_0".into()), name: "read".into() };
        let reply = answer(vec![call(0), call(1)]).reply(&model(), |at| format!("own{at}").into());
        let ids: Vec<String> = reply.tool_uses().map(|call| call.id.to_string()).collect();
        assert_eq!(ids, ["call_0", "own1"]);
    }

    #[test]
    fn of_a_broken_answer_finished_blocks_or_everything_shown_is_kept() {
        let broken = || {
            answer(vec![
                text(0, "whole"),
                Piece::CallStarted { block: 1, id: None, name: "read".into() },
                text(2, "hal"),
            ])
        };
        assert!(!broken().is_complete() && broken().is_shown());
        let blocks = |kept| broken().partial(kept, &model(), None).blocks;
        assert_eq!(blocks(Kept::Finished), [Block::Text("whole".into())]);
        assert_eq!(blocks(Kept::Shown), [Block::Text("whole".into()), Block::Text("hal".into())]);
    }

    #[test]
    fn an_input_that_cannot_be_written_stays_text() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(input_of(&nested(63)).is_array());
        assert_eq!(input_of(&nested(64)), Value::String(nested(64)));
        assert_eq!(input_of(""), serde_json::json!({}));
    }

    /// Empty blocks and calls count no bytes.
    #[test]
    fn an_answer_of_too_many_parts_is_given_up() {
        let calls = |block| Piece::CallStarted { block, id: None, name: String::new() };
        let given_up = |piece: &dyn Fn(u32) -> Piece| {
            let mut answer = Answer::default();
            (0..5000).find_map(|block| Some((block, answer.take(piece(block)).err()?)))
        };
        assert_eq!(given_up(&|block| text(block, "")), Some((1000, Broken::TooMany("parts"))));
        assert_eq!(given_up(&calls), Some((128, Broken::TooMany("calls"))));
    }

    #[test]
    fn a_signature_that_was_cut_off_is_not_kept() {
        let thinking = |block| Piece::Thinking { block, text: "hm".into() };
        let signature = |block, data: &str| Piece::Signature { block, data: data.into() };
        let begun = answer(vec![thinking(0), signature(0, "whole"), thinking(1), signature(1, "ha")]);
        let kept = begun.partial(Kept::Shown, &model(), None);
        assert_eq!(kept.blocks.len(), 2);
        assert_eq!(kept.signatures, [Signature { block: 0, data: "whole".into() }]);
    }

    #[test]
    fn an_answer_without_end_is_given_up() {
        let mut answer = Answer::default();
        let piece = "x".repeat(1024 * 1024);
        let broken = (0..5).find_map(|_| answer.take(text(0, &piece)).err());
        assert_eq!(broken, Some(Broken::TooLong));
    }
}
