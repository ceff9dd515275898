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
    /// It has the same stamp, but it could have been changed within the same tick of the clock.
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
    let is_same_file = known.stamp.inode == now.inode && known.stamp.device == now.device;
    let has_grown = now.length > known.stamp.length;
    if known.is_followed && is_same_file && has_grown { Visit::ReadOn } else { Visit::ReadAll }
}

/// Long enough for the clock of any disk to tick, in nanoseconds.
const REST: i64 = 2_000_000_000;

pub(super) fn is_settled(stamp: &Stamp, now: i64) -> bool {
    now.checked_sub(stamp.modified).is_some_and(|age| age > REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(length: i64, modified: i64) -> Known {
        Known {
            key: 1,
            stamp: Stamp { length, modified, inode: 7, device: 1 },
            is_settled: true,
            read_to: length as u64,
            head: 0,
            tail: 0,
            is_followed: true,
            is_session: true,
        }
    }

    #[test]
    fn a_file_is_read_as_far_as_it_changed() {
        let known = known(100, 5);
        let seen =
            |length, modified, inode| visit(Some(&known), &Stamp { length, modified, inode, device: 1 });
        assert_eq!(seen(100, 5, 7), Visit::Nothing);
        assert_eq!(seen(120, 6, 7), Visit::ReadOn);
        assert_eq!(seen(120, 4, 7), Visit::ReadOn, "the clock was put back");
        assert_eq!(seen(100, 6, 7), Visit::ReadAll, "rewritten in place");
        assert_eq!(seen(80, 6, 7), Visit::ReadAll, "truncated");
        assert_eq!(seen(120, 6, 8), Visit::ReadAll, "replaced");
        assert_eq!(visit(None, &Stamp::default()), Visit::ReadAll);
    }

    #[test]
    fn what_cannot_be_followed_is_read_whole() {
        let known = Known { is_followed: false, ..known(100, 5) };
        let grown = Stamp { length: 120, modified: 6, inode: 7, device: 1 };
        assert_eq!(visit(Some(&known), &grown), Visit::ReadAll);
    }

    #[test]
    fn what_was_written_a_moment_ago_is_looked_at_again() {
        let known = Known { is_settled: false, ..known(100, 5) };
        assert_eq!(visit(Some(&known), &known.stamp), Visit::Closer);
        let stamp = known.stamp;
        assert!(!is_settled(&stamp, 5 + REST));
        assert!(is_settled(&stamp, 6 + REST));
        assert!(!is_settled(&stamp, 0), "a file from the future never rests");
        assert!(!is_settled(&Stamp { modified: i64::MIN, ..stamp }, i64::MAX));
    }
}
