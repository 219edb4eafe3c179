//! `[target]` and `[control]`: which database, how to reach it, and who logs in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toml_edit::Item;

use crate::session::FaultKind;

use super::mistakes::Objection;
use super::section::Section;
use super::value::{choice, count, flag, identifier, number, text, time, title};
use super::{
    Control, Mssql, MssqlLogin, MysqlDriver, PasswordSource, ServiceDistribution, Simulated, Target, TargetKind, Tls,
};

const KINDS: [(&str, TargetKind); 4] = [
    ("mysql", TargetKind::Mysql),
    ("mssql", TargetKind::Mssql),
    ("sqlite", TargetKind::Sqlite),
    ("simulated", TargetKind::Simulated),
];

const MYSQL_TLS: [(&str, Tls); 4] =
    [("disabled", Tls::Disabled), ("preferred", Tls::Preferred), ("required", Tls::Required), ("verify", Tls::Verify)];
const NOT_MYSQL_TLS: [(&str, &str); 2] = [
    ("login-only", "it belongs to SQL Server: write \"preferred\" or \"required\""),
    ("strict", "it belongs to SQL Server: write \"required\" or \"verify\""),
];
const MSSQL_TLS: [(&str, Tls); 5] = [
    ("disabled", Tls::Disabled),
    ("login-only", Tls::LoginOnly),
    ("required", Tls::Required),
    ("verify", Tls::Verify),
    ("strict", Tls::Strict),
];
const NOT_MSSQL_TLS: [(&str, &str); 1] =
    [("preferred", "SQL Server's clients do not fall back: write \"required\", \"login-only\" or \"disabled\"")];
const ANY_TLS: [(&str, Tls); 6] = [
    ("disabled", Tls::Disabled),
    ("preferred", Tls::Preferred),
    ("login-only", Tls::LoginOnly),
    ("required", Tls::Required),
    ("verify", Tls::Verify),
    ("strict", Tls::Strict),
];

const LOGINS: [(&str, MssqlLogin); 2] = [("sql", MssqlLogin::Sql), ("entra-token", MssqlLogin::EntraToken)];
const OTHER_LOGINS: [(&str, &str); 2] = [
    (
        "windows",
        "Windows logins (NTLM, Kerberos) cannot be made here: write \"sql\" and create a SQL login, or \"entra-token\"",
    ),
    ("entra", "no interactive logins here: write \"entra-token\" and let password name an access token"),
];

const NETWORK_KEYS: [&str; 12] = [
    "host",
    "port",
    "socket",
    "database",
    "user",
    "password",
    "tls",
    "ca_file",
    "server_name",
    "client_cert",
    "client_key",
    "driver",
];
const MYSQL_KEYS: [&str; 4] = ["socket", "client_cert", "client_key", "driver"];
const MSSQL_KEYS: [&str; 5] = ["instance", "login", "trust_server_certificate", "read_only_intent", "packet_size"];

const DRIVERS: [(&str, MysqlDriver); 2] = [("native", MysqlDriver::Native), ("mysql_async", MysqlDriver::MysqlAsync)];

const LOCALHOST: &str = "127.0.0.1";
const MYSQL_PORT: u32 = 3306;
const MSSQL_PORT: u32 = 1433;
/// What TDS allows. [MS-TDS 2.2.6.4]
const PACKET_SIZES: std::ops::RangeInclusive<u32> = 512..=32_767;
/// What SQL Server takes where every packet is encrypted.
const TLS_PACKET_SIZE: u32 = 16_383;
const DEADLINE: Duration = Duration::from_secs(30);
const SERVICE_TIME: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Reads `[target]`. None when it is not one that this version drives; that has been reported then.
pub(super) fn target(root: &Section<'_>) -> Option<Target> {
    root.demand("target", "write [target] with kind = \"mysql\", \"mssql\", \"sqlite\" or \"simulated\"");
    let section = root.section("target");
    if !section.exists() {
        return None;
    }
    let remedy = "write kind = \"mysql\", \"mssql\", \"sqlite\" or \"simulated\"";
    let kind = section.required("kind", remedy, choice(&KINDS, &[]))?;
    let mut target = Target {
        kind,
        host: None,
        port: MYSQL_PORT as u16,
        socket: None,
        path: None,
        database: None,
        user: None,
        password_source: None,
        password: None,
        tls: Tls::Preferred,
        ca_file: None,
        server_name: None,
        client_cert: None,
        client_key: None,
        driver: MysqlDriver::default(),
        mssql: Mssql::default(),
        deadline: section.value("deadline", time(Duration::from_millis(1)..=24 * HOUR)).unwrap_or(DEADLINE),
        simulated: Arc::new(Simulated {
            service_time: SERVICE_TIME,
            distribution: ServiceDistribution::Constant,
            faults: vec![],
        }),
    };
    match kind {
        TargetKind::Mysql => {
            network(&section, &mut target);
            section.demand("database", "write the database that holds the tables, for example database = \"sbtest\"");
            section.demand("user", "write the login, for example user = \"bench\"");
            refuse(&section, &["path"], "only SQLite has a file", "remove it, or write kind = \"sqlite\"");
            let what = "only a simulated database has it";
            refuse(&section, &["service_time", "faults"], what, "remove it, or write kind = \"simulated\"");
            refuse(&section, &MSSQL_KEYS, "only SQL Server has it", "remove it, or write kind = \"mssql\"");
        }
        TargetKind::Mssql => {
            network(&section, &mut target);
            section.demand("database", "write the database that holds the tables, for example database = \"tpcc\"");
            if target.mssql.login == MssqlLogin::Sql {
                section.demand("user", "write the login, for example user = \"bench\"");
            } else {
                section
                    .demand("password", "write where the access token is, for example password = { env = \"TOKEN\" }");
            }
            if let Some(user) = &target.user {
                refuse_windows_login(&section, user);
            }
            if let Some(host) = &target.host {
                refuse_server_spelling(&section, host);
            }
            refuse(&section, &["path"], "only SQLite has a file", "remove it, or write kind = \"sqlite\"");
            let what = "only a simulated database has it";
            refuse(&section, &["service_time", "faults"], what, "remove it, or write kind = \"simulated\"");
            refuse(&section, &MYSQL_KEYS, "SQL Server does not have it", "remove it, or write kind = \"mysql\"");
        }
        TargetKind::Sqlite => {
            target.path = section.required("path", "write the file, for example path = \"bench.db\"", path);
            refuse(&section, &NETWORK_KEYS, "SQLite has no server and no login", "remove it");
            refuse(&section, &MSSQL_KEYS, "SQLite has no server and no login", "remove it");
            let what = "only a simulated database has it";
            refuse(&section, &["service_time", "faults"], what, "remove it, or write kind = \"simulated\"");
        }
        // The keys of the others are checked and left unused, so that a study can be rehearsed with
        // `--set target.kind=simulated` and nothing else changed.
        TargetKind::Simulated => {
            network(&section, &mut target);
            target.path = section.value("path", path);
            target.simulated = Arc::new(simulated(&section));
        }
    }
    section.finish();
    Some(target)
}

fn refuse(section: &Section<'_>, keys: &[&'static str], what: &str, remedy: &str) {
    for key in keys {
        section.refuse(key, what, remedy);
    }
}

/// A server reached over a network or a socket.
fn network(section: &Section<'_>, target: &mut Target) {
    target.socket = section.value("socket", path);
    target.host = section.value("host", host);
    let usual = if target.kind == TargetKind::Mssql { MSSQL_PORT } else { MYSQL_PORT };
    let port = section.value("port", count(1..=65_535)).unwrap_or(usual);
    target.port = u16::try_from(port).expect("checked to be at most 65535");
    for key in ["host", "port"] {
        if section.has("socket") && section.has(key) {
            let what = "socket is there too, and a connection takes one way";
            section.object(key, Objection::new(what, "remove it, or remove socket"));
        }
    }
    if !section.has("socket") && !section.has("host") && target.kind.is_server() {
        target.host = Some(LOCALHOST.to_owned());
    }
    target.database = section.value("database", title);
    target.user = section.value("user", title);
    target.password_source = password(section);
    target.driver = section.value("driver", choice(&DRIVERS, &[])).unwrap_or_default();
    target.mssql = mssql(section);
    encryption(section, target);
}

fn mssql(section: &Section<'_>) -> Mssql {
    if section.has("instance") && section.has("port") {
        let what = "port is there too, and an instance's port is asked of the host's SQL Server Browser";
        section.object("instance", Objection::new(what, "remove it, or remove port"));
    }
    let login = section.value("login", choice(&LOGINS, &OTHER_LOGINS)).unwrap_or_default();
    if login == MssqlLogin::EntraToken && section.has("user") {
        let what = "an access token says by itself whose it is";
        section.object("user", Objection::new(what, "remove it, or write login = \"sql\""));
    }
    let packet_size = section.value("packet_size", count(PACKET_SIZES));
    let all_encrypted = !matches!(section.item("tls").and_then(Item::as_str), Some("disabled" | "login-only"));
    if packet_size.is_some_and(|size| size > TLS_PACKET_SIZE) && all_encrypted {
        let what = format!("SQL Server takes at most {TLS_PACKET_SIZE} under TLS");
        section.object("packet_size", Objection::new(what, format!("write packet_size = {TLS_PACKET_SIZE}")));
    }
    Mssql {
        instance: section.value("instance", title),
        login,
        trust_server_certificate: section.value("trust_server_certificate", flag).unwrap_or(false),
        read_only_intent: section.value("read_only_intent", flag).unwrap_or(false),
        packet_size,
    }
}

/// What stands where in SQL Server's own spellings of a server: `host\instance`, `host,port`.
fn refuse_server_spelling(section: &Section<'_>, host: &str) {
    if let Some((name, instance)) = host.split_once('\\') {
        let remedy = format!("write host = \"{name}\" and instance = \"{instance}\"");
        section.object("host", Objection::new("has an instance in it", remedy));
    } else if let Some((name, port)) = host.split_once(',') {
        let remedy = format!("write host = \"{name}\" and port = {}", port.trim());
        section.object("host", Objection::new("has a port in it", remedy));
    }
}

/// A name with a backslash in it is a Windows login.
fn refuse_windows_login(section: &Section<'_>, user: &str) {
    if user.contains('\\') {
        let what = "is a Windows login, which (NTLM, Kerberos) cannot be made here";
        section.object("user", Objection::new(what, "create a SQL login on the server and write its name"));
    }
}

fn encryption(section: &Section<'_>, target: &mut Target) {
    let (levels, usual) = match target.kind {
        TargetKind::Mssql => (choice(&MSSQL_TLS, &NOT_MSSQL_TLS), Tls::Required),
        TargetKind::Mysql => (choice(&MYSQL_TLS, &NOT_MYSQL_TLS), Tls::Preferred),
        TargetKind::Sqlite | TargetKind::Simulated => (choice(&ANY_TLS, &[]), Tls::Preferred),
    };
    target.tls = section.value("tls", levels).unwrap_or(usual);
    target.ca_file = section.value("ca_file", path);
    target.server_name = section.value("server_name", title);
    target.client_cert = section.value("client_cert", path);
    target.client_key = section.value("client_key", path);
    // SQL Server has no socket at all, which has been said.
    let has_socket = section.has("socket") && target.kind != TargetKind::Mssql;
    if has_socket && matches!(target.tls, Tls::Required | Tls::Verify) {
        let what = "a unix socket never leaves the machine and is not encrypted";
        section.object("tls", Objection::new(what, "remove tls, or write host instead of socket"));
    }
    for key in ["ca_file", "server_name"] {
        if section.has(key) && !verifies(target) {
            let what = if target.mssql.trust_server_certificate {
                "nothing is verified against it with trust_server_certificate = true"
            } else {
                "nothing is verified against it unless tls = \"verify\""
            };
            section.object(key, Objection::new(what, "write tls = \"verify\", or remove it"));
        }
    }
    if target.mssql.trust_server_certificate && target.tls == Tls::Disabled {
        let what = "there is no certificate without TLS";
        section.object("trust_server_certificate", Objection::new(what, "remove it, or write tls = \"required\""));
    }
    if target.mssql.login == MssqlLogin::EntraToken && target.tls == Tls::Disabled {
        let what = "whoever listens on the wire could use the access token";
        section.object("tls", Objection::new(what, "remove it, or write tls = \"required\""));
    }
    if target.mssql.trust_server_certificate && matches!(target.tls, Tls::Verify | Tls::Strict) {
        let what = "tls says that the certificate is verified";
        let remedy = "remove it and name the authority with ca_file, or write tls = \"required\"";
        section.object("trust_server_certificate", Objection::new(what, remedy));
    }
    for (key, other) in [("client_cert", "client_key"), ("client_key", "client_cert")] {
        if section.has(key) && !section.has(other) {
            let what = format!("{other} is missing beside it");
            section.object(key, Objection::new(what, format!("write {other} too, or remove {key}")));
        }
    }
    if section.has("client_cert") && target.tls == Tls::Disabled {
        let what = "is never shown when tls = \"disabled\"";
        section.object("client_cert", Objection::new(what, "write tls = \"required\", or remove it"));
    }
}

/// Whether anybody looks at the server's certificate.
fn verifies(target: &Target) -> bool {
    match target.tls {
        Tls::Disabled | Tls::Preferred => false,
        Tls::Verify | Tls::Strict => true,
        Tls::LoginOnly | Tls::Required => target.kind == TargetKind::Mssql && !target.mssql.trust_server_certificate,
    }
}

fn host(item: &Item) -> Result<String, Objection> {
    let host = text(item)?;
    let odd = host.contains(|c: char| c.is_whitespace() || c == '/' || c == '@');
    match host.split_once(':') {
        Some((name, port)) if !port.contains(':') && !odd => {
            Err(Objection::new("has a port in it", format!("write host = \"{name}\" and port = {port}")))
        }
        _ if odd => Err(Objection::new("is not a host", "write a name or an address alone, for example \"db1\"")),
        _ => Ok(host),
    }
}

fn path(item: &Item) -> Result<PathBuf, Objection> {
    text(item).map(PathBuf::from)
}

/// Where a password comes from. The text of a password that stands in the study is never repeated.
fn password(section: &Section<'_>) -> Option<PasswordSource> {
    let remedy = "write password = { env = \"VUFLEET_PASSWORD\" } or { file = \"/path/to/password\" }";
    let item = section.item("password")?;
    if !item.is_table_like() {
        section.object("password", Objection::new("a password does not belong in a study", remedy));
        return None;
    }
    let source = section.section("password");
    let variable = source.value("env", |item| {
        identifier(item).map_err(|_| Objection::new("is not the name of an environment variable", remedy))
    });
    let file = source.value("file", path);
    if (source.has("env") && source.has("file")) || source.entries().next().is_none() {
        source.object("", Objection::new("needs env or file, one of them", remedy));
    }
    source.finish();
    variable.map(PasswordSource::Env).or(file.map(PasswordSource::File))
}

/// Reads `[control]`, which may be absent.
pub(super) fn control(root: &Section<'_>, target: Option<&Target>) -> Option<Control> {
    let section = root.section("control");
    if !section.exists() {
        return None;
    }
    if target.is_some_and(|target| target.kind == TargetKind::Sqlite) {
        section.object("", Objection::new("SQLite has no logins", "remove [control]"));
    }
    let user =
        section.required("user", "write the login that may change and read settings, or remove [control]", title);
    if let (Some(user), Some(TargetKind::Mssql)) = (&user, target.map(|target| target.kind)) {
        refuse_windows_login(&section, user);
    }
    let password_source = password(&section);
    let database = section.value("database", title);
    section.finish();
    user.map(|user| Control { user, password_source, password: None, database })
}

fn simulated(section: &Section<'_>) -> Simulated {
    let times = time(Duration::ZERO..=HOUR);
    let (service_time, distribution) = if section.item("service_time").is_some_and(Item::is_table_like) {
        let service = section.section("service_time");
        let mean = service.required("mean", "write the mean, for example mean = \"2ms\"", times);
        let distribution = service.value("distribution", choice(&SERVICE_DISTRIBUTIONS, &[]));
        service.finish();
        (mean, distribution)
    } else {
        (section.value("service_time", times), None)
    };
    Simulated {
        service_time: service_time.unwrap_or(SERVICE_TIME),
        distribution: distribution.unwrap_or(ServiceDistribution::Constant),
        faults: faults(section),
    }
}

const SERVICE_DISTRIBUTIONS: [(&str, ServiceDistribution); 4] = [
    ("constant", ServiceDistribution::Constant),
    ("exponential", ServiceDistribution::Exponential),
    ("uniform", ServiceDistribution::Uniform),
    ("lognormal", ServiceDistribution::Lognormal),
];

fn faults(section: &Section<'_>) -> Vec<(FaultKind, f64)> {
    let faults = section.section("faults");
    let mut found = Vec::new();
    for kind in FaultKind::ALL {
        found.extend(faults.value(kind.name(), number(0.0..=1.0)).map(|probability| (kind, probability)));
    }
    let sum: f64 = found.iter().map(|(_, probability)| probability).sum();
    if sum > 1.0 + 1e-9 {
        faults.object("", Objection::new(format!("the probabilities add up to {sum}"), "write at most 1 in all"));
    }
    faults.finish();
    found
}
