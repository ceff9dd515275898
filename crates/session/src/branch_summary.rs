//! What is left behind when a head moves, prepared for a summary.
