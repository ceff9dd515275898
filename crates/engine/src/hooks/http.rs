//! A hook behind an address of this machine: one POST, one answer. Whether the other side then ends the connection is its
//! own affair.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::HookError;
use super::program::LONGEST;

pub(super) async fn post(url: &str, body: &str) -> Result<Vec<u8>, HookError> {
    let bad_url = || HookError::BadUrl(url.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(bad_url)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if has_port(host) { host.to_owned() } else { format!("{host}:80") };
    if host.is_empty() || url.contains(['\r', '\n', ' ']) {
        return Err(bad_url());
    }
    let mut stream = TcpStream::connect(address).await.map_err(HookError::NotRun)?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let request = [head.as_bytes(), body.as_bytes()].concat();
    stream.write_all(&request).await.map_err(HookError::NotRun)?;
    let mut answer = Vec::new();
    let mut stream = stream.take(LONGEST);
    while !is_whole(&answer) {
        if stream.read_buf(&mut answer).await.map_err(HookError::NotRun)? == 0 {
            break;
        }
    }
    read(&answer)
}

/// `[::1]` has colons of its own.
fn has_port(host: &str) -> bool {
    let behind = host.rsplit_once(']').map_or(host, |(_, behind)| behind);
    behind.contains(':')
}

/// Whether nothing more comes. `false` where only the end of the connection tells.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = parts(answer) else { return false };
    match length_of(&head) {
        Length::Known(length) => body.len() >= length,
        Length::Chunked => joined(body).is_some(),
        Length::Unknown => has_no_body(&head),
    }
}

enum Length {
    Known(usize),
    Chunked,
    Unknown,
}

fn length_of(head: &str) -> Length {
    let fields = || head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let is_chunked = fields().any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked")
    });
    if is_chunked {
        return Length::Chunked;
    }
    let length = fields().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, value)| value.trim().parse().ok());
    length.map_or(Length::Unknown, Length::Known)
}

fn has_no_body(head: &str) -> bool {
    matches!(status_of(head), Some("204" | "304"))
}

fn status_of(head: &str) -> Option<&str> {
    head.lines().next()?.split(' ').nth(1)
}

/// What stands before and behind the empty line.
fn parts(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let (head, body) = answer.split_at_checked(end)?;
    Some((String::from_utf8_lossy(head).into_owned(), body.get(4..)?))
}

/// The body of an answer that went well.
fn read(answer: &[u8]) -> Result<Vec<u8>, HookError> {
    let nonsense = |what: &str| HookError::Nonsense(what.to_owned());
    let (head, body) = parts(answer).ok_or_else(|| nonsense("no HTTP"))?;
    let status = status_of(&head).ok_or_else(|| nonsense("no status"))?;
    if !status.starts_with('2') {
        return Err(HookError::Failed(format!("status {status}")));
    }
    match length_of(&head) {
        Length::Chunked => joined(body).ok_or_else(|| nonsense("broken chunks")),
        Length::Known(length) => {
            body.get(..length).map(<[u8]>::to_vec).ok_or_else(|| nonsense("less than it promised"))
        }
        Length::Unknown => Ok(body.to_vec()),
    }
}

/// `size CRLF bytes CRLF` again and again, until a size of 0.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|bytes| bytes == b"\r\n")?;
        let size = std::str::from_utf8(rest.get(..line)?).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let chunk = rest.get(line + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk.get(..size)?);
        rest = chunk.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::{has_port, is_whole, read};

    fn body(answer: &str) -> Option<String> {
        read(answer.as_bytes()).ok().and_then(|body| String::from_utf8(body).ok())
    }

    #[test]
    fn an_answer_is_read_however_it_is_sent() {
        let plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(body(plain).as_deref(), Some("{}"));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x\r\n}\r\n0\r\n\r\n";
        assert_eq!(body(chunked).as_deref(), Some("{}"));
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n").as_deref(), Some(""));
    }

    #[test]
    fn an_answer_is_whole_before_the_connection_ends() {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ] {
            assert!(is_whole(answer.as_bytes()), "{answer:?}");
            for end in 0..answer.len() - 1 {
                let cut = answer.get(..end).unwrap_or_default();
                assert!(!is_whole(cut.as_bytes()) || cut.ends_with("0\r\n"), "{cut:?}");
            }
        }
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\n{}"), "only the end tells");
    }

    #[test]
    fn an_address_may_have_colons_of_its_own() {
        assert!(has_port("[::1]:4100") && has_port("localhost:80"));
        assert!(!has_port("[::1]") && !has_port("localhost"));
    }

    #[test]
    fn whatever_is_no_answer_is_refused() {
        for answer in [
            "",
            "hello",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 500 No\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        ] {
            assert_eq!(body(answer), None, "{answer:?}");
        }
    }
}
