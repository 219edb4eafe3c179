//! Real databases for vufleet's own tests and benchmarks.
