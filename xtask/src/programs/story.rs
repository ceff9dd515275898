//! The conversation that is held with every program.
//!
//! ```text
//! What is in the note?      a call of a tool
//! ├── Ask somebody else.    a sub-agent
//! └── And which colour?     the same place, asked differently: a branch or a fork
//! ```

use offshoot_testkit::model::{Failure, Part, Script, call, gate, say};
use serde_json::{Value, json};

/// What stands in the note of the project.
pub(super) const NOTE: &str = "green apples";

pub(super) const FIRST: &str = "What is in the note?";
pub(super) const ASK: &str = "Ask somebody else.";
pub(super) const OTHER: &str = "And which colour?";
/// Answered only after some failures: refusals and an error in the stream, or an overloaded server and a connection that
/// breaks. No program tries more often than it is asked to here.
pub(super) const AGAIN: &str = "Try until it works.";
pub(super) const ONCE_MORE: &str = "Try that once more.";
const HELPER: &str = "Find the note yourself.";

/// The gate where the conversation waits for its sub-agent, in programs where sub-agents run beside it.
pub(super) const HELPER_DONE: &str = "the helper is done";

/// The tools of a program: their names, and how they are called.
pub(super) struct Tools {
    pub(super) shell: &'static str,
    /// `None` where the program has no sub-agents.
    pub(super) agent: Option<&'static str>,
    shell_input: Value,
    agent_input: Value,
    /// How a sub-agent hands its answer over, where words alone do not do.
    handing_over: Option<Part>,
    is_beside: bool,
}

pub(super) fn tools(program: &str) -> Tools {
    let found = format!("The helper found {NOTE}.");
    let command = "cat note.txt";
    let none = Tools {
        shell: "bash",
        agent: None,
        shell_input: json!({"command": command}),
        agent_input: Value::Null,
        handing_over: None,
        is_beside: false,
    };
    match program {
        "claude-code" => Tools {
            shell: "Bash",
            agent: Some("Agent"),
            shell_input: json!({"command": command, "description": "Read the note"}),
            agent_input: json!({"description": "Find the note", "prompt": HELPER,
                "subagent_type": "general-purpose", "run_in_background": false}),
            ..none
        },
        "codex" => Tools {
            shell: "exec_command",
            agent: Some("multi_agent_v1.spawn_agent"),
            shell_input: json!({"cmd": command}),
            agent_input: json!({"message": HELPER}),
            is_beside: true,
            ..none
        },
        "oh-my-pi" => Tools {
            agent: Some("task"),
            agent_input: json!({"i": "Finding the note", "context": "A note lies in the project.",
                "tasks": [{"name": "Helper", "task": HELPER}]}),
            handing_over: Some(call("yield", json!({"data": {"found": found}}))),
            is_beside: true,
            ..none
        },
        "gemini" => Tools {
            shell: "run_shell_command",
            agent: Some("invoke_agent"),
            agent_input: json!({"agent_name": "generalist", "prompt": HELPER}),
            handing_over: Some(call("complete_task", json!({"result": {"response": found}}))),
            ..none
        },
        "opencode" => Tools {
            agent: Some("task"),
            shell_input: json!({"command": command, "description": "Read the note"}),
            agent_input: json!({"description": "Find the note", "prompt": HELPER, "subagent_type": "general"}),
            ..none
        },
        _ => none,
    }
}

pub(super) fn script(program: &str) -> Script {
    let tools = tools(program);
    let shell = || call(tools.shell, tools.shell_input.clone());
    let handed_over = tools.handing_over.clone().unwrap_or_else(|| say(format!("The helper found {NOTE}.")));
    let mut script = Script::new()
        // The task of a sub-agent may quote the conversation it comes from, so it is looked for first.
        .when(HELPER, [shell()])
        .then([handed_over])
        .when(FIRST, [say("I will look."), shell()])
        .then([say("Green apples.")])
        .when(OTHER, [say("Green.")])
        .when(AGAIN, [say("It works.")])
        .only_after([Failure::rate_limited(0), Failure::status(500), Failure::Error])
        .when(ONCE_MORE, [say("It works again.")])
        .only_after([Failure::status(529), Failure::Drop]);
    if let Some(agent) = tools.agent {
        let asked = vec![say("I will ask."), call(agent, tools.agent_input.clone())];
        script = script.when(ASK, asked);
        script = match tools.is_beside {
            true => script.then([gate(HELPER_DONE), say("Somebody has looked.")]).then([say("Noted.")]),
            false => script.then([say("Somebody has looked.")]),
        };
    }
    script
}

/// How the reader should draw what was held; see [`super::reading`].
pub(super) fn first(tools: &Tools) -> String {
    format!("> {FIRST}\n< I will look. [{}]\n= {NOTE}\n< Green apples.\n", tools.shell)
}

pub(super) fn other() -> String {
    format!("> {OTHER}\n< Green.\n")
}

pub(super) fn again() -> String {
    format!("> {AGAIN}\n< It works.\n")
}

pub(super) fn once_more() -> String {
    format!("> {ONCE_MORE}\n< It works again.\n")
}

/// Where an error in the stream is the end of a turn, and what failed is kept.
pub(super) fn given_up() -> String {
    format!("> {AGAIN}\n< !\n")
}

/// `result` is what the call of the sub-agent was answered with.
pub(super) fn asked(agent: &str, result: &str) -> String {
    format!("> {ASK}\n< I will ask. [{agent}]\n= {result}\n< Somebody has looked.\n")
}

/// A sub-agent that answers in words.
pub(super) fn helper(tools: &Tools) -> String {
    format!("> {HELPER}\n< [{}]\n= {NOTE}\n< The helper found {NOTE}.\n", tools.shell)
}

/// A sub-agent that hands its answer over by a call.
pub(super) fn helper_that_calls(tools: &Tools, handing_over: &str, result: &str) -> String {
    format!("> {HELPER}\n< [{}]\n= {NOTE}\n< [{handing_over}]\n= {result}\n", tools.shell)
}

/// Branches, each a step to the right; the one with the head comes first.
pub(super) fn branches(branches: &[&str]) -> String {
    let lines = branches.iter().flat_map(|branch| branch.lines().enumerate());
    lines.map(|(at, line)| format!("{}{line}\n", if at == 0 { "- " } else { "  " })).collect()
}
