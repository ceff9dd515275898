//! How long ago: as a person reads it, and as a person types it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const MINUTE: i64 = 60;
const A_LITTLE_AHEAD: i64 = -MINUTE;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const WEEK: i64 = 7 * DAY;

/// `now`, `2m`, `1h`, `Tue`, `12 Mar`, `2024-03-12`
pub(crate) fn ago(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let seconds = now.duration_since(at).as_secs();
    let (then, today) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match seconds {
        // Clocks of two machines differ a little.
        A_LITTLE_AHEAD..MINUTE => return "now".to_owned(),
        MINUTE..HOUR => return format!("{}m", seconds / MINUTE),
        HOUR..DAY => return format!("{}h", seconds / HOUR),
        DAY..WEEK => "%a",
        _ if then.year() == today.year() => "%-d %b",
        _ => "%Y-%m-%d",
    };
    then.strftime(format).to_string()
}

/// The moment that `2025-03-04`, an RFC 3339 time, `today`, `yesterday`, `90m`, `8h`, `3d` or `2w` stands for.
pub(crate) fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    let day = |date: Date| date.to_zoned(zone.clone()).ok().map(|day| day.timestamp());
    let today = now.to_zoned(zone.clone()).date();
    match text {
        "today" => return day(today),
        "yesterday" => return day(today.yesterday().ok()?),
        _ => {}
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    if let Ok(date) = text.parse::<Date>() {
        return day(date);
    }
    let unit = text.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        'w' => WEEK,
        _ => return None,
    };
    let number: i64 = text.strip_suffix(unit)?.parse().ok().filter(|number| *number >= 0)?;
    now.checked_sub(SignedDuration::from_secs(number.checked_mul(seconds)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap_or_default()
    }

    #[test]
    fn the_further_away_the_rougher() {
        let told = |then: &str| ago(at(then), at("2025-03-14T12:00:00Z"), &TimeZone::UTC);
        assert_eq!(told("2025-03-14T11:59:30Z"), "now");
        assert_eq!(told("2025-03-14T12:00:30Z"), "now");
        assert_eq!(told("2025-03-14T11:58:00Z"), "2m");
        assert_eq!(told("2025-03-14T10:30:00Z"), "1h");
        assert_eq!(told("2025-03-11T10:30:00Z"), "Tue");
        assert_eq!(told("2025-03-02T10:30:00Z"), "2 Mar");
        assert_eq!(told("2024-03-12T10:30:00Z"), "2024-03-12");
        assert_eq!(told("2031-01-01T00:00:00Z"), "2031-01-01");
    }

    #[test]
    fn a_moment_can_be_typed_in_several_ways() {
        let meant = |text: &str| {
            since(text, at("2025-03-14T12:00:00Z"), &TimeZone::UTC).map(|moment| moment.to_string())
        };
        assert_eq!(meant("90m").as_deref(), Some("2025-03-14T10:30:00Z"));
        assert_eq!(meant("2w").as_deref(), Some("2025-02-28T12:00:00Z"));
        assert_eq!(meant("yesterday").as_deref(), Some("2025-03-13T00:00:00Z"));
        assert_eq!(meant("2025-03-04").as_deref(), Some("2025-03-04T00:00:00Z"));
        assert_eq!(meant("2025-03-04T14:00:00+02:00").as_deref(), Some("2025-03-04T12:00:00Z"));
        assert_eq!(meant("soon"), None);
        assert_eq!(meant("-3d"), None);
        assert_eq!(meant("999999999999999999w"), None);
        assert_eq!(meant(""), None);
    }
}
