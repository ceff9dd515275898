//! A file of rollouts for its gist, line by line.

use std::collections::HashSet;

use jiff::Timestamp;
use offshoot_session::{Body, RawLine, Setting};
use serde::{Deserialize, Serialize};

use super::read::{body_of_line, header_of, model_of_config};
use crate::gist::{Gist, Taken, Unusual};
use crate::ids::fresh_id;
use crate::json::{Map, id_text, text, timestamp};
use crate::lines::{Content, Line};

/// What has to be remembered of such a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tip {
    id: Option<String>,
    /// In microseconds since 1970.
    now: Option<i64>,
}

pub(crate) fn take(mut file: Taken<'_>, line: &[u8]) -> Result<(), Unusual> {
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Ok(()) };
    let now = map.get("timestamp").and_then(timestamp).map(Timestamp::as_microsecond);
    match text(&map, "type") {
        Some("session") if file.heard.has_header => {}
        Some("session") => {
            let id = map.get("id").and_then(id_text).ok_or(Unusual)?;
            let opened_at = Timestamp::from_microsecond(now.ok_or(Unusual)?).map_err(|_| Unusual)?;
            file.heard.has_header = true;
            file.heard.rollout.now = now;
            file.open(&header_of(&map, id.into(), opened_at));
        }
        // what comes before its header waits for it
        Some(_) if !file.heard.has_header => return Err(Unusual),
        Some(kind) => {
            file.heard.rollout.now = now.or(file.heard.rollout.now);
            entry(&mut file, kind, line, &map)?;
        }
        None => {}
    }
    Ok(())
}

fn entry(file: &mut Taken<'_>, kind: &str, line: &[u8], map: &Map) -> Result<(), Unusual> {
    let body = body_of_line(kind, map);
    let model = match &body {
        Body::Setting(Setting::Config(config)) => model_of_config(config),
        _ => None,
    };
    next(file, &body, line.trim_ascii())?;
    match model {
        Some(model) => next(file, &Body::Setting(Setting::Model { role: None, model }), b"model"),
        None => Ok(()),
    }
}

/// The next entry, below the one before.
fn next(file: &mut Taken<'_>, body: &Body, seed: &[u8]) -> Result<(), Unusual> {
    let above = file.heard.rollout.id.take();
    let seeds = [above.as_deref().unwrap_or_default().as_bytes(), seed];
    let id = fresh_id(&seeds, &mut HashSet::new()).to_string();
    if file.shape.knows(&id) {
        return Err(Unusual);
    }
    file.entry(&id, above.as_deref(), file.heard.rollout.now, body);
    file.heard.rollout.id = Some(id);
    Ok(())
}

/// The head stands at the end since the last line.
pub(crate) fn finish(tip: &Tip, gist: &mut Gist) {
    if tip.id.is_some() {
        gist.updated_at = gist.updated_at.max(tip.now);
    }
}

/// What a line says. Its id is not known here: it depends on the lines before.
pub(crate) fn bodies_of(line: &[u8]) -> Vec<Body> {
    let Content::Object(map) = Line::new(1, RawLine::new(line)).content else { return Vec::new() };
    let kind = text(&map, "type").filter(|kind| *kind != "session");
    kind.map(|kind| body_of_line(kind, &map)).into_iter().collect()
}
