//! No test waits without a deadline: a program that hangs fails its test, and not the run.

use std::path::Path;

use crate::metadata::root;

/// Calls that wait for another process as long as it takes. `offshoot_testkit::deadline` has one with a deadline for each.
const UNBOUNDED: &[&str] = &[".wait()", ".wait_with_output()", ".output()", ".status()", ".recv()"];

#[test]
fn tests_of_the_program_wait_with_a_deadline() {
    for (path, text) in sources_below(&root().join("crates/cli/tests")).unwrap() {
        for (line, number) in text.lines().zip(1..) {
            let found = UNBOUNDED.iter().find(|call| line.contains(**call));
            assert!(found.is_none(), "{path}:{number}: `{line}` waits without a deadline");
        }
    }
}

fn sources_below(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    let mut sources = Vec::new();
    for item in std::fs::read_dir(folder)? {
        let path = item?.path();
        if path.is_dir() {
            sources.extend(sources_below(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push((path.display().to_string(), std::fs::read_to_string(&path)?));
        }
    }
    Ok(sources)
}
