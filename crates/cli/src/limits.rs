//! Limits of the process that would end it without an error message.

use rustix::process::{Resource, Signal, getrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;
use crate::{talk, words};

/// Standard streams, a session with its lock and blobs, the catalog, the connection to the engine and what waits for
/// signals need fewer.
const LEAST_DESCRIPTORS: u64 = 24;

/// Refuses to start with too few file descriptors, and turns writing past a file size limit into an error of the write.
pub(crate) fn prepare() -> Result<(), Failure> {
    if let Some(few) = getrlimit(Resource::Nofile).current.filter(|few| *few < LEAST_DESCRIPTORS) {
        let failure = Failure::failed(words::too_few_descriptors(few));
        return Err(failure.hint(words::too_few_descriptors_hint(LEAST_DESCRIPTORS)));
    }
    if getrlimit(Resource::Fsize).current.is_none() {
        return Ok(());
    }
    let runtime = talk::runtime()?;
    let _inside = runtime.enter();
    // A handler takes the place of the default action for the rest of the process. Programs that we start have their own.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))
        .map(drop)
        .map_err(|error| Failure::failed(words::talking::cannot_wait(&error)))
}
