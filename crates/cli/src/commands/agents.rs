//! `offshoot agents`: who can answer and what they can do, and which others there are on this machine.

use offshoot_api::views::AgentView;
use offshoot_api::{Request, Response};
use serde_json::{Value, json};

use super::json::printed;
use crate::Answer;
use crate::args::AgentsArgs;
use crate::change::answered;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{refused, unexpected};
use crate::text::harmless_line;
use crate::words::scripts as words;

pub(crate) fn run(args: &AgentsArgs, here: &Here) -> Result<Answer, Failure> {
    let agents = listed(here)?;
    let text = match args.json.json {
        Some(shape) => {
            let agents: Vec<Value> = agents.iter().map(as_json).collect();
            printed(json!({ "agents": agents }), "agents", shape)
        }
        None => agents.iter().map(|agent| told(agent, here)).collect(),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn listed(here: &Here) -> Result<Vec<AgentView>, Failure> {
    let answer = answered(here, Request::Agents)?.map_err(|error| refused(&error))?;
    match answer {
        Response::Agents { agents } => Ok(agents),
        other => Err(unexpected(other)),
    }
}

fn as_json(agent: &AgentView) -> Value {
    let AgentView {
        name,
        title,
        version,
        installed,
        install,
        can,
        answers,
        abilities,
        models,
        providers,
        path,
    } = agent;
    json!({
        "name": name,
        "title": title,
        "version": version,
        "installed": installed,
        "install": install,
        "can": can,
        "answers": answers,
        "abilities": abilities,
        "models": models,
        "providers": providers,
        "path": path,
    })
}

fn told(agent: &AgentView, here: &Here) -> String {
    let state = match (&agent.version, agent.installed) {
        (Some(version), _) => version.as_str(),
        (None, true) => words::VERSION_UNKNOWN,
        (None, false) => words::NOT_INSTALLED,
    };
    let about = match (agent.answers, agent.installed, &agent.path, &agent.install) {
        (true, false, _, Some(install)) => words::get_it(install),
        (true, ..) => words::abilities(&agent.can),
        (false, _, Some(path), _) => words::found_at(path),
        (false, _, None, _) => words::ONLY_READ.to_owned(),
    };
    let line = |text: &str| harmless_line(text, here.look.ascii) + "\n";
    let mut text = line(&format!("{}  {}  {state}", agent.name, agent.title)) + &line(&format!("  {about}"));
    let settings = words::settings(&agent.abilities);
    let is_there = agent.answers && agent.installed;
    let path = agent.path.as_deref().filter(|_| is_there).map(words::runs_at);
    for more in path.into_iter().chain(settings).filter(|_| is_there) {
        text.push_str(&line(&format!("  {more}")));
    }
    for provider in &agent.providers {
        text.push_str(&line(&format!("  {}", words::provider(provider))));
    }
    for model in agent.models.iter().filter(|_| is_there) {
        text.push_str(&line(&format!("  {}", words::model(model))));
    }
    text
}
