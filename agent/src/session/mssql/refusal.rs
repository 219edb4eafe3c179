//! Why a server did not let us in, and what helps: one sentence each, never with the password.
//!
//! What it will refuse again is [`FaultKind::Refused`]. A server that could not be reached, or did not answer, may be
//! starting or overrun: that connection is [lost](FaultKind::ConnectionLost).

use std::io::{self, ErrorKind};
use std::time::Duration;

use tiberius::error::Error;
use vufleet_scenarios::session::{Fault, FaultKind};
use vufleet_scenarios::study::{MssqlLogin, Target, Tls};

use super::fault;

/// Where the server is, for sentences.
pub(super) fn place(target: &Target) -> String {
    let host = target.host.as_deref().unwrap_or("?");
    match &target.mssql.instance {
        Some(instance) => format!("{host}\\{instance}"),
        None => format!("{host}:{}", target.port),
    }
}

/// The client's error between the first packet and the end of the login.
pub(super) fn refused(target: &Target, place: &str, error: Error) -> Fault {
    match error {
        Error::Server(error) => {
            let fault = fault::of_words(error.code(), error.class(), error.message());
            let words = fault.message.clone();
            server_refused(target, place, error.code(), &words, fault)
        }
        Error::Tls(reason) => no_tls(target, place, &reason),
        Error::Io { kind: ErrorKind::InvalidData | ErrorKind::InvalidInput, message } => {
            no_tls(target, place, &message)
        }
        // The only thing that is refused in this phase by the client itself, apart from what is no TDS at all.
        Error::Protocol(words) if words.contains("encryption level") => refusal(format!(
            "{place} offers no TLS; give the server a certificate, or set tls = \"login-only\" or \"disabled\""
        )),
        Error::Protocol(words) if words.contains("instance") => {
            refusal(format!("{place}: {words}; correct target.instance"))
        }
        Error::Conversion(words) => lost(format!(
            "the port of {place} cannot be found out: {words}; start the SQL Server Browser there and let UDP 1434 \
             through, or write target.port instead of target.instance"
        )),
        Error::Io { kind, message } => unreached(target, place, kind, &message),
        other => refusal(format!(
            "{place} does not speak SQL Server's protocol, or not this version of it: {other}; check target.host and \
             target.port"
        )),
    }
}

fn server_refused(target: &Target, place: &str, number: u32, words: &str, fault: Fault) -> Fault {
    let who = match (target.mssql.login, &target.user) {
        (MssqlLogin::EntraToken, _) => "the owner of the access token".to_owned(),
        (MssqlLogin::Sql, user) => format!("user '{}'", user.as_deref().unwrap_or("(none)")),
    };
    let database = target.database.as_deref().unwrap_or("(none)");
    let sentence = match number {
        18456 if target.mssql.login == MssqlLogin::EntraToken => format!(
            "{who} may not log in at {place}, database '{database}': {words}; fetch a new token (it lasts about an \
             hour) and CREATE USER .. FROM EXTERNAL PROVIDER in the database"
        ),
        18456 => format!(
            "{who} may not log in at {place}, database '{database}': {words}; check target.user and where \
             target.password comes from, or create the login with CREATE LOGIN and CREATE USER"
        ),
        18452 => format!(
            "{who} may not log in at {place}: {words}; let the server take SQL logins too (mixed mode), and create one"
        ),
        18470 => {
            format!("{who} is disabled at {place}: {words}; run ALTER LOGIN .. ENABLE, or name another target.user")
        }
        18486..=18488 => format!(
            "{who} may not log in at {place} for now: {words}; run ALTER LOGIN .. WITH PASSWORD = .. UNLOCK on the server"
        ),
        4060 | 4064 | 911 | 916 => format!(
            "{place} does not open database '{database}' for {who}: {words}; run CREATE DATABASE {database} and there \
             CREATE USER, or correct target.database"
        ),
        40615 => format!("{place} does not accept this host: {words}; add it to the server's firewall rules"),
        17809 | 17810 => format!(
            "{place} accepts no more connections: {words}; raise 'user connections' on the server, or ask for fewer \
             virtual users"
        ),
        _ => format!("{place}: {words}"),
    };
    let kind = match fault.kind {
        kind @ (FaultKind::ConnectionLost | FaultKind::Overloaded) => kind,
        _ => FaultKind::Refused,
    };
    Fault { kind, message: sentence.into(), ..fault }
}

fn no_tls(target: &Target, place: &str, reason: &str) -> Fault {
    // The client's advice names its own functions.
    let reason = reason.split(" To connect anyway").next().unwrap_or(reason);
    let insists = match target.tls {
        Tls::Disabled => ", on which the server insists",
        _ => "",
    };
    refusal(format!(
        "no TLS with {place}{insists}: {reason}; name the authority with target.ca_file and the certificate's name with \
         target.server_name, or set trust_server_certificate = true to encrypt without verifying (tls = \"strict\" \
         needs SQL Server 2022)"
    ))
}

fn unreached(target: &Target, place: &str, kind: ErrorKind, message: &str) -> Fault {
    match kind {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe if target.tls == Tls::Strict => {
            lost(format!(
                "{place} closed the connection before it had let us in; tls = \"strict\" needs SQL Server 2022 or later \
                 with a certificate: write tls = \"verify\" for an older one, and look at the server's log"
            ))
        }
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => lost(format!(
            "{place} closed the connection before it had let us in; look at the server's log, and whether it only takes \
             tls = \"strict\""
        )),
        ErrorKind::ConnectionRefused => {
            lost(format!("nothing listens at {place}; start the server, or correct target.host and target.port"))
        }
        _ => lost(format!("cannot reach {place}: {message}; check target.host, target.port and the network")),
    }
}

/// No connection to that place.
pub(super) fn unreachable(target: &Target, place: &str, error: &io::Error) -> Fault {
    unreached(target, place, error.kind(), &error.to_string())
}

/// A server, or something in its place, that lets us wait.
pub(super) fn silent(place: &str, limit: Duration) -> Fault {
    lost(format!(
        "{place} did not answer within {limit:?}; check that the server is up, that target.host and target.port are its \
         own, and that no firewall is in between"
    ))
}

/// A sentence that will be the same the next time.
pub(super) fn refusal(sentence: String) -> Fault {
    Fault::new(FaultKind::Refused, sentence)
}

fn lost(sentence: String) -> Fault {
    Fault::new(FaultKind::ConnectionLost, sentence)
}
