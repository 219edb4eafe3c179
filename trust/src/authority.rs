//! The lab's authority: made once, kept by whoever runs the lab, and needed only to issue certificates. No process of a fleet
//! reads its key.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::files::{self, Existing};
use crate::host::Host;
use crate::identity::Identity;
use crate::validity::Validity;

/// The authority's certificate, in its own directory and in that of every process.
pub const CA_CERTIFICATE: &str = "ca.crt";
/// The authority's key, in its own directory alone.
pub const CA_KEY: &str = "ca.key";
/// A process's certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// A process's key.
pub const KEY: &str = "tls.key";

/// A key that signs certificates, and the certificate that says so.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificates_pem: String,
    validity: Validity,
}

/// What a certificate is to say.
#[derive(Debug, Clone)]
pub struct Order {
    /// Of whom.
    pub identity: Identity,
    /// What its clients call it, if it serves any.
    pub hosts: Vec<Host>,
    /// How long. It ends with the authority at the latest.
    pub validity: Validity,
}

/// A certificate and its key.
pub struct Pair {
    certificate_pem: String,
    key_pem: SecretString,
    /// How long it holds.
    pub validity: Validity,
}

impl Authority {
    /// A new one, which no certificate was issued by yet.
    ///
    /// # Errors
    /// Names are for reading: 1 to 64 printable characters.
    pub fn create(name: &str, validity: Validity) -> anyhow::Result<Authority> {
        if !(1..=64).contains(&name.chars().count()) || name.chars().any(char::is_control) {
            bail!("{name:?} is no name of an authority; it has 1 to 64 printable characters");
        }
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let mut params = params(name, validity)?;
        // Zero: what it signs may sign nothing.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificates_pem = params.self_signed(&key)?.pem();
        Ok(Authority { issuer: Issuer::new(params, key), certificates_pem, validity })
    }

    /// Reads one from its directory.
    ///
    /// # Errors
    /// No authority in there, or a key and a certificate that do not belong together.
    pub fn load(dir: &Path) -> anyhow::Result<Authority> {
        let (certificate, key) = (dir.join(CA_CERTIFICATE), dir.join(CA_KEY));
        let certificates_pem = read(&certificate)?;
        let key_pem = SecretString::from(read(&key)?);
        let key = KeyPair::from_pem(key_pem.expose_secret())
            .map_err(|error| anyhow!("{} is no private key: {error}", key.display()))?;
        let der = own(&certificates_pem, &key).with_context(|| {
            format!(
                "{} has no certificate of the key {}; bring both from the same authority",
                certificate.display(),
                dir.join(CA_KEY).display()
            )
        })?;
        let validity = validity(&der)?;
        Ok(Authority { issuer: Issuer::from_ca_cert_der(&der, key)?, certificates_pem, validity })
    }

    /// Whether a directory holds one, or part of one.
    pub fn is_in(dir: &Path) -> bool {
        [CA_CERTIFICATE, CA_KEY].iter().any(|name| dir.join(name).exists())
    }

    /// Writes both files, the key for its owner alone.
    ///
    /// # Errors
    /// Files that exist already, unless they are to be replaced.
    pub fn save(&self, dir: &Path, existing: Existing) -> anyhow::Result<()> {
        if existing == Existing::Keep && Authority::is_in(dir) {
            bail!("{} holds an authority already", dir.display());
        }
        files::directory(dir)?;
        let key_pem = SecretString::from(self.issuer.key().serialize_pem());
        files::write(&dir.join(CA_KEY), key_pem.expose_secret(), existing)?;
        files::write(&dir.join(CA_CERTIFICATE), &self.certificates_pem, existing)
    }

    /// Keeps the certificates of authorities before it beside its own, so that what they issued is trusted during a rotation.
    ///
    /// # Errors
    /// A text that holds no certificate.
    pub fn trust_beside(&mut self, former_pem: &str) -> anyhow::Result<()> {
        let former: Vec<&str> = pem_blocks(former_pem).collect();
        if former.is_empty() {
            bail!("the former authority's file holds no certificate");
        }
        for block in former {
            let der = CertificateDer::from_pem_slice(block.as_bytes()).map_err(|error| anyhow!("{error}"))?;
            if validity(&der)?.until > SystemTime::now() {
                self.certificates_pem.push_str(block);
                self.certificates_pem.push('\n');
            }
        }
        Ok(())
    }

    /// Its certificate, and those of authorities that are trusted beside it during a rotation.
    pub fn certificates_pem(&self) -> &str {
        &self.certificates_pem
    }

    /// How long it holds.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// Issues a certificate with a key of its own.
    ///
    /// # Errors
    /// What the library for certificates refuses.
    pub fn issue(&self, order: &Order) -> anyhow::Result<Pair> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let validity = order.validity.within(self.validity);
        let mut params = params(&order.identity.to_string(), validity)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        // It is the role in the URI that says what the holder may do; agents and coordinators are clients and servers both.
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.subject_alt_names.push(SanType::URI(order.identity.uri().try_into()?));
        for host in &order.hosts {
            params.subject_alt_names.push(match host {
                Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
                Host::Address(address) => SanType::IpAddress(*address),
            });
        }
        let certificate_pem = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate_pem, key_pem: key.serialize_pem().into(), validity })
    }
}

impl Pair {
    /// The certificate.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Its key.
    pub fn key_pem(&self) -> &str {
        self.key_pem.expose_secret()
    }

    /// Writes the directory that its process reads: certificate, key, and the authority's certificate.
    ///
    /// # Errors
    /// Files that exist already, unless they are to be replaced.
    pub fn save(&self, dir: &Path, authority: &Authority, existing: Existing) -> anyhow::Result<()> {
        let taken = [KEY, CERTIFICATE].iter().any(|name| dir.join(name).exists());
        if existing == Existing::Keep && taken {
            bail!("{} holds a certificate already", dir.display());
        }
        files::directory(dir)?;
        // The certificate last: processes that watch it find the rest in its place.
        files::write(&dir.join(CA_CERTIFICATE), authority.certificates_pem(), Existing::Replace)?;
        files::write(&dir.join(KEY), self.key_pem(), existing)?;
        files::write(&dir.join(CERTIFICATE), &self.certificate_pem, existing)
    }
}

fn params(name: &str, validity: Validity) -> anyhow::Result<CertificateParams> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "vufleet");
    // RFC 5280, appendix A.1: no more than 64 characters. What counts is the URI.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    params.serial_number = Some(serial()?);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(validity.from);
    params.not_after = epoch + since_epoch(validity.until);
    Ok(params)
}

/// 127 bits that nobody can foresee; positive, as RFC 5280 (4.1.2.2) wants them.
fn serial() -> anyhow::Result<SerialNumber> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::aws_lc_rs::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| anyhow!("the system gives no random numbers"))?;
    bytes[0] &= 0x7f;
    Ok(SerialNumber::from_slice(&bytes))
}

fn since_epoch(instant: SystemTime) -> Duration {
    Duration::from_secs(instant.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs())
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The certificates of a text, each from its first line to its last.
pub fn pem_blocks(pem: &str) -> impl Iterator<Item = &str> {
    const END: &str = "-----END CERTIFICATE-----";
    pem.split_inclusive(END)
        .filter(|part| part.ends_with(END))
        .filter_map(|part| part.rfind("-----BEGIN CERTIFICATE-----").map(|start| &part[start..]))
}

/// The certificate among several that speaks of a key.
fn own(pem: &str, key: &KeyPair) -> Option<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().find(|der| {
        X509Certificate::from_der(der)
            .is_ok_and(|(_, certificate)| certificate.public_key().raw == key.subject_public_key_info())
    })
}

fn validity(der: &CertificateDer<'_>) -> anyhow::Result<Validity> {
    let (_, certificate) = X509Certificate::from_der(der)?;
    let instant =
        |time: x509_parser::time::ASN1Time| UNIX_EPOCH + Duration::from_secs(time.timestamp().max(0).unsigned_abs());
    let validity = certificate.validity();
    Ok(Validity { from: instant(validity.not_before), until: instant(validity.not_after) })
}
