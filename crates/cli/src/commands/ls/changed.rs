//! A session of another program that was changed here is one session: its file tells what that program knows of it, the
//! journal what is new. Both have a row in the catalog, and a list shows one.

use offshoot_session::{Change, Fact, ForeignSource, SessionId, SessionTree};
use offshoot_store::{Archive, JournalStore, Locking, SessionStore};

use super::listed::{About, Listed};
use crate::foreign::{RowOf, fits};
use crate::here::Here;

/// Each journal taken together with the file it goes on with. One whose file is not listed stays alone.
pub(super) fn together(
    sessions: Vec<Listed>,
    references: &[(SessionId, ForeignSource)],
    archive: &Archive,
    here: &Here,
) -> Vec<Listed> {
    let refers = |row: &Listed| row.is_own && references.iter().any(|(id, _)| id.as_str() == row.id);
    let (mut journals, mut rows): (Vec<Listed>, Vec<Listed>) = sessions.into_iter().partition(refers);
    for (id, source) in references {
        let fit = |row: &Listed| {
            let agent = row.about().and_then(|about| about.agent.as_deref());
            let row_of = RowOf { id: &row.id, path: &row.path, agent };
            (!row.is_own).then(|| fits(row_of, source, archive)).flatten()
        };
        let of_file = rows.iter().enumerate().filter_map(|(at, row)| Some((fit(row)?, at))).min();
        let of_file = of_file.and_then(|(_, at)| rows.get_mut(at));
        let journal = journals.iter().position(|row| row.id == id.as_str());
        if let (Some(row), Some(journal)) = (of_file, journal) {
            let whole = row.about().and_then(|about| whole_if_less(here, id, about));
            row.add(journals.swap_remove(journal));
            if let (Some(tree), Some(about)) = (whole, row.about_mut()) {
                about.title = tree.title().map(str::to_owned);
                about.labels = tree.labels().into_iter().map(|(_, label)| label.to_owned()).collect();
            }
        }
    }
    rows.extend(journals);
    rows
}

/// Rows can be added up, but not what a journal takes away: a title, or a label that the program gave. Few do, and those
/// are read whole. One that cannot be read is listed as far as it is known.
fn whole_if_less(here: &Here, id: &SessionId, theirs: &About) -> Option<SessionTree> {
    if theirs.title.is_none() && theirs.labels.is_empty() {
        return None;
    }
    let store = here.store().ok()?;
    let alone = JournalStore::at(store.home().clone(), Locking::by("offshoot"));
    let ours = alone.read(id).ok()??.tree;
    let takes_away = |change: &Change| match change {
        Change::Marked(mark) => match &mark.fact {
            Fact::Title { title, .. } => title.as_deref().is_none_or(|title| title.trim().is_empty()),
            Fact::Label { target, .. } => !ours.contains(target),
            _ => false,
        },
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => false,
    };
    let takes_away = ours.log().any(|record| takes_away(&record.change));
    takes_away.then(|| store.read(id).ok().flatten()).flatten().map(|loaded| loaded.tree)
}
