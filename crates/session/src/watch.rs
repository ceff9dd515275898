//! Hears how far a long piece of work has come, so that somebody can be told. The work does not depend on it.

use std::fmt;
use std::sync::Arc;

#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl Watch {
    /// Calls with so many bytes more, each time some are done.
    pub fn by(hear: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    pub fn nobody() -> Self {
        Self(None)
    }

    pub fn passed(&self, bytes: usize) {
        if let Some(hear) = &self.0 {
            hear(bytes as u64);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(somebody)" } else { "Watch(nobody)" })
    }
}
