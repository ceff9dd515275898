//! Which agents there are on this machine.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::Agent;
use offshoot_agents::built_in::{BuiltIn, NAME, Pace};

/// Answers where nobody has chosen an agent: it is always there.
pub const USUAL: &str = NAME;

/// The built-in agent pauses so long after each word, for whoever watches it.
pub fn installed(pause: Option<Duration>) -> Vec<Arc<dyn Agent>> {
    let pace = pause.map_or(Pace::AtOnce, Pace::Every);
    vec![Arc::new(BuiltIn { pace })]
}
