//! One request to a server, and its answer as it comes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use offshoot_session::MessageKey;
use offshoot_session::agent::{AgentEventKind, Environment, Provider};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::{Answer, Broken, Shown};
use super::channel::Reporter;
use super::failure::{Asked, Trouble};
use super::provider::{self, NoServer, Secret, Server};
use super::secrets::{CleanPieces, Secrets};
use super::wire::{ModelRequest, Piece, Wire};
use crate::http::{self, Client, RequestBuilder, Response, header};

/// An answer that takes longer is given up, however often the server shows that it is there.
const LONGEST_TIME: Duration = Duration::from_secs(60 * 60);

/// More bytes come of no answer.
const LONGEST_STREAM: usize = 128 * 1024 * 1024;

/// So much of the body of a refusal is read.
const LONGEST_REFUSAL: usize = 64 * 1024;

/// The version of Anthropic's protocol.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A server, and what is needed to ask it.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) server: Server,
    key: Option<Secret>,
    /// The keys of all providers.
    pub(crate) secrets: Secrets,
    client: Client,
}

impl Asking {
    pub(crate) async fn prepare(
        server: Server,
        client: Client,
        providers: &BTreeMap<String, Provider>,
        environment: &Environment,
    ) -> Result<Self, NoServer> {
        let key = server.key(environment).await?;
        let secrets = provider::secrets(providers, environment);
        let secrets = key.as_ref().map_or(secrets.clone(), |key| secrets.with(key.as_str()));
        Ok(Self { server, key, secrets, client })
    }

    pub(crate) fn about<'a>(&'a self, model: &'a str) -> Asked<'a> {
        Asked { server: &self.server, model, secrets: &self.secrets }
    }

    /// Sends a request and reads its answer into `answer`. What is to be seen of it is reported under `message` at once;
    /// without a message nothing is.
    pub(crate) async fn stream(
        &self,
        request: &ModelRequest<'_>,
        answer: &mut Answer,
        report: Option<(&Reporter, &MessageKey)>,
    ) -> Result<(), Trouble> {
        let asked = self.about(request.model);
        let until = Instant::now() + LONGEST_TIME;
        let body = self.server.wire.body(request);
        let sent = self.signed(self.client.post(self.server.url(self.server.wire.answer_path())));
        let sent = sent.header(header::ACCEPT, "text/event-stream");
        let sent = sent.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        let sent = timeout(self.server.time_limit, sent.send()).await.map_err(|_| asked.silent())?;
        let response = sent.map_err(|error| asked.unreachable(&http::told(error)))?;
        let response = self.accepted(&asked, response).await?;
        let mut heard = Heard { answer, report, clean: CleanPieces::new(&self.secrets) };
        let read = self.read(&asked, response, &mut heard, until).await;
        // Of an answer that has broken off, what was held back is shown too.
        heard.finish().await;
        read
    }

    /// A server that has refused says why in the body.
    async fn accepted(&self, asked: &Asked<'_>, response: Response) -> Result<Response, Trouble> {
        let status = response.status().as_u16();
        if response.status().is_success() {
            let content_type = content_type_of(&response);
            let is_read = self.form_of(content_type).is_some();
            return if is_read { Ok(response) } else { Err(asked.no_stream(content_type)) };
        }
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| seconds(value.to_str().ok()?));
        let body = timeout(self.server.time_limit, beginning(response)).await.unwrap_or_default();
        Err(asked.refused(status, retry_after, &body, Timestamp::now()))
    }

    fn form_of(&self, content_type: &str) -> Option<Form> {
        match content_type {
            // Servers that say nothing about it may still send events.
            "" => Some(Form::Stream),
            _ if content_type.starts_with("text/event-stream") => Some(Form::Stream),
            _ if content_type.starts_with("application/json") && self.server.wire == Wire::OpenAi => {
                Some(Form::Whole)
            }
            _ => None,
        }
    }

    async fn read(
        &self,
        asked: &Asked<'_>,
        mut response: Response,
        heard: &mut Heard<'_>,
        until: Instant,
    ) -> Result<(), Trouble> {
        let content_type = content_type_of(&response).to_owned();
        let form = self.form_of(&content_type).unwrap_or(Form::Stream);
        let mut decoder = self.server.wire.decoder();
        let (mut bytes, mut body) = (0, Vec::new());
        loop {
            let silent_at = (Instant::now() + self.server.time_limit).min(until);
            let chunk = match timeout_at(silent_at, response.chunk()).await {
                // The answer is there, and only its end was not said.
                Err(_) | Ok(Err(_)) if heard.answer.is_complete() => return Ok(()),
                Err(_) if Instant::now() >= until => return Err(asked.endless()),
                Err(_) => return Err(asked.silent()),
                Ok(Err(error)) => return Err(asked.lost(&http::told(error))),
                Ok(Ok(chunk)) => chunk,
            };
            bytes += chunk.as_ref().map_or(0, |chunk| chunk.len());
            let pieces = match (&chunk, form) {
                (Some(chunk), Form::Stream) => decoder.push(chunk),
                (Some(chunk), Form::Whole) => {
                    body.extend_from_slice(chunk);
                    Vec::new()
                }
                (None, Form::Stream) => decoder.finish(),
                (None, Form::Whole) => decoder.whole(&body),
            };
            heard.take(asked, pieces).await?;
            if heard.answer.has_ended() || (chunk.is_none() && heard.answer.is_complete()) {
                return Ok(());
            }
            match (&chunk, form) {
                (None, Form::Stream) => return Err(asked.lost("")),
                (None, Form::Whole) => return Err(asked.no_stream(&content_type)),
                (Some(_), _) if bytes > LONGEST_STREAM => return Err(asked.endless()),
                (Some(_), _) => {}
            }
        }
    }

    /// The models that the server has; `None` where it has no list.
    pub(crate) async fn models(&self) -> Option<Vec<String>> {
        let response = self.signed(self.client.get(self.server.url(self.server.wire.models_path())));
        let response = response.send().await.ok().filter(|response| response.status().is_success())?;
        let body: Value = serde_json::from_str(&beginning_of(response, LONGEST_STREAM).await).ok()?;
        let models = body.get("data")?.as_array()?;
        let names =
            models.iter().filter_map(|model| Some(self.secrets.taken_out(model.get("id")?.as_str()?)));
        Some(names.collect())
    }

    fn signed(&self, mut request: RequestBuilder) -> RequestBuilder {
        match (self.server.wire, &self.key) {
            (_, None) => {}
            (Wire::Anthropic, Some(key)) => request = request.header("x-api-key", sensitive(key.as_str())),
            (Wire::OpenAi, Some(key)) => {
                request =
                    request.header(header::AUTHORIZATION, sensitive(&format!("Bearer {}", key.as_str())));
            }
        }
        if self.server.wire == Wire::Anthropic {
            request = request.header("anthropic-version", ANTHROPIC_VERSION);
        }
        for (name, value) in &self.server.headers {
            request = request.header(name, sensitive(value));
        }
        request
    }
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Stream,
    /// In one document: some servers of OpenAI's protocol do not stream.
    Whole,
}

/// Where an answer goes while it comes.
struct Heard<'a> {
    answer: &'a mut Answer,
    report: Option<(&'a Reporter, &'a MessageKey)>,
    clean: CleanPieces<'a>,
}

impl Heard<'_> {
    async fn take(&mut self, asked: &Asked<'_>, pieces: Vec<Piece>) -> Result<(), Trouble> {
        for piece in self.clean.push(pieces) {
            let shown = self.answer.take(piece).map_err(|broken| match broken {
                Broken::Refused(refusal) => asked.broke_off(&refusal),
                Broken::TooLong => asked.endless(),
                Broken::TooMany(what) => asked.too_many(what),
            })?;
            self.show(shown).await;
        }
        Ok(())
    }

    /// What was held back because a secret may begin with it.
    async fn finish(&mut self) {
        if let Some(Ok(shown)) = self.clean.finish().map(|piece| self.answer.take(piece)) {
            self.show(shown).await;
        }
    }

    async fn show(&self, shown: Option<Shown>) {
        if let (Some(Shown { part, field, text }), Some((reporter, message))) = (shown, self.report) {
            let delta = AgentEventKind::Delta { message: message.clone(), part, field, text };
            // Where the engine is gone, the turn notices it by itself.
            let _ = reporter.report(delta).await;
        }
    }
}

fn content_type_of(response: &Response) -> &str {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// A value that nothing prints. What cannot stand in a header is sent as nothing, and the server refuses it.
fn sensitive(value: &str) -> header::HeaderValue {
    let mut value = header::HeaderValue::from_str(value).unwrap_or(header::HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// Servers may also name a date here, which says the same as no value.
fn seconds(value: &str) -> Option<Duration> {
    let seconds: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

async fn beginning(response: Response) -> String {
    beginning_of(response, LONGEST_REFUSAL).await
}

async fn beginning_of(mut response: Response, longest: usize) -> String {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > longest {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
