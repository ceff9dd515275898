//! The home is for its owner only, whatever the umask is and however the home was made.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use offshoot_testkit::deadline::BoundedCommand;
use offshoot_testkit::model::{ModelServer, Script};

use crate::support::Folder;

/// What others can read or write, sockets included.
pub(crate) fn open_to_others(home: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    let mut to_visit = vec![home.to_owned()];
    while let Some(path) = to_visit.pop() {
        let metadata = std::fs::symlink_metadata(&path).expect("own file");
        if metadata.mode() & 0o077 != 0 {
            found.push((path.clone(), metadata.mode() & 0o777));
        }
        if metadata.is_dir() {
            to_visit
                .extend(std::fs::read_dir(&path).expect("own directory").flatten().map(|item| item.path()));
        }
    }
    found
}

/// The catalog was 0644, and the rules obeyed the umask, so that another user could add one.
#[test]
fn every_file_of_a_home_is_private_whatever_the_umask_is() {
    let folder = Folder::new();
    let server = ModelServer::start(Script::new()).expect("a server");
    let run = |line: &str| {
        let mut shell = folder.command_in_shell(&format!("umask 000; exec \"$1\" {line}"));
        shell.env("ANTHROPIC_BASE_URL", server.url()).env("ANTHROPIC_API_KEY", "a key of a test");
        let output = shell.bounded_output().expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
    };
    for line in [
        "new One",
        "import burst.jsonl",
        "ls --all",
        "search credit",
        "send hello --agent built_in",
        "send One hello --agent llm --model anthropic/m",
        "sync",
        // The last one, because the next command would close what it leaves open.
        "agents",
    ] {
        run(line);
    }
    assert!(folder.home().join("catalog.db").exists());
    assert!(folder.home().join("cache/models-anthropic.json").exists());
    assert_eq!(open_to_others(&folder.home()), []);
}

#[test]
fn an_open_home_is_closed_and_said_so_once() {
    let folder = Folder::new();
    folder.run("new One");
    folder.run("ls");
    std::fs::set_permissions(folder.home(), Permissions::from_mode(0o755)).expect("own folder");
    let catalog = folder.home().join("catalog.db");
    std::fs::set_permissions(&catalog, Permissions::from_mode(0o644)).expect("own file");
    let told = folder.run("ls --quiet");
    assert!(
        told.ends_with("note: other users could read `DIR/home`; now only you can (mode 0700)\n"),
        "{told}"
    );
    assert_eq!(open_to_others(&folder.home()), []);
    assert!(!folder.run("ls --quiet").contains("note:"));
}

/// Its owner could read what is written, and put rules and hooks there that we would follow.
#[test]
fn a_home_of_another_user_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    folder.run("new One");
    if std::fs::metadata(folder.home()).expect("own folder").uid() != 0 {
        println!("skipped: only root can give a directory away");
        return;
    }
    chown(folder.home(), Some(65_534), None).expect("root may");
    std::fs::set_permissions(folder.home(), Permissions::from_mode(0o755)).expect("root may");
    for line in ["ls", "new Two", "send hello", "export --to markdown"] {
        assert_eq!(
            folder.run(line),
            "error: the home `DIR/home` belongs to another user\nhint: `--home DIR` names a home of your own\nexit 4\n"
        );
    }
    assert_eq!(std::fs::metadata(folder.home()).expect("there").mode() & 0o777, 0o755);
    chown(folder.home(), Some(0), None).expect("root may");
}
