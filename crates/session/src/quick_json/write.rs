//! JSON written straight from types, the other way of [`Reader`](super::Reader).
//!
//! A string is copied in runs between the characters that have to be escaped, found eight bytes at a time. What it
//! does write, it writes byte for byte as `serde_json` does: a test compares the two.

use std::fmt::{self, Display, Write};

use serde::ser::{self, Impossible, Serialize, Serializer};

use super::NotQuick;
use super::special::distant_special;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Puts the value behind what is there. Where it cannot, nothing of it is left.
pub fn to_vec<T: Serialize + ?Sized>(value: &T, bytes: &mut Vec<u8>) -> Result<(), NotQuick> {
    let start = bytes.len();
    let written = value.serialize(Writer { bytes });
    if written.is_err() {
        bytes.truncate(start);
    }
    written
}

struct Writer<'w> {
    bytes: &'w mut Vec<u8>,
}

/// The members of a list or an object, of which some may be there.
struct Members<'w> {
    bytes: &'w mut Vec<u8>,
    is_empty: bool,
    close: u8,
}

impl<'w> Members<'w> {
    #[inline]
    fn open(bytes: &'w mut Vec<u8>, open: u8, close: u8) -> Self {
        bytes.push(open);
        Self { bytes, is_empty: true, close }
    }

    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotQuick> {
        value.serialize(Writer { bytes: self.bytes })
    }

    #[inline]
    fn comma(&mut self) {
        if !self.is_empty {
            self.bytes.push(b',');
        }
        self.is_empty = false;
    }

    /// Names of fields are words that nobody has to escape.
    #[inline]
    fn name(&mut self, name: &'static str) {
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
    }

    #[inline]
    fn end(self) -> Result<(), NotQuick> {
        self.bytes.push(self.close);
        Ok(())
    }
}

#[inline]
fn string(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(b'"');
    escape(bytes, text);
    bytes.push(b'"');
}

#[inline]
fn escape(bytes: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    bytes.reserve(text.len() + 1);
    let mut from = 0;
    while let Some(at) = distant_special(text, from) {
        bytes.extend_from_slice(text.get(from..at).unwrap_or_default());
        escape_one(bytes, text.get(at).copied().unwrap_or_default());
        from = at + 1;
    }
    bytes.extend_from_slice(text.get(from..).unwrap_or_default());
}

#[inline]
fn escape_one(bytes: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'\n' => b'n',
        b'"' | b'\\' => byte,
        b'\t' => b't',
        b'\r' => b'r',
        0x8 => b'b',
        0xc => b'f',
        _ => {
            let [high, low] = [byte >> 4, byte & 0xf].map(|digit| HEX[usize::from(digit)]);
            return bytes.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    bytes.extend_from_slice(&[b'\\', letter]);
}

/// What is formatted is escaped on its way.
struct Escaping<'w>(&'w mut Vec<u8>);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

impl Writer<'_> {
    #[inline]
    fn word(self, word: &str) -> Result<(), NotQuick> {
        self.bytes.extend_from_slice(word.as_bytes());
        Ok(())
    }

    /// Seldom enough to be left to `serde_json`, which knows how a fraction is best written.
    fn number<T: Serialize>(self, number: &T) -> Result<(), NotQuick> {
        serde_json::to_writer(self.bytes, number).map_err(|_| NotQuick)
    }

    #[inline]
    fn positive(self, mut number: u64) -> Result<(), NotQuick> {
        let mut digits = [0; 20];
        let mut first = digits.len();
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
            first -= 1;
            if number == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(digits.get(first..).unwrap_or_default());
        Ok(())
    }
}

impl<'w> Serializer for Writer<'w> {
    type Ok = ();
    type Error = NotQuick;
    type SerializeSeq = Members<'w>;
    type SerializeTuple = Members<'w>;
    type SerializeTupleStruct = Impossible<(), NotQuick>;
    type SerializeTupleVariant = Impossible<(), NotQuick>;
    type SerializeMap = Members<'w>;
    type SerializeStruct = Members<'w>;
    type SerializeStructVariant = Impossible<(), NotQuick>;

    fn serialize_bool(self, is: bool) -> Result<(), NotQuick> {
        self.word(if is { "true" } else { "false" })
    }

    fn serialize_i8(self, number: i8) -> Result<(), NotQuick> {
        self.serialize_i64(number.into())
    }

    fn serialize_i16(self, number: i16) -> Result<(), NotQuick> {
        self.serialize_i64(number.into())
    }

    fn serialize_i32(self, number: i32) -> Result<(), NotQuick> {
        self.serialize_i64(number.into())
    }

    fn serialize_i64(self, number: i64) -> Result<(), NotQuick> {
        if number < 0 {
            self.bytes.push(b'-');
        }
        self.positive(number.unsigned_abs())
    }

    fn serialize_u8(self, number: u8) -> Result<(), NotQuick> {
        self.positive(number.into())
    }

    fn serialize_u16(self, number: u16) -> Result<(), NotQuick> {
        self.positive(number.into())
    }

    fn serialize_u32(self, number: u32) -> Result<(), NotQuick> {
        self.positive(number.into())
    }

    fn serialize_u64(self, number: u64) -> Result<(), NotQuick> {
        self.positive(number)
    }

    fn serialize_f32(self, number: f32) -> Result<(), NotQuick> {
        self.number(&number)
    }

    fn serialize_f64(self, number: f64) -> Result<(), NotQuick> {
        self.number(&number)
    }

    fn serialize_char(self, character: char) -> Result<(), NotQuick> {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), NotQuick> {
        string(self.bytes, text);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), NotQuick> {
        Err(NotQuick)
    }

    fn serialize_none(self) -> Result<(), NotQuick> {
        self.word("null")
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), NotQuick> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NotQuick> {
        self.word("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NotQuick> {
        self.word("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, word: &'static str) -> Result<(), NotQuick> {
        self.serialize_str(word)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotQuick> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        word: &'static str,
        value: &T,
    ) -> Result<(), NotQuick> {
        let mut members = Members::open(self.bytes, b'{', b'}');
        ser::SerializeStruct::serialize_field(&mut members, word, value)?;
        members.end()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Members<'w>, NotQuick> {
        Ok(Members::open(self.bytes, b'[', b']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Members<'w>, NotQuick> {
        Ok(Members::open(self.bytes, b'[', b']'))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotQuick> {
        Err(NotQuick)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotQuick> {
        Err(NotQuick)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'w>, NotQuick> {
        Ok(Members::open(self.bytes, b'{', b'}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'w>, NotQuick> {
        Ok(Members::open(self.bytes, b'{', b'}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NotQuick> {
        Err(NotQuick)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), NotQuick> {
        self.bytes.push(b'"');
        write!(Escaping(self.bytes), "{value}").map_err(|_| NotQuick)?;
        self.bytes.push(b'"');
        Ok(())
    }
}

impl ser::SerializeSeq for Members<'_> {
    type Ok = ();
    type Error = NotQuick;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotQuick> {
        self.comma();
        self.value(value)
    }

    fn end(self) -> Result<(), NotQuick> {
        self.end()
    }
}

impl ser::SerializeTuple for Members<'_> {
    type Ok = ();
    type Error = NotQuick;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotQuick> {
        self.comma();
        self.value(value)
    }

    fn end(self) -> Result<(), NotQuick> {
        self.end()
    }
}

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = NotQuick;

    /// A name is a string; whatever else is written for one is not ours to write.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotQuick> {
        self.comma();
        let start = self.bytes.len();
        self.value(key)?;
        if self.bytes.get(start) == Some(&b'"') { Ok(()) } else { Err(NotQuick) }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotQuick> {
        self.bytes.push(b':');
        self.value(value)
    }

    fn end(self) -> Result<(), NotQuick> {
        self.end()
    }
}

impl ser::SerializeStruct for Members<'_> {
    type Ok = ();
    type Error = NotQuick;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NotQuick> {
        self.comma();
        self.name(name);
        self.value(value)
    }

    fn end(self) -> Result<(), NotQuick> {
        self.end()
    }
}

impl ser::Error for NotQuick {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}
