//! Sessions nested below their parents, for `ls --tree`.

use offshoot_session::SessionId;
use serde_json::{Value, json};

use super::listed::Listed;
use super::threads::Row;
use crate::which::Which;

/// JSON is not nested deeper than this, because readers of it have limits. Deeper sessions are children of the last level;
/// their headers name their parents all the same.
const DEEPEST: usize = 48;

/// `{session, header, children}` for each root; `rows` come parents first.
pub(super) fn nested(rows: &[Row], session_as_json: impl Fn(&Row) -> Value) -> Vec<Value> {
    // the nodes of each level that wait for their parent, the last one first
    let mut levels: Vec<Vec<Value>> = vec![Vec::new(); DEEPEST + 2];
    for row in rows.iter().rev() {
        let depth = row.depth.min(DEEPEST);
        let mut children = levels.get_mut(depth + 1).map(std::mem::take).unwrap_or_default();
        children.reverse();
        let (session, header) = (session_as_json(row), row.session.header_as_json());
        if let Some(level) = levels.get_mut(depth) {
            level.push(json!({ "session": session, "header": header, "children": children }));
        }
    }
    let mut roots = levels.into_iter().next().unwrap_or_default();
    roots.reverse();
    roots
}

/// A session and its descendants, with the session as the root. Empty if it is not listed.
pub(super) fn below(rows: Vec<Row>, wanted: &Which) -> Vec<Row> {
    let Some(first) = rows.iter().position(|row| is(&row.session, wanted)) else { return Vec::new() };
    let mut rows = rows.into_iter().skip(first);
    let Some(root) = rows.next() else { return Vec::new() };
    let depth = root.depth;
    let descendants = rows.take_while(|row| row.depth > depth);
    let all = std::iter::once(root).chain(descendants);
    all.map(|row| Row { depth: row.depth - depth, ..row }).collect()
}

fn is(session: &Listed, wanted: &Which) -> bool {
    match wanted {
        Which::File(path) => session.path == *path,
        Which::Stored(id) => journal_of(session).is_some_and(|journal| journal == *id),
    }
}

fn journal_of(session: &Listed) -> Option<SessionId> {
    let own = Some(&session.id).filter(|_| session.is_own);
    session.changed_as.as_ref().or(own).map(|id| SessionId::from(id.as_str()))
}
