//! `offshoot new [TITLE]`: an empty session about this folder.

use offshoot_engine::installed::installed;
use offshoot_session::plan::born;
use offshoot_session::{Fact, Record, SessionHeader, Stamps, TitleSource};
use serde_json::json;

use super::json::printed_object;
use crate::args::NewArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::cannot_answer;
use crate::{Answer, stored, words};

pub(crate) fn run(args: &NewArgs, here: &Here) -> Result<Answer, Failure> {
    if let Some(agent) = args.agent.as_deref().filter(|agent| !can_answer(agent)) {
        return Err(cannot_answer(agent, words::scripts::GO_ON_WITHOUT));
    }
    let mut stamps = here.stamps();
    let id = stamps.session_id();
    let now = stamps.now();
    let mut header = SessionHeader::new(id.clone(), now);
    let project = args.project.as_deref().unwrap_or(&here.folder);
    header.project = Some(project.to_string_lossy().into_owned());
    header.agent.clone_from(&args.agent);
    header.model = args.model.clone().map(Into::into);
    let mut records = vec![Record::opened(header)];
    if let Some(title) = args.title.as_deref().filter(|title| !title.trim().is_empty()) {
        let fact = Fact::Title { title: Some(title.trim().to_owned()), source: TitleSource::User };
        records.push(Record::marked(now, fact));
    }
    let operation = stamps.operation_id();
    born(&mut records, words::NEW_STEP, operation, &mut stamps);
    stored::create(here, &records)?;
    let text = match args.json.json {
        Some(_) => printed_object(json!({"id": id.as_str()})),
        None => words::session_begun(&id, args.title.as_deref()),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn can_answer(agent: &str) -> bool {
    installed().iter().any(|known| known.name() == agent)
}
