//! What a request holds: the messages of its path and nothing else, and for a fork the bytes of its origin.

use std::collections::HashSet;
use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedChild;
use offshoot_testkit::model::{Request, Script, say};
use serde_json::Value;

use crate::MODELS;
use crate::person::Person;

/// Words of the requests for summaries: of a branch that is left, of a beginning, of a beginning that has one, and of half
/// a turn.
const SUMMARIES: [&str; 4] = [
    "is a branch that the person is leaving",
    "Summarise the conversation above so that",
    "goes on from the previous summary",
    "is the beginning of one long turn",
];

/// A journal keeps strings of more than 65,536 bytes in files of their own.
const LONG: usize = 100_000;

/// The smallest PNG: one pixel.
const PNG: [u8; 33] = [
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0,
    1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89,
];

/// So much of a text is compared: long results are cut for the model.
const COMPARED: usize = 60;

/// A person who does something at random, the same for the same number.
struct Walk {
    person: Person,
    model: &'static str,
    random: u64,
    prompts: usize,
    requests: usize,
    done: Vec<String>,
    /// What was on a path.
    seen: HashSet<String>,
}

impl Walk {
    fn new(model: &'static str, seed: u64) -> Self {
        let written = |script: Script, words| script.when(words, [say("## Goal\nWhat was learned.")]);
        let person = Person::new(SUMMARIES.into_iter().fold(Script::new(), written));
        let folder = person.workspace();
        for (name, bytes) in [("a.txt", b"one line\n".to_vec()), ("pixel.png", PNG.to_vec())] {
            std::fs::write(folder.join(name), bytes).expect("a file");
        }
        std::fs::write(folder.join("long.txt"), format!("{}\n", "many words".repeat(10)).repeat(LONG / 100))
            .expect("a file");
        Self { person, model, random: seed, prompts: 0, requests: 0, done: Vec::new(), seen: HashSet::new() }
    }

    fn below(&mut self, limit: usize) -> usize {
        // Knuth's generator; its low bits repeat soon.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.random >> 33) % limit as u64).unwrap_or_default()
    }

    fn turns(&self) -> usize {
        let prompts = self.person.entries().into_iter().filter(|entry| entry["role"] == "user");
        prompts.count()
    }

    /// Goes somewhere, or nowhere.
    fn step(&mut self) {
        let turns = self.turns();
        let to = (self.below(turns.max(1)) + 1).to_string();
        let session = self.person.session.clone();
        let words: &[&str] = match self.below(5) {
            _ if turns < 2 => &[],
            0 => &["switch", &session, &to],
            1 => &["switch", &session, &to, "--summary"],
            2 => &["fork", &session, &to, "--new-session", "--json"],
            3 => {
                self.compact();
                &[]
            }
            _ => &[],
        };
        if !words.is_empty() {
            self.done.push(words.join(" "));
            let said = self.person.run(words);
            if words.contains(&"--new-session") {
                let began: Value = serde_json::from_str(&said.out).expect("JSON");
                let id = began["session"].as_str().or_else(|| began["id"].as_str());
                self.person.session = id.unwrap_or_else(|| panic!("{began}")).to_owned();
            }
        }
        self.say();
    }

    fn compact(&mut self) {
        self.done.push("compact".to_owned());
        let words = ["chat", &self.person.session, "--set", "compaction.keep_recent_tokens=40"];
        let mut command = self.person.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut chat = command.spawn().expect("the program starts");
        chat.stdin.take().expect("a pipe").write_all(b"/compact\n").expect("it reads");
        // Where there is too little for a summary the chat says so.
        let _ = chat.bounded_output();
    }

    fn say(&mut self) {
        self.prompts += 1;
        let number = self.prompts;
        let text = match self.below(4) {
            0 => format!("[{number}] plain"),
            1 => format!(
                "[{number}]\n%say Looking.\n%call read {{\"path\": \"a.txt\"}}\n%call list {{\"path\": \".\"}}\n%then\n\
                 %call read {{\"path\": \"none\"}}\n%then\n%think Hm.\n%say Done {number}."
            ),
            2 => format!("[{number}]\n%call read {{\"path\": \"long.txt\"}}\n%then\n%say Long {number}."),
            _ => format!("[{number}]\n%call read {{\"path\": \"pixel.png\"}}\n%then\n%say Seen {number}."),
        };
        let edited = format!("#{}", self.below(self.turns().max(1)) + 1);
        let mut more: Vec<&str> = Vec::new();
        if self.turns() > 0 && self.below(3) == 0 {
            more.extend(["--edit", &edited]);
        }
        if self.below(4) == 0 {
            more.extend(["--attach", "pixel.png"]);
        }
        self.done.push(format!("{text} {more:?}"));
        self.person.send(self.model, &text, &more).went_well();
        self.check();
    }

    /// The requests of a turn are beginnings of its path, and the last one is all of it but its answer.
    fn check(&mut self) {
        let entries = self.person.entries();
        self.seen.extend(in_force(&entries).iter().map(|entry| entry["role"].to_string()));
        let mut path = lines_of_path(&entries);
        path.pop();
        let requests = self.person.requests();
        let of_turn = requests.iter().skip(self.requests);
        let of_turn: Vec<&Request> = of_turn.filter(|request| !asks_for_summary(request)).collect();
        self.requests = requests.len();
        for request in &of_turn {
            let lines = lines_of_request(&request.body);
            assert_eq!(lines, path[..lines.len().min(path.len())], "{:#?}", self.done);
        }
        let last = of_turn.last().expect("a request");
        assert_eq!(lines_of_request(&last.body), path, "{:#?}", self.done);
    }
}

fn line(kind: &str, text: &str) -> String {
    let text: String = text.chars().take(COMPARED).collect();
    format!("{kind} {text}")
}

fn asks_for_summary(request: &Request) -> bool {
    SUMMARIES.iter().any(|words| request.body.to_string().contains(words))
}

/// What a model reads of a path: the summary of the last compaction, what that kept, and what came later.
fn in_force(entries: &[Value]) -> Vec<&Value> {
    let Some(at) = entries.iter().rposition(|entry| entry["role"] == "compaction") else {
        return entries.iter().collect();
    };
    let first_kept = entries.iter().position(|entry| entry["id"] == entries[at]["first_kept"]);
    let kept = entries.iter().skip(first_kept.unwrap_or(at)).filter(|entry| entry["role"] != "compaction");
    [&entries[at]].into_iter().chain(kept).collect()
}

/// What a path says, a line for each part of it.
fn lines_of_path(entries: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in in_force(entries) {
        let text = entry["text"].as_str().unwrap_or_default();
        let images = entry["images"].as_u64().unwrap_or_default();
        match entry["role"].as_str().unwrap_or_default() {
            "user" => lines.push(line("user", text)),
            "branch_summary" | "compaction" => lines.push("summary".to_owned()),
            "assistant" => {
                if !text.is_empty() {
                    lines.push(line("assistant", text));
                }
                let calls = entry["tool_calls"].as_array().cloned().unwrap_or_default();
                lines.extend(calls.iter().map(|call| format!("call {} {}", call["name"], call["input"])));
            }
            "tool_result" => lines.push(line("result", text)),
            "setting" | "note" => {}
            other => panic!("{other} is on the path"),
        }
        lines.extend((0..images).map(|_| "image".to_owned()));
    }
    lines
}

/// The same of a request. Thinking is left out: `show` has it nowhere.
fn lines_of_request(body: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for message in body["messages"].as_array().expect("messages") {
        let role = message["role"].as_str().unwrap_or_default();
        let role = if role == "tool" { "result" } else { role };
        match &message["content"] {
            Value::String(_) if role == "system" => {}
            Value::String(text) => lines.push(said(role, text)),
            Value::Array(blocks) => lines.extend(blocks.iter().flat_map(|block| lines_of_block(role, block))),
            _ => {}
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let input: Value = serde_json::from_str(arguments).expect("JSON");
            lines.push(format!("call {} {input}", call["function"]["name"]));
        }
    }
    lines
}

fn said(role: &str, text: &str) -> String {
    let is_summary = role == "user" && text.contains("What was learned.");
    if is_summary { "summary".to_owned() } else { line(role, text) }
}

fn lines_of_block(role: &str, block: &Value) -> Vec<String> {
    match block["type"].as_str().unwrap_or_default() {
        "text" => vec![said(role, block["text"].as_str().unwrap_or_default())],
        "image" | "image_url" => vec!["image".to_owned()],
        "tool_use" => vec![format!("call {} {}", block["name"], block["input"])],
        "tool_result" => {
            let inner = block["content"].as_array().cloned().unwrap_or_default();
            inner.iter().flat_map(|block| lines_of_block("result", block)).collect()
        }
        _ => Vec::new(),
    }
}

/// Sends, edits, forks and switches at random, with calls, images, long results, summaries and compactions.
#[test]
fn a_request_holds_exactly_the_messages_of_its_path() {
    for model in MODELS {
        let mut seen = HashSet::new();
        for seed in [1, 6] {
            let mut walk = Walk::new(model, seed);
            (0..10).for_each(|_| walk.step());
            seen.extend(walk.seen);
        }
        for role in ["tool_result", "branch_summary", "compaction"] {
            assert!(seen.contains(&format!("\"{role}\"")), "no walk had a {role}: {seen:?}");
        }
    }
}

/// The body as it was sent, without the marks for the cache: those move with the end of a conversation.
fn sent(request: &Request) -> String {
    let body = String::from_utf8(request.bytes.clone()).expect("text");
    body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
}

#[test]
fn a_fork_begins_with_the_bytes_of_its_origin() {
    for model in MODELS {
        let mut walk = Walk::new(model, 0);
        let looks = "one\n%think Hm.\n%say Looking.\n%call read {\"path\": \"long.txt\"}\n\
                     %call read {\"path\": \"pixel.png\"}\n%then\n%call list {\"path\": \".\"}\n%then\n%say One.";
        let person = &mut walk.person;
        person.send(model, looks, &["--attach", "pixel.png"]).went_well();
        person.send(model, "two", &[]).went_well();
        person.send(model, "three", &[]).went_well();
        let origin = person.requests().pop().expect("a request");
        person.send(model, "three, otherwise", &["--edit", "#3"]).went_well();
        let edited = person.requests().pop().expect("a request");
        let began = person.json(&["fork", &person.session, "2", "--new-session", "--json"]);
        let id = began["session"].as_str().or_else(|| began["id"].as_str());
        person.session = id.unwrap_or_else(|| panic!("{began}")).to_owned();
        person.send(model, "three, elsewhere", &[]).went_well();
        let elsewhere = person.requests().pop().expect("a request");
        let origin = sent(&origin);
        let fork_point = origin.rfind("three").expect("the prompt");
        assert!(fork_point > LONG, "calls, images and a long result are before it");
        for (fork, prompt) in [(edited, "three, otherwise"), (elsewhere, "three, elsewhere")] {
            let fork = sent(&fork);
            assert_eq!(fork.rfind(prompt), Some(fork_point));
            assert!(fork[..fork_point] == origin[..fork_point], "{model}: {prompt}");
        }
    }
}
