//! Records to write.

use jiff::{SignedDuration, Timestamp};
use offshoot_session::{
    Block, Body, BranchReason, BranchSummary, Compaction, CustomMessage, Entry, EntryId, Fact, FileLists,
    Foreign, HeadMove, HeadName, ImageData, Interruption, Lineage, Mark, Merge, Missing, Model, Note, Prompt,
    Provenance, RawLine, Record, Reply, SessionHeader, Setting, Shell, Stop, System, TitleSource, ToolResult,
    ToolUse, Usage,
};
use offshoot_testkit::FixedStamps;

pub(crate) fn header(id: &str) -> Record {
    Record::opened(SessionHeader::new(id.into(), FixedStamps::start()))
}

pub(crate) fn prompt(id: &str, parent: Option<&EntryId>) -> Record {
    entry(id, parent.cloned(), Body::prompt(format!("what is {id}?")))
}

pub(crate) fn reply(id: &str, parent: Option<&EntryId>) -> Record {
    entry(id, parent.cloned(), Body::reply(format!("{id} is this.")))
}

pub(crate) fn moved(from: Option<&EntryId>, to: Option<&EntryId>) -> Record {
    let (from, to) = (from.cloned(), to.cloned());
    Record::head_moved(HeadMove { head: HeadName::main(), moved_at: at(0), from, to })
}

/// A prompt with its answer, the head behind it.
pub(crate) fn step(name: &str, parent: Option<&EntryId>, head: Option<&EntryId>) -> Vec<Record> {
    let (question, answer) = (EntryId::from(format!("u-{name}")), EntryId::from(format!("a-{name}")));
    vec![
        prompt(question.as_str(), parent),
        reply(answer.as_str(), Some(&question)),
        moved(head, Some(&answer)),
    ]
}

fn entry(id: &str, parent: Option<EntryId>, body: Body) -> Record {
    Record::entry(Entry { id: id.into(), parent, written_at: at(0), turn: None, body })
}

fn at(seconds: i64) -> Timestamp {
    FixedStamps::start() + SignedDuration::from_secs(seconds)
}

/// A session with every kind of record, in steps. One of them is undone, one was imported, one lies in a blob,
/// one is a line of another program that says nothing.
pub(crate) fn every_kind(id: &str) -> Vec<Vec<Record>> {
    let model = Model { provider: "test".into(), name: "small".into() };
    let mut header = SessionHeader::new(id.into(), at(0));
    header.project = Some("/home/ada/engine".into());
    header.agent = Some("built_in".into());
    header.model = Some(model.clone());
    header.lineage = Some(Lineage {
        parent: "earlier".into(),
        at: Some("e9".into()),
        message_index: Some(4),
        reason: Some(BranchReason::Other("curiosity".into())),
        metadata: Some(json(r#"{"depth": 1.5, "tags": ["a", null, true]}"#)),
    });
    let files = FileLists { read: vec!["src/main.rs".into()], modified: vec!["Cargo.toml".into()] };
    let usage = Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, total: 10, cost_micros: -5 };
    let bodies: Vec<(&str, Option<&str>, Body)> = vec![
        (
            "e1",
            None,
            Body::Prompt(Prompt {
                blocks: vec![
                    Block::Text("Grüße, 世界! \u{202e}\u{0}".into()),
                    Block::Image { media_type: "image/png".into(), data: ImageData::Inline("aGk=".into()) },
                    Block::Image { media_type: "image/gif".into(), data: ImageData::Blob("b7".into()) },
                ],
                attachments: vec!["notes.txt".into()],
                said_at: Some(at(-3)),
            }),
        ),
        (
            "e2",
            Some("e1"),
            Body::Reply(Reply {
                blocks: vec![
                    Block::Thinking("hm".into()),
                    Block::ToolUse(ToolUse {
                        id: "call1".into(),
                        name: "read".into(),
                        input: json(r#"{"path": "a\nb", "blob": {"blob": "x", "bytes": 3}}"#),
                    }),
                    Block::Other { kind: "video".into() },
                ],
                model: Some(model.clone()),
                usage: Some(usage),
                stop: Some(Stop::ToolUse),
                said_at: Some(at(1)),
                signatures: Vec::new(),
            }),
        ),
        (
            "e3",
            Some("e2"),
            Body::ToolResult(ToolResult {
                call: "call1".into(),
                tool: "read".into(),
                blocks: vec![Block::Text("long line\n".repeat(7_000))],
                failed: true,
                usage: None,
                changed_input: None,
            }),
        ),
        (
            "e4",
            Some("e3"),
            Body::Shell(Shell {
                command: "ls".into(),
                output: "a\tb".into(),
                exit_code: Some(-1),
                cancelled: true,
                full_output: Some("/tmp/out".into()),
                private: true,
            }),
        ),
        ("e5", Some("e4"), Body::Interrupted(Interruption::Wanted)),
        (
            "e6",
            Some("e1"),
            Body::BranchSummary(BranchSummary {
                summary: "went astray".into(),
                from: Some("e1".into()),
                left: Some("e5".into()),
                files: files.clone(),
                details: Some(json("[]")),
                from_extension: true,
                usage: None,
            }),
        ),
        (
            "e7",
            Some("e6"),
            Body::Compaction(Compaction {
                summary: "so far".into(),
                first_kept: Some("e6".into()),
                tokens_before: 1234,
                files,
                details: None,
                from_extension: false,
                usage: None,
                system: None,
            }),
        ),
        ("e8", Some("e7"), Body::Setting(Setting::Agent("other".into()))),
        ("e9", Some("e8"), Body::Setting(Setting::Model { role: Some("plan".into()), model })),
        ("e10", Some("e9"), Body::Setting(Setting::Thinking(None))),
        ("e11", Some("e10"), Body::Setting(Setting::Tools(vec!["read".into(), "write".into()]))),
        ("e12", Some("e11"), Body::Setting(Setting::PermissionMode("ask".into()))),
        (
            "e13",
            Some("e12"),
            Body::Setting(Setting::Mode { mode: "plan".into(), data: Some(json("{\"a\":1}")) }),
        ),
        ("e14", Some("e13"), Body::Setting(Setting::ServiceTier(Some("fast".into())))),
        ("e15", Some("e14"), Body::Setting(Setting::Config(json(r#"{"endpoint":"x"}"#)))),
        ("e16", Some("e15"), Body::Merge(Merge { from: "e5".into(), summary: Some("both".into()) })),
        (
            "e17",
            Some("e16"),
            Body::CustomMessage(CustomMessage {
                kind: "weather".into(),
                blocks: vec![Block::Text("rain".into())],
                display: true,
                attribution: Some("sky".into()),
            }),
        ),
        ("e18", Some("e17"), Body::Note(Note { kind: "state".into(), data: Some(json("null")) })),
        ("e19", Some("e18"), Body::System(System { text: "Be brief.".into() })),
        ("e20", Some("e19"), Body::Cleared),
        ("e21", Some("e20"), Body::Foreign(Foreign { kind: "dream".into(), text: Some("sheep".into()) })),
    ];
    let imported: &[u8] = b"{\"type\":\"message\",\"id\":\"e22\"}\r\n";
    let mut steps = vec![vec![Record::opened(header)]];
    for (index, (id, parent, body)) in bodies.into_iter().enumerate() {
        let written_at = at(index as i64);
        let turn = (index < 3).then(|| "turn1".into());
        let entry = Entry { id: id.into(), parent: parent.map(Into::into), written_at, turn, body };
        match steps.last_mut() {
            Some(step) if index % 3 > 0 => step.push(Record::entry(entry)),
            _ => steps.push(vec![Record::entry(entry)]),
        }
    }
    let fact = |fact| Record::marked(at(60), fact);
    steps.push(vec![
        prompt("e22", Some(&"e21".into())).from_line(RawLine::new(imported)),
        reply("e23", Some(&"e22".into())).from_line(RawLine::new(*b"not \xff text\n")),
        Record::unknown(RawLine::new(*b"{\"type\":\"shrug\"}\n")),
        moved(None, Some(&"e23".into())),
    ]);
    steps.push(vec![
        fact(Fact::Label { target: "e1".into(), label: Some("start".into()) }),
        fact(Fact::Title { title: Some("All kinds".into()), source: TitleSource::User }),
        fact(Fact::Title { title: Some("all".into()), source: TitleSource::Auto }),
        fact(Fact::BranchName { at: "e6".into(), name: Some("second try".into()) }),
        fact(Fact::Checkpoint { at: "e1".into(), snapshot: "tree1".into() }),
        fact(Fact::Bound {
            at: "e23".into(),
            agent_session: Some("theirs".into()),
            provenance: Provenance::ForkedAtMessage,
            last_message: None,
            agent: None,
            missing: Missing::default(),
            inherited: false,
            model: None,
        }),
        fact(Fact::TurnEnded { turn: "turn1".into() }),
        fact(Fact::Archived { target: "e5".into(), archived: true }),
        fact(Fact::Spent { usage, model: None }),
    ]);
    let named = Mark {
        id: Some("m1".into()),
        marked_at: at(61),
        fact: Fact::Label { target: "e2".into(), label: None },
    };
    steps.push(vec![Record::new(offshoot_session::Change::Marked(named))]);
    let undone = |record: Record| record.in_operation("op1".into());
    steps.push(vec![
        undone(fact(Fact::Operation { name: "edit".into() })),
        undone(prompt("e24", Some(&"e23".into()))),
        undone(moved(Some(&"e23".into()), Some(&"e24".into()))),
    ]);
    for fact_of in [Fact::Undone { operation: "op1".into() }, Fact::Redone { operation: "op1".into() }] {
        steps.push(vec![fact(fact_of)]);
    }
    steps.push(vec![fact(Fact::Undone { operation: "op1".into() })]);
    steps
}

fn json(text: &str) -> serde_json::Value {
    text.parse().unwrap()
}

/// A record of a kind that only a later version knows.
pub(crate) fn vote() -> Record {
    let line = r#"{"k":"vote","at":"2031-01-01T00:00:00Z","for":"e1""#;
    let sealed = format!("{line},\"sum\":\"{:08x}\"}}\n", crc32fast::hash(line.as_bytes()));
    Record::unknown(RawLine::new(sealed.into_bytes()))
}
