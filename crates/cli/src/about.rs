//! What program this is, and on what it runs.

pub(crate) fn program() -> String {
    format!("offshoot {}", env!("CARGO_PKG_VERSION"))
}

/// Without the name of the machine.
pub(crate) fn system() -> String {
    let system = rustix::system::uname();
    let told = [system.sysname(), system.release(), system.machine()];
    told.map(|part| part.to_string_lossy().into_owned()).join(" ")
}
