//! What `offshoot` reads in the files that a program wrote, drawn in a few signs:
//!
//! ```text
//! > a prompt
//! < a reply with a call [tool]
//! < ! a reply, after one or more that failed
//! = green apples            its result, as far as it names the note; `…` where it does not
//! @ [tool]                  here begins the sub-agent that this call has started
//! - > one branch
//!   < and its reply
//! - > another
//! ```
//!
//! Programs cut one reply into several pieces in their own ways, so pieces that follow each other are drawn as one.
//! A call without a result and a result without a call are marked.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::place::Place;
use super::story::NOTE;

pub(super) struct Reader {
    offshoot: PathBuf,
    /// Where imported sessions are kept.
    home: PathBuf,
}

impl Reader {
    pub(super) fn new(offshoot: &Path, place: &Place) -> Result<Self> {
        let home = place.project.with_file_name("offshoot");
        std::fs::create_dir_all(&home).with_context(|| format!("cannot create `{}`", home.display()))?;
        Ok(Self { offshoot: offshoot.to_owned(), home })
    }

    /// The tree of a file, drawn.
    pub(super) fn look(&self, file: &Path) -> Result<String> {
        let inspected = self.json(&["inspect", "--json"], file)?;
        let odd = |key: &str| inspected[key].to_string();
        if odd("oddities") != "[]" || odd("unknown_types") != "{}" {
            bail!("`{}` is odd: {} {}", file.display(), odd("oddities"), odd("unknown_types"));
        }
        Ok(draw(&self.json(&["tree", "--json"], file)?))
    }

    /// The same; it must be the same tree when the file has been imported.
    pub(super) fn tree(&self, file: &Path) -> Result<String> {
        let drawn = self.look(file)?;
        let imported = self.import(file)?;
        let stored = draw(&self.json(&["tree", "--json"], Path::new(&imported))?);
        if stored != drawn {
            bail!("imported it is another tree:\n{stored}instead of\n{drawn}");
        }
        let shown = self.json(&["show", "--json"], Path::new(&imported))?;
        if shown["entries"].as_array().is_none_or(Vec::is_empty) {
            bail!("nothing of it is shown");
        }
        Ok(drawn)
    }

    /// The session that a session came from, as the list tells it.
    pub(super) fn parent(&self, session: &str) -> Result<String> {
        let listed = self.told(&["ls", "--all", "--json"], None)?;
        let sessions = listed["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = sessions.iter().find(|listed| listed["id"] == session);
        let found = found.with_context(|| format!("`{session}` is not listed"))?;
        Ok(found["parent"].as_str().unwrap_or("none").to_owned())
    }

    /// The id in a file, as `inspect` tells it.
    pub(super) fn session(&self, file: &Path) -> Result<String> {
        let inspected = self.json(&["inspect", "--json"], file)?;
        Ok(inspected["session"].as_str().context("it has no id")?.to_owned())
    }

    /// What `cost` prints, under the names that pi's statistics use.
    pub(super) fn spent(&self, file: &Path) -> Result<Value> {
        let told = self.json(&["cost", "--json"], file)?;
        let total = &told["total"];
        Ok(json!({
            "input": total["input"], "output": total["output"], "cacheRead": total["cache_read"],
            "cacheWrite": total["cache_write"], "total": total["tokens"],
            // pi has no prices that are not known
            "micros": total["cost_micros"].as_i64().unwrap_or(0),
        }))
    }

    fn import(&self, file: &Path) -> Result<String> {
        let told = self.json(&["import", "--json"], file)?;
        Ok(told["sessions"][0]["id"].as_str().context("nothing was imported")?.to_owned())
    }

    fn json(&self, words: &[&str], about: &Path) -> Result<Value> {
        self.told(words, Some(about))
    }

    fn told(&self, words: &[&str], about: Option<&Path>) -> Result<Value> {
        let mut command = Command::new(&self.offshoot);
        command
            .args(words)
            .args(about)
            .env("OFFSHOOT_HOME", &self.home)
            .env("OFFSHOOT_AUTO_SYNC", "false")
            .stdin(Stdio::null());
        let output = command.output().context("cannot run offshoot")?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!("offshoot {} {about:?}: {}", words.join(" "), error.trim());
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("offshoot {} told no JSON", words.join(" ")))
    }
}

/// What is said, and where sub-agents begin; all else only stands between.
fn is_drawn(node: &Value) -> bool {
    match text(node, "role") {
        "user" | "assistant" | "tool_result" => true,
        "note" => started_by(node).is_some(),
        _ => false,
    }
}

fn started_by(note: &Value) -> Option<&str> {
    note.pointer("/data/call").filter(|_| note["kind"] == "subagent").and_then(Value::as_str)
}

fn draw(tree: &Value) -> String {
    let nodes = &spoken(tree["nodes"].as_array().map(Vec::as_slice).unwrap_or_default());
    let calls: HashMap<&str, &str> =
        nodes.iter().flat_map(|node| node.calls.iter().map(|call| (call.id, call.name))).collect();
    let answers: HashSet<&str> = nodes.iter().filter_map(|node| node.answers).collect();
    let mut drawing = String::new();
    let children = |of: Option<usize>| (0..nodes.len()).filter(move |at| nodes[*at].parent == of);
    let mut open: Vec<(usize, usize, bool)> = Vec::new();
    let push = |open: &mut Vec<(usize, usize, bool)>, of: Option<usize>, depth: usize| {
        let below: Vec<usize> = children(of).collect();
        let is_branching = below.len() > 1;
        let depth = depth + usize::from(is_branching);
        open.extend(below.into_iter().rev().map(|at| (at, depth, is_branching)));
    };
    push(&mut open, None, 0);
    while let Some((at, depth, is_first)) = open.pop() {
        let mut line = nodes[at].line(&calls, &answers);
        let mut end = at;
        // Pieces of one reply.
        while let [only] = children(Some(end)).collect::<Vec<_>>().as_slice()
            && (nodes[end].role, nodes[*only].role) == ("assistant", "assistant")
        {
            end = *only;
            line = join(&line, &nodes[end].line(&calls, &answers));
        }
        let margin = match depth.checked_sub(1) {
            Some(outer) => format!("{}{}", "  ".repeat(outer), if is_first { "- " } else { "  " }),
            None => String::new(),
        };
        drawing.push_str(&format!("{margin}{line}\n"));
        push(&mut open, Some(end), depth);
    }
    drawing
}

fn join(line: &str, more: &str) -> String {
    match more.trim_start_matches(['<', ' ']) {
        "!" if line.ends_with('!') => line.to_owned(),
        more => format!("{line} {more}"),
    }
}

struct Node<'v> {
    role: &'v str,
    text: &'v str,
    parent: Option<usize>,
    calls: Vec<Call<'v>>,
    answers: Option<&'v str>,
    started_by: Option<&'v str>,
    failed: bool,
}

struct Call<'v> {
    id: &'v str,
    name: &'v str,
}

fn spoken(nodes: &[Value]) -> Vec<Node<'_>> {
    let by_id: HashMap<&str, &Value> = nodes.iter().map(|node| (text(node, "id"), node)).collect();
    let kept: Vec<&Value> = nodes.iter().filter(|node| is_drawn(node)).collect();
    let places: HashMap<&str, usize> =
        kept.iter().enumerate().map(|(at, node)| (text(node, "id"), at)).collect();
    let node = |node: &&'_ Value| -> Option<usize> {
        let mut above = by_id.get(text(node, "parent")).copied();
        while let Some(one) = above.filter(|one| !is_drawn(one)) {
            above = by_id.get(text(one, "parent")).copied();
        }
        above.and_then(|above| places.get(text(above, "id")).copied())
    };
    let parents: Vec<Option<usize>> = kept.iter().map(node).collect();
    kept.into_iter()
        .zip(parents)
        .map(|(node, parent)| {
            let calls = node["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            Node {
                role: text(node, "role"),
                text: text(node, "text"),
                parent,
                calls: calls
                    .iter()
                    .map(|call| Call { id: text(call, "id"), name: text(call, "name") })
                    .collect(),
                answers: node["call"].as_str(),
                started_by: started_by(node),
                failed: text(node, "stop") == "error",
            }
        })
        .collect()
}

impl Node<'_> {
    fn line(&self, calls: &HashMap<&str, &str>, answers: &HashSet<&str>) -> String {
        match self.role {
            "user" => format!("> {}", self.text.trim().replace('\n', " ")),
            "note" => {
                let name = self.started_by.and_then(|call| calls.get(call));
                format!("@ [{}]", name.unwrap_or(&"no call"))
            }
            "tool_result" => {
                let is_paired = self.answers.is_some_and(|call| calls.contains_key(call));
                let what = if self.text.contains(NOTE) { NOTE } else { "…" };
                format!("= {what}{}", if is_paired { "" } else { " (to no call)" })
            }
            _ => {
                let mut line = String::from(if self.failed { "< !" } else { "<" });
                if !self.text.trim().is_empty() {
                    line.push_str(&format!(" {}", self.text.trim().replace('\n', " ")));
                }
                for call in &self.calls {
                    let is_answered = answers.contains(call.id);
                    line.push_str(&format!(
                        " [{}{}]",
                        call.name,
                        if is_answered { "" } else { ", no result" }
                    ));
                }
                line
            }
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tree_is_drawn_with_its_branches_calls_and_results() {
        let node = |id: &str, parent: &str, role: &str, text: &str| json!({"id": id, "parent": parent, "role": role, "text": text});
        let mut reply = node("a2", "a1", "assistant", "");
        reply["tool_calls"] = json!([{"id": "c", "name": "Bash"}, {"id": "d", "name": "Read"}]);
        let mut result = node("r1", "n1", "tool_result", "there are green apples");
        result["call"] = "c".into();
        let mut stray = node("r2", "r1", "tool_result", "?");
        stray["call"] = "e".into();
        let mut started = node("n2", "", "note", "");
        started["kind"] = "subagent".into();
        started["data"] = json!({"call": "d"});
        let nodes = [
            node("u1", "", "user", "Look."),
            node("a1", "u1", "assistant", "Looking."),
            reply,
            node("n1", "a2", "note", ""),
            result,
            stray,
            node("u2", "r2", "user", "One."),
            node("a3", "u2", "assistant", "One it is."),
            node("u3", "r2", "user", "Two."),
            started,
            node("u4", "n2", "user", "Help."),
        ];
        let expected = "\
- > Look.
  < Looking. [Bash] [Read, no result]
  = green apples
  = … (to no call)
  - > One.
    < One it is.
  - > Two.
- @ [Read]
  > Help.
";
        assert_eq!(draw(&json!({ "nodes": nodes })), expected);
    }
}
