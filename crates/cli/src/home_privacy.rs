//! The home is for its owner only. Every command checks that first, because conversations, rules and settings are in it.

use offshoot_store::private::{Privacy, secure};

use crate::args::Command;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::note_now;
use crate::words;

/// Closes a home that others can read. Refuses one of another user and one that leads elsewhere through a link.
pub(crate) fn secured(command: &Command, here: &Here) -> Result<(), Failure> {
    let Some(home) = here.home().filter(|_| uses_home(command)) else { return Ok(()) };
    match secure(&home) {
        // A home that cannot be changed is read as it is, and the command that writes says why it cannot.
        Ok(Privacy::Private | Privacy::HasOpenFiles) | Err(_) => Ok(()),
        Ok(Privacy::Open) => {
            note_now(&words::home_tightened(&home, here.look.ascii));
            Ok(())
        }
        Ok(Privacy::OfAnotherUser) => {
            Err(Failure::refused(words::home_of_another_user(&home)).hint(words::HOME_OF_ANOTHER_USER_HINT))
        }
        Ok(Privacy::HasLink(link)) => {
            Err(Failure::refused(words::link_in_home(&link)).hint(words::LINK_IN_HOME_HINT))
        }
    }
}

/// The doctor reports what it finds; completions and pages are the same for every home.
fn uses_home(command: &Command) -> bool {
    !matches!(command, Command::Doctor(_) | Command::Completions(_) | Command::Man(_))
}
