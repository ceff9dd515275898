//! Where work that may block runs.

use tokio::task::{JoinError, spawn_blocking};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    /// On a thread of its own, while others are served.
    OnThread,
    /// At once. For work that takes less time than starting a thread, where there is only one caller.
    Inline,
}

impl Blocking {
    pub(crate) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        match self {
            Self::OnThread => spawn_blocking(work).await,
            Self::Inline => Ok(work()),
        }
    }
}
