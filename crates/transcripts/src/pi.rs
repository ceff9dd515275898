//! Sessions of pi and oh-my-pi.
