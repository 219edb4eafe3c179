//! TLS between the real programs: who is refused, by whom and in which words, and what strangers on the port cost.

pub mod certs;
mod clients;
mod floods;
mod issued;
mod limits;
mod own;
mod raw;
mod renewed;
mod roles;
mod servers;
