//! A file of Claude Code for its gist, line by line.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use offshoot_session::skeleton::Moment;
use offshoot_session::{Body, RawLine};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::draft::{Draft, ParentField, What};
use super::subagents::{session_in_path, stem};
use crate::gist::{Gist, Heard, Step, Taken, Unusual};
use crate::ids::is_uuid;
use crate::lines::{Content, Line};

const AGENT: &str = "claude-code";

/// What tells whether a line has to be read at all.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outside<'l> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
    #[serde(borrow)]
    uuid: Option<Cow<'l, str>>,
    #[serde(borrow)]
    parent_uuid: Option<Cow<'l, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'l, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'l, str>>,
    message: Option<Message>,
    is_sidechain: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Items,
}

/// How many answers of tools there are, and whether there is anything else.
#[derive(Default)]
struct Items {
    answers: u64,
    has_others: bool,
}

#[derive(Deserialize)]
struct Item<'l> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
}

pub(crate) fn take(mut file: Taken<'_>, line: &[u8]) -> Result<(), Unusual> {
    if let Some(outside) = answer_of_a_tool(line) {
        let at = outside.timestamp.as_deref().and_then(Moment::read);
        if let (Some(id), Some(at)) = (outside.uuid.as_deref(), at) {
            let is_sidechain = outside.is_sidechain == Some(true);
            hear_of(file.heard, outside.session_id.as_deref(), is_sidechain);
            file.silent_entry(id, outside.parent_uuid.as_deref(), Some(at.timestamp().as_microsecond()));
            let more = outside.message.map_or(0, |message| message.content.answers.saturating_sub(1));
            file.gist.entries += more;
            return Ok(());
        }
    }
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Ok(()) };
    let mut draft = Draft::new(&map);
    let at = draft.written_at.map(Timestamp::as_microsecond);
    file.heard.stated_anywhere = file.heard.stated_anywhere.take().or_else(|| draft.session.clone());
    if let Some((session, _)) = &draft.forked_from {
        file.heard.forked_from = Some(session.clone());
    }
    if file.gist.project.is_none() {
        file.gist.project = draft.project.take();
    }
    if file.gist.opened_at.is_none() {
        file.gist.opened_at = at;
    }
    file.moment(at);
    let parent = match &draft.parent {
        ParentField::Of(parent) => Some(parent.as_str()),
        ParentField::Root => None,
        // it stands below the line before, wherever that was
        ParentField::Absent if draft.is_entry() => return Err(Unusual),
        ParentField::Absent => None,
    };
    match &draft.what {
        What::Entry { results, body } => {
            let Some(id) = &draft.id else { return Err(Unusual) };
            hear_of(file.heard, draft.session.as_deref(), draft.is_sidechain);
            if draft.is_sidechain {
                file.heard.side_agent = file.heard.side_agent.take().or_else(|| draft.agent.clone());
            }
            if file.shape.knows(id.as_str()) {
                return Ok(()); // the first one counts
            }
            pay(&mut file, draft.message.as_deref(), body);
            file.gist.entries += results.len() as u64;
            if draft.is_sidechain && body.is_prompt() {
                file.side_prompt(id.as_str(), parent, at, body);
            } else {
                file.entry(id.as_str(), parent, at, body);
            }
        }
        What::Pass => {
            if let Some(id) = &draft.id {
                file.pass(id.as_str(), parent, Step::On);
            }
        }
        What::Fact(fact) => file.gist.tell(fact),
        What::Summary { title, leaf } => {
            let is_ours = leaf.as_ref().is_some_and(|leaf| file.shape.knows(leaf.as_str()));
            if is_ours || (file.gist.entries == 0 && leaf.is_none()) {
                file.gist.auto_title = Some(title.clone());
            }
        }
        What::CostSoFar(cost) => {
            let before = std::mem::replace(&mut file.heard.cost_so_far, *cost);
            file.gist.cost_micros += if *cost >= before { cost - before } else { *cost };
        }
        What::Leaf(_) | What::Setting(_) | What::Silent | What::Nameless => {}
    }
    Ok(())
}

/// A line that holds nothing but answers of tools, which are long and said by nobody.
fn answer_of_a_tool(line: &[u8]) -> Option<Outside<'_>> {
    memchr::memmem::find(line, br#""tool_result""#)?;
    let outside: Outside<'_> = serde_json::from_str(std::str::from_utf8(line).ok()?).ok()?;
    let items = &outside.message.as_ref()?.content;
    let is_one = outside.kind.as_deref() == Some("user") && items.answers > 0 && !items.has_others;
    (is_one && outside.parent_uuid.is_some()).then_some(outside)
}

fn hear_of(heard: &mut Heard, session: Option<&str>, is_sidechain: bool) {
    let session = session.filter(|session| !session.is_empty());
    if heard.stated.is_none() {
        heard.stated = session.map(str::to_owned);
    }
    heard.has_own_entries |= !is_sidechain;
}

/// Every line of a message says what the whole of it cost.
fn pay(file: &mut Taken<'_>, message: Option<&str>, body: &Body) {
    let Body::Reply(reply) = body else { return };
    let Some(usage) = reply.usage else { return };
    let paid = match (&file.heard.priced, message) {
        (Some((priced, paid)), Some(message)) if priced == message => *paid,
        _ => 0,
    };
    file.gist.cost_micros += usage.cost_micros - paid;
    file.heard.priced = message.map(|message| (message.to_owned(), usage.cost_micros));
}

/// The format has no header: what it would say stands on the lines, or is the name of the file.
pub(crate) fn finish(heard: &Heard, file_name: Option<&str>, gist: &mut Gist) {
    let stem = file_name.and_then(stem);
    let stated = heard.stated.as_deref().or(heard.stated_anywhere.as_deref());
    gist.agent = Some(AGENT.to_owned());
    gist.is_side = gist.entries > 0 && !heard.has_own_entries;
    let id = if gist.is_side {
        let agent = heard.side_agent.as_ref().map(|agent| format!("agent-{agent}"));
        agent.or(stem.or(stated).map(str::to_owned))
    } else {
        stem.filter(|stem| is_uuid(stem)).or(stated).or(stem).map(str::to_owned)
    };
    let other = |session: &&str| id.as_deref() != Some(*session);
    gist.parent = if gist.is_side {
        file_name.and_then(session_in_path).or(stated).filter(other).map(str::to_owned)
    } else {
        heard.forked_from.clone().or_else(|| stated.filter(other).map(str::to_owned))
    };
    gist.id = id;
}

pub(crate) fn entries_of(line: &[u8]) -> Vec<(String, Body)> {
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Vec::new() };
    let draft = Draft::new(&map);
    let (What::Entry { results, body }, Some(id)) = (draft.what, draft.id) else { return Vec::new() };
    let results = results.into_iter().map(Body::ToolResult);
    results.chain([body]).map(|body| (id.to_string(), body)).collect()
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrItems;

        impl<'de> Visitor<'de> for StringOrItems {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of items")
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Items { answers: 0, has_others: true })
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Items { answers: 0, has_others: true })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let (mut answers, mut has_others) = (0, false);
                while let Some(item) = items.next_element::<Item<'de>>()? {
                    match item.kind.as_deref() {
                        Some("tool_result") => answers += 1,
                        Some(_) | None => has_others = true,
                    }
                }
                Ok(Items { answers, has_others })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Items { answers: 0, has_others: true })
            }
        }

        deserializer.deserialize_any(StringOrItems)
    }
}
