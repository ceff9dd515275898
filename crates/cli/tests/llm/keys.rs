//! Keys, wherever they turn up: in what a server says, in what a tool prints, in the processes that a command can look at. At the end
//! of each test all files and everything that was printed are searched for them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::model::{Script, call, say};
use serde_json::json;

use crate::MODELS;
use crate::person::{KEYS, Person, Said, TOKEN};

const PATIENCE: Duration = Duration::from_secs(20);

/// What a server does with the key that it was sent.
#[derive(Clone, Copy)]
enum Echo {
    /// It refuses the key and names it.
    Refused,
    /// It says the key in two pieces, and then names it in an error.
    Streamed,
}

/// A server of Anthropic's protocol that repeats the key. Its address.
fn echoing(echo: Echo) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // It ends with the test program.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that leaves has seen enough.
            let _ = repeat_key(stream, echo);
        }
    });
    format!("http://{address}")
}

fn repeat_key(mut stream: TcpStream, echo: Echo) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    let is_whole = |request: &[u8]| {
        let text = String::from_utf8_lossy(request).to_lowercase();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
        (body.len() >= length.trim().parse().ok()?).then_some(())
    };
    while is_whole(&request).is_none() {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let key = text.lines().find_map(|line| line.strip_prefix("x-api-key: ")).unwrap_or_default();
    match echo {
        Echo::Refused => {
            let error = json!({ "type": "error", "error": { "type": "authentication_error", "message": format!("no such key: {key}") } });
            let error = error.to_string();
            let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
            write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{error}", error.len())
        }
        Echo::Streamed => {
            let (one, two) = key.split_at(key.len() / 2);
            let delta = |text: &str| json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } });
            let events = [
                json!({ "type": "message_start", "message": { "id": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } } }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
                delta(&format!("It is {one}")),
                delta(&format!("{two}, I think")),
                json!({ "type": "error", "error": { "type": "api_error", "message": format!("broke at {key}") } }),
            ];
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            )?;
            for event in events {
                write!(stream, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())?;
                stream.flush()?;
            }
            Ok(())
        }
    }
}

fn at(url: &str) -> String {
    format!("summary.titles = false\n[providers.anthropic]\nbase_url = \"{url}\"\nattempts = 1\n")
}

#[test]
fn a_server_that_repeats_the_key_is_shown_without_it() {
    let [model, _] = MODELS;
    for (echo, shown) in [(Echo::Refused, "no such key: [secret]"), (Echo::Streamed, "broke at [secret]")] {
        let person = Person::new(Script::new());
        person.write_settings(&at(&echoing(echo)));
        let said = person.send(model, "hello", &[]);
        assert!(said.says(shown), "{}", said.shown());
        let streamed =
            person.run(&["send", &person.session, "again", "--agent", "llm", "--model", model, "--json"]);
        assert!(streamed.shown().contains("[secret]"), "{}", streamed.shown());
        person.run(&["show", &person.session]);
    }
}

#[test]
fn a_key_of_a_command_that_a_server_repeats_is_shown_without_it() {
    let [model, _] = MODELS;
    let person = Person::new(Script::new());
    let [key, _] = KEYS;
    // In two parts, because the settings are a file that is searched too.
    let (one, two) = key.split_at(9);
    let command = format!("key_command = [\"sh\", \"-c\", \"printf '%s%s' '{one}' '{two}'\"]\n");
    person.write_settings(&(at(&echoing(Echo::Streamed)) + &command));
    let said = person.send(model, "hello", &[]);
    assert!(said.says("It is [secret], I think") && said.says("broke at [secret]"), "{}", said.shown());
}

/// With a model of one provider, the key of the other one went to the journal and to the server.
#[test]
fn a_tool_that_prints_keys_is_read_without_them_and_so_is_an_answer() {
    for model in MODELS {
        let command = "for name in 0 1; do cat one$name two$name; echo; done";
        let read = call("shell", json!({ "command": command }));
        let echoed = KEYS.map(|key| call("list", json!({ "path": key })));
        let words = KEYS.map(|key| say(format!("A key is {key}.")).in_pieces(9));
        let script = Script::new().when("print", [read]).then(Vec::from(echoed)).then(Vec::from(words));
        let person = Person::new(script);
        for (number, key) in KEYS.iter().enumerate() {
            let (one, two) = key.split_at(7);
            std::fs::write(person.workspace().join(format!("one{number}")), one).expect("a file");
            std::fs::write(person.workspace().join(format!("two{number}")), two).expect("a file");
        }
        let words = ["send", &person.session, "print them", "--agent", "llm", "--model", model];
        let sending = person.start(&words);
        until("an ask", || person.json(&["status", "--json"])["rows"].to_string().contains("\"waiting\""));
        person.run(&["answer", &person.session, "allow"]).went_well();
        let said = Said::of(&sending.bounded_output());
        assert_eq!(said.went_well().out.matches("A key is [secret].").count(), 2, "{}", said.out);
        let body = person.requests().pop().expect("a request").body.to_string();
        assert!(!KEYS.iter().any(|key| body.contains(key)), "{body}");
        assert!(body.contains("[secret]"), "{body}");
        for format in ["offshoot", "claude", "codex", "pi", "rollouts", "markdown"] {
            let file = format!("exported-{format}");
            person.run(&["export", &person.session, "--to", format, "--output", &file]).went_well();
        }
    }
}

/// Prints the names of variables of each process from the command up to the engine, and how many of their values are keys.
#[cfg(target_os = "linux")]
const LOOK_UP: &str = r#"p=$$; while [ "$p" -gt 1 ]; do
    echo "process $(tr '\0' ' ' < /proc/$p/cmdline | cut -c 1-200)"
    tr '\0' '\n' < /proc/$p/environ | cut -d= -f1
    echo "found $(tr '\0' '\n' < /proc/$p/environ | grep -c -e battery -e hub_token)"
    if [ "$(tr '\0' '\n' < /proc/$p/cmdline | sed -n 2p)" = engine ]; then echo "that was the engine"; break; fi
    p=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$p/stat)
done"#;

#[cfg(target_os = "linux")]
#[test]
fn no_process_between_a_command_and_the_engine_has_a_key_in_its_environment() {
    let [model, _] = MODELS;
    let look = call("shell", json!({ "command": LOOK_UP }));
    let person = Person::new(Script::new().when("look", [look]).then([say("Done.")]));
    let words = ["send", &person.session, "look up", "--agent", "llm", "--model", model];
    let sending = person.start(&words);
    until("an ask", || person.json(&["status", "--json"])["rows"].to_string().contains("\"waiting\""));
    person.run(&["answer", &person.session, "allow"]).went_well();
    Said::of(&sending.bounded_output()).went_well();
    let body = person.requests().pop().expect("a request").body;
    let messages = body["messages"].as_array().expect("messages");
    let body = messages.last().expect("the result of the call").to_string();
    assert!(body.contains("that was the engine") && body.contains("found 0"), "{body}");
    for leaked in ["found 1", "found 2", "found 3", "found 4", "API_KEY", "GITHUB_TOKEN", "PGPASSWORD", TOKEN]
    {
        assert!(!body.contains(leaked), "{leaked}: {body}");
    }
}

/// The address of a gateway may have a password in it, which was written to the list of its models and shown.
#[test]
fn the_password_in_an_address_is_not_shown() {
    let person = Person::new(Script::new());
    let url = person.server.url().replace("http://", "http://me:hunter2-hunter2@");
    person.write_settings(&format!("[providers.gate]\nkind = \"openai\"\nbase_url = \"{url}/v1\"\n"));
    person.send("gate/scripted", "hello", &[]).went_well();
    assert!(person.requests().pop().expect("a request").header("authorization").is_some(), "it is used");
    let listed = person.run(&["agents", "--json"]);
    assert!(listed.out.contains("gate/") || listed.out.contains("\"gate\""), "{}", listed.out);
    assert!(!listed.shown().contains("hunter2"), "{}", listed.shown());
    let cache = person.home().join("cache");
    for file in std::fs::read_dir(cache).expect("a cache").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
