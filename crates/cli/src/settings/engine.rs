//! Settings as the engine takes them: for each project and each caller, read again when a file has changed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use offshoot_api::CallerContext;
use offshoot_engine::settings::ConfigChangeBranching;
use offshoot_engine::{Settings as EngineSettings, SettingsSource};
use offshoot_session::Model;
use offshoot_session::agent::Waits;
use offshoot_session::compaction::CompactionSettings;
use offshoot_session::cost::Prices;

use super::hook::HookSetting;
use super::keys;
use super::layers::Settings;
use super::provider::Providers;
use super::reader::{Reader, Seen};
use crate::failure::Failure;
use crate::here::Here;
use crate::log;
use crate::prices;
use crate::talk::note_now;
use crate::text::harmless_line;

pub(crate) fn engine_settings(settings: &Settings) -> Result<EngineSettings, Failure> {
    let usual = EngineSettings::default();
    let time = |key| settings.get::<Duration>(key);
    let number = |key| settings.get::<u32>(key);
    let count = |key| Ok::<_, Failure>(number(key)?.and_then(|number| usize::try_from(number).ok()));
    let tokens = |key| Ok::<_, Failure>(number(key)?.map(i64::from));
    let branching: Option<String> = settings.get(&keys::CONFIG_CHANGE_BRANCHING)?;
    let limit = time(&keys::HOOK_TIME_LIMIT)?.unwrap_or_default();
    let hooks: Vec<HookSetting> = settings.get(&keys::HOOKS)?.unwrap_or_default();
    Ok(EngineSettings {
        default_agent: settings.get(&keys::AGENT)?,
        default_model: model(settings.get(&keys::MODEL)?),
        default_thinking: settings.get(&keys::THINKING)?,
        default_tools: settings.get(&keys::TOOLS)?,
        default_permission_mode: settings.get(&keys::PERMISSION_MODE)?,
        config_change_branching: branching
            .and_then(|word| ConfigChangeBranching::named(&word))
            .unwrap_or(usual.config_change_branching),
        interrupt_wait: time(&keys::INTERRUPT_WAIT)?.unwrap_or(usual.interrupt_wait),
        idle_agents: count(&keys::IDLE_AGENTS)?.unwrap_or(usual.idle_agents),
        idle_close: time(&keys::IDLE_CLOSE)?.unwrap_or(usual.idle_close),
        summary_agent: settings.get(&keys::SUMMARY_AGENT)?,
        summary_model: model(settings.get(&keys::SUMMARY_MODEL)?),
        summary_wait: time(&keys::SUMMARY_TIME_LIMIT)?.unwrap_or(usual.summary_wait),
        summary_budget: tokens(&keys::SUMMARY_BUDGET)?.unwrap_or(usual.summary_budget),
        titles: settings.get(&keys::SUMMARY_TITLES)?.unwrap_or(usual.titles),
        compaction: CompactionSettings {
            enabled: settings.get(&keys::COMPACTION_ENABLED)?.unwrap_or(usual.compaction.enabled),
            reserve_tokens: tokens(&keys::COMPACTION_RESERVE_TOKENS)?
                .unwrap_or(usual.compaction.reserve_tokens),
            keep_recent_tokens: tokens(&keys::COMPACTION_KEEP_RECENT_TOKENS)?
                .unwrap_or(usual.compaction.keep_recent_tokens),
        },
        context_window: tokens(&keys::COMPACTION_CONTEXT_WINDOW)?,
        hooks: hooks.into_iter().map(|hook| hook.into_hook(limit)).collect(),
        agent_environment: settings.get(&keys::AGENT_ENVIRONMENT)?.unwrap_or_default(),
        agent_programs: settings
            .get(&keys::CLAUDE_CODE_PATH)?
            .map(|path: String| ("claude-code".to_owned(), PathBuf::from(path)))
            .into_iter()
            .collect(),
        agent_waits: [(
            "claude-code".to_owned(),
            Waits {
                start: time(&keys::CLAUDE_CODE_START_WAIT)?,
                silence: time(&keys::CLAUDE_CODE_SILENCE_WAIT)?,
            },
        )]
        .into(),
        providers: settings.get::<Providers>(&keys::PROVIDERS)?.unwrap_or_default().0,
        reach_wait: time(&keys::CONNECT_WAIT)?.unwrap_or(usual.reach_wait),
        reach_again: count(&keys::CONNECT_AGAIN)?.unwrap_or(usual.reach_again),
        ..usual
    })
}

/// Before an engine is asked for anything: settings that are wrong fail the command, those that are odd are reported.
pub(crate) fn check(here: &Here) -> Result<(), Failure> {
    let settings = super::load(here);
    engine_settings(&settings)?;
    for note in super::odd(&settings).iter().filter(|_| !here.look.quiet) {
        note_now(&harmless_line(note, here.look.ascii));
    }
    Ok(())
}

/// The state of the files, and what was read from them.
struct Known {
    seen: Vec<Seen>,
    settings: Arc<EngineSettings>,
}

/// What decides about settings apart from files.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    project: Option<String>,
    variables: BTreeMap<String, String>,
    overrides: BTreeMap<String, String>,
}

/// So many answers are kept; then all are forgotten, because reading again costs little.
const KEPT: usize = 256;

/// For every project and caller what counts there. Files are looked at each time and read when they have changed; prices
/// are the same everywhere.
pub(crate) fn source(home: &Path) -> SettingsSource {
    let home = home.to_owned();
    let known: Mutex<HashMap<Question, Known>> = Mutex::default();
    SettingsSource::read_by(move |project, context| {
        let reader = Reader::of_caller(&home, context);
        let folder = project.map(Path::new).filter(|folder| folder.is_absolute());
        let mut seen = reader.seen(folder);
        seen.push(Seen::now(prices::file(&home)));
        let question = Question {
            project: project.map(str::to_owned),
            variables: context.variables.clone(),
            overrides: context.overrides.clone(),
        };
        // Each change is whole, so a thread that died here left nothing half done.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = known.get(&question).filter(|before| before.seen == seen) {
            return Ok(before.settings.clone());
        }
        let read = engine_settings(&reader.read(folder)).map_err(|failure| failure.message().to_owned())?;
        log::hide(keys_of(&read, context));
        // Wrong prices are reported by the commands that print costs; nobody is kept from talking.
        let prices = prices::load_from(&home).map_or_else(|_| Prices::listed(), |table| table.prices);
        let settings = Arc::new(EngineSettings { prices, ..read });
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(question, Known { seen, settings: settings.clone() });
        Ok(settings)
    })
}

/// What providers are asked with: variables may have any name, and headers any value.
fn keys_of(settings: &EngineSettings, context: &CallerContext) -> impl Iterator<Item = String> {
    let keys = settings.providers.values().flat_map(|provider| {
        let variable = provider.key_env.as_ref().and_then(|name| context.environment.get(name));
        let headers = provider.headers.iter().map(|(_, value)| value);
        variable.into_iter().chain(headers).cloned()
    });
    keys.collect::<Vec<_>>().into_iter()
}

fn model(text: Option<String>) -> Option<Model> {
    let text = text?;
    let (provider, name) = text.split_once('/').unwrap_or(("", &text));
    Some(Model { provider: provider.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of keys says what the engine does where nobody says anything.
    #[test]
    fn defaults_are_those_of_the_engine() {
        let ours = engine_settings(&Settings::merged(Vec::new())).expect("defaults");
        let agent = Some(offshoot_engine::installed::USUAL.to_owned());
        let theirs = EngineSettings { default_agent: agent, ..EngineSettings::default() };
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }
}
