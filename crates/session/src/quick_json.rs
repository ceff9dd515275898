//! JSON read straight into types and written from them, for lines of which there are many.
//!
//! A [`Reader`] is a [`serde::Deserializer`] that looks at the bytes of a string while it copies them, and at the
//! characters of strings only: what lies between them is ASCII or no JSON. It
//! understands all that programs write about a conversation and is strict about it; whatever else there is (deep
//! nesting, odd numbers, lone surrogates) is [`NotQuick`], and whoever asked reads the text with `serde_json`.
//! What it does understand, it reads as `serde_json` reads it: a test compares the two.

mod access;
mod special;
mod unescape;
mod write;

use std::cell::Cell;
use std::fmt;

use serde::de::{self, Deserialize, IntoDeserializer, Visitor};
use serde_json::Number;

use access::Members;
use special::next_special;
use unescape::{SPARE, unescape};

pub use write::to_vec;

/// Deeper values are left to others.
const DEEPEST: u8 = 64;
/// A larger room is not kept.
const KEPT_ROOM: usize = 256 << 10;

thread_local! {
    /// The room of the reader before: lines come by the thousand, and memory that was just used is the fastest.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    depth: u8,
    /// Strings with escapes are put together here.
    room: Vec<u8>,
}

/// A string as it stands in the text, or as it was put together.
enum Words<'t, 'r> {
    Borrowed(&'t str),
    Unescaped(&'r str),
}

/// Not JSON, not what was asked for, or not for this reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotQuick;

/// Whatever is not UTF-8 is not quick either.
pub fn from_slice<'t, T: Deserialize<'t>>(text: &'t [u8]) -> Result<T, NotQuick> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self { text, at: 0, depth: 0, room: Vec::new() }
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
            let byte = *self.text.get(self.at)?;
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
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotQuick);
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<Words<'t, '_>, NotQuick> {
        self.expect(b'"')?;
        let start = self.at;
        let end = next_special(self.text, start).ok_or(NotQuick)?;
        match self.text.get(end) {
            Some(b'"') => {
                self.at = end + 1;
                let run = self.text.get(start..end).ok_or(NotQuick)?;
                std::str::from_utf8(run).map(Words::Borrowed).map_err(|_| NotQuick)
            }
            Some(b'\\') => self.escaped(start, end).map(Words::Unescaped),
            _ => Err(NotQuick), // control characters have to be escaped
        }
    }

    /// A string whose first escape stands here.
    fn escaped(&mut self, start: usize, first: usize) -> Result<&str, NotQuick> {
        let (run, rest) =
            (self.text.get(start..first).ok_or(NotQuick)?, self.text.get(first..).ok_or(NotQuick)?);
        let needed = run.len() + rest.len() + SPARE;
        if self.room.is_empty() {
            self.room = ROOM.take();
        }
        if self.room.len() < needed {
            self.room = vec![0; needed.next_multiple_of(4096)]; // for this string and all that follow
        }
        let (begin, room) = self.room.split_at_mut_checked(run.len()).ok_or(NotQuick)?;
        begin.copy_from_slice(run);
        let unescaped = unescape(rest, room).ok_or(NotQuick)?;
        self.at = first + unescaped.taken;
        let said = self.room.get(..run.len() + unescaped.written).ok_or(NotQuick)?;
        std::str::from_utf8(said).map_err(|_| NotQuick)
    }

    fn number<V: Visitor<'t>>(&mut self, visitor: V) -> Result<V::Value, NotQuick> {
        let rest = self.text.get(self.at..).ok_or(NotQuick)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let digits = rest.get(..length).ok_or(NotQuick)?;
        self.at += length;
        let is_plain = length <= 18 && digits.iter().all(u8::is_ascii_digit);
        if is_plain && (length == 1 || !digits.starts_with(b"0")) {
            let number = digits.iter().fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            return visitor.visit_u64(number);
        }
        let number: Number = serde_json::from_slice(digits).map_err(|_| NotQuick)?;
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
            Words::Borrowed(text) => visitor.visit_borrowed_str(text),
            Words::Unescaped(text) => visitor.visit_str(text),
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

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if (1..=KEPT_ROOM).contains(&self.room.len()) {
            let room = std::mem::take(&mut self.room);
            let _ = ROOM.try_with(|kept| kept.set(room)); // a thread that ends keeps none
        }
    }
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
        match self.string()? {
            Words::Borrowed(word) => visitor.visit_enum(word.into_deserializer()),
            Words::Unescaped(word) => visitor.visit_enum(word.into_deserializer()),
        }
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
