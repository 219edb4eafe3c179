//! Opening a connection exactly as the study says, and saying why it could not be opened.
//!
//! What all sessions of a target share (the client's options with the TLS settings read from files, whether the server
//! has TLS at all, its version) is kept once a process, so that ten thousand sessions neither read the certificates nor
//! ask the same question ten thousand times. It is forgotten when a connection fails, so that a repaired file counts.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{ClientIdentity, Conn, DriverError, Error, IoError, Opts, OptsBuilder, ServerError, SslOpts};
use secrecy::ExposeSecret;
use vufleet_scenarios::session::{Fault, FaultKind};
use vufleet_scenarios::study::{Target, Tls};

use super::fault::fault;

/// How long a server may take to let us in.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The largest packet the protocol knows. Told to the client, so that it does not ask the server at each connect.
const LARGEST_PACKET: usize = 1 << 30;
/// MySQL's own default, in seconds; only a pool would heed it. Told for the same reason.
const WAIT_TIMEOUT: usize = 28_800;

/// An open connection and how it was reached.
pub(super) struct Opened {
    pub conn: Conn,
    pub version: Arc<str>,
    pub route: &'static str,
}

/// Opens a connection to the target.
pub(super) async fn open(target: &Target) -> Result<Opened, Fault> {
    let endpoint = Endpoint::of(target)?;
    match tokio::time::timeout(CONNECT_LIMIT, endpoint.connect()).await {
        Ok(Ok(opened)) => Ok(opened),
        Ok(Err(error)) => {
            endpoint.forget();
            Err(refused(target, error))
        }
        Err(_) => Err(Fault::new(
            FaultKind::Refused,
            format!(
                "{} did not answer within {CONNECT_LIMIT:?}; check that the server is up, that target.host and \
                 target.port are its own, and that no firewall is in between",
                place(target)
            ),
        )),
    }
}

/// What the sessions of one target share.
struct Endpoint {
    /// Options with encryption, unless that is disabled.
    secured: Option<Opts>,
    /// Options without, unless that is forbidden.
    plain: Option<Opts>,
    /// The server turned out to have no TLS.
    no_tls: AtomicBool,
    socket: bool,
    version: Mutex<Option<((u16, u16, u16), Arc<str>)>>,
}

static ENDPOINTS: Mutex<Vec<Arc<Endpoint>>> = Mutex::new(Vec::new());

impl Endpoint {
    fn of(target: &Target) -> Result<Arc<Endpoint>, Fault> {
        let socket = target.socket.is_some();
        if socket && matches!(target.tls, Tls::Required | Tls::Verify) {
            return Err(Fault::new(
                FaultKind::Refused,
                "a unix socket has no TLS; set target.host instead of target.socket, or tls = \"disabled\"",
            ));
        }
        let base = options(target)?;
        let secured = (!socket && target.tls != Tls::Disabled)
            .then(|| base.clone().ssl_opts(encryption(target)).into());
        let plain = (socket || matches!(target.tls, Tls::Disabled | Tls::Preferred)).then(|| base.into());
        let mut endpoints = lock(&ENDPOINTS);
        let known = endpoints.iter().find(|known| known.secured == secured && known.plain == plain);
        Ok(known.map(Arc::clone).unwrap_or_else(|| {
            let endpoint = Arc::new(Endpoint {
                secured,
                plain,
                no_tls: AtomicBool::new(false),
                socket,
                version: Mutex::default(),
            });
            endpoints.push(Arc::clone(&endpoint));
            endpoint
        }))
    }

    fn forget(self: &Arc<Self>) {
        lock(&ENDPOINTS).retain(|endpoint| !Arc::ptr_eq(endpoint, self));
    }

    async fn connect(&self) -> Result<Opened, Error> {
        let (mut conn, route) = self.reach().await?;
        let version = self.version(&mut conn).await?;
        Ok(Opened { conn, version, route })
    }

    async fn reach(&self) -> Result<(Conn, &'static str), Error> {
        if let Some(secured) = &self.secured
            && !self.no_tls.load(Ordering::Relaxed)
        {
            match Conn::new(secured.clone()).await {
                Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) if self.plain.is_some() => {
                    self.no_tls.store(true, Ordering::Relaxed);
                }
                result => return result.map(|conn| (conn, "tcp, TLS")),
            }
        }
        let plain = self.plain.clone().expect("an endpoint has options with encryption, without, or both");
        let conn = Conn::new(plain).await?;
        Ok((conn, if self.socket { "unix socket" } else { "tcp, no TLS" }))
    }

    /// The version as the server tells it. The handshake has its numbers; the words are asked for once.
    async fn version(&self, conn: &mut Conn) -> Result<Arc<str>, Error> {
        let numbers = conn.server_version();
        if let Some((known, words)) = &*lock(&self.version)
            && *known == numbers
        {
            return Ok(Arc::clone(words));
        }
        let words: Option<String> = conn.query_first("SELECT VERSION()").await?;
        let words: Arc<str> = words.unwrap_or_default().into();
        *lock(&self.version) = Some((numbers, Arc::clone(&words)));
        Ok(words)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing behind these locks can be left half-done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(target: &Target) -> Result<OptsBuilder, Fault> {
    let base = OptsBuilder::default()
        .user(target.user.as_deref())
        // The client keeps the password in a plain string of its own: the protocol needs it at each connect.
        .pass(target.password.as_ref().map(ExposeSecret::expose_secret))
        .db_name(target.database.as_deref())
        .prefer_socket(false)
        .tcp_nodelay(true)
        .stmt_cache_size(0)
        .max_allowed_packet(Some(LARGEST_PACKET))
        .wait_timeout(Some(WAIT_TIMEOUT));
    match (&target.socket, &target.host) {
        (Some(socket), _) => match socket.to_str() {
            Some(socket) => Ok(base.socket(Some(socket))),
            None => Err(Fault::new(FaultKind::Refused, "target.socket is no UTF-8; choose another path")),
        },
        (None, Some(host)) => Ok(base.ip_or_hostname(host).tcp_port(target.port)),
        (None, None) => Err(Fault::new(FaultKind::Refused, "the target names no server; set target.host")),
    }
}

fn encryption(target: &Target) -> SslOpts {
    let verify = target.tls == Tls::Verify;
    let mut ssl = SslOpts::default().with_danger_accept_invalid_certs(!verify);
    if let Some(file) = &target.ca_file {
        // Who names an authority trusts that one and no other.
        ssl = ssl.with_root_certs(vec![file.clone().into()]).with_disable_built_in_roots(true);
    }
    if let Some(name) = &target.server_name {
        ssl = ssl.with_danger_tls_hostname_override(Some(name.clone()));
    }
    if let (Some(certificate), Some(key)) = (&target.client_cert, &target.client_key) {
        ssl = ssl.with_client_identity(Some(ClientIdentity::new(certificate.clone().into(), key.clone().into())));
    }
    ssl
}

/// Where the server is, for sentences.
fn place(target: &Target) -> String {
    match (&target.socket, &target.host) {
        (Some(socket), _) => socket.display().to_string(),
        (None, host) => format!("{}:{}", host.as_deref().unwrap_or("?"), target.port),
    }
}

/// Why the server did not let us in, and what helps. Never mentions the password.
fn refused(target: &Target, error: Error) -> Fault {
    let place = place(target);
    match error {
        Error::Server(error) => server_refused(target, &place, error),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => Fault::new(
            FaultKind::Refused,
            format!("{place} offers no TLS; give the server a certificate, or set tls = \"preferred\" or \"disabled\""),
        ),
        error => match unreadable(target) {
            Some(sentence) => Fault::new(FaultKind::Refused, sentence),
            None => Fault::new(FaultKind::Refused, unreached(target, &place, error)),
        },
    }
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
            "user '{user}' has no rights on database '{database}' at {place}: {}; GRANT ALL ON {database}.* to it",
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
        _ => return Fault { kind: FaultKind::Refused, ..prefixed(place, fault(Error::Server(error))) },
    };
    Fault::with_code(FaultKind::Refused, code.into(), message)
}

fn prefixed(place: &str, fault: Fault) -> Fault {
    Fault { message: format!("{place}: {}", fault.message).into(), ..fault }
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

fn unreached(target: &Target, place: &str, error: Error) -> String {
    let io = match error {
        Error::Io(IoError::Io(io)) => io,
        Error::Io(IoError::Tls(error)) => return no_tls_with(place, &error.to_string()),
        other => return format!("{place}: {other}"),
    };
    match io.kind() {
        ErrorKind::ConnectionRefused => {
            format!("nothing listens at {place}; start the server, or correct target.host and target.port")
        }
        ErrorKind::NotFound if target.socket.is_some() => {
            format!("there is no socket {place}; start the server, or correct target.socket")
        }
        // rustls reports through the socket's errors.
        ErrorKind::InvalidData if target.tls != Tls::Disabled => no_tls_with(place, &io.to_string()),
        _ => format!("cannot reach {place}: {io}; check target.host, target.port and the network"),
    }
}

fn no_tls_with(place: &str, reason: &str) -> String {
    format!(
        "no TLS with {place}: {reason}; check target.ca_file, target.server_name and the client certificate, or set \
         tls = \"required\" to encrypt without verifying"
    )
}
