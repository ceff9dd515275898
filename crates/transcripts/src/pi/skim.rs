//! The envelopes of a pi file, read without its messages.
//!
//! pi and oh-my-pi write `type`, `id`, `parentId` and `timestamp` first, so the first hundred bytes of a message
//! tell its place in the tree; lines of other kinds are short and read whole. [`told`] then says what those mean,
//! by the same rules as [`super::read()`]. Files of version 1, without a header, or with entries that have no id or
//! no time are [`Unusual`] and left to the whole reading.

use jiff::Timestamp;
use offshoot_session::skeleton::{Cursor, Fields, Kind, LineHead, Log, Moment, Name, Told, Unusual};
use offshoot_session::{Body, Change, EntryId, HeadMove, HeadName, Mark, RawLine, Record};
use serde_json::Value;

use super::draft::{Draft, Header, ParentField, Version, What};
use super::quick;
use super::read::session_header;
use crate::lines::{Content, Line, is_joined};

#[derive(Clone, Debug, Default)]
pub struct Skim {
    pub log: Log,
    /// Something was seen that only oh-my-pi writes.
    pub is_oh_my_pi: bool,
}

/// One entry, read from its line alone.
#[derive(Clone, Debug, PartialEq)]
pub struct LineEntry {
    pub id: EntryId,
    /// As the line names it: an entry or a fact.
    pub parent: Option<EntryId>,
    pub written_at: Option<Timestamp>,
    pub body: Body,
}

impl Skim {
    /// Reads one line, without its newline.
    pub fn take(&mut self, line: &[u8], offset: u64) -> Result<(), Unusual> {
        if is_joined(line) {
            return Err(Unusual::Shape);
        }
        if let Some(fields) = envelope(line) {
            return self.log.push_entry(&fields, offset, line.len());
        }
        let Some(draft) = Draft::of_source(&RawLine::new(line)) else { return Ok(()) };
        self.is_oh_my_pi |= draft.is_oh_my_pi;
        match &draft.what {
            What::Entry(body) => {
                let Some(id) = &draft.id else {
                    return if draft.unknown_type.is_some() { Ok(()) } else { Err(Unusual::Shape) };
                };
                let parent = match &draft.parent {
                    ParentField::Of(parent) => Some(parent.as_str()),
                    ParentField::Root | ParentField::Absent => None,
                };
                let at = draft.written_at.map(Moment::of).ok_or(Unusual::Shape)?;
                let kind = Kind::of(body);
                let fields = Fields { id: id.as_str(), parent, at, turn: None, operation: None, kind };
                self.log.push_entry(&fields, offset, line.len())
            }
            What::Nameless => Ok(()),
            What::Header(_) | What::TitleSlot(_) | What::Fact(_) | What::Silent | What::Leaf(_) => {
                self.log.push_small(line, offset)
            }
        }
    }
}

/// The entry of a line, without its newline; `None` where it is none.
pub fn entry_of_line(line: &[u8]) -> Option<LineEntry> {
    quick::entry(line).or_else(|| patient_entry(line))
}

fn patient_entry(line: &[u8]) -> Option<LineEntry> {
    let draft = Draft::of_source(&RawLine::new(line))?;
    match draft.what {
        What::Entry(body) => {
            let parent = match draft.parent {
                ParentField::Of(parent) => Some(parent),
                ParentField::Root | ParentField::Absent => None,
            };
            Some(LineEntry { id: draft.id?, parent, written_at: draft.written_at, body })
        }
        _ => None,
    }
}

/// The same line, naming this parent and the entries that this body names; `None` where it is not an object.
pub fn renamed(line: &[u8], parent: Option<&EntryId>, body: &Body) -> Option<Vec<u8>> {
    let content = Line::new(1, RawLine::new(line)).content;
    let Content::Object(mut map) = content else { return None };
    let id = |id: Option<&EntryId>| id.map_or(Value::Null, |id| id.as_str().into());
    map.insert("parentId".to_owned(), id(parent));
    match body {
        Body::Compaction(compaction) => {
            map.insert("firstKeptEntryId".to_owned(), id(compaction.first_kept.as_ref()));
        }
        Body::BranchSummary(summary) => {
            let from = summary.from.as_ref().map_or("root".into(), |from| from.as_str().into());
            map.insert("fromId".to_owned(), from);
        }
        _ => {}
    }
    serde_json::to_vec(&map).ok()
}

/// What the small lines of a log say.
pub fn told(log: &mut Log, is_oh_my_pi: bool) -> Result<Told, Unusual> {
    let mut drafts = Vec::new();
    for small in log.small_lines() {
        // A line without an end is not told from one with an end: it was JSON when it was skimmed.
        match Line::new(1, RawLine::new(small.line)).content {
            Content::Object(map) => drafts.push((small.before, Draft::new(&map))),
            Content::Blank | Content::Unreadable(_) | Content::Torn => return Err(Unusual::Shape),
        }
    }
    let mut names = Vec::with_capacity(drafts.len());
    for (_, draft) in &drafts {
        let mut number = |id: &EntryId| log.names.number(id.as_str()).ok_or(Unusual::TooLarge);
        let own = draft.id.as_ref().map(&mut number).transpose()?;
        let parent = match &draft.parent {
            ParentField::Of(parent) => Some(number(parent)?),
            ParentField::Root | ParentField::Absent => None,
        };
        names.push((own, parent));
    }
    let first_seen = first_seen(log);
    let mut told = Told::default();
    for ((before, draft), (own, parent)) in drafts.iter().zip(&names) {
        let Some(own) = own.filter(|_| is_in_chain(draft)) else { continue };
        let comes_first = first_seen.get(own.0 as usize).is_none_or(|seen| seen >= before);
        if comes_first {
            told.passes.entry(own).or_insert(*parent);
        }
    }
    let mut teller = Teller { told, last: None, has_header: false };
    let has_title_slot = drafts.iter().any(|(_, draft)| matches!(draft.what, What::TitleSlot(_)));
    for ((before, draft), (own, parent)) in drafts.into_iter().zip(names) {
        let line = Small { before, own, parent };
        teller.tell(draft, line, log, &first_seen, is_oh_my_pi, has_title_slot)?;
    }
    if !teller.has_header {
        return Err(Unusual::Shape);
    }
    teller.place_head(log);
    Ok(teller.told)
}

/// By name, the place of the first entry under it.
fn first_seen(log: &Log) -> Vec<u32> {
    let mut seen = vec![u32::MAX; log.names.len()];
    for (at, envelope) in (0..).zip(log.envelopes()) {
        if let Some(seen) = seen.get_mut(envelope.id.0 as usize).filter(|seen| **seen == u32::MAX) {
            *seen = at;
        }
    }
    seen
}

fn is_in_chain(draft: &Draft) -> bool {
    match draft.what {
        What::Fact(_) | What::Silent | What::Leaf(_) => true,
        What::Header(_) | What::TitleSlot(_) | What::Entry(_) | What::Nameless => false,
    }
}

#[derive(Clone, Copy)]
struct Small {
    before: u32,
    own: Option<Name>,
    parent: Option<Name>,
}

struct Teller {
    told: Told,
    /// Where pi would resume, and how many entries stood before the line that says so.
    last: Option<(u32, Option<Name>)>,
    has_header: bool,
}

impl Teller {
    fn tell(
        &mut self,
        draft: Draft,
        line: Small,
        log: &Log,
        first_seen: &[u32],
        is_oh_my_pi: bool,
        has_title_slot: bool,
    ) -> Result<(), Unusual> {
        let at = draft.written_at;
        let moves_head = draft.parent != ParentField::Absent;
        let record = match draft.what {
            What::Header(header) => {
                if self.has_header {
                    return Ok(());
                }
                return self.open(&header, line.before, is_oh_my_pi, has_title_slot);
            }
            What::TitleSlot(fact) => Record::marked(at.unwrap_or_default(), fact),
            What::Leaf(target) => {
                let name = target.as_ref().and_then(|target| log.names.find(target.as_str()));
                if target.is_some() && name.is_none() {
                    return Ok(()); // nobody has this id: the head stays
                }
                let to = self.told.entry_above(name);
                let is_entry = |name: Name| first_seen.get(name.0 as usize).is_some_and(|at| *at != u32::MAX);
                if to.is_none_or(is_entry) {
                    self.last = Some((line.before, to));
                }
                let to = to.and_then(|name| log.names.text(name)).map(EntryId::from);
                let moved_at = at.unwrap_or_default();
                Record::head_moved(HeadMove { head: HeadName::main(), moved_at, from: None, to })
            }
            What::Silent => {
                self.pass(line, moves_head);
                return Ok(());
            }
            What::Fact(fact) => {
                self.pass(line, moves_head);
                let marked_at = at.ok_or(Unusual::Shape)?;
                Record::new(Change::Marked(Mark { id: draft.id, marked_at, fact }))
            }
            What::Entry(_) | What::Nameless => return Ok(()),
        };
        self.told.records.push((line.before, record));
        Ok(())
    }

    fn open(
        &mut self,
        header: &Header,
        before: u32,
        is_oh_my_pi: bool,
        has_title_slot: bool,
    ) -> Result<(), Unusual> {
        let (Some(id), Some(at)) = (header.id.clone(), header.opened_at) else { return Err(Unusual::Shape) };
        match header.version {
            Version::Number(number) if number >= 2 => {}
            Version::Number(_) | Version::Unclear => return Err(Unusual::Shape),
        }
        self.has_header = true;
        self.told.records.push((before, Record::opened(session_header(header, id, at, is_oh_my_pi))));
        if let Some(title) = header.title.as_ref().filter(|_| !has_title_slot) {
            self.told.records.push((before, Record::marked(at, title.clone())));
        }
        Ok(())
    }

    /// pi resumes behind a line that is no entry: at the entry above it.
    fn pass(&mut self, line: Small, moves_head: bool) {
        if moves_head && line.own.is_some() {
            self.last = Some((line.before, self.told.entry_above(line.parent)));
        }
    }

    fn place_head(&mut self, log: &Log) {
        let count = log.envelopes().len() as u32;
        let to = match (self.last, log.envelopes().last()) {
            (Some((before, to)), _) if before == count => to,
            (_, Some(envelope)) => Some(envelope.id),
            (Some((_, to)), None) => to,
            (None, None) => return,
        };
        let to = to.and_then(|name| log.names.text(name)).map(EntryId::from);
        let head_move = HeadMove { head: HeadName::main(), moved_at: Default::default(), from: None, to };
        self.told.records.push((count, Record::head_moved(head_move)));
    }
}

/// The beginning of a line that pi wrote; `None` where it is not one of the long ones.
pub fn head(line: &[u8]) -> Option<LineHead<'_>> {
    let (fields, mut rest) = begun(line)?;
    let answered_call = match fields.kind {
        Kind::ToolResult => rest.skip(r#","toolCallId":"#).and_then(|()| rest.string()),
        _ => None,
    };
    Some(LineHead { fields, answered_call })
}

/// The envelope of a line that is long, if it begins the way pi writes one.
pub(super) fn envelope(line: &[u8]) -> Option<Fields<'_>> {
    begun(line).map(|(fields, _)| fields)
}

/// The same, with what follows.
#[inline]
fn begun(line: &[u8]) -> Option<(Fields<'_>, Cursor<'_>)> {
    let mut cursor = Cursor::new(line);
    cursor.skip(r#"{"type":"#)?;
    let kind = cursor.word()?;
    if !matches!(kind, b"message" | b"compaction" | b"branch_summary") {
        return None;
    }
    cursor.skip(r#","id":"#)?;
    let id = cursor.string().filter(|id| !id.is_empty())?;
    cursor.skip(r#","parentId":"#)?;
    let parent = cursor.string_or_null()?.filter(|parent| !parent.is_empty());
    cursor.skip(r#","timestamp":"#)?;
    let at = cursor.moment()?;
    if line.last() != Some(&b'}') {
        return None; // torn, or blanks around it
    }
    let kind = match kind {
        b"compaction" => Kind::Compaction,
        b"branch_summary" => Kind::BranchSummary,
        _ => {
            cursor.skip(r#","message":{"role":"#)?;
            kind_of_role(cursor.word()?)?
        }
    };
    Some((Fields { id, parent, at, turn: None, operation: None, kind }, cursor))
}

fn kind_of_role(role: &[u8]) -> Option<Kind> {
    match role {
        b"user" => Some(Kind::Prompt),
        b"assistant" => Some(Kind::Reply),
        b"toolResult" => Some(Kind::ToolResult),
        b"bashExecution" => Some(Kind::Shell),
        _ => None, // rare: read whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(message: &str) -> String {
        format!(
            r#"{{"type":"message","id":"a1","parentId":"u1","timestamp":"2025-01-01T00:00:00.500Z","message":{message}}}"#
        )
    }

    fn assert_both_ways_agree(message: &str) {
        let line = line_of(message);
        let patient = patient_entry(line.as_bytes());
        assert!(patient.is_some(), "{line}");
        assert_eq!(entry_of_line(line.as_bytes()), patient, "{line}");
    }

    #[test]
    fn the_quick_way_and_the_patient_way_read_the_same() {
        let messages = [
            r#"{"role":"user","content":"hello \"you\" \u00e9 \ud83d\ude00"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"timestamp":1735689600000}"#,
            r#"{"role":"user","content":[{"type":"image","data":"blob:x"},{"type":"novel"},{"text":"no type"},"bare",7]}"#,
            r#"{"role":"user","content":null,"attachments":["a.txt"]}"#,
            r#"{"role":"user"}"#,
            r#"{"role":"user","content":{"odd":1},"timestamp":"2025-01-01T00:00:00Z"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"x","n":1.5}},{"type":"toolCall"}],"provider":"p","model":"m","stopReason":"toolUse","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"output":0.2,"total":0.3}}}"#,
            r#"{"role":"assistant","content":[],"model":"m","stopReason":"error","errorMessage":"no","usage":{"input":1.6,"cost":0.5}}"#,
            r#"{"role":"assistant","content":[],"stopReason":"length","usage":{"cost":{"input":0.25,"cacheRead":1}}}"#,
            r#"{"role":"assistant","content":[],"stopReason":"tired","usage":7,"model":null}"#,
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"x"}],"isError":true}"#,
            r#"{"role":"toolResult","toolCallId":7,"isError":"yes"}"#,
            r#"{"role":"bashExecution","command":"ls","output":"a\nb","exitCode":0,"cancelled":false,"truncated":false,"fullOutputPath":"/t"}"#,
            r#"{"role":"bashExecution","command":"ls","exitCode":1.2,"fullOutputPath":"/t","excludeFromContext":true}"#,
            r#"{"role":"system","content":"be kind"}"#,
            r#""no object""#,
        ];
        messages.iter().for_each(|message| assert_both_ways_agree(message));
    }

    #[test]
    fn a_message_of_two_roles_is_none() {
        let line = line_of(r#"{"role":"user","role":"assistant","content":"twice"}"#);
        assert_eq!(entry_of_line(line.as_bytes()), None);
    }
}
