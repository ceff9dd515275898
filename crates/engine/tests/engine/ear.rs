//! A hook that the test itself is: an endpoint that hands over what it is told, and says what the test says.
//!
//! It never ends a connection by itself, as servers that keep theirs do.

use std::time::Duration;

use offshoot_engine::Run;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

pub(crate) struct Ear {
    url: String,
    told: mpsc::UnboundedReceiver<Told>,
}

/// One thing that the hook is told, and the way back. Dropping it answers nothing.
pub(crate) struct Told {
    pub(crate) what: Value,
    answer: oneshot::Sender<String>,
}

impl Told {
    pub(crate) fn answer(self, answer: &Value) {
        self.answer.send(answer.to_string()).unwrap();
    }
}

impl Ear {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (heard, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, heard.clone()));
            }
        });
        Self { url, told }
    }

    pub(crate) fn run(&self) -> Run {
        Run::Http { url: self.url.clone() }
    }

    pub(crate) async fn next(&mut self) -> Told {
        // A test that waits for nothing fails instead of waiting for ever.
        let told = tokio::time::timeout(Duration::from_secs(60), self.told.recv()).await;
        told.expect("nobody told anything").expect("somebody tells something")
    }

    /// Nothing was told that nobody has taken.
    pub(crate) fn has_heard_all(&mut self) -> bool {
        self.told.try_recv().is_err()
    }

    /// What it is told under this name; everything before it is not answered.
    pub(crate) async fn hear(&mut self, event: &str) -> Told {
        loop {
            let told = self.next().await;
            if told.what["type"] == event {
                return told;
            }
        }
    }
}

async fn serve(mut stream: TcpStream, heard: mpsc::UnboundedSender<Told>) {
    let mut asked = Vec::new();
    let what = loop {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        asked.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&asked);
        let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
        match body {
            Some(body) => break body,
            None if read == 0 => return,
            None => {}
        }
    };
    let (answer, answered) = oneshot::channel();
    if heard.send(Told { what, answer }).is_err() {
        return;
    }
    let body = answered.await.unwrap_or_default();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(answer.as_bytes()).await;
    // Until the other side ends it.
    let _ = stream.read(&mut [0]).await;
}
