//! `offshoot doctor`: is the home well? Each line is one thing looked at, with what to do where it is not well.

mod home;
mod report;

use serde_json::{Value, json};

use super::json::printed;
use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::look::{Ink, Look, Sign};
use crate::{Answer, text};

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    name: &'static str,
    text: String,
    /// What to do about it; where there is something to do, there is a problem.
    problem: Option<String>,
}

impl Check {
    fn well(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, text: text.into(), problem: None }
    }

    fn problem(name: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, text: text.into(), problem: Some(hint.into()) }
    }
}

const NAME_COLUMNS: usize = 12;

pub(crate) fn run(args: &DoctorArgs, here: &Here) -> Result<Answer, Failure> {
    let checks = home::checks(here)?;
    if let Some(file) = &args.report {
        return report::run(file.as_deref(), &checks, here);
    }
    let is_well = checks.iter().all(|check| check.problem.is_none());
    let text = match args.json.json {
        Some(shape) => printed(as_json(&checks, is_well), "checks", shape),
        None => checks.iter().map(|check| line(check, &here.look)).collect(),
    };
    Ok(Answer { text, ends: (!is_well).then_some(Exit::Failed), ..Answer::default() })
}

fn line(check: &Check, look: &Look) -> String {
    let (sign, ink) = match check.problem {
        None => ("ok     ".to_owned(), Ink::Faint),
        Some(_) => (format!("{} bad  ", look.sign(Sign::Error)), Ink::Error),
    };
    let name = text::padded(check.name, NAME_COLUMNS);
    let said = text::harmless_line(&check.text, look.ascii);
    let mut line = format!("{}{}{said}\n", look.paint(ink, &sign), look.paint(Ink::Faint, &name));
    if let Some(hint) = check.problem.as_ref().filter(|_| !look.quiet) {
        let indent = " ".repeat(7 + NAME_COLUMNS);
        line.push_str(&format!(
            "{indent}{} {}\n",
            look.paint(Ink::Accent, "hint:"),
            text::harmless_line(hint, look.ascii)
        ));
    }
    line
}

fn as_json(checks: &[Check], is_well: bool) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| {
            json!({
                "name": check.name,
                "ok": check.problem.is_none(),
                "text": check.text,
                "hint": check.problem,
            })
        })
        .collect();
    json!({ "ok": is_well, "checks": checks })
}
