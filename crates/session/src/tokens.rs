//! Estimates of tokens.
