//! Files that go with a message.

use std::os::unix::fs::PermissionsExt;

use offshoot_testkit::deadline::BoundedChild;
use serde_json::Value;

use crate::support::Folder;
use crate::talking::{Talk, new_session, run};

/// As much of an image as tells that it is one.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand so on";

/// One of so many bytes.
fn image(length: usize) -> Vec<u8> {
    let mut image = PNG.to_vec();
    image.resize(length, 0);
    image
}

fn with_files() -> Folder {
    let folder = Folder::new();
    folder.write("shot.png", PNG);
    folder.write("notes.md", b"remember the milk\n");
    folder
}

/// The prompts of the branch, each with what went with it.
fn prompts(folder: &Folder) -> Vec<(String, Value, Value)> {
    let (shown, _) = run(folder, &["show", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries").iter();
    let text = |entry: &Value| entry["text"].as_str().expect("text").to_owned();
    entries
        .filter(|entry| entry["role"] == "user")
        .map(|entry| (text(entry), entry["attachments"].clone(), entry["images"].clone()))
        .collect()
}

fn said(text: &str, attachments: &[&str], images: usize) -> (String, Value, Value) {
    let attachments = if attachments.is_empty() { Value::Null } else { Value::from(attachments) };
    (text.to_owned(), attachments, if images == 0 { Value::Null } else { Value::from(images) })
}

#[test]
fn an_image_goes_as_it_is_and_any_other_file_by_its_name() {
    let folder = with_files();
    new_session(&folder, "Files");
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let other = elsewhere.path().join("with a blank.txt");
    std::fs::write(&other, "far away").expect("own folder");
    let other = other.canonicalize().expect("it is there").display().to_string();
    let (told, code) =
        run(&folder, &["send", "look", "--attach", "shot.png", "--attach", "notes.md", "--attach", &other]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("With it came 1 image, `notes.md`, `{other}`")), "{told}");
    assert_eq!(prompts(&folder), [said("look", &["notes.md", &other], 1)]);
    let (shown, _) = run(&folder, &["show"]);
    assert!(shown.contains(&format!("look\nwith 1 image, notes.md, {other}\n")), "{shown}");
    let journal = std::fs::read_to_string(folder.journals().pop().expect("a journal")).expect("text");
    assert!(journal.contains("image/png") && journal.contains("iVBORw0KGgphbmQgc28gb24="), "{journal}");
    // Whoever sends only a file says something too.
    assert_eq!(run(&folder, &["send", "", "--attach", "shot.png"]).1, Some(0));
    let (tree, _) = run(&folder, &["tree"]);
    assert!(tree.contains("[image]"), "{tree}");
}

#[test]
fn files_go_along_with_an_edit_unless_others_are_named() {
    let folder = with_files();
    new_session(&folder, "Edited");
    assert_eq!(run(&folder, &["send", "one", "--attach", "shot.png", "--attach", "notes.md"]).1, Some(0));
    for (words, expected) in [
        (["send", "--edit", "1", "two"].as_slice(), said("two", &["notes.md"], 1)),
        (&["edit", "1", "three", "--send"], said("three", &["notes.md"], 1)),
        (&["edit", "1", "four"], said("four", &["notes.md"], 1)),
        (&["send", "--edit", "1", "four", "--no-attachments"], said("four", &[], 0)),
        (&["edit", "1", "four", "--send", "--attach", "notes.md"], said("four", &["notes.md"], 0)),
        (&["edit", "1", "four", "--attach", "shot.png"], said("four", &[], 1)),
    ] {
        let (told, code) = run(&folder, words);
        assert_eq!(code, Some(0), "{words:?}: {told}");
        assert_eq!(prompts(&folder), [expected], "{words:?}");
    }
    for words in [
        ["edit", "1", "four", "--attach", "shot.png"].as_slice(),
        &["send", "--edit", "1", "four", "--attach", "shot.png"],
        &["edit", "1", "four", "--send", "--attach", "shot.png"],
    ] {
        let told = run(&folder, words);
        assert_eq!(told, ("error: this is the same text as version 7\n".to_owned(), Some(4)), "{words:?}");
    }
}

#[test]
fn what_cannot_be_sent_is_told_and_nothing_is_said() {
    let folder = with_files();
    new_session(&folder, "Refused");
    folder.write("large.png", &image(6 * 1024 * 1024));
    for name in ["a.png", "b.png", "c.png"] {
        folder.write(name, &image(4 * 1024 * 1024));
    }
    std::fs::create_dir(folder.path().join("sub")).expect("own folder");
    let missing = "error: no file `gone.txt`\nhint: a name is taken from the folder you are in\nexit 3\n";
    assert_eq!(folder.run("send look --attach notes.md --attach gone.txt"), missing);
    assert_eq!(folder.run("edit 1 look --attach gone.txt"), missing);
    assert_eq!(
        folder.run("send look --attach sub"),
        "error: `sub` is a folder\nhint: name the files in it, each by itself\nexit 4\n"
    );
    assert_eq!(
        folder.run("send look --attach /dev/null"),
        "error: `/dev/null` is a device, not a file\nhint: write it into a file first\nexit 4\n"
    );
    assert_eq!(
        folder.run("send look --attach large.png"),
        "error: the image `large.png` has 6.0 MiB, and 5.0 MiB is the most\n\
         hint: make it smaller, or save it as JPEG\nexit 4\n"
    );
    assert_eq!(
        folder.run("send look --attach a.png --attach b.png --attach c.png"),
        "error: the images of this message have 12.0 MiB together, and 10.0 MiB is the most\n\
         hint: send them with several messages\nexit 4\n"
    );
    assert!(folder.run("send --unanswered --attach notes.md").contains("cannot be used with"));
    assert_eq!(prompts(&folder), []);
}

#[test]
fn a_file_that_may_not_be_read_is_not_sent() {
    let folder = with_files();
    let secret = folder.path().join("secret.txt");
    std::fs::write(&secret, "hush").expect("own folder");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).expect("own file");
    std::fs::create_dir(folder.home()).expect("own folder");
    folder.give_home_to_ordinary_user();
    folder.run_as_ordinary_user("new Secret");
    assert_eq!(
        folder.run_as_ordinary_user("send look --attach secret.txt"),
        "error: no permission to read `secret.txt`\nhint: `ls -l secret.txt` shows who may\nexit 1\n"
    );
}

/// files go with one message and no other.
#[test]
fn while_talking_a_file_goes_with_the_next_message_and_no_other() {
    let folder = with_files();
    let mut chat = Talk::aloud(&folder, &["chat"]);
    for (line, told) in [
        ("/attach", "No file goes with your next message.\n"),
        ("/attach gone.txt", "error: no file `"),
        (
            "/attach shot.png",
            "shot.png (PNG image, 17 bytes) goes with your next message; `/attach --none` takes it back.\n",
        ),
        ("/attach --none", "No file goes with your next message.\n"),
        ("/attach 'notes.md'", "notes.md goes with your next message; `/attach --none` takes it back.\n"),
        ("/attach notes.md", "notes.md goes with your next message already.\n"),
        ("/attach shot.png", "shot.png (PNG image, 17 bytes) goes with your next message; "),
        (
            "/attach",
            "With your next message go: notes.md, shot.png (PNG image, 17 bytes). `/attach --none` takes them back.\n",
        ),
        ("one", "> one\n"),
    ] {
        chat.say(line);
        chat.until(told);
    }
    assert_eq!(chat.line(), "  with 1 image, notes.md\n");
    chat.until("With it came 1 image, `notes.md`");
    chat.say("two");
    chat.until("You said “two”.");
    chat.say("/attach");
    chat.until("No file goes with your next message.\n");
    chat.say("/attach notes.md");
    // What is refused does not use it up.
    chat.say("/edit 9 three");
    chat.until("error: ");
    chat.say("/edit 2 two");
    chat.until("You said “two”.");
    assert_eq!(chat.end(), Some(0));
    assert_eq!(prompts(&folder), [said("one", &["notes.md"], 1), said("two", &["notes.md"], 0)]);
}

#[test]
fn what_waits_keeps_its_files_when_it_is_changed() {
    let folder = with_files();
    folder.write("shot.png", &image(100_000));
    let mut chat = Talk::aloud(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut send = crate::talking::alive(&folder);
    let mut send = send
        .args(["send", "look", "--attach", "notes.md", "--attach", "shot.png"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    chat.until("Somebody else says “look”");
    assert_eq!(run(&folder, &["queue", "change", "1", "look closer"]).1, Some(0));
    chat.until("What waits is now “look closer”.");
    chat.say("2");
    assert_eq!(send.bounded_wait().code(), Some(0));
    assert_eq!(chat.end(), Some(0));
    assert_eq!(prompts(&folder).pop(), Some(said("look closer", &["notes.md"], 1)));
    let (exported, _) = run(&folder, &["export", "--to", "pi"]);
    assert!(exported.len() > 130_000, "the bytes of the image are still there: {}", exported.len());
}

/// Their bytes would not fit into one line of the socket.
#[test]
fn whoever_comes_later_opens_a_session_with_many_images() {
    let folder = with_files();
    folder.write("large.png", &image(4 * 1024 * 1024));
    let mut host = Talk::begin(&folder, &["chat"]);
    for number in 0..4 {
        host.say("/attach large.png");
        host.say(&format!("look {number}"));
        host.until(&format!("You said “look {number}”."));
    }
    let mut guest = Talk::begin(&folder, &["chat", "--continue"]);
    guest.until("with 1 image");
    guest.say("and on");
    guest.until("You said “and on”. This is turn 5");
    host.until("You said “and on”.");
    assert_eq!((guest.end(), host.end()), (Some(0), Some(0)));
}
