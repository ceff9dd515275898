//! The words of a program that watches terminals.

use anyhow::{Result, bail};
use offshoot_session::status::words::{HookEvent, TerminalFlags, TerminalWord};
use serde_json::{Value, json};

use super::{Case, Kind, as_recorded, list};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "commandmate",
        kind: "status-mapping",
        calls: "session::status::words",
        run,
        adjust: as_recorded,
    }]
}

fn run(case: &Case) -> Result<Value> {
    let args = list(&case.input, "args");
    let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
    let result = match case.function.as_str() {
        "agentEventToSessionStatus" => {
            let (event, detail) = (arg(0), arg(1));
            let event = HookEvent::named(event.as_str().unwrap_or_default(), detail.as_str());
            let decided = event.and_then(|event| Some((event, event.state()?)));
            json!(decided.map(|(event, state)| {
                json!({"status": spelled(state.of_terminal()), "reason": event.reason()})
            }))
        }
        "sessionStatusToActivityFlags" => {
            let flags = read(&arg(0))?.unwrap_or(TerminalWord::Idle).flags();
            json!({"isWaitingForResponse": flags.is_waiting, "isProcessing": flags.is_processing})
        }
        "deriveCliStatus" => json!(spelled(flags(&arg(0), "isRunning").word())),
        "deriveSessionStatus" => json!(flags(&arg(0), "isSessionRunning").word_of_process().map(spelled)),
        "deriveBranchStatus" => {
            json!(spelled(TerminalWord::of_process(read(&arg(0))?, arg(1).as_bool().unwrap_or_default())))
        }
        other => bail!("unknown function `{other}`"),
    };
    Ok(json!({"result": result}))
}

fn flags(value: &Value, process: &str) -> TerminalFlags {
    let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or_default();
    TerminalFlags {
        is_running: flag(process),
        is_waiting: flag("isWaitingForResponse"),
        is_processing: flag("isProcessing"),
    }
}

fn read(word: &Value) -> Result<Option<TerminalWord>> {
    Ok(match word.as_str() {
        None => None,
        Some("idle") => Some(TerminalWord::Idle),
        Some("ready") => Some(TerminalWord::Ready),
        Some("running") => Some(TerminalWord::Running),
        Some("waiting") => Some(TerminalWord::Waiting),
        Some(other) => bail!("unknown status `{other}`"),
    })
}

fn spelled(word: TerminalWord) -> &'static str {
    match word {
        TerminalWord::Idle => "idle",
        TerminalWord::Ready => "ready",
        TerminalWord::Running => "running",
        TerminalWord::Waiting => "waiting",
    }
}
