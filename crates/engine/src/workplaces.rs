//! In which folders agents are at work.
//!
//! Two answers that are written at the same time in the same folder change the same files, whichever sessions they
//! belong to. Nobody is kept from it, but it is said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug, Default)]
pub(crate) struct Workplaces {
    /// A plain mutex: nothing is awaited under it.
    at_work: Arc<Mutex<HashMap<String, usize>>>,
}

/// Somebody works in a folder until this is dropped.
#[derive(Debug)]
pub(crate) struct AtWork {
    places: Workplaces,
    place: String,
}

impl Workplaces {
    /// Begins to work there; says whether somebody does already.
    pub(crate) fn enter(&self, place: &str) -> (AtWork, bool) {
        let mut at_work = self.lock();
        let here = at_work.entry(place.to_owned()).or_default();
        *here += 1;
        let is_shared = *here > 1;
        drop(at_work);
        (AtWork { places: self.clone(), place: place.to_owned() }, is_shared)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        // A count is whole whatever happened to whoever held it.
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut at_work = self.places.lock();
        if let Some(here) = at_work.get_mut(&self.place) {
            *here = here.saturating_sub(1);
            if *here == 0 {
                at_work.remove(&self.place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shared_while_two_work_there() {
        let places = Workplaces::default();
        let (first, is_shared) = places.enter("/p");
        assert!(!is_shared);
        assert!(!places.enter("/q").1, "that is another place");
        let (second, is_shared) = places.enter("/p");
        assert!(is_shared);
        drop(first);
        assert!(places.enter("/p").1, "the second is still there");
        drop(second);
        assert!(!places.enter("/p").1);
        assert!(places.lock().is_empty(), "nothing is remembered of places where nobody works");
    }
}
