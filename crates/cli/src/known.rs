//! Sessions as they are known here. The catalog has a row for each file of another program and for each journal; a journal
//! that goes on with a file is one session with it.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use offshoot_session::{ForeignSource, SessionId};
use offshoot_store::Archive;
use offshoot_store::catalog::{SessionRow, State};

use crate::foreign::{RowOf, fits};
use crate::naming::{Lies, Name, Standing};

#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) name: Name,
    /// The journal that holds it, or what was changed in it.
    pub(crate) journal: Option<SessionId>,
    /// Where it lies; of a session in a journal, that.
    pub(crate) path: PathBuf,
    pub(crate) agent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) first_prompt: Option<String>,
    pub(crate) project: Option<String>,
}

impl Known {
    /// Of a journal only the id is known.
    pub(crate) fn by_journal(id: &SessionId) -> Self {
        let standing = Standing { lies: Lies::Here, updated_at: Reverse(0), path: Reverse(PathBuf::new()) };
        Self {
            name: Name { id: id.to_string(), standing },
            journal: Some(id.clone()),
            path: PathBuf::new(),
            agent: None,
            title: None,
            first_prompt: None,
            project: None,
        }
    }

    /// Of a file of another agent only its path and the session's id are known.
    pub(crate) fn by_file(id: &str, path: &Path) -> Self {
        let standing =
            Standing { lies: Lies::WithProgram, updated_at: Reverse(0), path: Reverse(path.to_owned()) };
        Self {
            name: Name { id: id.to_owned(), standing },
            journal: None,
            path: path.to_owned(),
            agent: None,
            title: None,
            first_prompt: None,
            project: None,
        }
    }

    fn by_row(row: SessionRow, archive: &Archive) -> Self {
        Self {
            journal: row.is_own.then(|| row.id.as_str().into()),
            name: name_of(&row, archive),
            path: row.path,
            agent: row.agent,
            title: row.title,
            first_prompt: row.first_prompt,
            project: row.project,
        }
    }

    /// The name that `ls` shows. Returns `None` if there is neither a title nor a prompt.
    pub(crate) fn listed_name(&self) -> Option<&str> {
        self.title.as_deref().or(self.first_prompt.as_deref())
    }

    fn as_row(&self) -> RowOf<'_> {
        RowOf { id: &self.name.id, path: &self.path, agent: self.agent.as_deref() }
    }

    /// What its journal says stands above what the file says.
    fn add(&mut self, journal: Self) {
        let updated_at = &mut self.name.standing.updated_at;
        updated_at.0 = updated_at.0.max(journal.name.standing.updated_at.0);
        self.title = journal.title.or(self.title.take());
    }
}

/// By which a row of the catalog is named, as long as it stands alone.
pub(crate) fn name_of(row: &SessionRow, archive: &Archive) -> Name {
    let lies = match &row.state {
        _ if row.is_own => Lies::Here,
        _ if row.is_side => Lies::Aside,
        State::Unreadable(_) => Lies::Aside,
        State::Whole | State::Damaged(_) if archive.kept_at(&row.path).is_some() => Lies::InArchive,
        State::Whole | State::Damaged(_) => Lies::WithProgram,
    };
    let standing = Standing { lies, updated_at: Reverse(row.updated_at), path: Reverse(row.path.clone()) };
    Name { id: row.id.clone(), standing }
}

/// Each journal taken together with the row of the file it goes on with. One whose file has no row here stays alone.
pub(crate) fn together(
    rows: Vec<SessionRow>,
    references: &[(SessionId, ForeignSource)],
    archive: &Archive,
) -> Vec<Known> {
    let all = rows.into_iter().map(|row| Known::by_row(row, archive));
    let (mut own, mut theirs): (Vec<Known>, Vec<Known>) =
        all.partition(|known| known.name.standing.lies == Lies::Here);
    for (id, source) in references {
        let files = theirs.iter().enumerate();
        let file = files.filter_map(|(at, file)| Some((fits(file.as_row(), source, archive)?, at))).min();
        let Some(file) = file.and_then(|(_, at)| theirs.get_mut(at)) else { continue };
        file.journal = Some(id.clone());
        if let Some(at) = own.iter().position(|known| known.journal.as_ref() == Some(id)) {
            file.add(own.swap_remove(at));
        }
    }
    theirs.append(&mut own);
    theirs
}
