//! Opening a connection exactly as the study says.
//!
//! What all sessions of a target share (the client's options with the TLS settings read from files, whether the server
//! has TLS at all, its version) is kept once a process, so that ten thousand sessions neither read the certificates nor
//! ask the same question ten thousand times. It is forgotten when a connection fails, so that a repaired file counts.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{ClientIdentity, Conn, DriverError, Error, IoError, Opts, OptsBuilder, SslOpts};
use secrecy::ExposeSecret;
use vufleet_scenarios::session::{Fault, FaultKind};
use vufleet_scenarios::study::{Target, Tls};

use crate::session::mysql::{LoginError, ServerError, refused, silent};

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
            Err(refused(target, login_error(error)))
        }
        Err(_) => Err(silent(target, CONNECT_LIMIT)),
    }
}

fn login_error(error: Error) -> LoginError {
    match error {
        Error::Server(error) => {
            LoginError::Server(ServerError { code: error.code, state: error.state, message: error.message })
        }
        Error::Driver(DriverError::NoClientSslFlagFromServer) => LoginError::NoTls,
        Error::Io(IoError::Tls(error)) => LoginError::Tls(error.to_string()),
        // rustls reports through the socket's errors.
        Error::Io(IoError::Io(error)) if error.kind() == ErrorKind::InvalidData => LoginError::Tls(error.to_string()),
        Error::Io(IoError::Io(error)) => LoginError::Io(error),
        other => LoginError::Io(io::Error::other(other.to_string())),
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
    version: Mutex<Option<Version>>,
}

/// A version: its numbers, and the server's own words.
type Version = ((u16, u16, u16), Arc<str>);

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
        let secured =
            (!socket && target.tls != Tls::Disabled).then(|| base.clone().ssl_opts(encryption(target)).into());
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
