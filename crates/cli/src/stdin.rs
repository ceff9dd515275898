//! What is typed or piped into a command.

use std::io::{ErrorKind, IsTerminal, Read, Write};

use crate::editor::without_last_newline;
use crate::failure::Failure;
use crate::look::Look;
use crate::words;

/// Whoever waits at a terminal should know for what.
pub(crate) fn say_that_it_is_read(look: &Look) {
    if std::io::stdin().is_terminal() && !look.quiet {
        let _ = writeln!(std::io::stderr(), "{}", words::READING_STDIN);
    }
}

/// All of it, without the line end that the last line of a text has.
pub(crate) fn text() -> Result<String, Failure> {
    let mut text = String::new();
    match std::io::stdin().lock().read_to_string(&mut text) {
        Ok(_) => Ok(without_last_newline(text)),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(Failure::failed(words::STDIN_NOT_TEXT)),
        Err(error) => Err(Failure::failed(words::stdin_failed(&error))),
    }
}
