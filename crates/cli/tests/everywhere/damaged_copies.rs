//! Copies of the archive that something else has damaged: noticed, and packed again while the original exists.

use std::path::{Path, PathBuf};

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::json;

use crate::kept::{CLAUDE, STORAGE, opencode_storage, sub_agent};
use crate::person::{NOW, Person};

/// Damages a kept copy.
type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 7] = [
    ("cut", |copy| {
        let bytes = std::fs::read(copy).expect("a copy");
        std::fs::write(copy, &bytes[..bytes.len() - 1]).expect("own file");
    }),
    ("emptied", |copy| std::fs::write(copy, "").expect("own file")),
    ("deleted", |copy| std::fs::remove_file(copy).expect("own file")),
    ("a directory", |copy| {
        std::fs::remove_file(copy).expect("own file");
        std::fs::create_dir(copy).expect("own directory");
    }),
    ("a link", |copy| {
        let aside = copy.with_extension("aside");
        std::fs::rename(copy, &aside).expect("own file");
        std::os::unix::fs::symlink(aside, copy).expect("own link");
    }),
    ("a FIFO", |copy| {
        std::fs::remove_file(copy).expect("own file");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, copy, mode).expect("own FIFO");
    }),
    ("flipped", |copy| {
        let mut bytes = std::fs::read(copy).expect("a copy");
        bytes[40] ^= 0xff;
        std::fs::write(copy, bytes).expect("own file");
    }),
];

fn copy_of(person: &Person, original: &Path) -> PathBuf {
    let below = original.strip_prefix("/").expect("absolute");
    let mut path = person.home().join("archive").join(below).into_os_string();
    path.push(".zst");
    path.into()
}

/// D3: `keep --now` said "everything is kept already", and when the agent deleted its file the session was gone.
#[test]
fn a_damaged_copy_is_noticed_and_packed_again_from_the_original() {
    for (what, damage) in DAMAGES {
        let person = Person::with_agents();
        person.run("keep --now");
        assert!(!person.run("fsck").contains("finding"), "clean before");
        let original = person.user(CLAUDE);
        let copy = copy_of(&person, &original);
        damage(&copy);
        let proof = person.run("fsck");
        assert!(proof.contains("jsonl.zst") && proof.contains("1 finding"), "{what}: {proof}");
        if what != "flipped" {
            // The middle of a copy is only read by `fsck` and `keep --now`.
            let status = person.run("keep");
            assert!(status.contains("1 copy is damaged"), "{what}: {status}");
            assert_eq!(person.json("keep --json")["damaged"], 1, "{what}");
            let doctor = person.run("doctor");
            assert!(
                doctor.contains("1 copy is damaged") && doctor.contains("keep --now"),
                "{what}: {doctor}"
            );
        }
        let kept = person.run("keep --now");
        assert!(!kept.contains("already") && !kept.contains("error"), "{what}: {kept}");
        assert!(!person.run("fsck").contains("finding"), "{what}: clean after");
        assert!(!person.run("keep").contains("damaged"), "{what}");
        let before = person.run("show 0f5c00");
        std::fs::remove_file(&original).expect("own file");
        let link = copy.with_extension("link");
        let _ = std::fs::remove_file(link);
        person.run("sync");
        assert_eq!(person.run("show 0f5c00").replace("(kept) ", ""), before.replace("(kept) ", ""), "{what}");
    }
}

/// `sync` said "1 kept" and `ls` listed nothing.
#[test]
fn a_damaged_copy_whose_original_is_gone_is_not_called_kept() {
    for (what, damage) in DAMAGES {
        let person = Person::with_agents();
        person.run("keep --now");
        let original = person.user(CLAUDE);
        let copy = copy_of(&person, &original);
        damage(&copy);
        std::fs::remove_file(&original).expect("own file");
        std::fs::remove_file(copy.with_extension("link")).expect("a second name");
        let told = person.run("sync");
        assert!(!told.contains("1 kept"), "{what}: {told}");
    }
}

/// The second name still has every byte.
#[test]
fn a_damaged_copy_is_packed_again_from_the_second_name() {
    for (what, damage) in DAMAGES {
        let person = Person::with_agents();
        person.run("keep --now");
        let before = person.run("show 0f5c00");
        let original = person.user(CLAUDE);
        damage(&copy_of(&person, &original));
        std::fs::remove_file(&original).expect("own file");
        let told = person.run("sync");
        assert_eq!(person.run("show 0f5c00").replace("(kept) ", ""), before, "{what}: {told}");
    }
}

/// `keep --now` said "Everything is kept already." Nothing is written to where the link leads.
#[test]
fn nothing_is_kept_through_a_directory_that_is_a_link() {
    let person = Person::with_agents();
    let elsewhere = person.user("elsewhere");
    let archive = person.home().join("archive");
    let top = person.user(CLAUDE).components().nth(1).map(|top| archive.join(top)).expect("a directory");
    for directory in [&elsewhere, &archive] {
        std::fs::create_dir_all(directory).expect("own directory");
    }
    std::os::unix::fs::symlink(&elsewhere, &top).expect("own link");
    let kept = person.command_at(NOW).args(["keep", "--now"]).bounded_output().expect("the program starts");
    let told = String::from_utf8(kept.stderr).expect("text");
    assert!(told.contains(&format!("`{}` is a symbolic link", top.display())), "{told}");
    assert_eq!((kept.status.code(), kept.stdout.as_slice()), (Some(1), &b""[..]));
    assert_eq!(std::fs::read_dir(&elsewhere).expect("a directory").count(), 0);
    std::fs::remove_file(&top).expect("own link");
    assert!(person.run("keep --now").contains("kept."));
}

/// D3: only copies of sessions were recorded, so nothing missed a message of opencode or a result of a tool.
#[test]
fn a_damaged_copy_of_a_file_that_belongs_to_a_session_is_noticed_and_packed_again() {
    let opencode = |person: &Person| {
        opencode_storage(person);
        ["message/ses_ccc/msg_2.json", "part/msg_1/prt_msg_1.json"]
            .map(|name| person.user(&format!("{STORAGE}/{name}")))
            .to_vec()
    };
    let claude = |person: &Person| {
        sub_agent(person);
        let directory = CLAUDE.replace(".jsonl", "");
        let result = format!("{directory}/tool-results/toolu_1.txt");
        person.write(&result, &[json!("a long result")]);
        let list =
            format!("{}/sessions-index.json", person.user(CLAUDE).parent().expect("a folder").display());
        std::fs::write(&list, r#"{"version":1,"entries":[]}"#).expect("own file");
        vec![
            person.user(&result),
            person.user(&format!("{directory}/subagents/agent-a1.meta.json")),
            PathBuf::from(list),
        ]
    };
    type Make = fn(&Person) -> Vec<PathBuf>;
    for make in [opencode as Make, claude as Make] {
        for (what, damage) in DAMAGES {
            let person = Person::with_agents();
            for original in make(&person) {
                let copy = copy_of(&person, &original);
                let what = format!("{what}: {}", original.display());
                person.run("keep --now");
                assert!(!person.run("fsck").contains("finding"), "{what}: clean before");
                damage(&copy);
                let proof = person.run("fsck");
                let name = copy.file_name().expect("a name").to_string_lossy().into_owned();
                assert!(proof.contains(&name) && proof.contains("1 finding"), "{what}: {proof}");
                if !what.starts_with("flipped") {
                    assert_eq!(person.json("keep --json")["damaged"], 1, "{what}");
                    assert!(person.run("doctor").contains("1 copy is damaged"), "{what}");
                }
                let kept = person.run("keep --now");
                assert!(!kept.contains("already") && !kept.contains("error"), "{what}: {kept}");
                assert!(!person.run("fsck").contains("finding"), "{what}: clean after");
                // Without the catalog nothing is recorded: everything is kept again.
                damage(&copy);
                std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
                person.run("keep --now");
                assert!(!person.run("fsck").contains("finding"), "{what}: with a new catalog");
                assert!(copy.is_file(), "{what}: with a new catalog");
            }
        }
    }
}

/// A forgotten session takes these files with it, and none of them is missing then.
#[test]
fn files_of_forgotten_sessions_are_not_missing() {
    let person = Person::with_agents();
    opencode_storage(&person);
    sub_agent(&person);
    person.run("keep --now");
    person.run("forget ses_ccc");
    person.run("forget 0f5c00");
    for line in ["fsck", "keep", "doctor", "keep --now"] {
        let told = person.run(line);
        assert!(
            !told.contains("is damaged") && !told.contains("are damaged") && !told.contains("finding"),
            "{line}: {told}"
        );
    }
    person.run("forget --restore ses_ccc");
    assert!(!person.run("fsck").contains("finding"));
}
