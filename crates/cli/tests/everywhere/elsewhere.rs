//! A home on another disk than the sessions of the agents: nothing can be linked there, and nothing is lost.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::person::{NOW, Person};

#[test]
fn a_home_on_another_disk_has_what_the_agents_delete() {
    let memory = Path::new("/dev/shm");
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let Some(person) = Person::with_home_in(memory) else {
        println!("skipped: a_home_on_another_disk_has_what_the_agents_delete (/dev/shm cannot be written)");
        return;
    };
    if device(memory) == device(&person.user("")) {
        println!("skipped: a_home_on_another_disk_has_what_the_agents_delete (/dev/shm is the same disk)");
        return;
    }
    assert!(person.run("sync").starts_with("4 sessions"));
    let ids: Vec<String> = person
        .json_lines("ls --json=lines")
        .iter()
        .map(|row| row["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids.len(), 4);
    let told = |now: u64| -> Vec<String> {
        let asked = ["show ID", "tree ID", "cost ID", "export ID --to markdown", "export ID --to codex"];
        let lines = ids.iter().flat_map(|id| asked.map(|line| line.replace("ID", id)));
        lines.chain(["search burst".to_owned()]).map(|line| person.run_at(now, &line)).collect()
    };
    let before = told(NOW);
    for agent in [".pi", ".claude", ".codex"] {
        std::fs::remove_dir_all(person.user(agent)).expect("own folder");
    }
    assert!(person.run_at(NOW + 1, "sync").contains("4 kept"));
    assert_eq!(told(NOW), before);
    assert!(person.run("label 6f2a91 1 still").contains("still"), "and it can be changed");
    let proof = person.json("fsck --json");
    assert_eq!((&proof["clean"], &proof["kept"]), (&true.into(), &4.into()), "{proof}");
}
