//! What a panic says, without texts that it quotes.

/// Quoted by the standard library, and no text of anybody.
const PLAIN: &[&str] = &[
    "`Option::unwrap()`",
    "`Option::expect()`",
    "`Result::unwrap()`",
    "`Result::unwrap_err()`",
    "`None`",
    "`Some`",
    "`Ok`",
    "`Err`",
    "`RefCell`",
    "`async fn`",
    "`left == right`",
    "`left != right`",
];

const QUOTES: &[(char, char)] = &[('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”')];

const LONGEST: usize = 400;

/// A text may hold quotes of its own, so all from the first to the last of a kind is left out.
pub(super) fn without_texts(message: &str) -> String {
    let mut message = message.to_owned();
    for plain in PLAIN {
        message = message.replace(plain, plain.trim_matches('`'));
    }
    for (opens, closes) in QUOTES {
        let Some((first, last)) = message.find(*opens).zip(message.rfind(*closes)) else { continue };
        // One that is opened and not closed goes on to the end.
        let end = if last > first { last + closes.len_utf8() } else { message.len() };
        message.replace_range(first..end, "...");
    }
    let line: Vec<&str> = message.split_whitespace().collect();
    line.join(" ").chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_left_out() {
        for (message, told) in [
            (
                "index out of bounds: the len is 3 but the index is 5",
                "index out of bounds: the len is 3 but the index is 5",
            ),
            ("called `Option::unwrap()` on a `None` value", "called Option::unwrap() on a None value"),
            (
                "called `Result::unwrap()` on an `Err` value: Odd(\"a \\\"b\\\" c\", 3)",
                "called Result::unwrap() on an Err value: Odd(..., 3)",
            ),
            (
                "byte index 4 is not a char boundary; it is inside 'ö' (bytes 3..5) of `say `it`, größer`",
                "byte index 4 is not a char boundary; it is inside ... (bytes 3..5) of ...",
            ),
            ("it is inside '\\'' of `don't say it", "it is inside ... of ..."),
        ] {
            assert_eq!(without_texts(message), told);
        }
    }
}
