//! Standard output, with the faults that happen there.

use std::io::{self, Write as _};

use serde_json::Value;

#[derive(Default)]
pub(super) struct Wire {
    /// So many more lines are written before the program kills itself.
    pub(super) lines_left: Option<u64>,
    /// Every line but deltas is written twice.
    pub(super) twice: bool,
}

impl Wire {
    pub(super) fn send(&mut self, line: &Value) -> io::Result<()> {
        let text = format!("{line}\n");
        // Deltas are pieces of a text: twice they would be another text.
        let is_doubled = self.twice && line["type"] != "stream_event";
        for _ in 0..if is_doubled { 2 } else { 1 } {
            self.raw(text.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(left) = &mut self.lines_left {
            if *left == 0 {
                kill_self();
            }
            *left -= 1;
        }
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }
}

pub(super) fn kill_self() -> ! {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    // The signal ends the process before this line, but the compiler cannot know.
    std::process::abort()
}
