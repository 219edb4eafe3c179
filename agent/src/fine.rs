//! A clock finer than the runtime's: placeholder.
