//! The contract between coordinator, agents and operators, generated from `vufleet/v1/fleet.proto`.
//!
//! Nothing but the contract lives here, and what each side of a call says of itself ([`peer`]): no clocks, no retries, no defaults.

pub mod peer;

use secrecy::zeroize::Zeroize;

/// Messages and services of protocol version 4.
pub mod v1 {
    #![allow(missing_docs, clippy::all)]
    tonic::include_proto!("vufleet.v1");
}

impl std::fmt::Debug for v1::Secrets {
    /// Says which passwords there are, never what they are: whole messages end up in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = |password: &Option<String>| password.as_ref().map(|_| "***");
        f.debug_struct("Secrets")
            .field("password", &told(&self.password))
            .field("control_password", &told(&self.control_password))
            .finish()
    }
}

impl Drop for v1::Secrets {
    /// Overwrites them. Buffers that messages are encoded into, and decoded from, are the libraries' and are not overwritten.
    fn drop(&mut self) {
        self.password.zeroize();
        self.control_password.zeroize();
    }
}

/// Version of this contract. A coordinator refuses agents and operators of any other.
pub const PROTOCOL: u32 = 4;

/// Metadata of every call: the caller's [`PROTOCOL`], in decimal.
pub const PROTOCOL_KEY: &str = "vufleet-protocol";

/// Metadata of every call: the caller's version, for people.
pub const VERSION_KEY: &str = "vufleet-version";

/// Largest message either side accepts. An interval of 100 transaction kinds stays below a tenth of it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::v1;

    #[test]
    fn printed_messages_hold_no_password() {
        let secrets = Some(v1::Secrets { password: Some("hunter2".to_owned()), control_password: None });
        let printed = format!("{:?}", v1::Control { secrets, ..Default::default() });
        assert!(!printed.contains("hunter2") && printed.contains("***"), "{printed}");
    }
}
