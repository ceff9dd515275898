//! Making a long path short.
