//! Why a server did not let us in, and what helps: one sentence each, never with the password.
//!
//! What it will refuse again is [`FaultKind::Refused`]. A server that could not be reached, or did not answer, may be
//! starting or overrun: that connection is [lost](FaultKind::ConnectionLost).

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use vufleet_scenarios::session::{Fault, FaultKind};
use vufleet_scenarios::study::{Target, Tls};

use super::answer::ServerError;
use super::fault;

/// What went wrong between the first packet and the server's OK.
#[derive(Debug)]
pub(in crate::session) enum LoginError {
    /// The server said no.
    Server(ServerError),
    /// Encryption was asked for, and the server has none.
    NoTls,
    /// Encryption failed.
    Tls(String),
    /// The target names no server.
    Nowhere,
    /// The server wants another proof of the password than we can give.
    Method(String),
    /// The password cannot be sent without TLS.
    LongPassword,
    /// The network, or a server that does not speak the protocol.
    Io(io::Error),
}

impl From<io::Error> for LoginError {
    fn from(error: io::Error) -> Self {
        LoginError::Io(error)
    }
}

/// Where the server is, for sentences.
fn place(target: &Target) -> String {
    match (&target.socket, &target.host) {
        (Some(socket), _) => socket.display().to_string(),
        (None, host) => format!("{}:{}", host.as_deref().unwrap_or("?"), target.port),
    }
}

/// Why the server did not let us in, and what helps. Never mentions the password.
pub(in crate::session) fn refused(target: &Target, error: LoginError) -> Fault {
    let place = place(target);
    let sentence = match error {
        LoginError::Server(error) => return server_refused(target, &place, error),
        LoginError::NoTls => {
            format!("{place} offers no TLS; give the server a certificate, or set tls = \"preferred\" or \"disabled\"")
        }
        LoginError::Tls(reason) => unreadable(target).unwrap_or_else(|| no_tls_with(&place, &reason)),
        LoginError::Nowhere => "the target names no server; set target.host".to_owned(),
        LoginError::Method(name) => format!(
            "{place} wants user '{}' to log in by {name}, which vufleet does not know; create the login with \
             mysql_native_password, caching_sha2_password or ed25519",
            target.user.as_deref().unwrap_or("(none)")
        ),
        LoginError::LongPassword => {
            format!("the password is too long to be sent to {place} without TLS; set tls = \"required\"")
        }
        LoginError::Io(error) => return unreached(target, &place, &error),
    };
    Fault::new(FaultKind::Refused, sentence)
}

fn server_refused(target: &Target, place: &str, error: ServerError) -> Fault {
    let code = error.code;
    let user = target.user.as_deref().unwrap_or("(none)");
    let database = target.database.as_deref().unwrap_or("(none)");
    let message = match code {
        1045 | 1698 => format!(
            "user '{user}' may not log in at {place}, database '{database}': {}; check target.user and where \
             target.password comes from, or create the login with CREATE USER and GRANT",
            error.message
        ),
        1044 => format!(
            "user '{user}' has no rights on database '{database}' at {place}, or there is none of that name: {}; GRANT \
             ALL ON {database}.* to it, or correct target.database",
            error.message
        ),
        1049 => format!(
            "{place} has no database '{database}' for user '{user}'; run CREATE DATABASE {database}, or correct \
             target.database"
        ),
        1040 | 1203 | 1226 => format!(
            "{place} accepts no more connections of user '{user}': {}; raise max_connections (and the user's own \
             limits) on the server, or ask for fewer virtual users",
            error.message
        ),
        1129 | 1130 => format!(
            "{place} does not accept this host: {}; create the login '{user}' for this host, and run FLUSH HOSTS if \
             it is blocked",
            error.message
        ),
        _ => return let_in_later(prefixed(place, fault::of_server(error))),
    };
    Fault::with_code(FaultKind::Refused, code.into(), message)
}

/// A server that is shutting down is one that will be there again; anything else it says it will say again.
fn let_in_later(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::ConnectionLost => fault,
        _ => Fault { kind: FaultKind::Refused, ..fault },
    }
}

fn prefixed(place: &str, fault: Fault) -> Fault {
    Fault { message: format!("{place}: {}", fault.message).into(), ..fault }
}

/// A server, or something in its place, that lets us wait.
pub(in crate::session) fn silent(target: &Target, limit: Duration) -> Fault {
    let place = place(target);
    Fault::new(
        FaultKind::ConnectionLost,
        format!(
            "{place} did not answer within {limit:?}; check that the server is up, that target.host and target.port \
             are its own, and that no firewall is in between"
        ),
    )
}

/// A file of the TLS settings that cannot be read: the client does not say which one it was.
fn unreadable(target: &Target) -> Option<String> {
    let files = [
        ("target.ca_file", &target.ca_file),
        ("target.client_cert", &target.client_cert),
        ("target.client_key", &target.client_key),
    ];
    files.into_iter().filter(|_| target.tls != Tls::Disabled).find_map(|(key, file)| {
        let file: &Path = file.as_deref()?;
        let error = File::open(file).err()?;
        Some(format!("cannot read {key} = {}: {error}; correct the path or its permissions", file.display()))
    })
}

fn unreached(target: &Target, place: &str, error: &io::Error) -> Fault {
    if let Some(sentence) = unreadable(target) {
        return Fault::new(FaultKind::Refused, sentence);
    }
    let lost = |sentence| Fault::new(FaultKind::ConnectionLost, sentence);
    match error.kind() {
        // What answers there does not speak the protocol.
        ErrorKind::InvalidData => Fault::new(FaultKind::Refused, format!("{place}: {error}")),
        ErrorKind::UnexpectedEof => {
            lost(format!("{place} closed the connection before it had let us in; look at the server's log"))
        }
        ErrorKind::ConnectionRefused => {
            lost(format!("nothing listens at {place}; start the server, or correct target.host and target.port"))
        }
        ErrorKind::NotFound if target.socket.is_some() => {
            lost(format!("there is no socket {place}; start the server, or correct target.socket"))
        }
        _ => lost(format!("cannot reach {place}: {error}; check target.host, target.port and the network")),
    }
}

fn no_tls_with(place: &str, reason: &str) -> String {
    format!(
        "no TLS with {place}: {reason}; check target.ca_file, target.server_name and the client certificate, or set \
         tls = \"required\" to encrypt without verifying"
    )
}
