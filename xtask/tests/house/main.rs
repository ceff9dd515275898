//! Rules of the whole house, checked: which crate knows which, what is absent from the sources, who writes sessions, that
//! tests have deadlines, on whose terms we use what others wrote, and that ARCHITECTURE.md and docs/requirements.md tell the
//! same.

mod architecture;
mod arrows;
mod deadlines;
mod licences;
mod metadata;
mod purity;
mod requirements;
mod write_path;
