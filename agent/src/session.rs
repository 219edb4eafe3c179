//! Drivers: placeholder.
