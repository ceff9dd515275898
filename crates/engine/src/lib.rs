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
//! | who answers requests | [`engine`] |
//! | the way to each open session | `open_sessions` |
//! | one open session | `actor` |
//! | a session held open to be written | [`shelf`] |
//! | events, numbered, for whoever follows | `feed` |
//! | a connection to an agent, kept | `connection` |
//! | which agent sessions are open | `agent_sessions` |
//! | connected agents with nothing to do | `idle_agents` |
//! | what a crashed engine has left running | `leftovers` |
//! | what need not be asked again | [`rules`] |
//! | which agents there are | [`installed()`] |
//! | the environment of agents and hooks | `environment` |
//! | programs that are told what happens | [`hooks`] |
//! | texts that an agent writes for us | `summary` |
//! | what can be set | [`settings`] |
//! | what agents' own transcripts have | [`Transcripts`] |
//! | with what a conversation begins | `usual` |
//! | sessions as they are seen | `view` |
//! | images that come with a prompt | `images` |
//! | requests as the log tells them | `told` |
//! | in which folders agents are at work | `workplaces` |

mod actor;
mod agent_sessions;
mod blocking;
mod connection;
pub mod engine;
mod environment;
mod failure;
mod feed;
pub mod hooks;
mod idle_agents;
mod images;
pub mod installed;
mod leftovers;
mod open_sessions;
pub mod rules;
pub mod settings;
pub mod shelf;
mod summary;
mod told;
mod transcripts;
mod usual;
mod view;
mod workplaces;

pub use engine::{Engine, Parts};
pub use hooks::{Hook, HookEvent, Run, hook_events};
pub use installed::installed;
pub use offshoot_agents::process;
pub use rules::RuleBook;
pub use settings::{Settings, SettingsSource};
pub use shelf::{Book, Glance, MemoryShelf, Shelf};
pub use transcripts::Transcripts;
