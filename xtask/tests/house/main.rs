//! Rules of the whole house, checked: which crate knows which, what is absent from the sources, and on whose
//! terms we use what others wrote.

mod arrows;
mod licences;
mod metadata;
mod purity;
