//! A SQL Server for tests, or what speaks its protocol: none can be started here, so the environment names one.

use std::env::{self, VarError};
use std::io::Write;
use std::sync::Once;

/// Names the server: `mssql://user@host:port/database`, and `?tls=disabled` behind it where it has no certificate.
pub const SERVER: &str = "VUFLEET_TEST_MSSQL";
/// Holds the user's password.
pub const PASSWORD: &str = "VUFLEET_TEST_MSSQL_PASSWORD";

/// Where the server is, and who logs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MssqlServer {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Login; it may make and drop tables and procedures.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Database that the tests may use as they like.
    pub database: String,
    /// `target.tls` of a study.
    pub tls: String,
}

impl MssqlServer {
    /// The server that the environment names. Without one it says so, past the capture of the tests' output.
    ///
    /// # Panics
    /// When the variables are there and make no sense: a test that was asked for must not be left out.
    pub fn named() -> Option<MssqlServer> {
        static SAID: Once = Once::new();
        match env::var(SERVER) {
            Ok(url) => {
                let server =
                    parse(&url).unwrap_or_else(|| panic!("{SERVER}={url} is no mssql://user@host:port/database"));
                let password = env::var(PASSWORD).unwrap_or_else(|_| panic!("{SERVER} is set, and {PASSWORD} is not"));
                Some(MssqlServer { password, ..server })
            }
            Err(VarError::NotUnicode(_)) => panic!("{SERVER} is no UTF-8"),
            Err(VarError::NotPresent) => {
                SAID.call_once(|| {
                    let what =
                        format!("skipped: {SERVER} names no server (mssql://user@host:port/database) to run on\n");
                    // Where nobody reads, nobody is told.
                    std::io::stderr().write_all(what.as_bytes()).ok();
                });
                None
            }
        }
    }
}

fn parse(url: &str) -> Option<MssqlServer> {
    let (url, tls) = url.split_once("?tls=").unwrap_or((url, "required"));
    let (user, rest) = url.strip_prefix("mssql://")?.split_once('@')?;
    let (place, database) = rest.split_once('/')?;
    let (host, port) = place.rsplit_once(':').unwrap_or((place, "1433"));
    let parts = [user, host, database, tls];
    parts.iter().all(|part| !part.is_empty()).then_some(())?;
    Some(MssqlServer {
        host: host.to_owned(),
        port: port.parse().ok()?,
        user: user.to_owned(),
        password: String::new(),
        database: database.to_owned(),
        tls: tls.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_everything_but_the_password() {
        let server = parse("mssql://sa@db1:14333/vufleet?tls=disabled").unwrap();
        let told = (server.user.as_str(), server.host.as_str(), server.port, server.database.as_str());
        assert_eq!((told, server.tls.as_str()), (("sa", "db1", 14_333, "vufleet"), "disabled"));
        let short = parse("mssql://sa@db1/vufleet").unwrap();
        assert_eq!((short.port, short.tls.as_str()), (1433, "required"));
    }

    #[test]
    fn half_an_address_is_none() {
        for url in
            ["", "db1", "mssql://db1/x", "mssql://sa@db1", "mssql://sa@db1:x/d", "mssql://@h/d", "mysql://sa@h/d"]
        {
            assert_eq!(parse(url), None, "{url}");
        }
    }
}
