//! Why a target could not be reached, and what to do about it.

use super::Finding;
use crate::study::{Target, TargetKind};

/// What an agent's failed connection means. `error` is the database's, the client's or the system's own words.
pub fn unreachable_target(agent: &str, target: &Target, error: &str) -> Finding {
    let what = format!("agent {agent} cannot open a session on {}: {error}", place(target));
    Finding::fatal(what, remedy(target, &error.to_ascii_lowercase()))
}

fn place(target: &Target) -> String {
    match (target.kind, &target.socket, &target.path, &target.host) {
        (TargetKind::Sqlite, _, Some(path), _) => path.display().to_string(),
        (TargetKind::Mysql, Some(socket), _, _) => format!("socket {}", socket.display()),
        (TargetKind::Mysql, None, _, Some(host)) => format!("{host}:{}", target.port),
        (kind, ..) => format!("the {} target", kind.name()),
    }
}

fn remedy(target: &Target, error: &str) -> String {
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    let user = target.user.as_deref().unwrap_or("none");
    let database = target.database.as_deref().unwrap_or("none");
    if target.kind == TargetKind::Sqlite {
        return "check [target] path: its directory must exist and be writable for the agent".to_owned();
    }
    if says(&["access denied for user"]) && says(&["to database"]) {
        format!("GRANT ALL ON {database}.* to user {user}")
    } else if says(&["access denied", "(1045)"]) {
        format!("check user {user} and its password where [target] takes it from, and from which hosts it may connect")
    } else if says(&["unknown database"]) {
        format!("CREATE DATABASE {database}, or correct [target] database")
    } else if says(&["too many connections", "max_user_connections"]) {
        "raise max_connections or the account's limit, or end other clients".to_owned()
    } else if says(&["is blocked because", "is not allowed to connect"]) {
        format!("allow this host in the account of {user}, and FLUSH HOSTS where it was blocked")
    } else if says(&["tls", "ssl", "certificate"]) {
        "check [target] tls, ca_file and server_name against what the server offers".to_owned()
    } else if says(&["lookup", "resolve", "name or service", "no address"]) {
        "correct [target] host, or the name service of the agent's host".to_owned()
    } else if target.socket.is_some() {
        "check [target] socket: the server must run on the agent's host and listen there".to_owned()
    } else {
        "check that the server runs, [target] host and port, the server's bind-address and firewalls between".to_owned()
    }
}
