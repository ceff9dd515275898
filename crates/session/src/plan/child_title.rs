//! How a session that came out of another one is named: after its parent and after what differs, `Parser (fork)`.
//!
//! Sessions of one name could not be told apart in a list, nor named in a command. The title is automatic, so
//! one that a person gives wins.

use crate::{BranchReason, SessionTree, TitleSource};

/// Returns `None` if the parent has no title.
pub(super) fn child_title(parent: &SessionTree, difference: &str) -> Option<(String, TitleSource)> {
    let title = own_title(parent)?;
    let title = if difference.is_empty() { title.to_owned() } else { format!("{title} ({difference})") };
    Some((title, TitleSource::Auto))
}

/// The title without what the session itself was named after when it branched.
fn own_title(tree: &SessionTree) -> Option<&str> {
    let title = tree.title()?;
    if tree.title_is_by_user() {
        return Some(title);
    }
    let reason = tree.header().and_then(|header| header.lineage.as_ref()?.reason.as_ref());
    match reason {
        Some(
            BranchReason::ConfigChange | BranchReason::MessageEdit | BranchReason::Retry | BranchReason::Fork,
        ) => {
            let name = title.strip_suffix(')').and_then(|title| title.rsplit_once(" ("));
            Some(name.map_or(title, |(name, _)| name))
        }
        Some(BranchReason::Other(_)) | None => Some(title),
    }
}
