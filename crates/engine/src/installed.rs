//! Which agents there are on this machine: those that can be asked, and the others that are known.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::built_in::{BuiltIn, NAME, Pace};
use offshoot_agents::claude_code::ClaudeCode;
pub use offshoot_agents::claude_code::write_title as write_claude_title;
pub use offshoot_agents::known;
use offshoot_agents::known::Found;
use offshoot_agents::llm::Llm;
use offshoot_agents::{Agent, Probe, ProbedProvider};
use offshoot_api::views::{
    AbilitiesView, AgentModelView, AgentView, ProviderView, abilities, abilities_by_name, differing,
};
use offshoot_session::Model;
use offshoot_session::agent::{Environment, Host};

/// Answers where nobody has chosen an agent: it is always there.
pub const USUAL: &str = NAME;

/// The built-in agent types like a person, where one watches.
const PAUSE: Duration = Duration::from_millis(12);

pub fn installed() -> Vec<Arc<dyn Agent>> {
    vec![
        Arc::new(BuiltIn { pace: Pace::Every(PAUSE) }),
        Arc::new(ClaudeCode::default()),
        Arc::new(Llm::default()),
    ]
}

/// Whether an agent of this name can be asked.
pub fn can_answer(name: &str) -> bool {
    installed().iter().any(|agent| agent.name() == name)
}

/// What those that answer say about themselves. One that cannot be probed says nothing.
pub(crate) async fn probed(
    answering: &BTreeMap<String, Arc<dyn Agent>>,
    host_for: impl Fn(&str) -> Host,
    environment: &Environment,
) -> BTreeMap<String, Probe> {
    let mut probes = BTreeMap::new();
    for (name, agent) in answering {
        let host = host_for(name);
        probes.insert(name.clone(), agent.probe(&host, environment).await.unwrap_or_default());
    }
    probes
}

/// All of them, those that answer first. May block: programs are asked for their versions.
pub(crate) fn listed(
    answering: &BTreeMap<String, Arc<dyn Agent>>,
    probes: &BTreeMap<String, Probe>,
    programs: &BTreeMap<String, PathBuf>,
    environment: &Environment,
) -> Vec<AgentView> {
    let path = environment.get("PATH").unwrap_or_default();
    let folders = path.as_bytes().split(|byte| *byte == b':').map(|folder| OsStr::from_bytes(folder).into());
    let folders: Vec<PathBuf> = folders.collect();
    let found = known::look_in(&folders, environment);
    let others = found.iter().filter(|found| !answering.contains_key(found.program.name)).map(known_only);
    let answering = answering.values().map(|agent| {
        let program = found.iter().find(|found| found.program.name == agent.name());
        let own = programs.get(agent.name()).map(PathBuf::as_path);
        answers(agent.as_ref(), probes.get(agent.name()), program, own)
    });
    answering.chain(others).collect()
}

/// One that is a program of its own may not be there all the same. `own` is the program that the person has set.
fn answers(
    agent: &dyn Agent,
    probe: Option<&Probe>,
    program: Option<&Found>,
    own: Option<&Path>,
) -> AgentView {
    let version = probe.and_then(|probe| probe.version.clone());
    // The version of another file says nothing about this one.
    let found = program.filter(|_| own.is_none());
    let can = agent.abilities(None);
    let all = abilities_by_name(&can);
    let models = probe.and_then(|probe| probe.models.as_deref()).unwrap_or_default();
    AgentView {
        name: agent.name().to_owned(),
        title: agent.title().to_owned(),
        version: version.or_else(|| found.and_then(|found| found.version.clone())),
        installed: own.is_some() || program.is_none_or(|found| found.file.is_some()),
        install: program.map(|found| found.program.install.to_owned()),
        can: abilities(&can),
        answers: true,
        providers: probe.map(|probe| probe.providers.iter().map(provider_of).collect()).unwrap_or_default(),
        models: models.iter().map(|model| model_of(agent, model, &all)).collect(),
        abilities: all,
        path: own.map(|own| own.to_string_lossy().into_owned()).or_else(|| program.and_then(path_of)),
    }
}

fn provider_of(provider: &ProbedProvider) -> ProviderView {
    let ProbedProvider { name, url, problem } = provider;
    ProviderView { name: name.clone(), url: url.clone(), problem: problem.clone() }
}

fn model_of(agent: &dyn Agent, model: &Model, usual: &AbilitiesView) -> AgentModelView {
    let can = agent.abilities(Some(model));
    AgentModelView { model: model.into(), window: can.context_window, abilities: differing(&can, usual) }
}

/// Installing it would not make it answer, so nothing says how.
fn known_only(found: &Found) -> AgentView {
    AgentView {
        name: found.program.name.to_owned(),
        title: found.program.title.to_owned(),
        version: found.version.clone(),
        installed: found.file.is_some(),
        install: None,
        can: Vec::new(),
        answers: false,
        abilities: AbilitiesView::default(),
        models: Vec::new(),
        providers: Vec::new(),
        path: path_of(found),
    }
}

fn path_of(found: &Found) -> Option<String> {
    found.file.as_ref().map(|file| file.to_string_lossy().into_owned())
}
