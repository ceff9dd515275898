//! The tools on real files and processes: what they answer, and that nothing leads out of the workspace.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::Duration;

use offshoot_session::SessionId;
use offshoot_session::agent::Host;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;
use crate::process::{RUN_VARIABLE, processes_of_run};

const DEADLINE: Duration = Duration::from_secs(30);

struct Place {
    folder: TempDir,
    workspace: Workspace,
    cancel: Cancel,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        fs::write(folder.path().join("canary"), "alive").unwrap();
        let workspace = Workspace::open(&folder.path().join("workspace")).unwrap();
        let host = Host { runs: Some(folder.path().join("runs")), ..Host::default() };
        let workspace = workspace.for_session(host, "llm", &SessionId::from("s"));
        Self { folder, workspace, cancel: Cancel::new() }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join("workspace").join(below)
    }

    fn file(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn call(&self, name: &str, input: Value) -> ToolOutput {
        let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
        let key = ("ANTHROPIC_API_KEY".into(), "sk-ant-secret".into());
        let environment = Environment::from_iter([path, key]);
        timeout(DEADLINE, run(&self.workspace, &environment, name, &input, &self.cancel)).await.unwrap()
    }

    async fn ok(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input).await;
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    async fn error(&self, name: &str, input: Value) -> String {
        let output = self.call(name, input).await;
        assert!(output.is_error, "{}", output.text);
        output.text
    }

    async fn shell(&self, command: &str) -> String {
        self.ok("shell", json!({ "command": command })).await
    }

    fn assert_canary_lives(&self) {
        assert_eq!(fs::read_to_string(self.folder.path().join("canary")).unwrap(), "alive");
    }
}

#[test]
fn the_definitions_are_the_same_bytes_every_time() {
    let written = || {
        let all = definitions();
        let written: Vec<String> =
            all.iter().map(|one| format!("{} {} {}", one.name, one.description, one.schema)).collect();
        written.join("\n")
    };
    assert_eq!(written(), written());
    let names: Vec<&str> = definitions().iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["read", "write", "edit", "list", "search", "shell"]);
    for tool in definitions() {
        assert!(access(tool.name).is_some());
        let required = tool.schema["required"].as_array().unwrap();
        assert!(
            required.iter().all(|field| tool.schema["properties"].get(field.as_str().unwrap()).is_some())
        );
    }
}

#[test]
fn what_changes_something_needs_permission() {
    let needs: Vec<&str> = definitions()
        .iter()
        .map(|tool| tool.name)
        .filter(|name| access(name) == Some(Access::NeedsPermission))
        .collect();
    assert_eq!(needs, ["write", "edit", "shell"]);
    assert_eq!(access("delete"), None);
}

#[tokio::test]
async fn a_wrong_input_is_answered_with_what_is_wrong() {
    let place = Place::new();
    for (name, input, expected) in [
        ("delete", json!({}), "there is no tool `delete`"),
        ("read", json!("a"), "the input of a tool is a JSON object"),
        ("read", json!({}), "the field `path` is missing"),
        ("read", json!({ "path": 1 }), "the field `path` has to be a text"),
        ("read", json!({ "path": "a", "offset": 0 }), "the field `offset` has to be a whole number from 1"),
        ("read", json!({ "path": "a" }), "`a` does not exist"),
        ("read", json!({ "path": "../canary" }), "`../canary` is not in the workspace"),
        ("write", json!({ "path": "a" }), "the field `content` is missing"),
        ("search", json!({ "pattern": "(" }), "the pattern is not valid"),
        ("list", json!({ "pattern": "[" }), "the glob is not valid"),
        ("shell", json!({ "command": " " }), "the command is empty"),
    ] {
        let told = place.error(name, input).await;
        assert!(told.starts_with(expected), "{told}");
    }
}

#[tokio::test]
async fn lines_are_read_from_and_to_a_place() {
    let place = Place::new();
    place.file("a", "one\ntwo\nthree");
    let read = async |input: Value| place.ok("read", input).await;
    assert_eq!(read(json!({ "path": "a" })).await, "one\ntwo\nthree\n");
    assert_eq!(
        read(json!({ "path": "a", "offset": 2, "limit": 1 })).await,
        "two\n[there are more lines; continue with offset 3]\n"
    );
    assert_eq!(read(json!({ "path": "a", "offset": 3, "limit": 1 })).await, "three\n");
    let beyond = place.error("read", json!({ "path": "a", "offset": 4 })).await;
    assert_eq!(beyond, "`a` has no line 4; it has 3");
    place.file("empty", "");
    assert_eq!(read(json!({ "path": "empty" })).await, "[the file is empty]");
    place.file("binary", "a\0b");
    assert_eq!(place.error("read", json!({ "path": "binary" })).await, "`binary` is not a text file");
}

#[tokio::test]
async fn a_huge_file_is_read_in_parts() {
    let place = Place::new();
    place.file("many", &"0123456789\n".repeat(100_000));
    let text = place.ok("read", json!({ "path": "many" })).await;
    assert_eq!(text.lines().count(), 2001);
    assert!(text.ends_with("continue with offset 2001]\n"), "{}", &text[text.len() - 80..]);
    place.file("long", &"x".repeat(3_000_000));
    let text = place.ok("read", json!({ "path": "long" })).await;
    assert!(text.len() < 5000 && text.contains("[2996000 more bytes in this line]"), "{}", text.len());
    let sparse = fs::File::create(place.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert_eq!(place.error("read", json!({ "path": "sparse" })).await, "`sparse` is not a text file");
}

#[tokio::test]
async fn an_image_is_given_as_an_image() {
    let place = Place::new();
    fs::write(place.path("a.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    let output = place.call("read", json!({ "path": "a.png" })).await;
    assert_eq!(output.text, "PNG image, 12 bytes");
    assert!(matches!(&output.images[..], [Block::Image { media_type, .. }] if media_type == "image/png"));
}

#[tokio::test]
async fn files_are_written_and_edited() {
    let place = Place::new();
    let file = json!({ "path": "src/a.rs", "content": "let a = 1;\n" });
    assert_eq!(place.ok("write", file.clone()).await, "created `src/a.rs` (11 bytes)");
    assert_eq!(place.ok("write", file).await, "replaced `src/a.rs` (11 bytes)");
    fs::set_permissions(place.path("src/a.rs"), fs::Permissions::from_mode(0o700)).unwrap();
    let edit = json!({ "path": "src/a.rs", "old": "1", "new": "2" });
    assert_eq!(place.ok("edit", edit.clone()).await, "replaced 1 occurrence in `src/a.rs`");
    assert_eq!(fs::read_to_string(place.path("src/a.rs")).unwrap(), "let a = 2;\n");
    assert_eq!(fs::metadata(place.path("src/a.rs")).unwrap().permissions().mode() & 0o777, 0o700);
    let again = place.error("edit", edit).await;
    assert!(again.starts_with("`src/a.rs` was not changed: `old` does not occur in it"), "{again}");
}

#[tokio::test]
async fn a_person_is_asked_only_for_what_can_be_done() {
    let place = Place::new();
    place.file("a", "one one");
    let asks = |name: &str, input: Value| preview(&place.workspace, name, &input);
    let new = asks("write", json!({ "path": "b", "content": "" })).unwrap();
    assert_eq!((new.tool.as_str(), new.reason), ("write", None));
    let replaces = asks("write", json!({ "path": "a", "content": "" })).unwrap();
    assert_eq!(replaces.reason.as_deref(), Some("the file exists and would be replaced"));
    let edit = json!({ "path": "a", "old": "one", "new": "two", "replace_all": true });
    assert_eq!(asks("edit", edit.clone()).unwrap().input, edit);
    for (name, input) in [
        ("write", json!({ "path": "../canary", "content": "" })),
        ("edit", json!({ "path": "a", "old": "one", "new": "two" })),
        ("edit", json!({ "path": "missing", "old": "one", "new": "two" })),
        ("shell", json!({})),
    ] {
        assert!(asks(name, input).unwrap_err().is_error);
    }
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "one one", "nothing was written");
}

#[tokio::test]
async fn folders_are_listed_without_what_git_ignores() {
    let place = Place::new();
    for path in ["src/a.rs", "src/deep/b.rs", "src/c.md", "target/x.rs", ".git/config"] {
        place.file(path, "");
    }
    place.file(".gitignore", "target\n");
    symlink("/", place.path("out")).unwrap();
    let list = async |input: Value| place.ok("list", input).await;
    assert_eq!(list(json!({})).await, ".gitignore\nout@\nsrc/\n");
    assert_eq!(list(json!({ "path": "src" })).await, "src/a.rs\nsrc/c.md\nsrc/deep/\n");
    assert_eq!(list(json!({ "pattern": "*.rs" })).await, "src/a.rs\nsrc/deep/b.rs\n");
    assert_eq!(list(json!({ "pattern": "src/*.rs" })).await, "src/a.rs\n");
    assert_eq!(list(json!({ "path": "src", "pattern": "deep/*" })).await, "src/deep/b.rs\n");
    assert_eq!(list(json!({ "pattern": "*.py" })).await, "[no file matches]");
    let file = place.error("list", json!({ "path": "src/a.rs" })).await;
    assert_eq!(file, "`src/a.rs` is not a folder");
    let outside = place.error("list", json!({ "path": "out" })).await;
    assert_eq!(outside, "`out` is not in the workspace");
}

#[tokio::test]
async fn lines_are_searched_in_the_workspace_only() {
    let place = Place::new();
    place.file("src/a.rs", "fn one() {}\nfn two() {}\n");
    place.file("src/b.md", "fn three\n");
    place.file("target/c.rs", "fn four() {}\n");
    place.file(".gitignore", "target\n");
    place.file("binary", "fn five\0");
    place.file("long", &format!("fn six{}\n", "ä".repeat(1000)));
    symlink(place.folder.path().join("canary"), place.path("canary")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let search = async |input: Value| place.ok("search", input).await;
    let all = search(json!({ "pattern": r"^fn \w" })).await;
    let all: Vec<&str> = all.lines().collect();
    assert_eq!(&all[1..], ["src/a.rs:1:fn one() {}", "src/a.rs:2:fn two() {}", "src/b.md:1:fn three"]);
    assert!(all[0].starts_with("long:1:fn sixä") && all[0].ends_with("ä…"), "{}", all[0]);
    assert_eq!(search(json!({ "pattern": "three", "path": "src/b.md" })).await, "src/b.md:1:fn three\n");
    assert_eq!(search(json!({ "pattern": "t", "glob": "*.md" })).await, "src/b.md:1:fn three\n");
    assert_eq!(search(json!({ "pattern": "alive" })).await, "[no line matches]");
    place.file("many", &"match\n".repeat(1000));
    let many = search(json!({ "pattern": "match" })).await;
    assert!(
        many.ends_with("many:500:match\n[there are more than 500; narrow the pattern, `path` or `glob`]\n")
    );
    for path in ["canary", "fifo"] {
        place.error("search", json!({ "pattern": "a", "path": path })).await;
    }
}

#[tokio::test]
async fn a_command_is_answered_with_what_it_prints_and_how_it_ends() {
    let place = Place::new();
    assert_eq!(place.shell("echo out; echo err >&2; cat").await, "out\nerr\n");
    assert_eq!(place.shell("true").await, "[no output]");
    assert_eq!(place.shell("pwd -P").await.trim(), place.path("").canonicalize().unwrap().to_str().unwrap());
    let failed = place.error("shell", json!({ "command": "printf out; exit 3" })).await;
    assert_eq!(failed, "out\n[exit status 3]");
    let killed = place.error("shell", json!({ "command": "kill -KILL $$" })).await;
    assert_eq!(killed, "[ended by signal 9]");
    let wrong = place.error("shell", json!({ "command": "if" })).await;
    assert!(wrong.contains("yntax error"), "{wrong}");
}

#[tokio::test]
async fn a_command_gets_no_secrets() {
    let place = Place::new();
    let environment = place.shell("env; cat /proc/self/environ 2>/dev/null").await;
    assert!(environment.contains("PATH=") && !environment.contains("secret"), "{environment}");
}

/// 64 MB, of which the beginning and the end are kept, and less is read by a model.
#[tokio::test]
async fn a_flood_is_cut_and_does_not_block_the_command() {
    let place = Place::new();
    let text = place.shell("echo first; head -c 64000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert!(text.len() < 3 * 1024 * 1024, "{}", text.len());
    assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n"));
    let shown = for_model(&text);
    assert!(
        shown.len() < 257 * 1024 && shown.ends_with("xxx\nlast\n") && shown.contains("bytes are left out")
    );
}

#[tokio::test]
async fn a_command_ends_at_its_time_limit() {
    let place = Place::new();
    let text =
        place.error("shell", json!({ "command": "echo begun; trap '' INT; sleep 1000", "timeout": 1 })).await;
    assert_eq!(text, "begun\n[ended after 1 seconds; `timeout` allows more]");
}

/// The run id that a command finds in its environment.
async fn run_of(place: &Place, file: &str) -> String {
    let read = async {
        loop {
            match fs::read_to_string(place.path(file)) {
                Ok(run) if run.ends_with('\n') => return run.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(DEADLINE, read).await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let place = Place::new();
    let command = format!(
        "echo ${RUN_VARIABLE} > run; setsid sleep 1000 & (setsid sh -c 'trap \"\" INT TERM HUP; sleep 1000' &) ; \
         nohup sleep 1000 > nohup & echo left"
    );
    assert_eq!(place.shell(&command).await, "left\n");
    let run = run_of(&place, "run").await;
    assert_eq!(processes_of_run(&run), [] as [u32; 0]);
    // The thread that owns the process removes its file behind the result.
    let runs = place.folder.path().join("runs");
    let gone = async {
        while fs::read_dir(&runs).unwrap().count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, gone).await.expect("no run file is left");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_cancelled_command_ends_with_everything_it_started() {
    let place = Place::new();
    let command = format!("echo begun; echo ${RUN_VARIABLE} > run; setsid sleep 1000 & sleep 1000");
    let cancel = async {
        let run = run_of(&place, "run").await;
        place.cancel.cancel();
        run
    };
    let (text, run) = tokio::join!(place.error("shell", json!({ "command": command })), cancel);
    assert_eq!(text, "begun\n[the call was interrupted]");
    assert_eq!(processes_of_run(&run), [] as [u32; 0]);
}

/// The future of a call may be dropped, too.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let place = Place::new();
    let command = format!("echo ${RUN_VARIABLE} > run; setsid sleep 1000 & sleep 1000");
    let input = json!({ "command": command });
    let run = tokio::select! {
        _ = place.call("shell", input) => panic!("it has ended"),
        run = run_of(&place, "run") => run,
    };
    let gone = async {
        while !processes_of_run(&run).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, gone).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let place = Place::new();
    let sparse = fs::File::create(place.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    place.file("a", "text\n");
    place.cancel.cancel();
    let told = place.error("search", json!({ "pattern": "nothing" })).await;
    assert_eq!(told, "the call was interrupted");
    place.assert_canary_lives();
}
