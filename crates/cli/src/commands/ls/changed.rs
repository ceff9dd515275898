//! A session of another program that was changed here is one session: its file tells what that program knows of it, the
//! journal what is new. Both have a row in the catalog, and a list shows one.

use offshoot_session::{ForeignSource, SessionId};

use super::listed::Listed;
use crate::foreign::is_row_of;

/// Each journal taken together with the file it goes on with. One whose file is not listed stays alone.
pub(super) fn together(sessions: Vec<Listed>, references: &[(SessionId, ForeignSource)]) -> Vec<Listed> {
    let refers = |row: &Listed| row.is_own && references.iter().any(|(id, _)| id.as_str() == row.id);
    let (mut journals, mut rows): (Vec<Listed>, Vec<Listed>) = sessions.into_iter().partition(refers);
    for (id, source) in references {
        let of_file = rows.iter_mut().find(|row| {
            let agent = row.about().and_then(|about| about.agent.as_deref());
            !row.is_own && is_row_of(&row.id, &row.path, agent, source)
        });
        let journal = journals.iter().position(|row| row.id == id.as_str());
        if let (Some(row), Some(journal)) = (of_file, journal) {
            row.add(journals.swap_remove(journal));
        }
    }
    rows.append(&mut journals);
    rows
}
