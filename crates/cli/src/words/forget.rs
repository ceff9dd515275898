//! Messages of `offshoot forget`.

use offshoot_store::archive::{Copies, ForgottenSession, Moved};

use crate::look::Look;
use crate::numbers::{bytes, counted, moment};
use crate::text::harmless_line;

pub(crate) const NONE: &str = "No session is forgotten.\n";
pub(crate) const IS_OWN_HINT: &str = "`forget` removes copies of other agents' sessions";
pub(crate) const NOT_FORGOTTEN_HINT: &str = "`offshoot forget --list` lists the forgotten sessions";
pub(crate) const HELD: &str = "another process is keeping copies at this moment";
pub(crate) const HELD_HINT: &str = "try again when it has finished";

/// Said once, when the first copies were made.
pub(crate) fn announced(place: &str) -> String {
    format!(
        "note: Offshoot keeps copies of other agents' sessions in `{place}`, because agents delete them. \
         `offshoot keep --off` stops it, `offshoot forget SESSION` removes one."
    )
}

pub(crate) fn forgotten(
    session: &ForgottenSession,
    copies: Copies,
    moved: Moved,
    was_in_trash: bool,
    has_original: bool,
    look: &Look,
) -> String {
    let id = harmless_line(&session.id, look.ascii);
    let size = format!("{}, {}", counted(moved.files, "file", "files"), bytes(moved.bytes));
    let first = match (copies, moved.files) {
        (Copies::ToTrash, 0) if was_in_trash => format!("The kept copy of `{id}` is already in the trash."),
        (_, 0) => format!("No copy of `{id}` was kept."),
        (Copies::ToTrash, _) => format!("Moved the kept copy of `{id}` to the trash ({size})."),
        (Copies::Delete, _) => format!("Deleted the kept copy of `{id}` ({size})."),
    };
    let until = session.in_trash_until().map(|until| {
        let until = moment(until, look);
        format!("It is deleted after {until}. Bring it back: offshoot forget --restore {id}\n")
    });
    let again = until.unwrap_or_else(|| format!("Keep it again: offshoot forget --restore {id}\n"));
    let original = match has_original {
        true => "The agent's own file is not affected.\n",
        false => "",
    };
    format!("{first} It is not kept again.\n{original}{again}")
}

pub(crate) fn restored(session: &ForgottenSession, moved: Moved) -> String {
    match moved.files {
        0 => format!("`{}` is kept again on every sync. No earlier copy was in the trash.\n", session.id),
        files => format!(
            "Restored the kept copy of `{}` ({}). It is kept again on every sync.\n",
            session.id,
            counted(files, "file", "files")
        ),
    }
}

/// `0f5c11d2  in the trash until 2025-04-03 14:00  /home/dev/.claude/…`
pub(crate) fn listed(session: &ForgottenSession, look: &Look) -> String {
    let state = match session.in_trash_until() {
        Some(until) => format!("in the trash until {}", moment(until, look)),
        None => "deleted".to_owned(),
    };
    let [id, original] = [session.id.as_str(), &session.original.to_string_lossy()]
        .map(|text| harmless_line(text, look.ascii));
    format!("{id}  {state}  {original}\n")
}

/// `2 sessions are forgotten, 1 of them in the trash`
pub(crate) fn counts(all: usize, in_trash: usize) -> Option<String> {
    let forgotten = (all > 0).then(|| counted(all, "session is forgotten", "sessions are forgotten"))?;
    Some(match in_trash {
        0 => forgotten,
        in_trash => format!("{forgotten}, {in_trash} of them in the trash"),
    })
}

pub(crate) fn continued(id: &str) -> String {
    format!("`{id}` was continued here and its original is gone: only what was added here is left of it")
}

pub(crate) fn is_own(id: &str) -> String {
    format!("`{id}` is a session of Offshoot, and not a kept copy")
}

pub(crate) fn not_forgotten(name: &str) -> String {
    format!("`{name}` is not forgotten")
}

pub(crate) fn several(name: &str) -> String {
    format!("`{name}` names several forgotten sessions")
}

pub(crate) fn not_done(why: &str) -> String {
    format!("could not change the kept copies: {why}")
}
