//! What to do about a file, given what is known of it.

use super::walk::Stamp;

/// What the catalog knows of a file that it has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) key: i64,
    pub(super) stamp: Stamp,
    /// The file had rested for a while when it was read: whoever changes it again gives it another time.
    pub(super) is_settled: bool,
    pub(super) read_to: u64,
    pub(super) head: u32,
    pub(super) tail: u32,
    /// It can be read on from where it was left.
    pub(super) is_followed: bool,
    /// It is listed, and not only remembered as something else.
    pub(super) is_session: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// It is what it was.
    Nothing,
    /// It has the same stamp, but it could have been changed within the same tick of the clock; or it was only given
    /// another name.
    Closer,
    /// It may only have grown.
    ReadOn,
    ReadAll,
}

/// Times are compared for being the same, never for being later: clocks jump.
pub(super) fn visit(known: Option<&Known>, now: &Stamp) -> Visit {
    let Some(known) = known else { return Visit::ReadAll };
    if known.stamp == *now {
        return if known.is_settled { Visit::Nothing } else { Visit::Closer };
    }
    let before = &known.stamp;
    let has_other_names = before.links != now.links;
    if has_other_names && (Stamp { changed: now.changed, links: now.links, ..*before }) == *now {
        return Visit::Closer;
    }
    let is_same_file = before.inode == now.inode && before.device == now.device;
    let has_grown = now.length > before.length;
    if known.is_followed && is_same_file && has_grown { Visit::ReadOn } else { Visit::ReadAll }
}

/// Long enough for the clock of any disk to tick, in nanoseconds.
const REST: i64 = 2_000_000_000;

/// By the disk's own time: a file can be given any other one.
pub(super) fn is_settled(stamp: &Stamp, now: i64) -> bool {
    now.checked_sub(stamp.changed).is_some_and(|age| age > REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { length: 100, modified: 5, changed: 5, inode: 7, device: 1, links: 1 };

    fn known() -> Known {
        Known {
            key: 1,
            stamp: STAMP,
            is_settled: true,
            read_to: 100,
            head: 0,
            tail: 0,
            is_followed: true,
            is_session: true,
        }
    }

    #[test]
    fn a_file_is_read_as_far_as_it_changed() {
        let seen = |stamp: Stamp| visit(Some(&known()), &stamp);
        let changed = Stamp { modified: 6, changed: 6, ..STAMP };
        assert_eq!(seen(STAMP), Visit::Nothing);
        assert_eq!(seen(Stamp { length: 120, ..changed }), Visit::ReadOn);
        assert_eq!(
            seen(Stamp { length: 120, modified: 4, ..STAMP }),
            Visit::ReadOn,
            "the clock was put back"
        );
        assert_eq!(seen(changed), Visit::ReadAll, "rewritten in place");
        assert_eq!(seen(Stamp { changed: 6, ..STAMP }), Visit::ReadAll, "and its time put back");
        assert_eq!(seen(Stamp { length: 80, ..changed }), Visit::ReadAll, "truncated");
        assert_eq!(seen(Stamp { length: 120, inode: 8, ..changed }), Visit::ReadAll, "replaced");
        assert_eq!(seen(Stamp { changed: 6, links: 2, ..STAMP }), Visit::Closer, "another name");
        assert_eq!(visit(None, &STAMP), Visit::ReadAll);
    }

    #[test]
    fn what_cannot_be_followed_is_read_whole() {
        let known = Known { is_followed: false, ..known() };
        let grown = Stamp { length: 120, modified: 6, changed: 6, ..STAMP };
        assert_eq!(visit(Some(&known), &grown), Visit::ReadAll);
    }

    #[test]
    fn what_was_written_a_moment_ago_is_looked_at_again() {
        let known = Known { is_settled: false, ..known() };
        assert_eq!(visit(Some(&known), &STAMP), Visit::Closer);
        assert!(!is_settled(&STAMP, 5 + REST));
        assert!(is_settled(&STAMP, 6 + REST));
        assert!(!is_settled(&STAMP, 0), "a disk whose clock is ahead");
        assert!(is_settled(&Stamp { modified: i64::MAX, ..STAMP }, 6 + REST), "a time that somebody set");
        assert!(!is_settled(&Stamp { changed: i64::MIN, ..STAMP }, i64::MAX));
    }
}
