//! Parts of words, and what tools said: the same answers with, without and in the middle of an index.

use offshoot_store::catalog::query::Bounds;
use offshoot_store::catalog::{Catalog, Filter, Query, Within};
use serde_json::json;

use crate::machine::{Machine, claude_line, pi_message, pi_session, told};

const ASKED: [&str; 10] =
    ["edit", "CREDIT", "is lost", "本語", "日本語の", "文", "ße", "σ", "nowhere", "dit"];

fn filled() -> Machine {
    let machine = Machine::new();
    for n in 0..12 {
        let asked = format!("Burst credit {n} is lost, Straße ΟΔΥΣΣΕΥΣ");
        machine.write(
            &format!("pi/{n}.jsonl"),
            &(pi_session(&format!("s{n}"), &[(&asked, "日本語の文章もきちんと"), ("Edit it", "Edited.")])
                + &pi_message("t1", Some("a1"), 40, "toolResult", &format!("error: limiter.rs:{n} credits"))),
        );
    }
    machine.write(
        "claude/0f5c0000-0000-4000-8000-000000000001.jsonl",
        &claude_line("c1", None, 1, "user", json!("Is the credit right?")),
    );
    machine
}

fn inside(machine: &Machine, catalog: &Catalog, part: &str, within: Within) -> Vec<String> {
    let query = Query::read(part, Bounds::Anywhere).expect("a query");
    let found = catalog.search(&query, within, &Filter::default(), usize::MAX, &machine.sources());
    told(&found.expect("an answer"), machine)
}

#[test]
fn parts_of_words_are_found_however_far_the_index_is() {
    let machine = filled();
    machine.sync();
    let mut catalog = machine.catalog();
    let before: Vec<Vec<String>> =
        ASKED.iter().map(|part| inside(&machine, &catalog, part, Within::SaidInFiles)).collect();
    assert_eq!(before.iter().map(Vec::len).collect::<Vec<_>>(), [37, 13, 12, 12, 12, 12, 12, 12, 0, 37]);
    let begun = catalog.parts_reached().expect("a count");
    assert_eq!((begun.done, begun.of), (0, 49));
    loop {
        // a look at the clock before each session, and one more: each step is one session
        let mut looks = 2;
        let reached = catalog
            .index_parts(&machine.sources(), &mut || {
                looks -= 1;
                looks > 0
            })
            .expect("a step");
        for (part, before) in ASKED.iter().zip(&before) {
            let now = inside(&machine, &catalog, part, Within::SaidInFiles);
            assert_eq!(&now, before, "{part} at {reached:?}");
        }
        if reached.is_all() {
            break;
        }
    }
}

#[test]
fn an_index_of_parts_follows_what_is_written_and_taken_away() {
    let machine = filled();
    let all = |catalog: &mut Catalog| {
        machine.sync_into(catalog);
        let reached = catalog.index_parts(&machine.sources(), &mut || true).expect("an index");
        assert!(reached.is_all(), "{reached:?}");
    };
    let mut catalog = machine.catalog();
    all(&mut catalog);
    let count = |catalog: &Catalog, part: &str| inside(&machine, catalog, part, Within::SaidInFiles).len();
    machine.append("pi/3.jsonl", &pi_message("u9", Some("a1"), 50, "user", "What of quokkas?"));
    all(&mut catalog);
    assert_eq!((count(&catalog, "uokk"), count(&catalog, "edit")), (1, 37));
    machine.write("pi/3.jsonl", &pi_session("s3", &[("short", "shorter")]));
    all(&mut catalog);
    assert_eq!((count(&catalog, "uokk"), count(&catalog, "edit"), count(&catalog, "hort")), (0, 34, 2));
    std::fs::remove_file(machine.path("pi/4.jsonl")).expect("own file");
    all(&mut catalog);
    assert_eq!(count(&catalog, "edit"), 31);
}

#[test]
fn tools_are_found_with_and_without_their_index() {
    let machine = filled();
    machine.sync();
    let mut catalog = machine.catalog();
    let asked = ["limiter credits", "\"limiter rs\"", "7", "credit", "nowhere", "limit*", "re:rs:[78]"];
    let answers = |catalog: &Catalog| {
        asked.map(|words| told(&machine.search(catalog, words, Within::Everything), &machine))
    };
    let before = answers(&catalog);
    assert_eq!(before.each_ref().map(Vec::len), [12, 12, 2, 13, 0, 12, 2]);
    let reached = catalog.index_tools(&machine.sources(), &mut || true).expect("nothing to do");
    assert_eq!(reached.of, 0, "nobody asked for it");
    catalog.want_tools(true).expect("a wish");
    let mut steps = 0;
    let half = catalog.index_tools(&machine.sources(), &mut || {
        steps += 1;
        steps < 7
    });
    assert_eq!(half.map(|reached| (reached.done, reached.of)).expect("an index"), (6, 13));
    assert_eq!(answers(&catalog), before, "half of it");
    assert!(catalog.index_tools(&machine.sources(), &mut || true).expect("an index").is_all());
    assert_eq!(answers(&catalog), before, "all of it");
    machine.append("pi/5.jsonl", &pi_message("t2", Some("t1"), 60, "toolResult", "limiter: more credits"));
    machine.sync_into(&mut catalog);
    assert_eq!(machine.search(&catalog, "limiter credits", Within::Everything).matches, 13, "grown");
    catalog.index_tools(&machine.sources(), &mut || true).expect("an index");
    assert_eq!(machine.search(&catalog, "limiter credits", Within::Everything).matches, 13, "and indexed");
    catalog.want_tools(false).expect("a wish");
    assert_eq!(catalog.tools_reached().map(|reached| reached.done).expect("a count"), 0);
    assert_eq!(machine.search(&catalog, "limiter credits", Within::Everything).matches, 13);
}

#[test]
fn titles_are_found_and_change() {
    let machine = Machine::new();
    let name = |id: &str, name: &str| {
        format!(
            "{}\n",
            json!({"type":"session_info","id":id,"parentId":"a0","timestamp":"2025-03-04T14:02:00.000Z","name":name})
        )
    };
    machine.write("pi/a.jsonl", &(pi_session("a", &[("ask", "answer")]) + &name("n1", "The quokka plan")));
    machine.sync();
    let counts = |words: &str| {
        let catalog = machine.catalog();
        [Within::Said, Within::SaidInFiles, Within::Everything]
            .map(|within| machine.search(&catalog, words, within).matches)
    };
    assert_eq!((counts("quokka"), counts("plan quokka"), counts("zebra")), ([1; 3], [1; 3], [0; 3]));
    assert_eq!(machine.found("quokka", Within::Said), ["pi/a.jsonl  - The quokka plan"]);
    machine.append("pi/a.jsonl", &name("n2", "The zebra plan"));
    machine.sync();
    assert_eq!((counts("quokka"), counts("zebra")), ([0; 3], [1; 3]));
    let at = |text: &str| text.parse::<jiff::Timestamp>().expect("a time").as_microsecond();
    let since = |text: &str| {
        let query = Query::read("zebra", Bounds::Words).expect("a query");
        let filter = Filter { since: Some(at(text)), ..Filter::default() };
        [Within::Said, Within::SaidInFiles].map(|within| {
            machine
                .catalog()
                .search(&query, within, &filter, 9, &machine.sources())
                .expect("an answer")
                .matches
        })
    };
    assert_eq!(since("2025-03-04T14:01:00Z"), [1, 1], "as old as the session");
    assert_eq!(since("2025-03-05T00:00:00Z"), [0, 0]);
    assert_eq!(machine.answers(&["zebra", "plan"]), machine.fresh_answers(&["zebra", "plan"]));
}
