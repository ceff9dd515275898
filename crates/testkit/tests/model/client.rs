//! A client that sees what others hide: chunks, and whether an answer ended as it should.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use offshoot_testkit::model::{ModelServer, Script};
use serde_json::{Value, json};

pub(crate) fn server(script: Script) -> ModelServer {
    ModelServer::start(script).unwrap()
}

/// An answer that is being read.
pub(crate) struct Answer {
    reader: BufReader<TcpStream>,
    pub(crate) status: u16,
    head: String,
    /// Whether the last chunk, or the last byte of a counted body, has come.
    pub(crate) is_whole: bool,
}

pub(crate) fn connect(server: &ModelServer) -> TcpStream {
    TcpStream::connect(server.url().trim_start_matches("http://")).unwrap()
}

/// Sends a request and waits for nothing.
pub(crate) fn send(stream: &mut TcpStream, method: &str, path: &str, body: &Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: model\r\nX-Api-Key: dummy\r\nAnthropic-Version: 2023-06-01\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
}

/// `None` where the connection was closed without an answer.
pub(crate) fn ask(mut stream: TcpStream, method: &str, path: &str, body: &Value) -> Option<Answer> {
    send(&mut stream, method, path, body);
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    Some(Answer { reader, status, head, is_whole: false })
}

pub(crate) fn post(server: &ModelServer, path: &str, body: &Value) -> Answer {
    ask(connect(server), "POST", path, body).unwrap()
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// The next chunk of a stream; `None` at its end or where it breaks off.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut size = String::new();
        self.reader.read_line(&mut size).ok().filter(|bytes| *bytes > 0)?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).ok()?;
        bytes.truncate(size);
        self.is_whole = size == 0;
        (size > 0).then_some(bytes)
    }

    pub(crate) fn chunks(&mut self) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| self.chunk()).collect()
    }

    pub(crate) fn text(&mut self) -> String {
        let length: Option<usize> = self.header("content-length").map(|length| length.parse().unwrap());
        let bytes = match length {
            None => self.chunks().concat(),
            Some(length) => {
                let mut bytes = vec![0; length];
                self.is_whole = self.reader.read_exact(&mut bytes).is_ok();
                bytes
            }
        };
        String::from_utf8(bytes).unwrap()
    }

    pub(crate) fn json(&mut self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    /// The data of all events that are JSON.
    pub(crate) fn events(&mut self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

/// The four protocols with the places that differ between them.
pub(crate) struct Wire {
    pub(crate) path: &'static str,
    pub(crate) streamed_path: &'static str,
    /// Where a piece of text is in an event.
    pub(crate) text: &'static str,
    pub(crate) thought: &'static str,
}

pub(crate) const MESSAGES: Wire = Wire {
    path: "/v1/messages?beta=true",
    streamed_path: "/v1/messages?beta=true",
    text: "/delta/text",
    thought: "/delta/thinking",
};

pub(crate) const CHAT: Wire = Wire {
    path: "/v1/chat/completions",
    streamed_path: "/v1/chat/completions",
    text: "/choices/0/delta/content",
    thought: "/choices/0/delta/reasoning_content",
};

pub(crate) const RESPONSES: Wire =
    Wire { path: "/v1/responses", streamed_path: "/v1/responses", text: "/delta", thought: "/delta" };

pub(crate) const GEMINI: Wire = Wire {
    path: "/v1beta/models/g-1:generateContent",
    streamed_path: "/v1beta/models/g-1:streamGenerateContent?alt=sse",
    text: "/candidates/0/content/parts/0/text",
    thought: "/candidates/0/content/parts/0/text",
};

pub(crate) const ALL: [Wire; 4] = [MESSAGES, CHAT, RESPONSES, GEMINI];

impl Wire {
    /// A request with one prompt and one tool.
    pub(crate) fn request(&self, prompt: &str, is_streamed: bool) -> Value {
        let mut body = if self.path == RESPONSES.path {
            let said = json!({"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": prompt}]});
            json!({"model": "m-1", "input": [said], "tools": [{"name": "Bash"}]})
        } else if self.path == GEMINI.path {
            let said = json!({"role": "user", "parts": [{"text": prompt}]});
            return json!({"contents": [said], "tools": [{"functionDeclarations": []}]});
        } else {
            let said = json!({"role": "user", "content": [{"type": "text", "text": prompt}]});
            json!({"model": "m-1", "max_tokens": 100, "messages": [said], "tools": [{"name": "Bash"}]})
        };
        body["stream"] = is_streamed.into();
        body
    }

    /// Where a reply is asked for that is streamed, or one that is not.
    pub(crate) fn place(&self, is_streamed: bool) -> &'static str {
        if is_streamed { self.streamed_path } else { self.path }
    }

    pub(crate) fn streamed(&self, server: &ModelServer, prompt: &str) -> Answer {
        post(server, self.streamed_path, &self.request(prompt, true))
    }

    pub(crate) fn whole(&self, server: &ModelServer, prompt: &str) -> Answer {
        post(server, self.path, &self.request(prompt, false))
    }

    /// The pieces of text in some events.
    pub(crate) fn said(&self, events: &[Value]) -> Vec<String> {
        let pieces = events.iter().filter_map(|event| event.pointer(self.text)?.as_str());
        pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
    }
}
