//! `offshoot status`: what runs in all sessions, and what waits for a person first.

use offshoot_api::views::StatusRow;
use offshoot_api::{Request, Response};
use serde_json::json;

use super::json::printed;
use crate::Answer;
use crate::args::StatusArgs;
use crate::engine::running;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{refused, unexpected, wait_for};
use crate::text::harmless_line;
use crate::which::short;
use crate::words::talking as words;

pub(crate) fn run(args: &StatusArgs, here: &Here) -> Result<Answer, Failure> {
    let rows = wait_for(async {
        let Some(reached) = running(here).await? else { return Ok(Vec::new()) };
        let rows = match reached.call(Request::Status).await.map_err(|error| refused(&error))? {
            Response::Status { rows } => rows,
            other => return Err(unexpected(other)),
        };
        reached.leave().await;
        Ok(rows)
    })?;
    let text = match args.json.json {
        Some(shape) => printed(json!({ "rows": rows }), "rows", shape),
        None if rows.is_empty() => words::NOTHING_RUNS.to_owned(),
        None => rows.iter().map(|row| line(row, here)).collect(),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn line(row: &StatusRow, here: &Here) -> String {
    let session = short(here, &row.session.as_str().into());
    let kind = row.status.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let state = format!("{}{kind}", row.status.state);
    format!("{session}  {state:<20}  {}\n", harmless_line(&row.what, here.look.ascii))
}
