//! A moment in twelve bytes, read by hand where it is written the usual way.

use jiff::Timestamp;

/// Ordered as the moments are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub seconds: i64,
    pub nanoseconds: u32,
}

impl Moment {
    pub fn of(at: Timestamp) -> Self {
        let nanosecond = at.as_nanosecond();
        Self {
            seconds: nanosecond.div_euclid(1_000_000_000) as i64,
            nanoseconds: nanosecond.rem_euclid(1_000_000_000) as u32,
        }
    }

    pub fn timestamp(self) -> Timestamp {
        let nanosecond = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds);
        Timestamp::from_nanosecond(nanosecond).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// `2025-01-01T00:00:00Z`, with up to nine digits of a second. `None`: written another way, or no moment.
    pub fn read(text: &str) -> Option<Self> {
        Self::read_bytes(text.as_bytes())
    }

    /// The same for bytes that need not be text.
    pub fn read_bytes(bytes: &[u8]) -> Option<Self> {
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
            return None;
        }
        let number = |from: usize, to: usize| -> Option<i64> {
            bytes
                .get(from..to)?
                .iter()
                .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
        };
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        // The last days of a month are left to a real calendar.
        if year < 1 || !(1..=12).contains(&month) || !(1..=28).contains(&day) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let fraction = match bytes.get(19..)? {
            [b'Z'] => 0,
            [b'.', digits @ .., b'Z'] if (1..=9).contains(&digits.len()) => {
                number(20, 20 + digits.len())? * 10_i64.pow(9 - digits.len() as u32)
            }
            _ => return None,
        };
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Self { seconds, nanoseconds: u32::try_from(fraction).ok()? })
    }
}

/// Days since 1970, counted in years that begin in March: the leap day is then the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_by_hand_is_what_the_calendar_says() {
        for year in [1, 4, 100, 1600, 1899, 1900, 1969, 1970, 1972, 2000, 2024, 2025, 2100, 9999] {
            for month in 1..=12 {
                for day in [1, 15, 28] {
                    for rest in ["00:00:00Z", "23:59:59Z", "12:34:56.7Z", "01:02:03.000000009Z"] {
                        let text = format!("{year:04}-{month:02}-{day:02}T{rest}");
                        let Ok(at) = text.parse::<Timestamp>() else { continue };
                        assert_eq!(Moment::read(&text), Some(Moment::of(at)), "{text}");
                        assert_eq!(Moment::of(at).timestamp(), at, "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_written_another_way_is_left_to_others() {
        let others = [
            "",
            "2025-01-01",
            "2025-02-30T00:00:00Z",
            "2025-01-01T00:00:00+01:00",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:00:60Z",
            "2025-01-01T00:00:00.Z",
            "2025-01-01T00:00:00.0000000001Z",
            "2O25-01-01T00:00:00Z",
        ];
        for text in others {
            assert_eq!(Moment::read(text), None, "{text}");
        }
    }
}
