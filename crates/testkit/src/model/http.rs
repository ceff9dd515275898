//! As much HTTP/1.1 as a model needs, over a plain stream.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

/// More is nothing that a client of a model sends.
const LIMIT: u64 = 256 * 1024 * 1024;

/// The first byte of an encrypted connection.
const TLS_HANDSHAKE: u8 = 0x16;

#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
}

/// The next request of a connection; `None` at its end.
pub(super) fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<(Head, Vec<u8>)>> {
    if stream.fill_buf()?.first() == Some(&TLS_HANDSHAKE) {
        // As servers without encryption do.
        stream.get_mut().write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")?;
        return Err(malformed());
    }
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Err(malformed()) };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(malformed)?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let head = Head { method, path, headers };
    if head.header("expect").is_some() {
        stream.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = body(stream, &head)?;
    Ok(Some((head, body)))
}

fn body(stream: &mut BufReader<TcpStream>, head: &Head) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if head.header("transfer-encoding").is_some_and(|how| how.contains("chunked")) {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size)?;
            let size = size.trim().split(';').next().unwrap_or_default().to_owned();
            let size = u64::from_str_radix(&size, 16).map_err(|_| malformed())?.min(LIMIT);
            stream.by_ref().take(size).read_to_end(&mut body)?;
            let mut end = String::new();
            stream.read_line(&mut end)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = head.header("content-length").map_or(Ok(0), str::parse).map_err(|_| malformed())?;
    stream.by_ref().take(LIMIT.min(length)).read_to_end(&mut body)?;
    Ok(body)
}

fn malformed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "this is no HTTP request")
}

impl Head {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// A whole answer.
pub(super) fn answer(stream: &mut TcpStream, status: u16, more: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n",
        reason(status)
    );
    stream.write_all(&[head.as_bytes(), body].concat())
}

/// What a proxy says that reaches nobody.
pub(super) fn page(stream: &mut TcpStream) -> io::Result<()> {
    let body = "<html><body><h1>502 Bad Gateway</h1></body></html>";
    let length = body.len();
    let head =
        format!("HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

/// The beginning of an answer whose end is not known yet.
pub(super) fn begin_events(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
          transfer-encoding: chunked\r\n\r\n",
    )
}

pub(super) fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

pub(super) fn end_events(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        413 => "Content Too Large",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
