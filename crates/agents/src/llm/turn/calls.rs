//! The calls of an answer, in their order. Those that change nothing run in parallel.

use std::time::Duration;

use futures_util::future::join_all;
use offshoot_session::agent::AgentEventKind;
use offshoot_session::asks::{Answer, Asking, Permission};
use offshoot_session::{Block, Body, ToolResult, ToolUse};
use serde_json::Value;
use tokio::time::timeout;

use super::{Place, Stopped, Turn};
use crate::llm::limits::May;
use crate::llm::tools::{self, Cancel, ToolOutput};

/// How long a tool that is interrupted may take to end what it has started.
const CANCEL_WAIT: Duration = Duration::from_secs(3);

impl Turn<'_> {
    pub(super) async fn make_calls(&mut self) -> Result<(), Stopped> {
        while let Some(call) = self.open_calls.first().cloned() {
            match self.may(&call) {
                May::Parallel => {
                    let parallel = self.open_calls.iter().take_while(|call| self.may(call) == May::Parallel);
                    self.run_calls(parallel.cloned().collect()).await?;
                }
                May::AtOnce => self.run_calls(vec![call]).await?,
                May::IfAllowed => self.run_if_allowed(call).await?,
                May::No(why) => self.write_result(&call, ToolOutput::error(why)).await?,
            }
        }
        Ok(())
    }

    fn may(&self, call: &ToolUse) -> May {
        match (&self.place.workspace, &call.input) {
            (None, _) => May::No("There are no tools here: the conversation has no folder.".to_owned()),
            (Some(_), Value::Object(_)) => self.limits.may(&call.name),
            (Some(_), _) => May::No("The input of the call is not a JSON object.".to_owned()),
        }
    }

    /// All of them at the same time. One that is interrupted ends what it has started before the turn is over.
    async fn run_calls(&mut self, calls: Vec<ToolUse>) -> Result<(), Stopped> {
        let (place, cancel) = (self.place, Cancel::new());
        let mut running = std::pin::pin!(all_at_once(&calls, |call| run(place, call, &cancel)));
        let outputs = match self.listener.unless_interrupted(&self.reporter, running.as_mut()).await {
            Ok(outputs) => outputs,
            Err(stopped) => {
                cancel.cancel();
                // Those that have not ended by then get no result of their own.
                if let Ok(outputs) = timeout(CANCEL_WAIT, running).await {
                    self.write_results(&calls, outputs).await?;
                }
                return Err(stopped);
            }
        };
        self.write_results(&calls, outputs).await
    }

    /// The input that was allowed may have been changed.
    async fn run_if_allowed(&mut self, mut call: ToolUse) -> Result<(), Stopped> {
        let permission = match self.preview(&call).await? {
            Ok(permission) => permission,
            Err(output) => return self.write_result(&call, output).await,
        };
        let message = match self.listener.ask(&self.reporter, Asking::Permission(permission)).await? {
            Answer::Allow { input, .. } => {
                call.input = input.unwrap_or(call.input);
                return self.run_calls(vec![call]).await;
            }
            Answer::AllowAlways { .. } => return self.run_calls(vec![call]).await,
            Answer::Deny { message } => message,
            Answer::Choose(_) => None,
        };
        let text = match message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
            Some(message) => format!("The person denied this: {message}"),
            None => "The person denied this.".to_owned(),
        };
        self.write_result(&call, ToolOutput::error(text)).await
    }

    /// What the person is asked. A call that cannot succeed is answered without asking.
    async fn preview(&mut self, call: &ToolUse) -> Result<Result<Permission, ToolOutput>, Stopped> {
        let Some(workspace) = self.place.workspace.clone() else {
            return Ok(Err(ToolOutput::error("There is no folder.")));
        };
        let (name, input) = (call.name.clone(), call.input.clone());
        let looking = tokio::task::spawn_blocking(move || tools::preview(&workspace, &name, &input));
        let looked = self.listener.unless_interrupted(&self.reporter, looking).await?;
        let permission = looked.unwrap_or_else(|error| Err(ToolOutput::error(error.to_string())));
        Ok(permission.map(|permission| Permission { call: Some(call.id.clone()), ..permission }))
    }

    async fn write_results(&mut self, calls: &[ToolUse], outputs: Vec<ToolOutput>) -> Result<(), Stopped> {
        for (call, output) in calls.iter().zip(outputs) {
            self.write_result(call, output).await?;
        }
        Ok(())
    }

    /// The call is no longer open.
    pub(super) async fn write_result(&mut self, call: &ToolUse, output: ToolOutput) -> Result<(), Stopped> {
        let asked_for = self.open_calls.iter().find(|open| open.id == call.id);
        let is_changed = asked_for.is_some_and(|asked_for| asked_for.input != call.input);
        let changed_input = is_changed.then(|| Box::new(call.input.clone()));
        self.open_calls.retain(|open| open.id != call.id);
        let text = self.place.asking.secrets.taken_out(&output.text);
        let mut blocks = vec![Block::Text(text)];
        blocks.extend(output.images);
        let (call, tool) = (call.id.clone(), call.name.clone());
        let body = Body::ToolResult(ToolResult {
            call,
            tool,
            blocks,
            failed: output.is_error,
            usage: None,
            changed_input,
        });
        self.remember(body.clone());
        self.report(AgentEventKind::Entry { id: None, message: None, body }).await
    }
}

async fn all_at_once<'c, R: Future<Output = ToolOutput>>(
    calls: &'c [ToolUse],
    run: impl Fn(&'c ToolUse) -> R,
) -> Vec<ToolOutput> {
    join_all(calls.iter().map(run)).await
}

async fn run(place: &Place, call: &ToolUse, cancel: &Cancel) -> ToolOutput {
    match &place.workspace {
        Some(workspace) => tools::run(workspace, &place.environment, &call.name, &call.input, cancel).await,
        None => ToolOutput::error("There is no folder."),
    }
}

pub(super) fn not_made() -> ToolOutput {
    ToolOutput::error("The answer was refused before this was done.")
}

pub(super) fn interrupted() -> ToolOutput {
    ToolOutput::error("The person interrupted before this was done.")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Barrier;

    use super::*;

    /// Each call waits for the other: one after the other they would never end.
    #[tokio::test]
    async fn calls_that_may_run_in_parallel_do() {
        let call = |id: &str| ToolUse { id: id.into(), name: "read".into(), input: Value::Null };
        let (calls, all_are_there) = ([call("a"), call("b"), call("c")], Barrier::new(3));
        let outputs = all_at_once(&calls, |call| {
            let (id, all_are_there) = (call.id.to_string(), &all_are_there);
            async move {
                all_are_there.wait().await;
                ToolOutput::error(id)
            }
        });
        let outputs = timeout(Duration::from_secs(60), outputs).await.expect("none waits for another to end");
        assert_eq!(outputs.iter().map(|output| output.text.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
