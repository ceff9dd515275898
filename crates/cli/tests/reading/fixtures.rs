//! Session files of real programs, where the folder with them is at hand: imported and exported they are the same.

use std::path::{Path, PathBuf};

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::Value;

use crate::home::{TestHome, read};

fn folder() -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(shared.join("fixtures")).filter(|folder| folder.is_dir())
}

#[test]
fn files_of_real_programs_come_back_as_they_were() {
    let Some(folder) = folder() else {
        println!(
            "skipped: files_of_real_programs_come_back_as_they_were (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    };
    let mut count = 0;
    for part in ["pi", "pi-1.5", "omp", "omp-18.3", "generated/pi", "generated/omp"] {
        for file in std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten() {
            if file.path().extension().is_some_and(|end| end == "jsonl") {
                check(&file.path());
                count += 1;
            }
        }
    }
    assert!(count > 0, "`{}` holds no session files", folder.display());
}

/// Also a file of an old version, as long as nothing has changed.
fn check(path: &Path) {
    let bytes = read(path);
    let home = TestHome::empty();
    let imported =
        home.command().arg("import").arg(path).arg("--json=lines").bounded_output().expect("a start");
    let imported: Value = serde_json::from_slice(&imported.stdout).expect("what was imported");
    let id = imported["id"].as_str().expect("an id");
    let output = home.command().args(["export", id, "--to", "pi"]).bounded_output().expect("a start");
    assert!(output.stderr.is_empty(), "`{}`: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == bytes, "`{}` comes back as it was", path.display());
}
