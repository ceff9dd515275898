//! Servers of models, as the person sets them.

use std::fmt;
use std::time::Duration;

/// What is not set is as for the provider that the program knows by this name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Provider {
    pub kind: Option<ProviderKind>,
    pub base_url: Option<String>,
    /// The variable that has the key.
    pub key_env: Option<String>,
    /// A program that prints the key, and its arguments.
    pub key_command: Vec<String>,
    /// Its models, where the server has no list of them.
    pub models: Vec<String>,
    /// Sent with every request. Some of them are keys.
    pub headers: Vec<(String, String)>,
    /// How long it may be silent.
    pub time_limit: Option<Duration>,
    /// How often a request is sent at most.
    pub attempts: Option<u32>,
}

/// The protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    Anthropic,
    OpenAi,
}

impl ProviderKind {
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// As settings call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// Without the values of headers.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Provider")
            .field("kind", &self.kind)
            .field("base_url", &self.base_url)
            .field("key_env", &self.key_env)
            .field("key_command", &self.key_command)
            .field("models", &self.models)
            .field("headers", &headers)
            .field("time_limit", &self.time_limit)
            .field("attempts", &self.attempts)
            .finish()
    }
}
