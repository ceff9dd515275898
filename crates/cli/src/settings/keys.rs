//! Everything that can be set, in the order in which it is told. `docs/settings.md` has the same table.

use offshoot_session::agent::THINKING_LEVELS;

use super::value::Kind;

#[derive(Debug)]
pub(crate) struct Key {
    /// As files spell it; a dot stands for a table.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// As somebody would write it. `None`: nothing is set unless somebody does.
    pub(crate) default: Option<&'static str>,
    pub(crate) whose: Whose,
    pub(crate) meaning: &'static str,
}

/// How variables begin.
pub(crate) const PREFIX: &str = "OFFSHOOT_";

/// Whose files may say it. A project comes from anybody, and whoever looks into it has not agreed to anything yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// How conversations about a project are held.
    Project,
    /// What runs programs, sends what was said to others, lets agents do more, or is a matter of taste.
    Person,
    /// What concerns the engine process, which serves all commands. Only the user's file sets it: a variable or a flag
    /// belongs to one command.
    Engine,
}

impl Key {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        KEYS.into_iter().find(|key| key.name == name)
    }

    /// The variable of this key, also where setting it has no effect.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.replace(['.', '-'], "_").to_uppercase())
    }

    /// The variable that sets it. `None`: only the user's file does.
    pub(crate) fn effective_variable(&self) -> Option<String> {
        (self.whose != Whose::Engine).then(|| self.variable())
    }
}

pub(crate) static KEYS: [&Key; 35] = [
    &AGENT,
    &MODEL,
    &THINKING,
    &TOOLS,
    &PERMISSION_MODE,
    &CONFIG_CHANGE_BRANCHING,
    &COMPACTION_ENABLED,
    &COMPACTION_CONTEXT_WINDOW,
    &COMPACTION_RESERVE_TOKENS,
    &COMPACTION_KEEP_RECENT_TOKENS,
    &SUMMARY_AGENT,
    &SUMMARY_MODEL,
    &SUMMARY_BUDGET,
    &SUMMARY_TIME_LIMIT,
    &SUMMARY_TITLES,
    &HOOKS,
    &HOOK_TIME_LIMIT,
    &AGENT_ENVIRONMENT,
    &CLAUDE_CODE_PATH,
    &CLAUDE_CODE_START_WAIT,
    &CLAUDE_CODE_SILENCE_WAIT,
    &PROVIDERS,
    &CONNECT_WAIT,
    &CONNECT_AGAIN,
    &INTERRUPT_WAIT,
    &IDLE_AGENTS,
    &IDLE_CLOSE,
    &ENGINE_IDLE,
    &KEEP,
    &SYNC_INTERVAL,
    &AUTO_SYNC,
    &DOUBLE_ESCAPE_ACTION,
    &COLOR,
    &ASCII,
    &LOG,
];

/// Those that count in the command that reads them; all others concern the engine.
pub(crate) static FOR_COMMANDS: [&Key; 6] = [&KEEP, &SYNC_INTERVAL, &AUTO_SYNC, &COLOR, &ASCII, &LOG];

pub(crate) static AGENT: Key = Key {
    name: "agent",
    kind: Kind::Agent,
    default: Some(offshoot_engine::installed::USUAL),
    whose: Whose::Project,
    meaning: "Who answers where a session names no agent; `offshoot agents` lists them.",
};

pub(crate) static MODEL: Key = Key {
    name: "model",
    kind: Kind::Model,
    default: None,
    whose: Whose::Project,
    meaning: "The model with which sessions of that agent begin.",
};

pub(crate) static THINKING: Key = Key {
    name: "thinking",
    kind: Kind::OneOf(&THINKING_LEVELS),
    default: None,
    whose: Whose::Project,
    meaning: "How much that agent thinks.",
};

pub(crate) static TOOLS: Key = Key {
    name: "tools",
    kind: Kind::List,
    default: None,
    whose: Whose::Person,
    meaning: "The tools that agent may use.",
};

pub(crate) static PERMISSION_MODE: Key = Key {
    name: "permission_mode",
    kind: Kind::Text,
    default: None,
    whose: Whose::Person,
    meaning: "How that agent asks for permissions.",
};

pub(crate) static CONFIG_CHANGE_BRANCHING: Key = Key {
    name: "config_change_branching",
    kind: Kind::OneOf(&["entry", "file", "ask"]),
    default: Some("entry"),
    whose: Whose::Project,
    meaning: "Where a change of agent, model, thinking, tools or permission mode goes: into the session, into a session of its own, or as you say each time.",
};

pub(crate) static COMPACTION_ENABLED: Key = Key {
    name: "compaction.enabled",
    kind: Kind::OnOff,
    default: Some("true"),
    whose: Whose::Project,
    meaning: "Whether a branch is made shorter by itself when the window is nearly full.",
};

pub(crate) static COMPACTION_CONTEXT_WINDOW: Key = Key {
    name: "compaction.context_window",
    kind: Kind::Number,
    default: None,
    whose: Whose::Project,
    meaning: "What the model can read, in tokens. Where it is not set, what the agent says counts, then what is known of \
              the model; of a model that is not known nothing is made shorter by itself.",
};

pub(crate) static COMPACTION_RESERVE_TOKENS: Key = Key {
    name: "compaction.reserve_tokens",
    kind: Kind::Number,
    default: Some("16384"),
    whose: Whose::Project,
    meaning: "Room in the window for the answer and the summary.",
};

pub(crate) static COMPACTION_KEEP_RECENT_TOKENS: Key = Key {
    name: "compaction.keep_recent_tokens",
    kind: Kind::Number,
    default: Some("20000"),
    whose: Whose::Project,
    meaning: "About how much stays word for word.",
};

pub(crate) static SUMMARY_AGENT: Key = Key {
    name: "summary.agent",
    kind: Kind::Agent,
    default: None,
    whose: Whose::Person,
    meaning: "Who writes summaries, if not the agent of the branch.",
};

pub(crate) static SUMMARY_MODEL: Key = Key {
    name: "summary.model",
    kind: Kind::Model,
    default: None,
    whose: Whose::Person,
    meaning: "With which model, if not that of the branch: a cheaper one, say.",
};

pub(crate) static SUMMARY_BUDGET: Key = Key {
    name: "summary.budget",
    kind: Kind::Number,
    default: Some("100000"),
    whose: Whose::Project,
    meaning: "About how many tokens of a branch that is left are read for its summary; `0` sets no limit.",
};

pub(crate) static SUMMARY_TIME_LIMIT: Key = Key {
    name: "summary.time_limit",
    kind: Kind::Time,
    default: Some("2m"),
    whose: Whose::Project,
    meaning: "How long one summary may take.",
};

pub(crate) static SUMMARY_TITLES: Key = Key {
    name: "summary.titles",
    kind: Kind::OnOff,
    default: Some("true"),
    whose: Whose::Project,
    meaning: "Whether a model gives a title to a session that has none, after an answer. Only models that the agent `llm` asks do.",
};

pub(crate) static HOOKS: Key = Key {
    name: "hooks",
    kind: Kind::Hooks,
    default: Some("[]"),
    whose: Whose::Person,
    meaning: "Programs and addresses that are told what happens: docs/hooks.md.",
};

pub(crate) static HOOK_TIME_LIMIT: Key = Key {
    name: "hook_time_limit",
    kind: Kind::Time,
    default: Some("10s"),
    whose: Whose::Person,
    meaning: "How long a hook may take that has no `time_limit` of its own.",
};

pub(crate) static AGENT_ENVIRONMENT: Key = Key {
    name: "agent_environment",
    kind: Kind::List,
    default: Some(""),
    whose: Whose::Person,
    meaning: "Variables that agents and hooks do not inherit from your shell; `*` stands for anything, as in `AWS_*`.",
};

pub(crate) static CLAUDE_CODE_PATH: Key = Key {
    name: "agents.claude-code.path",
    kind: Kind::Program,
    default: None,
    whose: Whose::Person,
    meaning: "The program of Claude Code, if not the `claude` that is found on `PATH`.",
};

pub(crate) static CLAUDE_CODE_START_WAIT: Key = Key {
    name: "agents.claude-code.start_wait",
    kind: Kind::Time,
    default: Some("20s"),
    whose: Whose::Person,
    meaning: "How long Claude Code may take to answer after its start.",
};

pub(crate) static CLAUDE_CODE_SILENCE_WAIT: Key = Key {
    name: "agents.claude-code.silence_wait",
    kind: Kind::Time,
    default: Some("1m"),
    whose: Whose::Person,
    meaning: "After so long without output of Claude Code in a turn you are told.",
};

pub(crate) static PROVIDERS: Key = Key {
    name: "providers",
    kind: Kind::Providers,
    default: None,
    whose: Whose::Person,
    meaning: "Servers of models for the agent `llm`, beside `anthropic`, `openai` and `ollama`.",
};

pub(crate) static CONNECT_WAIT: Key = Key {
    name: "connect_wait",
    kind: Kind::Time,
    default: Some("1m"),
    whose: Whose::Person,
    meaning: "How long an agent may take to be there.",
};

pub(crate) static CONNECT_AGAIN: Key = Key {
    name: "connect_again",
    kind: Kind::Number,
    default: Some("3"),
    whose: Whose::Person,
    meaning: "How often an agent that is lost within a turn is connected to again.",
};

pub(crate) static INTERRUPT_WAIT: Key = Key {
    name: "interrupt_wait",
    kind: Kind::Time,
    default: Some("5s"),
    whose: Whose::Person,
    meaning: "How long an interrupted agent may take to stop before it is ended.",
};

pub(crate) static IDLE_AGENTS: Key = Key {
    name: "idle_agents",
    kind: Kind::Number,
    default: Some("3"),
    whose: Whose::Person,
    meaning: "How many agents of all sessions wait for a further prompt.",
};

pub(crate) static IDLE_CLOSE: Key = Key {
    name: "idle_close",
    kind: Kind::Time,
    default: Some("10m"),
    whose: Whose::Person,
    meaning: "After so long without anybody looking and anything running the engine closes a session.",
};

pub(crate) static ENGINE_IDLE: Key = Key {
    name: "engine_idle",
    kind: Kind::Time,
    default: Some("10m"),
    whose: Whose::Engine,
    meaning: "After so long without turns, questions, followers or requests the engine process exits. Only your own file sets it.",
};

pub(crate) static KEEP: Key = Key {
    name: "keep",
    kind: Kind::OnOff,
    default: Some("true"),
    whose: Whose::Person,
    meaning: "Whether sessions of other programs are kept when they are seen; `offshoot keep --off` sets it too.",
};

pub(crate) static SYNC_INTERVAL: Key = Key {
    name: "sync_interval",
    kind: Kind::Time,
    default: Some("10m"),
    whose: Whose::Person,
    meaning: "`ls`, `search` and others look for new sessions when the last look is older than this.",
};

pub(crate) static AUTO_SYNC: Key = Key {
    name: "auto_sync",
    kind: Kind::OnOff,
    default: Some("true"),
    whose: Whose::Person,
    meaning: "Whether all other commands have them looked for too, by a process of low priority that nobody waits for.",
};

pub(crate) static DOUBLE_ESCAPE_ACTION: Key = Key {
    name: "double_escape_action",
    kind: Kind::OneOf(&["tree", "branch", "none"]),
    default: Some("tree"),
    whose: Whose::Person,
    meaning: "What Escape twice does where nothing is typed, in interfaces that have keys; line mode has none.",
};

pub(crate) static COLOR: Key = Key {
    name: "color",
    kind: Kind::OneOf(&["auto", "always", "never"]),
    default: Some("auto"),
    whose: Whose::Person,
    meaning: "Whether to print in colour; `auto` does at a terminal. `NO_COLOR` and `--no-color` say `never`.",
};

pub(crate) static ASCII: Key = Key {
    name: "ascii",
    kind: Kind::OnOff,
    default: Some("false"),
    whose: Whose::Person,
    meaning: "Whether to draw with ASCII characters only, as where the locale is not UTF-8; `--ascii` says `true`.",
};

pub(crate) static LOG: Key = Key {
    name: "log",
    kind: Kind::OneOf(&["off", "error", "warn", "info", "debug", "trace"]),
    default: Some("info"),
    whose: Whose::Person,
    meaning: "How much is written into the log file of the home.",
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::settings::value::read_text;

    #[test]
    fn names_are_unique_and_defaults_are_values() {
        let names: BTreeSet<&str> = KEYS.iter().map(|key| key.name).collect();
        let variables: BTreeSet<String> = KEYS.iter().map(|key| key.variable()).collect();
        assert_eq!((names.len(), variables.len()), (KEYS.len(), KEYS.len()));
        for key in KEYS {
            let default = key.default.map(|default| read_text(key.kind, default));
            assert!(default.is_none_or(|default| default.is_ok()), "{}", key.name);
        }
    }

    /// The page is for people, this table for the program: they say the same.
    #[test]
    fn the_page_about_settings_has_this_table() {
        let page = include_str!("../../../../docs/settings.md");
        let told: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let known: Vec<String> = KEYS.into_iter().map(row).collect();
        assert_eq!(told, known, "docs/settings.md should have these rows:\n{}", known.join("\n"));
    }

    fn row(key: &Key) -> String {
        let default = key.default.map_or("–".to_owned(), |default| format!("`{default}`"));
        let project = match key.whose {
            Whose::Project => "yes",
            Whose::Person | Whose::Engine => "",
        };
        let variable = key.effective_variable().map_or("–".to_owned(), |name| format!("`{name}`"));
        let (name, meaning) = (key.name, key.meaning);
        format!("| `{name}` | {} | {default} | {variable} | {project} | {meaning} |", key.kind.told())
    }
}
