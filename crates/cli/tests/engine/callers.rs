//! Two commands with different shells use one engine, and each has its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::home::{Home, ended};

const SECRETS: [&str; 2] = ["first-secret-5f1c09", "second-secret-77ab31"];

fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("own directory");
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("own file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("own file");
}

fn files_below(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut open = vec![directory.to_owned()];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
            Err(_) => files.push(path),
        }
    }
    files
}

#[test]
fn each_command_has_its_own_path_and_key_in_agent_and_hook() {
    let home = Home::new();
    let hook = home.directory().join("bin/hook");
    let kept = home.directory().join("kept");
    program(
        &hook,
        &format!("which-one >> '{0}'; printf '%s\\n' \"$SERVICE_API_KEY\" >> '{0}'", kept.display()),
    );
    let settings = format!(
        "log = \"trace\"\nagent_environment = [\"DROPPED_*\"]\n\n[[hooks]]\nevents = [\"turn_ended\"]\nprogram = \"{}\"\n",
        hook.display()
    );
    std::fs::create_dir(home.path()).expect("own directory");
    std::fs::write(home.path().join("settings.toml"), settings).expect("own file");
    let mut engine = None;
    for (name, secret) in ["first", "second"].into_iter().zip(SECRETS) {
        home.done(&["new", name]);
        program(&home.directory().join(name).join("which-one"), &format!("echo {name}"));
        let path = format!("{}:/usr/bin:/bin", home.directory().join(name).display());
        // What the agent prints is in the journal, so it tells of the key only whether it is the right one. By the run id what a
        // command has started is found and ended.
        let check = format!(
            "run echo $(which-one) $([ \"$SERVICE_API_KEY\" = \"$(cat {name}/key)\" ] && echo right) \
             $(env | grep -v ^OFFSHOOT_AGENT_RUN= | grep -c -e OFFSHOOT -e DROPPED)"
        );
        std::fs::write(home.directory().join(name).join("key"), secret).expect("own file");
        let with_own = |words: &[&str]| {
            let mut command = home.command(words);
            command.env("PATH", &path).env("SERVICE_API_KEY", secret).env("DROPPED_KEY", "x");
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let send = with_own(&["send", name, &check]);
        crate::home::until("the question", || home.done(&["status"]).contains("waiting"));
        // Whoever answers has a shell of its own, and it does not count.
        home.done(&["answer", name, "allow"]);
        let told = ended(send);
        let told = String::from_utf8(told.stdout).expect("text");
        assert!(told.contains(&format!("{name} right 0")), "{told}");
        let now = home.engine();
        assert!(engine.is_none() || engine == now, "both use one engine");
        engine = now;
    }
    let kept = std::fs::read_to_string(&kept).expect("the hook was told");
    assert_eq!(kept, format!("first\n{}\nsecond\n{}\n", SECRETS[0], SECRETS[1]));
    let engine = engine.expect("an engine").as_raw_nonzero();
    let environment = std::fs::read(format!("/proc/{engine}/environ")).expect("own process");
    assert!(!String::from_utf8_lossy(&environment).contains("OFFSHOOT_"));
    let line = std::fs::read(format!("/proc/{engine}/cmdline")).expect("own process");
    let mut looked = files_below(&home.path());
    looked.retain(|path| path.is_file());
    assert!(looked.iter().any(|path| path.ends_with("offshoot.log")), "{looked:?}");
    for secret in SECRETS {
        assert!(!String::from_utf8_lossy(&line).contains(secret));
        for path in &looked {
            let text = std::fs::read(path).expect("own file");
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{} has it", path.display());
        }
    }
}

#[test]
fn a_variable_that_is_not_utf_8_reaches_the_agent() {
    let home = Home::with_session("Bytes");
    let mut send = home.command(&["send", "run printf %s \"$ODD\" > odd"]);
    send.env("ODD", OsStr::from_bytes(b"a\xff")).stdout(Stdio::null()).stderr(Stdio::null());
    let send = send.spawn().expect("it starts");
    crate::home::until("the question", || home.done(&["status"]).contains("waiting"));
    home.done(&["answer", "allow"]);
    assert!(ended(send).status.success());
    assert_eq!(std::fs::read(home.directory().join("odd")).expect("the command ran"), b"a\xff");
}
