//! Encryption as the study says: with or without looking at the server's certificate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use vufleet_scenarios::study::{Target, Tls};

use super::refusal::LoginError;
use crate::event_loop::Socket;

/// Settings that were made from files once are kept for the other sessions; they are forgotten when TLS fails, so that a
/// repaired file counts.
static KNOWN: Mutex<Vec<(Source, Arc<ClientConfig>)>> = Mutex::new(Vec::new());

/// What the settings are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    verify: bool,
    files: [Option<PathBuf>; 3],
}

impl Source {
    fn of(target: &Target) -> Source {
        let files = [&target.ca_file, &target.client_cert, &target.client_key].map(Clone::clone);
        Source { verify: target.tls == Tls::Verify, files }
    }

    fn read(&self) -> Result<ClientConfig, LoginError> {
        let [authority, certificate, key] = &self.files;
        let builder = if self.verify {
            ClientConfig::builder().with_root_certificates(roots(authority.as_deref())?)
        } else {
            let provider = CryptoProvider::get_default().expect("main installs a crypto provider first thing");
            let unverified = Arc::new(Unverified(Arc::clone(provider)));
            ClientConfig::builder().dangerous().with_custom_certificate_verifier(unverified)
        };
        let (Some(certificate), Some(key)) = (certificate, key) else {
            return Ok(builder.with_no_client_auth());
        };
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
        builder
            .with_client_auth_cert(certificates(certificate)?, key)
            .map_err(|error| LoginError::Tls(format!("the client certificate {}: {error}", certificate.display())))
    }
}

/// Forgets what was read from files.
pub(super) fn forget(target: &Target) {
    let source = Source::of(target);
    known().retain(|(of, _)| *of != source);
}

/// Encrypts a connection.
pub(super) async fn encrypt(socket: Socket, target: &Target) -> Result<TlsStream<Socket>, LoginError> {
    let config = config(target)?;
    let name = target.server_name.as_deref().or(target.host.as_deref()).unwrap_or_default();
    let name = ServerName::try_from(name.to_owned())
        .map_err(|_| LoginError::Tls(format!("{name} is no name that a certificate can have")))?;
    TlsConnector::from(config).connect(name, socket).await.map_err(|error| LoginError::Tls(error.to_string()))
}

fn config(target: &Target) -> Result<Arc<ClientConfig>, LoginError> {
    let source = Source::of(target);
    if let Some((_, config)) = known().iter().find(|(of, _)| *of == source) {
        return Ok(Arc::clone(config));
    }
    let config = Arc::new(source.read()?);
    known().push((source, Arc::clone(&config)));
    Ok(config)
}

fn known() -> MutexGuard<'static, Vec<(Source, Arc<ClientConfig>)>> {
    // Nothing behind this lock can be left half-done.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who names an authority trusts that one and no other.
fn roots(authority: Option<&Path>) -> Result<RootCertStore, LoginError> {
    let Some(file) = authority else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| LoginError::Tls(format!("{}: {error}", file.display())))?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, LoginError> {
    let all = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => Err(LoginError::Tls(format!("{} holds no certificate", file.display()))),
        Ok(all) => Ok(all),
        Err(error) => Err(unusable(file, &error)),
    }
}

fn unusable(file: &Path, error: &rustls::pki_types::pem::Error) -> LoginError {
    LoginError::Tls(format!("{}: {error}", file.display()))
}

/// Takes any certificate: `tls = "required"` encrypts and asks no further.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    // A signature by a key that nobody vouches for proves nothing, and old servers' certificates cannot even be read.
    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
