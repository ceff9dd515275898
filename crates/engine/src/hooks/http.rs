//! A hook behind an address of this machine: one POST, one answer, the connection ends.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::HookError;
use super::program::LONGEST;

pub(super) async fn post(url: &str, body: &str) -> Result<Vec<u8>, HookError> {
    let bad_url = || HookError::BadUrl(url.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(bad_url)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
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
    stream.take(LONGEST).read_to_end(&mut answer).await.map_err(HookError::NotRun)?;
    read(&answer)
}

/// The body of an answer that went well.
fn read(answer: &[u8]) -> Result<Vec<u8>, HookError> {
    let nonsense = |what: &str| HookError::Nonsense(what.to_owned());
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let (head, body) = end.and_then(|end| answer.split_at_checked(end)).ok_or_else(|| nonsense("no HTTP"))?;
    let body = body.get(4..).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or_else(|| nonsense("no status"))?;
    if !status.starts_with('2') {
        return Err(HookError::Failed(format!("status {status}")));
    }
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let is_chunked = fields.any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked")
    });
    if is_chunked { joined(body).ok_or_else(|| nonsense("broken chunks")) } else { Ok(body.to_vec()) }
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
    use super::read;

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
    fn whatever_is_no_answer_is_refused() {
        for answer in [
            "",
            "hello",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 500 No\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        ] {
            assert_eq!(body(answer), None, "{answer:?}");
        }
    }
}
