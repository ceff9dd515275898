//! The members of an object or a list, one after the other.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::{NotQuick, Reader};

pub(super) struct Members<'r, 't> {
    reader: &'r mut Reader<'t>,
    is_first: bool,
}

impl<'r, 't> Members<'r, 't> {
    pub(super) fn new(reader: &'r mut Reader<'t>) -> Self {
        Self { reader, is_first: true }
    }

    /// Steps over the comma. Says whether there is a member, or this bracket.
    fn has_next(&mut self, bracket: u8) -> Result<bool, NotQuick> {
        let next = self.reader.peek().ok_or(NotQuick)?;
        if next == bracket {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.is_first, false) {
            self.reader.expect(b',')?;
            // A bracket behind a comma is no JSON.
            return if self.reader.peek() == Some(bracket) { Err(NotQuick) } else { Ok(true) };
        }
        Ok(true)
    }
}

impl<'t> SeqAccess<'t> for Members<'_, 't> {
    type Error = NotQuick;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, NotQuick> {
        if !self.has_next(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'t> MapAccess<'t> for Members<'_, 't> {
    type Error = NotQuick;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, NotQuick> {
        if !self.has_next(b'}')? {
            return Ok(None);
        }
        if self.reader.peek() != Some(b'"') {
            return Err(NotQuick);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, NotQuick> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}
