//! What every front end speaks.
//!
//! A front end holds an `Arc<dyn Service>` and knows nothing else: the engine in the same process, or one in another
//! process behind a socket ([`frame`]). The types here are the wire: they are not the domain's, they only ever gain
//! fields, and a reader steps over fields it does not know. docs/api.md tells each of them.
//!
//! | idea | module |
//! |---|---|
//! | what can be asked for | [`request`] |
//! | what comes back | [`response`], [`error`] |
//! | what happens meanwhile | [`event`] |
//! | sessions, entries, asks as they are seen | [`views`] |
//! | both ends of it | [`service`] |
//! | a point of a session | [`point`] |
//! | what a caller hands over with its connection | [`context`] |
//! | the same as lines of a socket, and both of its ends | [`frame`], [`remote`], [`serve`] |

/// The version of this interface. Programs of equal numbers understand each other, whatever their own versions are. It is
/// counted up with every field of a request that changes what is asked for: an older engine would step over the field and do
/// something else. `hello` and `engine` mean the same in all of them, so that a newer program can always replace an older
/// engine.
pub const PROTOCOL: u32 = 3;

pub mod context;
mod elision;
pub mod error;
pub mod event;
pub mod frame;
pub mod point;
pub mod remote;
pub mod request;
pub mod response;
pub mod serve;
pub mod service;
pub mod views;

pub use context::{CallerContext, StampCounter};
pub use error::{ApiError, ErrorCode, ErrorData, FILE_SIZE_LIMIT, Hint, Needed, TurnRef};
pub use event::{Event, EventKind, TurnEnd};
pub use point::Point;
pub use request::Request;
pub use response::{Changed, Response};
pub use service::{Access, Answering, Caller, CallerId, EventStream, Following, Service};
