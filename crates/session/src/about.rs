//! What a list of sessions says about each.
