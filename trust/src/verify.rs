//! Whom to believe: the lab's authorities alone, and a certificate only for what its URI says that its holder is.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme};

use crate::certificate::Facts;
use crate::credentials::Credentials;
use crate::identity::{Identity, Role};

/// The one provider of cryptography. Named wherever one is needed, so that nothing depends on which was installed first.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// A certificate that is good, but of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stranger {
    /// It names nobody of a fleet.
    #[error("its certificate names no role of a fleet")]
    Nobody,
    /// It names somebody of another role.
    #[error("its certificate is that of {0}")]
    Another(Identity),
}

fn stranger(stranger: Stranger) -> Error {
    // Other, and not ApplicationVerificationFailure, carries the reason to where it is told.
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(stranger))))
}

fn require(certificate: &CertificateDer<'_>, roles: &[Role]) -> Result<(), Error> {
    let facts = Facts::of(certificate).map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    match facts.identity {
        None => Err(stranger(Stranger::Nobody)),
        Some(identity) if roles.contains(&identity.role) => Ok(()),
        Some(identity) => Err(stranger(Stranger::Another(identity))),
    }
}

/// What a server asks of who dials it.
#[derive(Debug)]
pub(crate) struct OfClients {
    chain: Arc<dyn ClientCertVerifier>,
    roles: Vec<Role>,
}

impl OfClients {
    pub(crate) fn new(credentials: &Credentials, roles: &[Role]) -> Result<Self, Error> {
        let chain = WebPkiClientVerifier::builder_with_provider(Arc::clone(&credentials.authorities), provider())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(OfClients { chain, roles: roles.to_vec() })
    }
}

impl ClientCertVerifier for OfClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.chain.verify_client_cert(end_entity, intermediates, now)?;
        require(end_entity, &self.roles)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// What a client asks of the server that it dials, once; and what it has seen, for the sentence that tells why not.
#[derive(Debug)]
pub(crate) struct OfServer {
    chain: Arc<WebPkiServerVerifier>,
    seen: Mutex<Option<Facts>>,
}

impl OfServer {
    pub(crate) fn new(credentials: &Credentials) -> Result<Self, Error> {
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::clone(&credentials.authorities), provider())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(OfServer { chain, seen: Mutex::new(None) })
    }

    pub(crate) fn seen(&self) -> Option<Facts> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for OfServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Facts::of(end_entity).ok();
        let verified = self.chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        // The role is the worse news: nobody mends host names of a certificate that is not to be used.
        if matches!(verified, Ok(_) | Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. }))) {
            require(end_entity, &[Role::Coordinator])?;
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
