//! Conversations that live.
//!
//! [`Engine`] is the one place that sees the store, the agents and whoever looks at them, and it is the
//! [`offshoot_api::Service`] of this machine. Every open session has one actor: it takes messages one after the other,
//! asks the pure model what should happen, makes it durable, and tells it.
//!
//! ```text
//! request ─┐                    ┌─▶ store    (durable)
//!          ├─▶ actor ─ plan ────┤
//! agent ───┘     ▲              ├─▶ followers (visible, after that)
//!                └── agent ◀────┘
//! ```
//!
//! | idea | module |
//! |---|---|
//! | who answers requests, and which sessions are open | [`engine`] |
//! | one open session | `actor` |
//! | a session held open to be written | [`shelf`] |
//! | events, numbered, for whoever follows | `feed` |
//! | a connection to an agent, kept | `connection` |
//! | what need not be asked again | [`rules`] |
//! | which agents there are | [`installed()`] |
//! | programs that are told what happens | [`hooks`] |
//! | texts that an agent writes for us | `summary` |
//! | what can be set | [`settings`] |
//! | sessions as they are seen | `view` |

mod actor;
mod connection;
pub mod engine;
mod failure;
mod feed;
pub mod hooks;
pub mod installed;
pub mod rules;
pub mod settings;
pub mod shelf;
mod summary;
mod view;

pub use engine::{Engine, Parts};
pub use hooks::{Hook, HookEvent, Run};
pub use installed::installed;
pub use rules::RuleBook;
pub use settings::Settings;
pub use shelf::{Book, MemoryShelf, Shelf};
