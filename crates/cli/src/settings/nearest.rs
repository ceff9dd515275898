//! What somebody may have meant.

/// The known name that is nearest, where one is near at all. What stands behind a dot counts as a name too.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let last = |name: &'n str| name.rsplit('.').next().unwrap_or(name);
    let steps_to = |known: &'n str| steps(name, known).min(steps(name, last(known)));
    let (steps, found) =
        known.into_iter().map(|known| (steps_to(known), known)).min_by_key(|(steps, _)| *steps)?;
    (steps <= name.chars().count().div_ceil(3).min(3)).then_some(found)
}

/// How many letters are changed, added or taken away from one word to the other.
fn steps(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.chars().enumerate() {
        let mut left = above + 1;
        let mut next = vec![left];
        for (other, pair) in to.iter().zip(row.windows(2)) {
            let (diagonal, over) = (pair.first().copied().unwrap_or(0), pair.last().copied().unwrap_or(0));
            left = (diagonal + usize::from(*other != letter)).min(over + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["agent", "color", "compaction.reserve_tokens", "keep"];
        let found = |name: &str| nearest(name, known);
        assert_eq!(found("colour"), Some("color"));
        assert_eq!(found("agnet"), Some("agent"));
        assert_eq!(found("reserve_tokens"), Some("compaction.reserve_tokens"));
        assert_eq!(found("compaction.reserve_token"), Some("compaction.reserve_tokens"));
        assert_eq!((found("telemetry"), found(""), nearest("x", [])), (None, None, None));
        assert_eq!((steps("", "abc"), steps("abc", ""), steps("kitten", "sitting")), (3, 3, 3));
    }
}
