//! Which session a word names, and by which word a session is named.
//!
//! A session is named by its id, by the first letters of it, or by its title. The letters have to tell it from the
//! sessions of all agents: what is changed shall be what was meant. Several files may have the very same id: a version
//! that was kept before its program wrote it anew, a thread of Codex that was reverted, a copy. The id names the one that
//! counts now, and `ID~2`, `ID~3` name the others.

use std::cmp::Reverse;
use std::path::PathBuf;

/// A shorter piece of an id is more likely a slip than a name.
pub(crate) const SHORTEST_PREFIX: usize = 3;
/// Ids are not shown shorter than this.
pub(crate) const SHORT_ID: usize = 6;

/// What can be named. Those of one id are in order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) id: String,
    pub(crate) standing: Standing,
}

/// Which of several with the same id comes first: the smallest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Standing {
    pub(crate) lies: Lies,
    pub(crate) updated_at: Reverse<i64>,
    /// Names of files begin with a time, often.
    pub(crate) path: Reverse<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lies {
    /// In a journal that stands by itself.
    Here,
    /// Where its program keeps it.
    WithProgram,
    /// Only in the archive.
    InArchive,
    /// It is part of another session, or cannot be read: no list shows it.
    Aside,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    Nobody,
    /// By its place among the names.
    One(usize),
    /// Sessions of different ids.
    Several(Vec<usize>),
}

/// The session that `text` names by its id. An id that is given whole is not the beginning of another.
pub(crate) fn by_id(names: &[Name], text: &str) -> Meant {
    let (id, place) = with_place(text);
    let exact: Vec<&Name> = names.iter().filter(|name| name.id == id).collect();
    let fits = match exact.is_empty() {
        false => exact,
        true if id.len() < SHORTEST_PREFIX => return Meant::Nobody,
        true => names.iter().filter(|name| begins(&name.id, id)).collect(),
    };
    let mut ids: Vec<&str> = fits.iter().map(|name| name.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let position = |name: &Name| names.iter().position(|one| one == name).unwrap_or_default();
    let of = |id: &str, place: usize| namesakes(&fits, id).get(place - 1).map(|name| position(name));
    match ids.as_slice() {
        [] => Meant::Nobody,
        [only] => of(only, place).map_or(Meant::Nobody, Meant::One),
        several => Meant::Several(several.iter().filter_map(|id| of(id, 1)).collect()),
    }
}

/// What to call each of them: as much of the id as tells it from the others.
pub(crate) fn short(names: &[Name]) -> Vec<String> {
    let folded = |id: &str| (id.to_lowercase(), id.to_owned());
    let mut ids: Vec<(String, String)> = names.iter().map(|name| folded(&name.id)).collect();
    ids.sort_unstable();
    ids.dedup();
    // an id shares most with its neighbours in sorted order
    let shared = |one: Option<&(String, String)>, id: &str| {
        let pairs = one.map(|(one, _)| one.chars().zip(id.chars()));
        pairs.map_or(0, |pairs| pairs.take_while(|(one, other)| one == other).count())
    };
    let letters = |id: &str| {
        let id = folded(id);
        let at = ids.partition_point(|one| *one < id);
        let before = at.checked_sub(1).and_then(|before| ids.get(before));
        SHORT_ID.max(shared(before, &id.0).max(shared(ids.get(at + 1), &id.0)) + 1)
    };
    said(names, |id| id.chars().take(letters(id)).collect())
}

/// The same with whole ids.
pub(crate) fn whole(names: &[Name]) -> Vec<String> {
    said(names, str::to_owned)
}

fn said(names: &[Name], id: impl Fn(&str) -> String) -> Vec<String> {
    let mut sorted: Vec<(&Name, usize)> = names.iter().zip(0..).collect();
    sorted.sort_unstable();
    let mut said = vec![String::new(); names.len()];
    let (mut before, mut place) = (None, 0);
    for (name, at) in sorted {
        place = if before == Some(&name.id) { place + 1 } else { 1 };
        before = Some(&name.id);
        if let Some(said) = said.get_mut(at) {
            *said = match place {
                1 => id(&name.id),
                place => format!("{}~{place}", id(&name.id)),
            };
        }
    }
    said
}

/// Those of one id, the first first.
fn namesakes<'n>(names: &[&'n Name], id: &str) -> Vec<&'n Name> {
    let mut namesakes: Vec<&Name> = names.iter().copied().filter(|name| name.id == id).collect();
    namesakes.sort_unstable();
    namesakes
}

/// `ID~2` is the second of that id.
pub(crate) fn with_place(text: &str) -> (&str, usize) {
    let place = text.rsplit_once('~').and_then(|(id, place)| Some((id, place.parse().ok()?)));
    place.filter(|(id, place)| !id.is_empty() && *place > 0).unwrap_or((text, 1))
}

pub(crate) fn begins(id: &str, text: &str) -> bool {
    id.get(..text.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id`, `id kept` or `id aside`; later ones were written earlier.
    fn names(all: &[&str]) -> Vec<Name> {
        let name = |(at, text): (i64, &&str)| {
            let (id, lies) = match text.split_once(' ') {
                None => (*text, Lies::WithProgram),
                Some((id, "kept")) => (id, Lies::InArchive),
                Some((id, "own")) => (id, Lies::Here),
                Some((id, _)) => (id, Lies::Aside),
            };
            let standing =
                Standing { lies, updated_at: Reverse(-at), path: Reverse(format!("/{at}").into()) };
            Name { id: id.to_owned(), standing }
        };
        (0..).zip(all).map(name).collect()
    }

    #[test]
    fn letters_have_to_tell_a_session_from_all_others() {
        let names = names(&["01a1e09c", "01a1e0ff", "01a1e09c-more", "ses_E1"]);
        assert_eq!(by_id(&names, "01a1e0f"), Meant::One(1));
        assert_eq!(by_id(&names, "01a1e0"), Meant::Several(vec![0, 2, 1]));
        assert_eq!(by_id(&names, "01a1e09c"), Meant::One(0), "an id that is given whole");
        assert_eq!(by_id(&names, "SES_e"), Meant::One(3));
        assert_eq!(by_id(&names, "se"), Meant::Nobody, "too short");
        assert_eq!(by_id(&names, "01a1e09d"), Meant::Nobody);
    }

    #[test]
    fn of_one_id_the_one_that_counts_now_comes_first() {
        let names = names(&["abcdef kept", "abcdef", "abcdef", "abcdef own", "abcdef aside"]);
        assert_eq!(by_id(&names, "abc"), Meant::One(3), "a journal of its own");
        assert_eq!(by_id(&names, "abc~2"), Meant::One(1), "the newest that its program has");
        assert_eq!(by_id(&names, "abcdef~3"), Meant::One(2));
        assert_eq!(by_id(&names, "abcdef~4"), Meant::One(0), "what only the archive has");
        assert_eq!(by_id(&names, "abcdef~6"), Meant::Nobody);
        assert_eq!(short(&names), ["abcdef~4", "abcdef~2", "abcdef~3", "abcdef", "abcdef~5"]);
    }

    /// The law that the rest stands on.
    #[test]
    fn what_a_session_is_called_names_it() {
        let names = names(&[
            "0195f3a1-aaaa",
            "0195f3a1-bbbb",
            "0195F3A1-BBBC",
            "ffff0000-cccc",
            "ab",
            "abcdefgh",
            "abcdefgh kept",
            "abcdefgh.pi",
            "ses_One",
            "ses_one",
            "ses_oneandtwo",
        ]);
        for called in [short(&names), whole(&names)] {
            for (at, called) in called.iter().enumerate() {
                assert_eq!(by_id(&names, called), Meant::One(at), "{called}");
            }
        }
        assert_eq!(short(&names)[..5], ["0195f3a1-a", "0195f3a1-bbbb", "0195F3A1-BBBC", "ffff00", "ab"]);
    }

    #[test]
    fn a_place_is_a_number_behind_a_tilde() {
        assert_eq!(with_place("abc~2"), ("abc", 2));
        assert_eq!(with_place("abc"), ("abc", 1));
        assert_eq!(with_place("abc~0"), ("abc~0", 1));
        assert_eq!(with_place("~2"), ("~2", 1));
        assert_eq!(with_place("a~b"), ("a~b", 1));
    }
}
