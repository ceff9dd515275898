//! Engines that tests have left behind. A test that starts an engine ends it; one that does not would fill a machine with
//! processes, and its home would not be the private one that the next test expects.
//!
//! Only processes of this repository's own program with a home among the temporary files are looked at, and none is ended
//! here. Where there is no `/proc` nothing is found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An engine whose home was just removed ends by itself within this time.
const PATIENCE: Duration = Duration::from_secs(6);

pub(crate) struct Engines(BTreeSet<u32>);

impl Engines {
    pub(crate) fn now() -> Self {
        let program = super::process::root().join("target");
        let names = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let processes = names.filter_map(|name| name.file_name().to_str()?.parse().ok());
        Self(processes.filter(|process| is_engine(*process, &program)).collect())
    }

    /// Those that run and did not run before.
    pub(crate) fn left_since(&self) -> Vec<u32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left: Vec<u32> = Self::now().0.difference(&self.0).copied().collect();
            if left.is_empty() || Instant::now() >= deadline {
                return left;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn is_engine(process: u32, program: &Path) -> bool {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let is_ours = std::fs::read_link(folder.join("exe")).is_ok_and(|file| file.starts_with(program));
    let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    is_ours && home_of_engine(&line).is_some_and(|home| home.starts_with(std::env::temp_dir()))
}

/// `offshoot engine --home HOME`, and nothing else.
fn home_of_engine(line: &[u8]) -> Option<&Path> {
    let words: Vec<&[u8]> = line.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    match words.as_slice() {
        [_, b"engine", b"--home", home] => Some(Path::new(OsStr::from_bytes(home))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_process_itself_is_an_engine() {
        let home = |line: &str| home_of_engine(line.replace(' ', "\0").as_bytes()).map(Path::to_owned);
        assert_eq!(home("/x/offshoot engine --home /tmp/a "), Some(PathBuf::from("/tmp/a")));
        assert_eq!(home("/x/offshoot engine stop --home /tmp/a "), None);
        assert_eq!(home("/x/offshoot send engine --home /tmp/a "), None);
    }
}
