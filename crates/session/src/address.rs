//! Naming a point of the tree.
