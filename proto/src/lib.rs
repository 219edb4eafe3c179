//! The contract between coordinator, agents and operators, generated from `vufleet/v1/fleet.proto`.
//!
//! Nothing but the contract lives here: no clocks, no retries, no defaults.

/// Messages and services of protocol version 1.
pub mod v1 {
    #![allow(missing_docs, clippy::all)]
    tonic::include_proto!("vufleet.v1");
}

/// Version of this contract. A coordinator refuses agents and operators of any other.
pub const PROTOCOL: u32 = 1;

/// Largest message either side accepts. An interval of 100 transaction kinds stays below a tenth of it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
