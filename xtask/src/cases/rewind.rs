//! Rewinding the sessions of agents, as a bridge between them and a phone does it.

use anyhow::{Context, Result, bail};
use offshoot_agents::Agent as _;
use offshoot_agents::claude_code::{ClaudeCode, NAME};
use offshoot_api::{ApiError, frame};
use offshoot_session::agent::Abilities;
use offshoot_session::handoff::{Handoff, HandoffAgent, plan_handoff_below};
use offshoot_session::plan::{RewindScope, agent_may_preview, agent_may_rewind, agent_rewind};
use offshoot_session::{
    Body, Entry, EntryId, Fact, Missing, Provenance, Record, SessionTree, Stamps, TurnId,
};
use serde_json::{Value, json};

use super::stamps::GivenIds;
use super::{Case, Kind, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "ccpocket",
        kind: "rewind-fork",
        calls: "session::handoff::plan_handoff_below with agents::claude_code, session::plan::{agent_rewind, agent_may_rewind, agent_may_preview}, api::frame::decode_call",
        run,
        adjust: names_in_backticks,
    }]
}

/// D8: our errors are fragments in lower case that name things in backticks.
fn names_in_backticks(case: &Case) -> Value {
    let mut expected = case.expected.clone();
    let missing = expected.get("error").and_then(Value::as_str).and_then(|error| {
        let id = error.strip_prefix("Session ")?.strip_suffix(" not found")?;
        Some(format!("session `{id}` not found"))
    });
    if let Some(missing) = missing {
        expected["error"] = Value::String(missing);
    }
    expected
}

fn run(case: &Case) -> Result<Value> {
    let input = &case.input;
    if let Some(kind) = input.get("message_type").and_then(Value::as_str) {
        return message_of_type(kind);
    }
    if let Some(session) = input.get("session").and_then(Value::as_str) {
        // Every session is unknown to a bridge that has none.
        return Ok(json!({"error": ApiError::session_not_found(session).message}));
    }
    if input.get("dry_run").and_then(Value::as_bool) == Some(true) {
        return Ok(preview(text(input, "provider")));
    }
    if let Some(mode) = input.get("mode").and_then(Value::as_str) {
        return by_mode(mode, text(input, "provider"));
    }
    if let Some(turns) = input.get("total_user_turns").and_then(Value::as_u64) {
        return by_count(turns, text(input, "target"));
    }
    by_history(list(input, "history"), text(input, "target"))
}

fn message_of_type(kind: &str) -> Result<Value> {
    let line = json!({"id": 1, "request": {"type": kind}}).to_string();
    Ok(match frame::decode_call(line.as_bytes()) {
        Ok(_) => json!({"error_code": null}),
        Err(bad) => json!({
            "error_code": bad.error.code.word(),
            "echoes_type": bad.error.message.contains(kind),
        }),
    })
}

/// What the agents of the bridge keep by themselves, and how they are called.
fn agent(provider: &str) -> (&'static str, Abilities) {
    let keeps_files = Abilities { file_checkpoints: true, ..Abilities::default() };
    if provider == "codex" { ("Codex", Abilities::default()) } else { ("Claude", keeps_files) }
}

fn preview(provider: &str) -> Value {
    let (name, can) = agent(provider);
    let refused = agent_may_preview(name, &can).err().map(|refused| refused.to_string());
    json!({"rewind_preview": {"canRewind": refused.is_none(), "error": refused}})
}

fn by_mode(mode: &str, provider: &str) -> Result<Value> {
    let (name, can) = agent(provider);
    let scope = match mode {
        "conversation" => RewindScope::Conversation,
        "code" => RewindScope::Files,
        "both" => RewindScope::Both,
        other => bail!("unknown mode `{other}`"),
    };
    let refused = agent_may_rewind(name, &can, scope).err().map(|refused| refused.to_string());
    Ok(json!({"rewind_result": {"success": refused.is_none(), "mode": mode, "error": refused}}))
}

/// Prompts that are known by their number.
fn by_count(turns: u64, target: &str) -> Result<Value> {
    let number = target.rsplit(':').next().unwrap_or_default();
    let history: Vec<Value> = (1..=turns)
        .flat_map(|turn| [json!(["user", turn.to_string()]), json!(["assistant", format!("a{turn}")])])
        .collect();
    let (tree, tip) = line_of(&history)?;
    Ok(match agent_rewind(&tree, &tip, &number.into()) {
        Ok(rewind) => json!({"turns_to_drop": rewind.dropped_turns, "kept_user_turns": rewind.kept_turns}),
        Err(refused) => json!({"error": refused.to_string()}),
    })
}

/// What the engine decides for a rewind by Claude Code: a native fork at a message, or a session that begins.
fn by_history(history: &[Value], target: &str) -> Result<Value> {
    let (tree, tip) = bound_line_of(history)?;
    let target = EntryId::from(target);
    // As for every agent: the prompt is one of this branch.
    if let Err(refused) = agent_rewind(&tree, &tip, &target) {
        return Ok(json!({"error": refused.to_string()}));
    }
    let claude = ClaudeCode::default();
    let abilities = claude.abilities(None);
    let agent = HandoffAgent { name: claude.name(), abilities: &abilities, live: None, new_session: None };
    let above = tree.parent(&target).map(|above| &above.id);
    Ok(match plan_handoff_below(&tree, above, &agent) {
        Handoff::Fork { at: Some(at), .. } => json!({"resume_at": at.as_str(), "fresh_session": false}),
        Handoff::New { .. } => json!({"resume_at": null, "fresh_session": true}),
        other => bail!("Claude Code does not come to the message by itself: {other:?}"),
    })
}

/// The same, held by Claude Code in one session: each prompt begins a turn that is bound to it.
fn bound_line_of(history: &[Value]) -> Result<(SessionTree, EntryId)> {
    let mut stamps = GivenIds::default();
    let (mut tree, tip) = line_of(history)?;
    let prompts = tree.entries().filter(|entry| entry.body.is_prompt()).map(|entry| entry.id.clone());
    for prompt in prompts.collect::<Vec<_>>() {
        let bound = Fact::Bound {
            at: prompt,
            agent_session: Some("session".into()),
            provenance: Provenance::Continued,
            last_message: None,
            agent: Some(NAME.to_owned()),
            missing: Missing::default(),
            inherited: false,
            model: None,
        };
        tree = tree.extended(&[Record::marked(stamps.now(), bound)])?;
    }
    Ok((tree, tip))
}

/// One line of messages, and its end.
fn line_of(history: &[Value]) -> Result<(SessionTree, EntryId)> {
    let mut stamps = GivenIds::default();
    let mut tree = SessionTree::default();
    let (mut tip, mut turn): (Option<EntryId>, Option<TurnId>) = (None, None);
    for message in history {
        let part =
            |at: usize| message.get(at).and_then(Value::as_str).context("a message has a role and an id");
        let (role, id) = (part(0)?, EntryId::from(part(1)?));
        let body = if role == "user" { Body::prompt(id.as_str()) } else { Body::reply(id.as_str()) };
        if role == "user" {
            turn = Some(TurnId::from(format!("turn-{id}")));
        }
        let written_at = stamps.now();
        let entry = Entry { id: id.clone(), parent: tip.replace(id), written_at, turn: turn.clone(), body };
        tree = tree.extended(&[Record::entry(entry)])?;
    }
    Ok((tree, tip.context("there are no messages")?))
}
