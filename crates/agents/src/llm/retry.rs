//! When a request that failed is sent again.

use std::time::Duration;

const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A server that wants a longer pause is not waited for: the person decides.
const LONGEST_ASKED_WAIT: Duration = Duration::from_secs(300);

/// How long to wait after this failed attempt, counted from 1; `None`: not at all. `chance` is drawn for each wait, so that
/// many clients do not come back in the same moment: the wait is between 75 % and 125 % of what doubles each time. What the
/// server asks for is waited exactly.
pub(crate) fn wait_after(attempt: u32, asked: Option<Duration>, chance: u8) -> Option<Duration> {
    if let Some(asked) = asked {
        return (asked <= LONGEST_ASKED_WAIT).then_some(asked);
    }
    let doubled = FIRST_WAIT.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST_WAIT);
    let percent = 75 + u32::from(chance) * 50 / 255;
    Some(doubled * percent / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_limit() {
        let wait = |attempt, chance| wait_after(attempt, None, chance).unwrap().as_millis();
        assert_eq!([1, 2, 3, 4].map(|attempt| wait(attempt, 0)), [375, 750, 1500, 3000]);
        assert_eq!((wait(1, 255), wait(7, 128), wait(99, 255)), (625, 30_000, 37_500));
    }

    #[test]
    fn what_the_server_asks_for_is_waited_unless_it_is_too_long() {
        let asked = |seconds| wait_after(1, Some(Duration::from_secs(seconds)), 0);
        assert_eq!(asked(7), Some(Duration::from_secs(7)));
        assert_eq!(asked(3600), None);
    }
}
