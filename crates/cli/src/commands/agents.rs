//! `offshoot agents`: who can answer, and what they can do.

use offshoot_api::views::AgentView;
use offshoot_api::{Request, Response};
use serde_json::json;

use super::json::printed;
use crate::Answer;
use crate::args::AgentsArgs;
use crate::engine::reach;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{refused, unexpected, wait_for};
use crate::words::talking as words;

pub(crate) fn run(args: &AgentsArgs, here: &Here) -> Result<Answer, Failure> {
    let answer = wait_for(async {
        let reached = reach(here).await?;
        let answer = reached.call(Request::Agents).await;
        reached.leave().await;
        answer.map_err(|error| refused(&error))
    })?;
    let agents = match answer {
        Response::Agents { agents } => agents,
        other => return Err(unexpected(other)),
    };
    let text = match args.json.json {
        Some(shape) => printed(json!({ "agents": agents }), "agents", shape),
        None => agents.iter().map(told).collect(),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn told(agent: &AgentView) -> String {
    let version = agent.version.as_deref().unwrap_or(if agent.installed {
        words::INSTALLED
    } else {
        words::NOT_INSTALLED
    });
    let mut text = format!("{}  {}  {version}\n", agent.name, agent.title);
    if let Some(install) = agent.install.as_ref().filter(|_| !agent.installed) {
        text.push_str(&format!("  {install}\n"));
    }
    text.push_str(&format!("  {}\n", agent.can.join(", ")));
    text
}
