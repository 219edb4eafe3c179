//! What this host allows: placeholder.
