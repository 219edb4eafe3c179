//! The dialling end: a channel to a coordinator, and a sentence when there is none.
//!
//! Certificates are read anew for every connection, so that renewed ones are used without a restart. A connection counts as made
//! when the other side has said its first words: only then has it accepted our certificate, which TLS 1.3 tells after its handshake.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint, Uri};

use crate::address::Security;
use crate::credentials::Credentials;
use crate::identity::Role;
use crate::reason;
use crate::stream::{Begun, PREFACE, Stream};
use crate::verify::{OfServer, provider};

/// How long an address may take to answer the first packet.
const REACH: Duration = Duration::from_secs(5);
/// How long a handshake may take, and the first words after it.
const GREETING: Duration = Duration::from_secs(5);
/// The type of HTTP/2's frame of settings, which a server sends first.
const SETTINGS: u8 = 4;

/// Why there is no connection: cause and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoConnection(pub String);

/// Connects to the coordinator that an endpoint names. When the connection is lost, the channel dials again in the same way.
///
/// # Errors
/// With the reason why there is no connection.
pub async fn connect(endpoint: &Endpoint, security: &Security, role: Role) -> Result<Channel, NoConnection> {
    let security = security.clone();
    let connector = tower::service_fn(move |uri: Uri| {
        let security = security.clone();
        async move { Box::pin(open(&uri, &security, role)).await.map(TokioIo::new) }
    });
    endpoint
        .connect_with_connector(connector)
        .await
        .map_err(|error| why(&error).unwrap_or_else(|| NoConnection(reason::chain(&error))))
}

/// The reason that is somewhere below an error of a channel, when it is that there was no connection.
pub fn why(error: &(dyn std::error::Error + 'static)) -> Option<NoConnection> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(reason) = error.downcast_ref::<NoConnection>() {
            return Some(reason.clone());
        }
        next = error.source();
    }
    None
}

async fn open(uri: &Uri, security: &Security, role: Role) -> Result<Begun, NoConnection> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let Some(port) = uri.port_u16() else { return Err(NoConnection("the URL has no port".to_owned())) };
    let (tls, seen) = match security {
        Security::Plaintext(_) => (None, None),
        Security::Certificates(directory) => {
            let (tls, seen) = connector(directory, role).await.map_err(NoConnection)?;
            (Some(tls), Some(seen))
        }
    };
    let socket = reach(host, port).await.map_err(NoConnection)?;
    let greeting = async {
        let stream = match (tls, &seen) {
            (Some(tls), Some((verifier, credentials))) => {
                let name = ServerName::try_from(host.to_owned())
                    .map_err(|_| format!("{host:?} is no host name that a certificate can hold"))?;
                let stream = tls.connect(name, socket).await;
                let stream =
                    stream.map_err(|error| reason::of_server(&error, host, verifier.seen().as_ref(), credentials))?;
                Stream::Tls(Box::new(stream.into()))
            }
            _ => Stream::Plain(socket),
        };
        greet(stream).await.map_err(|error| match &seen {
            Some((_, credentials)) => reason::of_greeting(&error, credentials),
            None => reason::of_plain_greeting(&error),
        })
    };
    match tokio::time::timeout(GREETING, greeting).await {
        Ok(begun) => begun.map_err(NoConnection),
        Err(_) => Err(NoConnection(format!(
            "somebody listens there, but said nothing for {} s; is it a vufleet coordinator, and is it overloaded?",
            GREETING.as_secs()
        ))),
    }
}

/// Every address of a host, one after the other.
async fn reach(host: &str, port: u16) -> Result<TcpStream, String> {
    let addresses: Vec<SocketAddr> = match tokio::time::timeout(REACH, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => {
            return Err(format!("the host's name is not known ({error}); check its spelling, or write its IP address"));
        }
        Err(_) => return Err("no name server answers; write the host's IP address".to_owned()),
    };
    let mut why = "the host's name has no address".to_owned();
    for address in addresses {
        match tokio::time::timeout(REACH, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                if let Err(error) = socket.set_nodelay(true) {
                    tracing::debug!(%error, "a connection keeps Nagle's algorithm");
                }
                return Ok(socket);
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                why = "nobody listens there (connection refused); start `vufleet coordinator`, or check the address"
                    .to_owned();
            }
            Ok(Err(error)) => why = format!("cannot be reached ({error}); check the address and the way there"),
            Err(_) => {
                why = format!(
                    "no answer within {} s; is the host up, and does a firewall let this port through?",
                    REACH.as_secs()
                )
            }
        }
    }
    Err(why)
}

type Seen = (Arc<OfServer>, Credentials);

async fn connector(directory: &Path, role: Role) -> Result<(TlsConnector, Seen), String> {
    let directory = directory.to_owned();
    let loaded = tokio::task::spawn_blocking(move || Credentials::load(&directory, role)).await;
    let credentials = loaded.map_err(|error| error.to_string())?.map_err(|problems| problems.to_string())?;
    let verifier = Arc::new(OfServer::new(&credentials).map_err(|error| error.to_string())?);
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        // Not less than the usual verifier, which is inside of it, but the role besides.
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&verifier) as _);
    let mut config =
        config.with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(Arc::clone(&credentials.key))));
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    Ok((TlsConnector::from(Arc::new(config)), (verifier, credentials)))
}

/// Says the first words of HTTP/2 and waits for the server's.
async fn greet(mut stream: Stream) -> io::Result<Begun> {
    stream.write_all(PREFACE).await?;
    stream.flush().await?;
    let mut head = vec![0; 4_096];
    let read = stream.read(&mut head).await?;
    head.truncate(read);
    match head.as_slice() {
        [] => Err(io::ErrorKind::UnexpectedEof.into()),
        [0x15 | 0x16, 0x03, ..] => Err(io::Error::other(reason::SpeaksTls)),
        [_, _, _, frame, ..] if *frame != SETTINGS => Err(io::Error::other(reason::NoHttp2)),
        _ => Ok(Begun::new(stream, head, PREFACE.len())),
    }
}
