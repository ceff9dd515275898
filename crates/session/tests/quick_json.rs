//! The quick reader reads what `serde_json` reads, or nothing; the quick writer writes what `serde_json` writes, or
//! nothing.

use std::collections::BTreeMap;

use offshoot_session::quick_json::{NotQuick, from_slice, to_vec};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

fn assert_like_serde_json(text: &str) {
    if let Ok(quick) = from_slice::<Value>(text.as_bytes()) {
        let patient: Result<Value, String> = serde_json::from_str(text).map_err(|error| error.to_string());
        assert_eq!(Ok(&quick), patient.as_ref(), "{text}");
        assert_eq!(Ok(quick.to_string()), patient.map(|value| value.to_string()), "{text}"); // 1 is not 1.0
    }
}

/// The same for bytes that need not be text.
fn assert_bytes_like_serde_json(bytes: &[u8]) {
    match (from_slice::<Value>(bytes), std::str::from_utf8(bytes)) {
        (_, Ok(text)) => assert_like_serde_json(text),
        (read, Err(_)) => assert_eq!(read, Err(NotQuick), "{}", bytes.escape_ascii()),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~\n\t\"\\\\é😀]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in any_value()) {
        for text in [value.to_string(), format!(" {value:#}\r\n")] {
            let read: Result<Value, NotQuick> = from_slice(text.as_bytes());
            prop_assert_eq!(read.map(|read| read.to_string()), Ok(value.to_string()));
        }
    }

    #[test]
    fn it_is_written_as_serde_json_writes_it(value in any_value()) {
        let mut bytes = b"before".to_vec();
        prop_assert_eq!(to_vec(&value, &mut bytes), Ok(()));
        prop_assert_eq!(String::from_utf8_lossy(&bytes), format!("before{value}"));
    }

    #[test]
    fn what_is_broken_is_not_read_otherwise(value in any_value(), at in any::<prop::sample::Index>(), by in "[\\PC\u{1}-\u{1f}]{0,2}") {
        let text = value.to_string();
        let characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let changed: String = characters.iter().take(at).chain(by.chars().collect::<Vec<_>>().iter())
            .chain(characters.iter().skip(at + 1)).collect();
        assert_like_serde_json(&changed);
    }

    /// Long strings, in which an escape or a byte that is none of UTF-8 may stand anywhere.
    #[test]
    fn bytes_are_read_as_text_or_not_at_all(
        pieces in prop::collection::vec(
            prop_oneof![
                6 => "[ -~é→😀]{0,30}".prop_map(|text| serde_json::to_vec(&text).map(|json| json[1..json.len() - 1].to_vec()).unwrap_or_default()),
                3 => prop::sample::select(vec!["\\n", "\\u001b", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\\/"]).prop_map(|escape| escape.as_bytes().to_vec()),
                1 => prop::collection::vec(any::<u8>(), 0..2),
            ],
            0..20,
        ),
    ) {
        let string = [b"\"".as_slice(), &pieces.concat(), b"\""].concat();
        assert_bytes_like_serde_json(&string);
        assert_bytes_like_serde_json(&[b"{\"a\":[1,", string.as_slice(), b"],", string.as_slice(), b":null}"].concat());
    }
}

#[test]
fn odd_texts_are_read_alike_or_not_at_all() {
    let texts = [
        "",
        " ",
        "\"a\\\\b\t\"",
        "\"a\\\\b\n\"",
        "\"a\t\"",
        "nul",
        "nulll",
        "01",
        "-",
        "-0",
        "-01",
        "1.",
        ".5",
        "1e5",
        "1E+2",
        "1e",
        "+1",
        "--1",
        "1-1",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "123456789012345678",
        "1234567890123456789",
        "1e400",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1,}",
        "{,}",
        "{\"a\" : 1}",
        "{\"a\":1,\"a\":2}",
        "{a:1}",
        "{1:1}",
        "\"\\u00e9\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"\\ude00\"",
        "\"\\ud83dx\"",
        "\"\\u12\"",
        "\"\\x\"",
        "\"a\nb\"",
        "\"\u{0}\"",
        "\"\\u0000\"",
        "\"",
        "\"\\",
        "[[]]",
        "[",
        "]",
        "{}{}",
        "true",
        "tru",
        "\u{feff}1",
        "\u{a0}1",
        "\"\\/\\b\\f\\r\\t\"",
    ];
    texts.iter().for_each(|text| assert_like_serde_json(text));
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for depth in [1, 63, 64, 65, 127, 128, 129, 200_000] {
        let text = deep(depth);
        assert_eq!(from_slice::<Value>(text.as_bytes()).is_ok(), depth <= 64, "{depth}");
        if depth <= 64 {
            assert_like_serde_json(&text);
        }
    }
}

#[test]
fn every_kind_of_value_is_written_alike_or_not_at_all() {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Bare,
        Held(&'static str),
        Pair(u8, u8),
        Named { at: i32 },
    }
    #[derive(Serialize)]
    struct Whole {
        text: &'static str,
        letter: char,
        small: (i8, i16, u16, f32),
        extremes: (i64, i64, u64, f64),
        none: Option<u8>,
        some: Option<bool>,
        unit: (),
        kinds: [Kind; 2],
    }
    let every_ascii: String = (0..128_u8).map(char::from).collect();
    let whole = Whole {
        text: Box::leak(every_ascii.into_boxed_str()),
        letter: '"',
        small: (-1, i16::MIN, u16::MAX, 0.1),
        extremes: (i64::MIN, i64::MAX, u64::MAX, f64::NAN),
        none: None,
        some: Some(true),
        unit: (),
        kinds: [Kind::Bare, Kind::Held("a\nb")],
    };
    let mut bytes = Vec::new();
    assert_eq!(to_vec(&whole, &mut bytes), Ok(()));
    assert_eq!(String::from_utf8(bytes).ok(), serde_json::to_string(&whole).ok());

    let mut bytes = b"before".to_vec();
    assert_eq!(to_vec(&[Kind::Bare, Kind::Pair(1, 2)], &mut bytes), Err(NotQuick));
    assert_eq!(to_vec(&[Kind::Named { at: 1 }], &mut bytes), Err(NotQuick));
    assert_eq!(to_vec(&BTreeMap::from([(1, 2)]), &mut bytes), Err(NotQuick));
    assert_eq!(bytes, b"before", "nothing is left of what could not be written");
}
