//! TLS without the manners of vufleet's own ends: shows any certificate to anybody, and believes everybody.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection, SignatureScheme,
    StreamOwned,
};

/// How HTTP/2 begins, with an empty frame of settings.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
const PATIENCE: Duration = Duration::from_secs(20);

/// A certificate and its key, in PEM.
pub type Shown<'a> = Option<(&'a str, &'a str)>;

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn chain((certificate, key): (&str, &str)) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    (vec![certificate], PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
}

#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Dials and begins HTTP/2. What the other side says first, or why it says nothing.
pub fn dial(address: &str, shown: Shown<'_>) -> io::Result<Vec<u8>> {
    let mut stream = connect(address, shown, &rustls::version::TLS13, b"h2");
    stream.write_all(PREFACE)?;
    stream.flush()?;
    let mut heard = vec![0; 1_000];
    let read = stream.read(&mut heard)?;
    heard.truncate(read);
    Ok(heard)
}

/// Dials with a version and a protocol.
pub fn connect(
    address: &str,
    shown: Shown<'_>,
    version: &'static rustls::SupportedProtocolVersion,
    alpn: &[u8],
) -> StreamOwned<ClientConnection, TcpStream> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody));
    let mut config = match shown {
        Some(shown) => {
            let (chain, key) = chain(shown);
            config.with_client_auth_cert(chain, key).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![alpn.to_vec()];
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap(), socket)
}

/// Serves everybody with this certificate on a port of the system's choice, and counts the bytes that it is told.
pub fn serve(shown: (&str, &str)) -> (String, std::sync::mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (chain, key) = chain(shown);
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let (told, heard) = std::sync::mpsc::channel();
    // Ends with the test.
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), socket);
            let mut bytes = [0; 4_096];
            if told.send(stream.read(&mut bytes).unwrap_or(0)).is_err() {
                return;
            }
        }
    });
    (address, heard)
}
