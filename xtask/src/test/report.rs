//! What the end of a run says.

use std::fmt::Write as _;
use std::ops::Add;
use std::time::Duration;

use super::counts::Counts;

pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

pub(crate) enum Outcome {
    Ran(Counts),
    /// The reason.
    Skipped(String),
}

impl Report {
    fn counts(&self) -> Counts {
        match &self.outcome {
            Outcome::Ran(counts) => *counts,
            Outcome::Skipped(_) => Counts::SKIPPED,
        }
    }
}

pub(crate) fn total(reports: &[Report]) -> Counts {
    reports.iter().map(Report::counts).fold(Counts::default(), Counts::add)
}

/// One line per tier, with its minutes.
pub(crate) fn table(reports: &[Report]) -> String {
    let mut text = String::from("tier     minutes  passed  failed  skipped\n");
    for report in reports {
        let Counts { passed, failed, skipped } = report.counts();
        let minutes = report.took.as_secs_f64() / 60.0;
        let _ = write!(text, "{:<8} {minutes:>7.1} {passed:>7} {failed:>7} {skipped:>8}", report.name);
        if let Outcome::Skipped(reason) = &report.outcome {
            let _ = write!(text, "  {reason}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_tiers() -> [Report; 3] {
        [
            Report { name: "fmt", outcome: Outcome::Ran(Counts::one(true)), took: Duration::from_secs(3) },
            Report {
                name: "test",
                outcome: Outcome::Ran(Counts { passed: 120, failed: 2, skipped: 1 }),
                took: Duration::from_secs(150),
            },
            Report {
                name: "deny",
                outcome: Outcome::Skipped("`cargo deny` is not installed".to_owned()),
                took: Duration::ZERO,
            },
        ]
    }

    #[test]
    fn every_tier_has_a_line() {
        let expected = "\
tier     minutes  passed  failed  skipped
fmt          0.1       1       0        0
test         2.5     120       2        1
deny         0.0       0       0        1  `cargo deny` is not installed
";
        assert_eq!(table(&three_tiers()), expected);
    }

    #[test]
    fn the_total_counts_tests_of_all_tiers() {
        assert_eq!(total(&three_tiers()).to_string(), "121 passed, 2 failed, 2 skipped");
        assert_eq!(total(&[]), Counts::default());
    }
}
