//! The shape of a long file of lines: the same lines, without what is long in them.
//!
//! What makes a session long are long texts, and its tree does not depend on them. [`lighten`] leaves the beginning
//! of a long text and puts a mark in the place of the rest; such a file is read by the ordinary readers, so its tree
//! is the tree of the whole file. [`Rests`] of the true line then put the rests back into an entry that was read
//! so. Readers may cut a text, trim it or join it with others: the mark goes where the rest would have gone.
//!
//! Only texts under names of what was said are touched. Those that a reader looks into are left whole: those that
//! begin like a tag, an object or a list. So is a text that has the character of the mark in it, that ends in blanks
//! which are not ASCII, or that is written with escapes nobody needs.

mod lighten;
mod marks;
mod rests;
mod shape;

pub use lighten::{lighten, lighten_first};
pub use marks::Marks;
pub use rests::Rests;
pub use shape::{Beginning, ShapeReader};
