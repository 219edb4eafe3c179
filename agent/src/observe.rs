//! Observers: placeholder.
