//! Engines that tests have started.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::deadline::exit_of;

/// Ends the engine process of a home, where there is one. To be called when a test drops the home it has made.
pub fn stop_engine(program: impl AsRef<Path>, home: &Path) {
    if !home.join("run").is_dir() {
        return;
    }
    let mut stop = Command::new(program.as_ref());
    stop.env_clear().args(["engine", "stop", "--force", "--home"]).arg(home);
    // An engine that cannot be asked ends by itself as soon as it sees that its home is gone. A test that fails already
    // must not panic twice, so an error counts for nothing here.
    let stop = stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _ = stop.and_then(|mut stop| exit_of(&mut stop));
}
