//! `offshoot agents`: who can answer and what they can do, and which others there are on this machine.

use offshoot_api::views::AgentView;
use offshoot_api::{Request, Response};
use offshoot_engine::installed::USUAL;
use serde_json::{Value, json};

use super::json::printed;
use crate::Answer;
use crate::args::AgentsArgs;
use crate::engine::reach;
use crate::failure::Failure;
use crate::here::Here;
use crate::programs::{PROGRAMS, Program, ask_version, on_path};
use crate::talk::{refused, unexpected, wait_for};
use crate::text::harmless_line;
use crate::words::scripts as words;

/// An agent as it is listed.
struct Listed {
    agent: AgentView,
    /// Whether it can be asked from here.
    answers: bool,
    /// Where it was found.
    path: Option<String>,
}

pub(crate) fn run(args: &AgentsArgs, here: &Here) -> Result<Answer, Failure> {
    let mut agents: Vec<Listed> = those_that_answer(here)?.into_iter().map(Listed::answering).collect();
    let others =
        PROGRAMS.iter().filter(|program| agents.iter().all(|known| known.agent.name != program.name));
    let others = looked_for(others.collect());
    agents.extend(others);
    let text = match args.json.json {
        Some(shape) => {
            let agents: Vec<Value> = agents.iter().map(as_json).collect();
            printed(json!({ "agents": agents }), "agents", shape)
        }
        None => agents.iter().map(|agent| told(agent, here)).collect(),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn those_that_answer(here: &Here) -> Result<Vec<AgentView>, Failure> {
    let answer = wait_for(async {
        let reached = reach(here).await?;
        let answer = reached.call(Request::Agents).await;
        reached.leave().await;
        answer.map_err(|error| refused(&error))
    })?;
    match answer {
        Response::Agents { agents } => Ok(agents),
        other => Err(unexpected(other)),
    }
}

/// All of them are asked for their version at once: one that is slow keeps nobody waiting but itself.
fn looked_for(programs: Vec<&'static Program>) -> Vec<Listed> {
    let asked: Vec<_> = programs
        .into_iter()
        .map(|program| {
            let path = on_path(program);
            let asked = path.as_deref().and_then(ask_version);
            (program, path, asked)
        })
        .collect();
    let listed = asked.into_iter().map(|(program, path, asked)| Listed {
        agent: AgentView {
            name: program.name.to_owned(),
            title: program.title.to_owned(),
            version: asked.and_then(|asked| asked.version()),
            installed: path.is_some(),
            install: Some(program.install.to_owned()),
            can: Vec::new(),
        },
        answers: false,
        path: path.map(|path| path.to_string_lossy().into_owned()),
    });
    listed.collect()
}

impl Listed {
    fn answering(mut agent: AgentView) -> Self {
        if agent.name == USUAL {
            agent.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        }
        Self { agent, answers: true, path: None }
    }
}

fn as_json(listed: &Listed) -> Value {
    let AgentView { name, title, version, installed, install, can } = &listed.agent;
    json!({
        "name": name,
        "title": title,
        "version": version,
        "installed": installed,
        "install": install,
        "can": can,
        "answers": listed.answers,
        "path": listed.path,
    })
}

fn told(listed: &Listed, here: &Here) -> String {
    let agent = &listed.agent;
    let state = match (&agent.version, agent.installed) {
        (Some(version), _) => version.as_str(),
        (None, true) => words::VERSION_UNKNOWN,
        (None, false) => words::NOT_INSTALLED,
    };
    let about = match (listed.answers, &listed.path, &agent.install) {
        (true, ..) => words::abilities(&agent.can),
        (false, Some(path), _) => words::found_at(path),
        (false, None, Some(install)) => words::get_it(install),
        (false, None, None) => String::new(),
    };
    let line = |text: &str| harmless_line(text, here.look.ascii) + "\n";
    line(&format!("{}  {}  {state}", agent.name, agent.title)) + &line(&format!("  {about}"))
}
