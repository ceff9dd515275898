//! JSON read straight into types and written from them, for lines of which there are many.
//!
//! A [`Reader`] is a [`serde::Deserializer`] that unescapes a string once, into the memory it stays in; contexts are
//! read with a fifth less work than with `serde_json`. It
//! understands all that programs write about a conversation and is strict about it; whatever else there is (deep
//! nesting, odd numbers, lone surrogates) is [`NotQuick`], and whoever asked reads the text with `serde_json`.
//! What it does understand, it reads as `serde_json` reads it: a test compares the two.

mod access;
mod special;
mod write;

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, IntoDeserializer, Visitor};
use serde_json::Number;

use access::Members;
use special::next_special;

pub use write::to_vec;

/// Deeper values are left to others.
const DEEPEST: u8 = 64;

#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: u8,
}

/// Not JSON, not what was asked for, or not for this reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotQuick;

pub fn from_str<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, NotQuick> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Whether nothing but blanks is left.
    pub fn end(&mut self) -> Result<(), NotQuick> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(NotQuick),
        }
    }

    /// The next byte that is no blank.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), NotQuick> {
        if self.peek() != Some(byte) {
            return Err(NotQuick);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), NotQuick> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotQuick);
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<Cow<'t, str>, NotQuick> {
        self.expect(b'"')?;
        let start = self.at;
        let end = next_special(self.text.as_bytes(), start).ok_or(NotQuick)?;
        let run = self.text.get(start..end).ok_or(NotQuick)?;
        match self.text.as_bytes().get(end) {
            Some(b'"') => {
                self.at = end + 1;
                Ok(Cow::Borrowed(run))
            }
            Some(b'\\') => {
                self.at = end;
                self.escaped(run).map(Cow::Owned)
            }
            _ => Err(NotQuick), // control characters have to be escaped
        }
    }

    /// A string from its first escape on.
    fn escaped(&mut self, run: &str) -> Result<String, NotQuick> {
        let bytes = self.text.as_bytes();
        // Most lines have one long string, so what is left of the line is about what it takes.
        let mut string = String::with_capacity(run.len() + (bytes.len() - self.at));
        string.push_str(run);
        while bytes.get(self.at) == Some(&b'\\') {
            let letter = *bytes.get(self.at + 1).ok_or(NotQuick)?;
            self.at += 2;
            match plain(letter) {
                Some(byte) => string.push(byte as char),
                None if letter == b'u' => string.push(self.unicode()?),
                None => return Err(NotQuick),
            }
            let end = next_special(bytes, self.at).ok_or(NotQuick)?;
            string.push_str(self.text.get(self.at..end).ok_or(NotQuick)?);
            self.at = end;
        }
        if bytes.get(self.at) != Some(&b'"') {
            return Err(NotQuick); // a control character, which is no space between two things either
        }
        self.at += 1;
        string.shrink_to_fit();
        Ok(string)
    }

    fn unicode(&mut self) -> Result<char, NotQuick> {
        let first = self.hex()?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or(NotQuick);
        }
        self.word("\\u")?;
        let second = self.hex()?;
        if first >= 0xdc00 || !(0xdc00..0xe000).contains(&second) {
            return Err(NotQuick); // half of a pair
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or(NotQuick)
    }

    fn hex(&mut self) -> Result<u32, NotQuick> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or(NotQuick)?;
        let mut number = 0;
        for digit in digits {
            number = number * 16 + char::from(*digit).to_digit(16).ok_or(NotQuick)?;
        }
        self.at += 4;
        Ok(number)
    }

    fn number<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, NotQuick> {
        let rest = self.text.get(self.at..).ok_or(NotQuick)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.bytes().position(|byte| !is_part(&byte)).unwrap_or(rest.len());
        let digits = rest.get(..length).ok_or(NotQuick)?;
        self.at += length;
        let is_plain = length <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain && (length == 1 || !digits.starts_with('0')) {
            let number = digits.bytes().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            return visitor.visit_u64(number);
        }
        let number: Number = serde_json::from_str(digits).map_err(|_| NotQuick)?;
        match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_u64(number),
            (None, Some(number), _) => visitor.visit_i64(number),
            (None, None, Some(number)) => visitor.visit_f64(number),
            (None, None, None) => Err(NotQuick),
        }
    }

    fn deeper(&mut self) -> Result<(), NotQuick> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST { Err(NotQuick) } else { Ok(()) }
    }

    fn visit_string<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, NotQuick> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn list<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, NotQuick> {
        self.deeper()?;
        let value = visitor.visit_seq(Members::new(self))?;
        self.expect(b']')?;
        self.depth -= 1;
        Ok(value)
    }

    fn object<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, NotQuick> {
        self.deeper()?;
        let value = visitor.visit_map(Members::new(self))?;
        self.expect(b'}')?;
        self.depth -= 1;
        Ok(value)
    }
}

/// What a letter behind a backslash stands for.
#[inline]
fn plain(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b'"' | b'\\' | b'/' => letter,
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x8,
        b'f' => 0xc,
        _ => return None,
    })
}

impl<'t> de::Deserializer<'t> for &mut Reader<'t> {
    type Error = NotQuick;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotQuick> {
        match self.peek().ok_or(NotQuick)? {
            b'"' => self.visit_string(visitor),
            b'{' => self.object(visitor),
            b'[' => self.list(visitor),
            b'n' => {
                self.word("null")?;
                visitor.visit_unit()
            }
            b't' => {
                self.word("true")?;
                visitor.visit_bool(true)
            }
            b'f' => {
                self.word("false")?;
                visitor.visit_bool(false)
            }
            b'-' | b'0'..=b'9' => self.number(visitor),
            _ => Err(NotQuick),
        }
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotQuick> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotQuick> {
        visitor.visit_newtype_struct(self)
    }

    /// One of some words; other enums are not written.
    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotQuick> {
        let word = self.string()?;
        visitor.visit_enum(word.as_ref().into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotQuick> {
        if self.peek() == Some(b'{') { self.object(visitor) } else { Err(NotQuick) }
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotQuick> {
        self.visit_string(visitor)
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotQuick> {
        self.visit_string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotQuick> {
        self.visit_string(visitor)
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'t>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map ignored_any
    }
}

impl de::Error for NotQuick {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl std::error::Error for NotQuick {}

impl fmt::Display for NotQuick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not what is read quickly")
    }
}
