//! The fake Claude Code behaves like the real one.

use std::process::Command;

use offshoot_testkit::deadline::BoundedCommand;
use offshoot_testkit::fake_claude;

#[test]
fn it_tells_its_version() {
    let output = Command::new(fake_claude::program()).arg("--version").bounded_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "2.1.325 (Claude Code)\n");
}
