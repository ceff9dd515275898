//! `cargo xtask cases [DIR]`: runs acceptance cases given as data against the functions of the product.
//!
//! A runner only translates: JSON into the product's types, one call of the product, the answer back into JSON.
//! Where Offshoot differs by decision, the expectation is changed by a rule ([`decided`]) or the case is excepted
//! by a rule ([`exceptions`]), never by its id.

mod ccpocket;
mod compare;
mod decided;
mod exceptions;
mod guards;
mod harness;
mod omp;
mod pi;
mod pi_text;
mod rewind;
mod rollouts;
mod slot_view;
mod slots;
mod stamps;
mod status;
mod tree_ops;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One case of a file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    /// What is called, where a file has cases of several functions.
    pub(crate) function: String,
    pub(crate) input: Value,
    pub(crate) expected: Value,
}

/// How the cases of one kind are run.
pub(crate) struct Kind {
    product: &'static str,
    kind: &'static str,
    /// The function of the product that answers.
    calls: &'static str,
    run: fn(&Case) -> Result<Value>,
    /// The decided differences that touch this kind.
    adjust: fn(&Case) -> Value,
}

enum Outcome {
    /// With the keys of the expectation that no answer speaks of.
    Passed(Vec<String>),
    Failed(String),
    Excepted(&'static str),
}

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    excepted: usize,
    skipped: usize,
}

pub(crate) fn run(dir: Option<PathBuf>) -> Result<ExitCode> {
    let dir = dir.unwrap_or_else(|| PathBuf::from("../shared/cases"));
    let mut files = Vec::new();
    json_files(&dir, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("no case files under `{}`", dir.display());
    }
    let mut total = Count::default();
    for file in &files {
        let count = run_file(&dir, file).with_context(|| format!("in `{}`", file.display()))?;
        total.passed += count.passed;
        total.failed += count.failed;
        total.excepted += count.excepted;
        total.skipped += count.skipped;
    }
    say(format!(
        "{} passed, {} failed, {} excepted, {} skipped",
        total.passed, total.failed, total.excepted, total.skipped
    ));
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run_file(dir: &Path, path: &Path) -> Result<Count> {
    let name = path.strip_prefix(dir).unwrap_or(path).display().to_string();
    let file: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let (product, kind) = (text(&file, "product"), text(&file, "kind"));
    let cases = cases_of(&file)?;
    let mut count = Count::default();
    if kind == "hazards" {
        count.skipped = cases.len();
        say(format!(
            "{name}: {} skipped: prose, each has a test of its own (docs/compatibility.md)",
            cases.len()
        ));
        return Ok(count);
    }
    let Some(runner) = kinds().into_iter().find(|runner| runner.product == product && runner.kind == kind)
    else {
        count.skipped = cases.len();
        say(format!("{name}: {} skipped: kind `{product}/{kind}` is not built yet", cases.len()));
        return Ok(count);
    };
    let mut failures = Vec::new();
    let mut rules: Vec<&str> = Vec::new();
    let mut ignored = BTreeSet::new();
    for case in &cases {
        match judge(&runner, case) {
            Outcome::Passed(keys) => {
                count.passed += 1;
                ignored.extend(keys);
            }
            Outcome::Failed(why) => {
                count.failed += 1;
                failures.push(format!("  {}\n{why}", case.id));
            }
            Outcome::Excepted(rule) => {
                count.excepted += 1;
                rules.push(rule);
            }
        }
    }
    rules.sort_unstable();
    rules.dedup();
    let excepted = if rules.is_empty() {
        String::new()
    } else {
        format!(", {} excepted by {}", count.excepted, rules.join(", "))
    };
    let ignored = match ignored.len() {
        0 => String::new(),
        _ => format!(", not compared: {}", ignored.into_iter().collect::<Vec<_>>().join(" ")),
    };
    say(format!(
        "{name}: {} passed, {} failed{excepted}{ignored}  ({})",
        count.passed, count.failed, runner.calls
    ));
    failures.into_iter().for_each(say);
    Ok(count)
}

fn judge(runner: &Kind, case: &Case) -> Outcome {
    let expected = (runner.adjust)(case);
    let answer = match (runner.run)(case) {
        Ok(answer) => answer,
        Err(error) => return Outcome::Failed(format!("    {error:#}")),
    };
    let differences = compare::differences(&expected, &answer);
    if differences.is_empty() {
        return Outcome::Passed(compare::unsupported(&expected, &answer));
    }
    match exceptions::rule_for(runner.product, runner.kind, case, &answer) {
        Some(rule) => Outcome::Excepted(rule),
        None => Outcome::Failed(differences.join("\n")),
    }
}

fn kinds() -> Vec<Kind> {
    [
        pi::kinds(),
        pi_text::kinds(),
        tree_ops::kinds(),
        harness::kinds(),
        omp::kinds(),
        rollouts::kinds(),
        slots::kinds(),
        ccpocket::kinds(),
        guards::kinds(),
        status::kinds(),
        rewind::kinds(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn cases_of(file: &Value) -> Result<Vec<Case>> {
    let cases = file.get("cases").and_then(Value::as_array).context("no `cases` in the file")?;
    Ok(cases
        .iter()
        .map(|case| Case {
            id: text(case, "id").to_owned(),
            function: text(case, "function").to_owned(),
            input: case.get("input").cloned().unwrap_or_default(),
            expected: case.get("expected").cloned().unwrap_or_default(),
        })
        .collect())
}

fn json_files(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let listing =
        std::fs::read_dir(dir).with_context(|| format!("cannot read the folder `{}`", dir.display()))?;
    for item in listing {
        let path = item?.path();
        if path.is_dir() {
            json_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// The text under a key, empty where there is none.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Nothing decided touches this kind.
pub(crate) fn as_recorded(case: &Case) -> Value {
    case.expected.clone()
}

#[expect(clippy::print_stdout, reason = "the report of this command")]
fn say(line: String) {
    println!("{line}");
}
