//! Messages as text for a model.
