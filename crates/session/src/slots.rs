//! Versions of a prompt: slots, timelines and edit groups as a view of the tree.
