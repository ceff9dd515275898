//! `offshoot engine`: without an action it is the engine process of the home; people ask for its status, stop it or restart
//! it.

use jiff::tz::TimeZone;
use offshoot_api::request::IfRunning;
use offshoot_api::views::EngineView;
use offshoot_session::Stamps;
use serde_json::json;

use super::json::printed_object;
use crate::Answer;
use crate::ago::ago;
use crate::args::{EngineArgs, EngineCommand, EngineStopArgs};
use crate::engine;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::wait_for;
use crate::words::engine as words;

pub(crate) fn run(args: &EngineArgs, here: &Here) -> Result<Answer, Failure> {
    match &args.command {
        None => engine::process::run(here),
        Some(EngineCommand::Status(args)) => {
            let engine = wait_for(engine::status(here))?;
            Ok(printed(engine.as_ref(), args.json.is_some(), here))
        }
        Some(EngineCommand::Stop(args)) => {
            let was_there = wait_for(engine::stop(here, if_running(args)))?;
            let text = match (args.json.json.is_some(), was_there) {
                (true, stopped) => printed_object(json!({ "stopped": stopped })),
                (false, true) => words::STOPPED.to_owned(),
                (false, false) => words::NONE_RUNS.to_owned(),
            };
            Ok(Answer { text, ..Answer::default() })
        }
        Some(EngineCommand::Restart(args)) => restart(args, here),
    }
}

fn restart(args: &EngineStopArgs, here: &Here) -> Result<Answer, Failure> {
    let engine = wait_for(async {
        engine::stop(here, if_running(args)).await?;
        engine::reach(here).await?.leave().await;
        engine::status(here).await
    })?;
    let text = match (&engine, args.json.json.is_some()) {
        (_, true) => printed_object(json!({ "engine": engine })),
        (Some(engine), false) => words::restarted(engine),
        (None, false) => words::NONE_RUNS.to_owned(),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn printed(engine: Option<&EngineView>, is_json: bool, here: &Here) -> Answer {
    let text = match engine {
        _ if is_json => printed_object(json!({ "engine": engine })),
        Some(engine) => {
            let age = ago(engine.started_at, here.stamps().now(), &TimeZone::system());
            words::status(engine, &age)
        }
        None => words::NONE_RUNS.to_owned(),
    };
    Answer { text, ..Answer::default() }
}

fn if_running(args: &EngineStopArgs) -> IfRunning {
    if args.force { IfRunning::AbortFirst } else { IfRunning::Wait }
}
