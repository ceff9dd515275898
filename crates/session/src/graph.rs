//! Sessions among each other: children, roots, the tree of sessions.
