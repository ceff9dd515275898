//! Rules of the whole house, checked: which crate knows which, what is absent from the sources, who writes sessions, that
//! tests have deadlines, on whose terms we use what others wrote, and that ARCHITECTURE.md tells the same.

mod architecture;
mod arrows;
mod deadlines;
mod licences;
mod metadata;
mod purity;
mod write_path;
