//! Who is who on the wire between vufleet's processes: the lab's authority, certificates that say what their holder is, and TLS
//! for both ends of a connection.
//!
//! One provider of cryptography (rustls with aws-lc-rs), one trust anchor (the lab's own authority, never the system's), and
//! one rule for plaintext: loopback, or `--insecure` spelled out. What a peer may do once it is known is decided where it is
//! done, not here.

pub mod address;
pub mod authority;
pub mod certificate;
pub mod client;
pub mod credentials;
pub mod files;
pub mod host;
pub mod identity;
pub mod quiet;
mod reason;
pub mod server;
mod stream;
pub mod validity;
mod verify;
