//! However the engine ends, no process of an agent and none of its tools is left after five seconds, and the next prompt
//! works.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::flows::{in_endless_tool, stopping};
use super::person::{Person, Running};
use super::processes;
use crate::programs::Check;

const LIMIT: Duration = Duration::from_secs(5);

pub(super) fn after_stop(person: &Person) -> Result<Vec<Check>> {
    in_every_state(person, |person| {
        person.run(&["engine", "stop", "--force"])?;
        Ok(())
    })
}

pub(super) fn after_kill(person: &Person) -> Result<Vec<Check>> {
    in_every_state(person, |person| {
        processes::kill(person.engine()?);
        Ok(())
    })
}

fn in_every_state(person: &Person, end: impl Fn(&Person) -> Result<()>) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    person.send("One.")?;
    checks.extend(left_after(person, "idle", None, &end)?);
    let streaming = person.start(&["send", &person.session, &stopping()])?;
    if !person.server.wait_at("middle") {
        bail!("the stream never stopped");
    }
    checks.extend(left_after(person, "in a stream", Some(streaming), &end)?);
    let asking = person.start(&[
        "send",
        &person.session,
        "Ask.\n%call Bash {\"command\": \"echo x > y\", \"description\": \"Try\"}",
    ])?;
    person.await_ask()?;
    checks.extend(left_after(person, "in a permission request", Some(asking), &end)?);
    let in_tool = in_endless_tool(person)?;
    checks.extend(left_after(person, "in a tool", Some(in_tool), &end)?);
    Ok(checks)
}

fn left_after(
    person: &Person,
    state: &'static str,
    sending: Option<Running>,
    end: impl Fn(&Person) -> Result<()>,
) -> Result<Vec<Check>> {
    if person.agents().is_empty() {
        bail!("no agent runs {state}");
    }
    end(person)?;
    let ended = Instant::now();
    while !person.agents().is_empty() && ended.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left = person.agents();
    if let Some(mut sending) = sending {
        sending.end()?;
    }
    let next = person.send(&format!("Next, {state}."))?;
    Ok(vec![Check::new(
        state,
        format!("{left:?} left, {next}"),
        format!("[] left, You said: Next, {state}."),
    )])
}
