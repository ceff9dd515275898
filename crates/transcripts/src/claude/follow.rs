//! A file of Claude Code for its gist, line by line.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use offshoot_session::skeleton::Moment;
use offshoot_session::{Body, Fact, RawLine, Setting, TitleSource, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::billed::billed;
use super::draft::{Asides, Draft, ParentField, What};
use super::subagents::{session_in_path, stem};
use crate::gist::{Gist, Heard, Shape, Step, Taken, Unusual};
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
            now(&mut file, Some(at.timestamp().as_microsecond()));
            let is_sidechain = outside.is_sidechain == Some(true);
            hear_of(file.heard, outside.session_id.as_deref(), is_sidechain);
            if !is_sidechain {
                place_settings(&mut file);
            }
            file.silent_entry(id, outside.parent_uuid.as_deref(), Some(at.timestamp().as_microsecond()));
            let more = outside.message.map_or(0, |message| message.content.answers.saturating_sub(1));
            file.gist.entries += more;
            return Ok(());
        }
    }
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Ok(()) };
    let (draft, asides) = (Draft::new(&map), Asides::of(&map));
    let at = draft.written_at.map(Timestamp::as_microsecond);
    if file.heard.stated_anywhere.is_none() {
        file.heard.stated_anywhere = draft.session.as_deref().map(str::to_owned);
    }
    if let Some((session, _)) = asides.forked_from {
        file.heard.forked_from = Some(session);
    }
    if file.gist.project.is_none() {
        file.gist.project = asides.project;
    }
    let at = now(&mut file, at);
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
            // a prompt keeps its place among its versions: settings come behind it
            let keeps_its_parent = draft.is_sidechain || (body.is_prompt() && results.is_empty());
            if !keeps_its_parent {
                place_settings(&mut file);
            }
            if file.shape.knows(id.as_str()) {
                return Ok(()); // the first one counts
            }
            file.gist.entries += results.len() as u64;
            let provider = draft.message.as_deref().map(|message| billed(message, &map));
            if draft.is_sidechain {
                let step = step_beside(&mut file, draft.agent.as_deref(), parent);
                file.side_entry(id.as_str(), parent, at, body, step, provider.as_deref());
            } else {
                file.entry_billed(id.as_str(), parent, at, body, provider.as_deref());
            }
        }
        What::Pass => {
            if let Some(id) = &draft.id {
                file.pass(id.as_str(), parent, Step::On);
            }
        }
        What::Fact(fact) => {
            if matches!(fact, Fact::Title { source: TitleSource::Auto, .. }) {
                file.heard.titles_to_come.clear(); // they were told before it
            }
            file.gist.tell(fact);
            file.moment(at);
        }
        What::Summary { title, leaf } => {
            let leaf = leaf.as_ref().map(|leaf| leaf.as_str().to_owned());
            file.heard.titles_to_come.push((title.clone(), leaf));
        }
        What::CostSoFar(cost) => {
            let before = std::mem::replace(&mut file.heard.cost_so_far, *cost);
            let cost_micros = if *cost >= before { cost - before } else { *cost };
            file.spend(None, at, &Usage { cost_micros, ..Usage::default() }, None);
            if cost_micros != 0 {
                file.moment(at);
            }
        }
        What::Setting(setting) => change(file.heard, setting),
        What::Leaf(_) | What::Silent | What::Nameless => {}
    }
    Ok(())
}

/// A line without a time has that of the line before. The first time is when the session began.
fn now(file: &mut Taken<'_>, at: Option<i64>) -> Option<i64> {
    file.heard.now = at.or(file.heard.now);
    if file.gist.opened_at.is_none() {
        file.gist.opened_at = file.heard.now;
        file.moment(file.heard.now);
    }
    file.heard.now
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

/// The same setting said again changes nothing.
fn change(heard: &mut Heard, setting: &Setting) {
    let (in_force, now) = match setting {
        Setting::PermissionMode(mode) => (&mut heard.permission_mode, mode),
        Setting::Mode { mode, .. } => (&mut heard.mode, mode),
        _ => return,
    };
    if in_force.as_ref() != Some(now) {
        *in_force = Some(now.clone());
        heard.settings_to_place += 1;
    }
}

fn place_settings(file: &mut Taken<'_>) {
    file.gist.entries += std::mem::take(&mut file.heard.settings_to_place);
}

/// A sub-agent hangs below a note of its own, which is an entry too.
fn step_beside(file: &mut Taken<'_>, agent: Option<&str>, parent: Option<&str>) -> Step {
    let begins = parent.is_none_or(|parent| file.shape.knows(parent) && !file.shape.is_delegated(parent));
    if !begins {
        return Step::On;
    }
    let is_noted = agent.is_some_and(|agent| file.heard.noted_agents.iter().any(|noted| noted == agent));
    if !is_noted {
        file.gist.entries += 1;
        file.heard.noted_agents.extend(agent.map(str::to_owned));
    }
    Step::Task
}

/// The format has no header: what it would say stands on the lines, or is the name of the file.
pub(crate) fn finish(heard: &Heard, shape: &Shape, file_name: Option<&str>, gist: &mut Gist) {
    // in old files most summaries are titles of other sessions
    let is_ours =
        |leaf: &Option<String>| gist.entries == 0 || leaf.as_deref().is_some_and(|leaf| shape.knows(leaf));
    let title = heard.titles_to_come.iter().rev().find(|(_, leaf)| is_ours(leaf));
    if let Some((title, _)) = title {
        gist.auto_title = Some(title.clone()).filter(|title| !title.trim().is_empty());
    }
    let stem = file_name.and_then(stem);
    let stated = heard.stated.as_deref().or(heard.stated_anywhere.as_deref());
    gist.agent = Some(AGENT.to_owned());
    if gist.entries > 0 {
        gist.updated_at = gist.updated_at.max(heard.now); // the head is where the last line has left it
    }
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
