//! A reply, performed: part after part onto the wire, with its pauses and its accidents.

use std::io;
use std::net::TcpStream;

use super::asked::Asked;
use super::http;
use super::protocol::{Answer, Event, Kind, Protocol, Voice};
use super::recorded::End;
use super::schema;
use super::script::{Failure, Part, Reply, say};
use super::server::{Shared, Until};

/// So many bytes of the input of a call are said at once.
const INPUT_PIECE: usize = 24;

pub(super) fn perform(
    stream: &mut TcpStream,
    shared: &Shared,
    protocol: Protocol,
    asked: &Asked,
    number: usize,
    length: usize,
) -> io::Result<End> {
    let parts = parts(shared, asked);
    let answer = Answer {
        number,
        model: asked.model.clone(),
        input_tokens: (length / 4).max(1),
        used: parts.iter().find_map(|part| match part {
            Part::Used(tokens) => Some(*tokens),
            _ => None,
        }),
        stop: parts.iter().find_map(|part| match part {
            Part::Stop(reason) => Some(reason.clone()),
            _ => None,
        }),
        wants_usage: asked.wants_usage,
    };
    let mut wire = Wire { stream, shared, protocol, chunk_bytes: shared.script().chunk_bytes() };
    let mut voice = protocol.voice(answer);
    if asked.is_streamed && !shared.script().is_never_streamed() {
        wire.stream_parts(voice.as_mut(), &parts)
    } else {
        wire.say_whole(voice.as_mut(), &parts)
    }
}

fn parts(shared: &Shared, asked: &Asked) -> Vec<Part> {
    if let Some(schema) = &asked.schema {
        return vec![say(schema::value_of(schema).to_string())];
    }
    let (prompt, step) = (asked.prompt(), asked.step());
    let Reply { mut parts, failures_first } = shared.script().reply(prompt, step);
    if let Some(failure) = shared.failure_first(prompt, step, &failures_first) {
        return vec![Part::Fail(failure)];
    }
    if !asked.offers_tools {
        parts.retain(|part| !matches!(part, Part::Call { .. }));
        if parts.is_empty() {
            parts.push(say("No tools, no calls."));
        }
    }
    parts
}

struct Wire<'w> {
    stream: &'w mut TcpStream,
    shared: &'w Shared,
    protocol: Protocol,
    chunk_bytes: Option<usize>,
}

impl Wire<'_> {
    fn stream_parts(&mut self, voice: &mut dyn Voice, parts: &[Part]) -> io::Result<End> {
        let mut has_begun = false;
        for part in parts {
            if let Part::Fail(failure) = part {
                return self.fail_stream(voice, failure, has_begun);
            }
            let says = matches!(part, Part::Text(_) | Part::Thinking(_) | Part::Call { .. });
            if says && !has_begun {
                has_begun = true;
                self.begin(voice)?;
            }
            match part {
                Part::Text(said) => self.say(voice, Kind::Text, &said.in_pieces(), said.every)?,
                Part::Thinking(said) => self.say(voice, Kind::Thinking, &said.in_pieces(), said.every)?,
                Part::Call { name, input } => {
                    let pieces = in_pieces_of(&input.to_string(), INPUT_PIECE);
                    self.say(voice, Kind::Call { name }, &pieces, std::time::Duration::ZERO)?;
                }
                Part::Wait(time) => self.shared.stand(self.stream, &Until::Over(*time))?,
                Part::Gate(gate) => self.shared.stand(self.stream, &Until::Gate(gate))?,
                Part::Fail(_) | Part::Used(_) | Part::Stop(_) => {}
            }
        }
        if !has_begun {
            self.begin(voice)?;
        }
        self.send(&voice.end())?;
        http::end_events(self.stream)?;
        Ok(End::Answered)
    }

    fn begin(&mut self, voice: &mut dyn Voice) -> io::Result<()> {
        http::begin_events(self.stream)?;
        self.send(&voice.begin())
    }

    fn say(
        &mut self,
        voice: &mut dyn Voice,
        kind: Kind<'_>,
        pieces: &[String],
        every: std::time::Duration,
    ) -> io::Result<()> {
        self.send(&voice.open(kind))?;
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 && !every.is_zero() {
                self.shared.stand(self.stream, &Until::Over(every))?;
            }
            self.send(&voice.piece(piece))?;
        }
        self.send(&voice.close())
    }

    fn send(&mut self, events: &[Event]) -> io::Result<()> {
        for event in events {
            let text = event.wire();
            match self.chunk_bytes {
                None => http::chunk(self.stream, text.as_bytes())?,
                Some(bytes) => {
                    for piece in text.as_bytes().chunks(bytes) {
                        http::chunk(self.stream, piece)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn fail_stream(&mut self, voice: &mut dyn Voice, failure: &Failure, has_begun: bool) -> io::Result<End> {
        match failure {
            Failure::Status { code, retry_after } if !has_begun => self.status(*code, *retry_after)?,
            Failure::TooLong if !has_begun => self.too_long()?,
            Failure::Page if !has_begun => http::page(self.stream)?,
            Failure::Drop | Failure::Page => {}
            Failure::Silence => self.shared.stand(self.stream, &Until::Never)?,
            Failure::Cut | Failure::Torn | Failure::Endless | Failure::Flood => {
                if !has_begun {
                    self.begin(voice)?;
                }
                self.go_on(voice, failure)?;
            }
            Failure::Status { .. } | Failure::TooLong | Failure::Error | Failure::BadJson => {
                if !has_begun {
                    self.begin(voice)?;
                }
                let is_broken = *failure == Failure::BadJson;
                self.send(&if is_broken { vec![Event::broken()] } else { voice.error() })?;
                http::end_events(self.stream)?;
            }
        }
        Ok(End::Failed)
    }

    /// Only the client ends it, or nobody does.
    fn go_on(&mut self, voice: &mut dyn Voice, failure: &Failure) -> io::Result<()> {
        let piece = "again and again ".repeat(1024);
        match failure {
            Failure::Endless => {
                self.send(&voice.open(Kind::Text))?;
                loop {
                    self.send(&voice.piece(&piece))?;
                }
            }
            Failure::Flood => loop {
                http::chunk(self.stream, piece.as_bytes())?;
            },
            Failure::Torn => {
                let mut events = voice.open(Kind::Text);
                events.extend(voice.piece("never shown"));
                let (last, whole) = events.split_last().ok_or(io::ErrorKind::InvalidData)?;
                self.send(whole)?;
                let text = last.wire();
                http::chunk(self.stream, text.as_bytes().get(..text.len() * 2 / 3).unwrap_or_default())?;
                http::end_events(self.stream)
            }
            _ => http::end_events(self.stream),
        }
    }

    fn too_long(&mut self) -> io::Result<()> {
        http::answer(self.stream, 400, "", self.protocol.too_long().to_string().as_bytes())
    }

    /// Without a stream there is no middle: pauses come first, and a failure comes instead of everything.
    fn say_whole(&mut self, voice: &mut dyn Voice, parts: &[Part]) -> io::Result<End> {
        for part in parts {
            match part {
                Part::Wait(time) => self.shared.stand(self.stream, &Until::Over(*time))?,
                Part::Gate(gate) => self.shared.stand(self.stream, &Until::Gate(gate))?,
                Part::Fail(failure) => return self.fail_whole(failure),
                Part::Text(_) | Part::Thinking(_) | Part::Call { .. } | Part::Used(_) | Part::Stop(_) => {}
            }
        }
        let body = voice.whole(parts).to_string();
        http::answer(self.stream, 200, "", body.as_bytes())?;
        Ok(End::Answered)
    }

    fn fail_whole(&mut self, failure: &Failure) -> io::Result<End> {
        match failure {
            Failure::Status { code, retry_after } => self.status(*code, *retry_after)?,
            Failure::Error => self.status(500, None)?,
            Failure::TooLong => self.too_long()?,
            Failure::Page => http::page(self.stream)?,
            Failure::Drop | Failure::Cut | Failure::Torn | Failure::Endless | Failure::Flood => {}
            Failure::Silence => self.shared.stand(self.stream, &Until::Never)?,
            Failure::BadJson => http::answer(self.stream, 200, "", b"{\"this is\": no JSON")?,
        }
        Ok(End::Failed)
    }

    fn status(&mut self, code: u16, retry_after: Option<u64>) -> io::Result<()> {
        let more = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
        let body = self.protocol.error_body(code).to_string();
        http::answer(self.stream, code, &more, body.as_bytes())
    }
}

fn in_pieces_of(text: &str, length: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(length).map(|piece| piece.iter().collect()).collect()
}
