//! Cancelling what runs on other threads or as processes.

use tokio::sync::watch;

/// Clones share one state.
#[derive(Clone, Debug)]
pub(crate) struct Cancel(watch::Sender<bool>);

impl Cancel {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn cancel(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is cancelled.
    pub(crate) async fn cancelled(&self) {
        // The sender is in `self`, so this does not fail.
        let _ = self.0.subscribe().wait_for(|is_cancelled| *is_cancelled).await;
    }
}
