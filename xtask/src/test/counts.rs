//! How many tests passed, failed and were skipped, read from what programs print.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Add;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Each engine that a test has left behind is a failure.
    pub(crate) fn without_leftovers(mut self, engines: &[u32]) -> Self {
        for engine in engines {
            println!("a test has left an engine behind: process {engine}");
            self.failed += 1;
        }
        self
    }

    /// What does not count by itself counts as one.
    pub(crate) fn one(success: bool) -> Self {
        if success { Self { passed: 1, ..Self::default() } } else { Self::FAILED }
    }

    /// A program may fail beside its tests, as when one of them does not compile: that is a failure too.
    pub(crate) fn confirmed_by(self, success: bool) -> Self {
        if success || self.failed > 0 { self } else { self + Self::FAILED }
    }
}

/// How a test says that it could not run here; it ends as if it had passed.
const SAYS_SKIPPED: &str = "skipped: ";

/// The sum of all `test result:` lines; `None` where there is none.
pub(crate) fn of_test_results(output: &str) -> Option<Counts> {
    let skipped: BTreeSet<&str> = output.lines().filter(|line| line.starts_with(SAYS_SKIPPED)).collect();
    let skipped = skipped.len() as u64;
    let told = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "))
        .map(|result| Counts {
            passed: number_before("passed", result).unwrap_or(0),
            failed: number_before("failed", result).unwrap_or(0),
            skipped: number_before("ignored", result).unwrap_or(0),
        })
        .reduce(Counts::add)?;
    Some(Counts { passed: told.passed.saturating_sub(skipped), skipped: told.skipped + skipped, ..told })
}

/// The last line of a run of acceptance cases. An excepted case is one we decided to answer differently: it
/// has not passed, so it counts as skipped.
pub(crate) fn of_cases(output: &str) -> Option<Counts> {
    let last = output.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(Counts {
        passed: number_before("passed", last)?,
        failed: number_before("failed", last)?,
        skipped: number_before("excepted", last)? + number_before("skipped", last)?,
    })
}

fn number_before(word: &str, text: &str) -> Option<u64> {
    let mut words = text.split([' ', ',', ';', '.']).filter(|word| !word.is_empty());
    let mut before = words.next()?;
    for here in words {
        if here == word {
            return before.parse().ok();
        }
        before = here;
    }
    None
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: u64, failed: u64, skipped: u64) -> Counts {
        Counts { passed, failed, skipped }
    }

    #[test]
    fn all_test_binaries_are_summed() {
        let output = "
running 3 tests
test tree::one ... ok
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s

   Doc-tests offshoot_session
test result: FAILED. 10 passed; 3 failed; 0 ignored; 0 measured; 4 filtered out; finished in 1.20s
";
        assert_eq!(of_test_results(output), Some(counts(12, 3, 1)));
    }

    #[test]
    fn a_test_that_says_it_did_not_run_has_not_passed() {
        let output = "
skipped: terminal (tmux is not installed)
skipped: terminal (tmux is not installed)
test terminal ... ok
test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s
";
        assert_eq!(of_test_results(output), Some(counts(4, 0, 2)));
    }

    #[test]
    fn no_result_is_not_zero_tests() {
        assert_eq!(of_test_results("error: could not compile `offshoot`"), None);
        assert_eq!(of_test_results("  test result: ok. 2 passed; 0 failed"), None, "quoted by a test");
    }

    #[test]
    fn the_last_line_of_the_cases_counts() {
        let output = "pi/context.json  context_of  1 passed\n7 passed, 1 failed, 2 excepted, 3 skipped\n\n";
        assert_eq!(of_cases(output), Some(counts(7, 1, 5)));
        assert_eq!(of_cases("error: no cases runner yet"), None);
        assert_eq!(of_cases(""), None);
    }

    #[test]
    fn a_program_that_fails_beside_its_tests_has_failed() {
        assert_eq!(counts(5, 0, 0).confirmed_by(true), counts(5, 0, 0));
        assert_eq!(counts(5, 0, 0).confirmed_by(false), counts(5, 1, 0));
        assert_eq!(counts(5, 2, 0).confirmed_by(false), counts(5, 2, 0), "its tests have said so already");
    }

    #[test]
    fn the_closing_line_is_plain() {
        assert_eq!(counts(12, 3, 1).to_string(), "12 passed, 3 failed, 1 skipped");
    }
}
