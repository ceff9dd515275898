//! Server-sent events, from bytes that are cut anywhere.

use memchr::memchr2;

/// A longer line is left out; an event that says so takes its place.
const LONGEST: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    pub name: String,
    /// The lines of its data, joined by line feeds.
    pub data: String,
    /// It had a line that was too long to be read.
    pub is_too_long: bool,
}

/// Collects bytes until an event is complete.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    /// The line was too long and has been left out.
    is_left_out: bool,
    /// The last byte was a carriage return: a line feed behind it belongs to the same line end.
    after_return: bool,
    has_begun: bool,
    name: String,
    data: Option<String>,
}

impl SseDecoder {
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                events.extend(self.grow(bytes));
                break;
            };
            events.extend(self.grow(bytes.get(..end).unwrap_or_default()));
            events.extend(self.end_line());
            self.after_return = bytes.get(end) == Some(&b'\r');
            bytes = bytes.get(end + 1..).unwrap_or_default();
        }
        events
    }

    /// The event that the stream ended in, as far as it came: some servers leave out the last empty line.
    pub fn finish(&mut self) -> Vec<SseEvent> {
        let mut events: Vec<SseEvent> = Vec::new();
        if !self.line.is_empty() {
            events.extend(self.end_line());
        }
        events.extend(self.end_event());
        events
    }

    fn grow(&mut self, bytes: &[u8]) -> Option<SseEvent> {
        if self.is_left_out {
            return None;
        }
        if self.line.len() + bytes.len() <= LONGEST {
            self.line.extend_from_slice(bytes);
            return None;
        }
        self.is_left_out = true;
        self.line.clear();
        Some(SseEvent { is_too_long: true, ..SseEvent::default() })
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        if std::mem::take(&mut self.is_left_out) {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let text = if is_first { text.strip_prefix('\u{feff}').unwrap_or(&text) } else { &text };
        if text.is_empty() {
            return self.end_event();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => self.add_data(value),
            _ => {} // a comment keeps the connection open; ids and waits are for clients that connect again
        }
        None
    }

    fn add_data(&mut self, value: &str) {
        match &mut self.data {
            Some(data) if data.len() + value.len() < LONGEST => {
                data.push('\n');
                data.push_str(value);
            }
            Some(_) => {}
            None => self.data = Some(value.to_owned()),
        }
    }

    /// An event without data is none.
    fn end_event(&mut self) -> Option<SseEvent> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| SseEvent { name, data, is_too_long: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &str) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        let mut events = decoder.push(stream.as_bytes());
        events.extend(decoder.finish());
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn events_are_read_with_any_line_ends() {
        for end in ["\n", "\r\n", "\r"] {
            let stream =
                ["event: a", "data: 1", "data:2", "", ": ping", "", "data", "", "id: 3", "data:  x", ""];
            assert_eq!(
                read(&stream.join(end)),
                [event("a", "1\n2"), event("", ""), event("", " x")],
                "{end:?}"
            );
        }
    }

    #[test]
    fn the_last_event_needs_no_empty_line_and_the_first_may_have_a_mark() {
        assert_eq!(read("\u{feff}data: a\n\ndata: b"), [event("", "a"), event("", "b")]);
    }

    #[test]
    fn a_line_that_never_ends_takes_bounded_memory_and_is_noticed() {
        let mut decoder = SseDecoder::default();
        let events: Vec<SseEvent> = (0..3).flat_map(|_| decoder.push(&vec![b'x'; LONGEST])).collect();
        let too_long = SseEvent { is_too_long: true, ..SseEvent::default() };
        assert_eq!((events, decoder.line.len()), (vec![too_long], 0));
        let next = decoder.push(b"x\ndata: a\n\n");
        assert_eq!(next.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(), ["a"]);
    }
}
