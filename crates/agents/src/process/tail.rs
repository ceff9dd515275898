//! The end of what a process writes to its standard error.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

const KEPT: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Tail<R> {
    /// `None`: it is closed.
    source: Option<R>,
    kept: VecDeque<u8>,
    chunk: Box<[u8; 4096]>,
}

impl<R: AsyncRead + Unpin> Tail<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source: Some(source), kept: VecDeque::new(), chunk: Box::new([0; 4096]) }
    }

    /// Reads what comes next; never returns once it is closed. Cancelling loses nothing.
    pub(super) async fn read(&mut self) {
        let Some(source) = &mut self.source else { return std::future::pending().await };
        match source.read(self.chunk.as_mut_slice()).await {
            Ok(0) | Err(_) => self.source = None,
            Ok(read) => {
                self.kept.extend(self.chunk.get(..read).unwrap_or_default());
                self.kept.drain(..self.kept.len().saturating_sub(KEPT));
            }
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.source.is_none()
    }

    pub(super) fn text(&self) -> String {
        let (one, two) = self.kept.as_slices();
        String::from_utf8_lossy(&[one, two].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept() {
        let written = [&[b'a'; KEPT][..], b"the end"].concat();
        let mut tail = Tail::new(&written[..]);
        while !tail.is_closed() {
            tail.read().await;
        }
        let text = tail.text();
        assert_eq!(text.len(), KEPT);
        assert!(text.ends_with("aaathe end"), "{}", &text[KEPT - 20..]);
    }
}
