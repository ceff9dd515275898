//! A model that says what a test tells it to say: a small HTTP server on loopback that speaks the protocols of
//! Anthropic (Messages), OpenAI (Chat Completions and Responses) and Google (Gemini), whole and streamed.
//!
//! ```
//! use offshoot_testkit::model::{Failure, ModelServer, Script, call, say};
//! use serde_json::json;
//!
//! let script = Script::new()
//!     .when("list the files", [say("Looking."), call("Bash", json!({"command": "ls"}))])
//!     .then([say("There are two.")])
//!     .when("again", [say("Hello.")])
//!     .only_after([Failure::rate_limited(0)]);
//! let server = ModelServer::start(script)?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! # std::io::Result::Ok(())
//! ```
//!
//! It keeps no conversations. A request holds the whole conversation, so the last prompt in it chooses the rule, and
//! the replies that it holds behind that prompt choose the step: forks, retries and resumed sessions work by
//! themselves. A prompt that no rule fits is asked for instructions of its own ([`words`](Script)), and without them
//! it is echoed.
//!
//! Programs ask for more than replies. A request for an answer in a JSON schema gets a value of that schema, and one
//! that offers no tools (for a title, say) gets no calls.
//!
//! A request that breaks a rule of Messages or Chat Completions is refused with status 400, as the real servers do
//! ([`End::Refused`]).
//!
//! # Limitations
//!
//! HTTP/1.1 without TLS and without compression; a thread per connection. Tokens are bytes divided by four.

mod asked;
mod http;
mod perform;
mod protocol;
mod recorded;
mod schema;
mod script;
mod server;
mod words;

pub use protocol::Protocol;
pub use recorded::{End, Request};
pub use script::{Failure, Part, Reply, Script, Tokens, call, fail, gate, say, stop, think, used, wait};
pub use server::ModelServer;
