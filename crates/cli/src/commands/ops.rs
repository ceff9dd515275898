//! `offshoot ops [SESSION]`: the steps taken, the latest first.

use offshoot_api::views::OperationView;
use serde_json::{Value, json};

use super::json::printed;
use crate::args::OpsArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::look::Ink;
use crate::numbers::{moment, moment_after};
use crate::steps::told_of_step;
use crate::stored::read_even_if_taken_back;
use crate::text::{cut, harmless_line, width};
use crate::which::{Among, stored_among};
use crate::{Answer, look::Sign, words};

pub(crate) fn run(args: &OpsArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored_among(here, session, Among::All)?;
    let tree = read_even_if_taken_back(here, &id)?.tree;
    let mut operations = OperationView::all(&tree);
    operations.reverse();
    if let Some(shape) = args.json.json {
        let list: Vec<Value> = operations
            .iter()
            .map(|step| {
                json!({
                    "id": step.id, "name": step.kind, "what": told_of_step(step),
                    "at": step.at.to_string(), "undone": step.undone,
                })
            })
            .collect();
        let text = printed(json!({"session": id.as_str(), "operations": list}), "operations", shape);
        return Ok(Answer { text, ..Answer::default() });
    }
    let look = &here.look;
    let mut text = String::new();
    let mut before = None;
    for step in &operations {
        let what = harmless_line(&told_of_step(step), look.ascii);
        let undone = if step.undone { words::UNDONE } else { "" };
        if !look.for_a_person {
            text.push_str(&format!("{}\t{what}\t{undone}\n", moment(step.at, look)));
            continue;
        }
        // The date where it changes, the time below it.
        let when = format!("{:>16}", moment_after(step.at, before, look));
        before = Some(step.at);
        let taken = width(&when) + 2 + if step.undone { width(undone) + 2 } else { 0 };
        let what = match look.width {
            Some(all) => cut(&what, all.saturating_sub(taken), look.sign(Sign::Cut)),
            None => what,
        };
        text.push_str(&format!("{}  {what}", look.paint(Ink::Faint, &when)));
        if step.undone {
            text.push_str(&format!("  {}", look.paint(Ink::Faint, undone)));
        }
        text.push('\n');
    }
    if operations.is_empty() && !look.quiet && look.for_a_person {
        text.push_str(words::NO_STEPS);
    }
    Ok(Answer { text, ..Answer::default() })
}
