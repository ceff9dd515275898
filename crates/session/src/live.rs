//! The reply that is being streamed.
