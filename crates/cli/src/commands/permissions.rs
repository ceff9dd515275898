//! `offshoot permissions`: what was answered with "always", and the way back.

use offshoot_api::request::{Permissions, RevokePermission};
use offshoot_api::views::{RuleView, ScopeView};
use offshoot_api::{ErrorCode, Request, Response};
use serde_json::json;

use super::json::printed;
use crate::Answer;
use crate::args::{PermissionsArgs, PermissionsCommand};
use crate::change::answered;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{refused, unexpected};
use crate::text::{harmless_command, harmless_line};
use crate::which::short;
use crate::words::talking as words;

pub(crate) fn run(args: &PermissionsArgs, here: &Here) -> Result<Answer, Failure> {
    let request = match &args.command {
        Some(PermissionsCommand::Revoke { rule }) => {
            Request::RevokePermission(RevokePermission { rule: rule.clone() })
        }
        None => Request::Permissions(Permissions::default()),
    };
    let answer = answered(here, request)?.map_err(|error| match error.code {
        ErrorCode::NotFound => Failure::not_found(error.message).hint(words::NO_RULE_HINT),
        ErrorCode::Internal => refused(&error).hint(words::BROKEN_RULES_HINT),
        _ => refused(&error),
    })?;
    let text = match answer {
        Response::Permissions { rules } => match args.json.json {
            Some(shape) => printed(json!({ "rules": rules }), "rules", shape),
            None if rules.is_empty() => words::NO_RULES.to_owned(),
            None => rules.iter().map(|rule| line(rule, here)).collect(),
        },
        Response::Done { .. } => words::REVOKED.to_owned(),
        other => return Err(unexpected(other)),
    };
    Ok(Answer { text, ..Answer::default() })
}

fn line(rule: &RuleView, here: &Here) -> String {
    let reach = match rule.scope {
        ScopeView::Session => words::in_session(&short(here, &rule.session.as_str().into())),
        ScopeView::Project => words::in_project(rule.project.as_deref().unwrap_or_default()),
    };
    let allows = harmless_command(&rule.allows, here.look.ascii);
    let line = format!("{}  {}  {allows}  {reach}", rule.id, rule.tool);
    harmless_line(&line, here.look.ascii) + "\n"
}
