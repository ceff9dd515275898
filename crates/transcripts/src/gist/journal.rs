//! A journal of our own for its gist, line by line.
//!
//! What is undone, and names of branches, change what was said before them; what lies in blobs is not in the lines.
//! Such journals are for the whole reading.

use offshoot_session::format::{InBatch, NoBlobs, decode};
use offshoot_session::{Body, Change, Fact};

use super::{Taken, Unusual};
use crate::claude::billed_as;

pub(super) fn take(mut file: Taken<'_>, line: &[u8]) -> Result<(), Unusual> {
    let decoded = decode(line, &NoBlobs).map_err(|_| Unusual)?;
    file.heard.is_in_batch = decoded.in_batch == InBatch::MoreFollow;
    match &decoded.record.change {
        // what it goes on with is told by the file itself
        Change::Opened(header) if header.foreign.is_some() => return Err(Unusual),
        Change::Opened(header) if !file.heard.has_header => {
            file.heard.has_header = true;
            file.open(header);
        }
        Change::Opened(_) => return Err(Unusual),
        Change::Entry(entry) => {
            let is_said = matches!(entry.body, Body::Prompt(_) | Body::Reply(_));
            if is_said && !decoded.notes.is_empty() {
                return Err(Unusual);
            }
            let parent = entry.parent.as_ref().map(|parent| parent.as_str());
            let at = Some(entry.written_at.as_microsecond());
            let provider = decoded.record.source.as_ref().and_then(billed_as);
            file.entry_billed(entry.id.as_str(), parent, at, &entry.body, provider.as_deref());
        }
        Change::HeadMoved(head_move) => file.moment(Some(head_move.moved_at.as_microsecond())),
        Change::Marked(mark) => {
            file.moment(Some(mark.marked_at.as_microsecond()));
            match &mark.fact {
                Fact::Label { .. } | Fact::Title { .. } | Fact::Spent { .. } | Fact::Bound { .. } => {
                    file.tell(mark.id.as_ref(), &mark.fact, Some(mark.marked_at.as_microsecond()));
                }
                Fact::Undone { .. } | Fact::Redone { .. } | Fact::BranchName { .. } => return Err(Unusual),
                Fact::Checkpoint { .. }
                | Fact::Delivered { .. }
                | Fact::TurnEnded { .. }
                | Fact::Archived { .. }
                | Fact::Operation { .. }
                | Fact::Began { .. }
                | Fact::Forked { .. } => {}
            }
        }
        Change::Unknown => {}
    }
    Ok(())
}

pub(super) fn entries_of(line: &[u8]) -> Vec<(String, Body)> {
    match decode(line.trim_ascii_end(), &NoBlobs).map(|decoded| decoded.record.change) {
        Ok(Change::Entry(entry)) => vec![(entry.id.to_string(), entry.body.clone())],
        Ok(Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown) | Err(_) => {
            Vec::new()
        }
    }
}
