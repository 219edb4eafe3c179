//! From a target to a connection that takes commands.
//!
//! <https://mariadb.com/kb/en/connection/>,
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mysql_async::consts::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::MySerialize;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{KeepAlive, TcpKeepIdle};
use secrecy::ExposeSecret;
use vufleet_scenarios::session::{Fault, FaultKind};
use vufleet_scenarios::study::{Target, Tls};

use super::answer::{Dialogue, ServerError, Single};
use super::channel::{Channel, ERROR, malformed};
use super::codec::Cursor;
use super::refusal::{LoginError, refused, silent};
use super::stream::Stream;
use super::tls;
use crate::event_loop::Socket;
use crate::fine;

/// How long a server may take to let us in.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The largest packet that we take.
const LARGEST_PACKET: u32 = 1 << 30;
/// Collation of everything that is sent: utf8mb4_general_ci, known to every server since MySQL 5.5.
const COLLATION: u8 = 45;
/// Bytes of the server's random challenge.
const NONCE: usize = 20;
/// Of ed25519's.
const LONG_NONCE: usize = 32;
/// Longest password that fits the block of the smallest key in use (2048 bits, OAEP), with the zero behind it.
const LONGEST_PASSWORD: usize = 214;
/// After how long an idle connection is asked whether it is still there: less than what firewalls and load balancers allow.
const KEEP_ALIVE_SECONDS: u32 = 60;

/// First byte of the server's packets during login.
const OK: u8 = 0x00;
const MORE_DATA: u8 = 0x01;
const SWITCH: u8 = 0xfe;
/// What caching_sha2_password says next: the password was in the server's cache, or is needed in full.
const CACHED: u8 = 3;
const IN_FULL: u8 = 4;
/// Asks for the key that a password is encrypted with where the connection is not.
const PUBLIC_KEY: u8 = 2;

/// An open connection and how it was reached.
pub(super) struct Opened {
    pub(super) channel: Channel,
    pub(super) dialogue: Dialogue,
    pub(super) id: u32,
    pub(super) version: Arc<str>,
    pub(super) route: &'static str,
}

/// Opens a connection to the target.
pub(super) async fn open(target: &Target) -> Result<Opened, Fault> {
    if target.socket.is_some() && matches!(target.tls, Tls::Required | Tls::Verify) {
        return Err(Fault::new(
            FaultKind::Refused,
            "a unix socket has no TLS; set target.host instead of target.socket, or tls = \"disabled\"",
        ));
    }
    match fine::timeout(CONNECT_LIMIT, connect(target)).await {
        Some(Ok(opened)) => Ok(opened),
        Some(Err(error)) => {
            if matches!(error, LoginError::Tls(_)) {
                tls::forget(target);
            }
            Err(refused(target, error))
        }
        None => Err(silent(target, CONNECT_LIMIT)),
    }
}

async fn connect(target: &Target) -> Result<Opened, LoginError> {
    let mut channel = Channel::new(reach(target).await?);
    let greeting = Greeting::read(&packet(&mut channel).await?)?;
    let encrypted = target.socket.is_none() && target.tls != Tls::Disabled;
    let capabilities = greeting.capabilities & wanted(target, encrypted);
    if encrypted && capabilities.contains(CapabilityFlags::CLIENT_SSL) {
        let request = SslRequest::new(capabilities, LARGEST_PACKET, COLLATION)
            .with_mariadb_capabilities(greeting.mariadb_capabilities);
        channel.send(|out| request.serialize(out)).await?;
        channel = channel.encrypted(target).await?;
    } else if encrypted && target.tls != Tls::Preferred {
        return Err(LoginError::NoTls);
    }
    log_in(&mut channel, target, &greeting, capabilities).await?;
    Ok(Opened {
        dialogue: Dialogue {
            short_ends: capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            known_columns: greeting.mariadb_capabilities.contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA),
        },
        id: greeting.id,
        version: shared(&greeting.version),
        route: channel.stream().route(),
        channel,
    })
}

async fn reach(target: &Target) -> Result<Stream, LoginError> {
    if let Some(path) = &target.socket {
        return Ok(Stream::Plain(Socket::connect_unix(path).await?));
    }
    let host = target.host.as_deref().ok_or(LoginError::Nowhere)?;
    let socket = Socket::connect(host, target.port).await?;
    socket.set_nodelay()?;
    setsockopt(&socket, KeepAlive, &true).map_err(io::Error::from)?;
    setsockopt(&socket, TcpKeepIdle, &KEEP_ALIVE_SECONDS).map_err(io::Error::from)?;
    Ok(Stream::Plain(socket))
}

fn wanted(target: &Target, encrypted: bool) -> CapabilityFlags {
    let mut wanted = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, target.database.is_some());
    wanted.set(CapabilityFlags::CLIENT_SSL, encrypted);
    wanted
}

/// The server's first words.
struct Greeting {
    id: u32,
    version: String,
    capabilities: CapabilityFlags,
    /// What of MariaDB's own both sides know.
    mariadb_capabilities: MariadbCapabilities,
    plugin: AuthPlugin<'static>,
    nonce: Vec<u8>,
}

impl Greeting {
    fn read(packet: &[u8]) -> Result<Greeting, LoginError> {
        if let Some((&ERROR, rest)) = packet.split_first() {
            return Err(LoginError::Server(ServerError::read(Cursor(rest))?));
        }
        let greeting: HandshakePacket<'_> = ParseBuf(packet).parse(())?;
        let capabilities = greeting.capabilities();
        // A MariaDB server says so by leaving out the first of MySQL's capabilities.
        let mariadb_capabilities = if capabilities.contains(CapabilityFlags::CLIENT_LONG_PASSWORD) {
            MariadbCapabilities::empty()
        } else {
            greeting.mariadb_ext_capabilities() & MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
        };
        Ok(Greeting {
            id: greeting.connection_id(),
            version: version(&greeting.server_version_str()),
            capabilities,
            mariadb_capabilities,
            plugin: match greeting.auth_plugin() {
                Some(AuthPlugin::CachingSha2Password) => AuthPlugin::CachingSha2Password,
                _ => AuthPlugin::MysqlNativePassword,
            },
            nonce: nonce(&greeting.nonce()),
        })
    }
}

/// MariaDB hides its version from very old replicas behind one that they understand.
fn version(told: &str) -> String {
    told.strip_prefix("5.5.5-").filter(|rest| rest.contains("MariaDB")).unwrap_or(told).to_owned()
}

/// The challenge without the zero behind it.
fn nonce(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(NONCE)].to_vec()
}

async fn log_in(
    channel: &mut Channel,
    target: &Target,
    greeting: &Greeting,
    capabilities: CapabilityFlags,
) -> Result<(), LoginError> {
    let mut login = Login { channel, target, plugin: greeting.plugin.clone(), nonce: greeting.nonce.clone() };
    let proof = login.proof()?;
    let response = HandshakeResponse::new(
        Some(proof),
        (5, 5, 3),
        Some(target.user.as_deref().unwrap_or_default().as_bytes()),
        target.database.as_deref().map(str::as_bytes),
        Some(greeting.plugin.clone()),
        capabilities,
        None,
        LARGEST_PACKET,
    )
    .with_mariadb_ext_capabilities(greeting.mariadb_capabilities);
    login.channel.send(|out| response.serialize(out)).await?;
    login.go_on().await
}

/// The questions and answers until the server is content.
struct Login<'a> {
    channel: &'a mut Channel,
    target: &'a Target,
    plugin: AuthPlugin<'static>,
    nonce: Vec<u8>,
}

impl Login<'_> {
    fn password(&self) -> &str {
        self.target.password.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default()
    }

    /// What shows that we know the password; nothing for an empty one.
    fn proof(&self) -> Result<Vec<u8>, LoginError> {
        match self.plugin {
            AuthPlugin::MysqlNativePassword | AuthPlugin::CachingSha2Password | AuthPlugin::Ed25519 => {
                let proof = self.plugin.gen_data(Some(self.password()), &self.nonce);
                Ok(proof.map(|proof| proof.to_vec()).unwrap_or_default())
            }
            _ => Err(LoginError::Method(String::from_utf8_lossy(self.plugin.as_bytes()).into_owned())),
        }
    }

    async fn go_on(&mut self) -> Result<(), LoginError> {
        loop {
            let packet = packet(self.channel).await?;
            let (first, rest) = packet.split_first().ok_or_else(|| malformed("an empty packet"))?;
            match *first {
                OK => return Ok(()),
                ERROR => return Err(LoginError::Server(ServerError::read(Cursor(rest))?)),
                SWITCH => self.switch(&packet).await?,
                MORE_DATA => self.more_data(rest).await?,
                _ => return Err(malformed("an unknown packet during login").into()),
            }
        }
    }

    /// Another method than the one we began with.
    async fn switch(&mut self, packet: &[u8]) -> Result<(), LoginError> {
        let mut words = packet[1..].splitn(2, |byte| *byte == 0);
        let (Some(name), Some(challenge)) = (words.next(), words.next()) else {
            return Err(LoginError::Method("mysql_old_password".to_owned()));
        };
        self.plugin = AuthPlugin::from_bytes(name).into_owned();
        self.nonce = match self.plugin {
            AuthPlugin::Ed25519 => challenge[..challenge.len().min(LONG_NONCE)].to_vec(),
            _ => nonce(challenge),
        };
        let proof = self.proof()?;
        Ok(self.channel.send(|out| out.extend_from_slice(&proof)).await?)
    }

    async fn more_data(&mut self, data: &[u8]) -> Result<(), LoginError> {
        match (&self.plugin, data) {
            (AuthPlugin::CachingSha2Password, [CACHED]) => Ok(()),
            (AuthPlugin::CachingSha2Password, [IN_FULL]) => self.password_in_full().await,
            _ => Err(malformed("unexpected data during login").into()),
        }
    }

    async fn password_in_full(&mut self) -> Result<(), LoginError> {
        let mut password = self.password().as_bytes().to_vec();
        password.push(0);
        if !self.channel.stream().is_private() {
            self.channel.send(|out| out.push(PUBLIC_KEY)).await?;
            let answer = packet(self.channel).await?;
            let key = match answer.split_first() {
                Some((&MORE_DATA, key)) if key.starts_with(b"-----BEGIN PUBLIC KEY-----") => key,
                _ => return Err(malformed("no public key during login").into()),
            };
            if password.len() > LONGEST_PASSWORD {
                return Err(LoginError::LongPassword);
            }
            for (byte, mask) in password.iter_mut().zip(self.nonce.iter().cycle()) {
                *byte ^= mask;
            }
            // It panics over a key that is none.
            password = std::panic::catch_unwind(|| mysql_common::crypto::encrypt(&password, key))
                .map_err(|_| malformed("no public key during login"))?;
        }
        Ok(self.channel.send(|out| out.extend_from_slice(&password)).await?)
    }
}

async fn packet(channel: &mut Channel) -> io::Result<Vec<u8>> {
    let mut single = Single::default();
    channel.receive(&mut single).await?;
    Ok(single.0)
}

/// One copy of a text for all sessions.
fn shared(text: &str) -> Arc<str> {
    static KNOWN: Mutex<Vec<Arc<str>>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.iter().find(|known| ***known == *text) {
        return Arc::clone(known);
    }
    let new: Arc<str> = text.into();
    known.push(Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests;
