//! Two copies of a session brought together.
