//! Drawn trees in which some entries say more than a drawing can.

use offshoot_session::{Body, Compaction, Entry, FileLists, Record, SessionTree};
use offshoot_testkit::drawn;

/// The drawn tree with other bodies for some of its entries.
pub(crate) fn redrawn(drawing: &str, bodies: &[(&str, Body)]) -> SessionTree {
    let mut missing: Vec<&str> = bodies.iter().map(|(id, _)| *id).collect();
    let records = drawn(drawing).into_iter().map(|record| {
        let Some(entry) = record.as_entry() else { return record };
        let Some((id, body)) = bodies.iter().find(|(id, _)| *id == entry.id.as_str()) else { return record };
        missing.retain(|other| other != id);
        Record::entry(Entry { body: body.clone(), ..entry.clone() })
    });
    let (tree, oddities) = SessionTree::replay(records);
    assert!(oddities.is_empty(), "the drawing is odd: {oddities:?}");
    assert!(missing.is_empty(), "not in the drawing: {missing:?}");
    tree
}

/// A compaction that keeps everything from `first_kept` on.
pub(crate) fn keeps(first_kept: &str) -> Body {
    Body::Compaction(Compaction {
        summary: format!("what was before {first_kept}"),
        first_kept: Some(first_kept.into()),
        tokens_before: 0,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    })
}
