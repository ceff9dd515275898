//! Numbers, times and money as people read them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::look::Look;

/// `12,345`
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 branch`, `3 branches`
pub(crate) fn counted(number: usize, one: &str, more: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { more })
}

/// Local date and minute for a person, the exact moment otherwise.
pub(crate) fn moment(at: Timestamp, look: &Look) -> String {
    if look.for_a_person { local(at, "%Y-%m-%d %H:%M") } else { at.to_string() }
}

/// As [`moment`], without the date where it is that of the time before.
pub(crate) fn moment_after(at: Timestamp, before: Option<Timestamp>, look: &Look) -> String {
    let day = |at| local(at, "%Y-%m-%d");
    match before {
        Some(before) if look.for_a_person && day(before) == day(at) => local(at, "%H:%M"),
        _ => moment(at, look),
    }
}

fn local(at: Timestamp, format: &str) -> String {
    at.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// `3.1s`, `38s`, `4m10s`, `2h05m`; `None` for less than half a second.
pub(crate) fn lasted(duration: SignedDuration) -> Option<String> {
    let millis = duration.as_millis();
    let seconds = (millis + 500) / 1000;
    match seconds {
        _ if millis < 500 => None,
        _ if millis < 9_950 => Some(format!("{:.1}s", duration.as_secs_f64())),
        ..60 => Some(format!("{seconds}s")),
        60..3600 => Some(format!("{}m{:02}s", seconds / 60, seconds % 60)),
        _ => Some(format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60)),
    }
}

/// `$0.38`; amounts under a cent keep the digits that tell them from nothing.
pub(crate) fn money(micro_dollars: i64) -> Option<String> {
    let dollars = micro_dollars as f64 / 1e6;
    match micro_dollars {
        0 => None,
        ..0 => Some(format!("-${:.2}", -dollars)),
        1..5_000 => Some(format!("${dollars:.4}")),
        _ => Some(format!("${dollars:.2}")),
    }
}

/// `812`, `31k`, `2.4M`: enough to compare.
pub(crate) fn thousands(count: i64) -> String {
    match count {
        -9_999..10_000 => count.to_string(),
        -999_499..999_500 => format!("{}k", (count as f64 / 1e3).round()),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// `812 bytes`, `4.0 KiB`, `2.3 GiB`
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return counted(usize::try_from(count).unwrap_or_default(), "byte", "bytes");
    }
    let mut amount = count as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in UNITS.iter().skip(1) {
        if amount >= 1024.0 {
            amount /= 1024.0;
            unit = next;
        }
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "branch", "branches"), "1 branch");
        assert_eq!(counted(0, "branch", "branches"), "0 branches");
    }

    #[test]
    fn durations_have_one_unit_or_two() {
        let told = |millis| lasted(SignedDuration::from_millis(millis)).unwrap_or_default();
        assert_eq!(told(499), "");
        assert_eq!(told(3_100), "3.1s");
        assert_eq!(told(9_960), "10s");
        assert_eq!(told(59_600), "1m00s");
        assert_eq!(told(250_000), "4m10s");
        assert_eq!(told(7_500_000), "2h05m");
        assert_eq!(told(-5_000), "", "clocks go backwards");
    }

    #[test]
    fn bytes_have_the_unit_that_fits() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(4096), "4.0 KiB");
        assert_eq!(bytes(5 * 1024 * 1024 * 1024 / 2), "2.5 GiB");
    }

    #[test]
    fn small_money_is_not_nothing() {
        assert_eq!(money(0), None);
        assert_eq!(money(380_000).as_deref(), Some("$0.38"));
        assert_eq!(money(1_200).as_deref(), Some("$0.0012"));
        assert_eq!(money(-380_000).as_deref(), Some("-$0.38"));
    }
}
