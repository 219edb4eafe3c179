//! What one certificate says: its holder, the hosts it holds for, its dates. Nothing is verified here.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::identity::Identity;

/// What a certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its holder, if it is made for a fleet.
    pub identity: Option<Identity>,
    /// Hosts that it holds for as a server's.
    pub hosts: Vec<String>,
    /// Who issued it, by the name that it gives.
    pub issuer: String,
    /// From when it is valid.
    pub from: SystemTime,
    /// Until when it is valid.
    pub until: SystemTime,
    /// Whether it may issue others.
    pub authority: bool,
}

impl Facts {
    /// Reads a certificate (PEM).
    ///
    /// # Errors
    /// What is wrong with it, when it is none.
    pub fn of_pem(pem: &str) -> Result<Facts, String> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())?;
        Facts::of(&der)
    }

    /// Reads a certificate (DER).
    ///
    /// # Errors
    /// What is wrong with it, when it is none.
    pub fn of(der: &[u8]) -> Result<Facts, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let names = certificate.subject_alternative_name().map_err(|error| error.to_string())?;
        let names = names.map_or(&[][..], |names| &names.value.general_names);
        let validity = certificate.validity();
        Ok(Facts {
            identity: identity(names),
            hosts: names.iter().filter_map(host).collect(),
            issuer: certificate.issuer().to_string(),
            from: instant(validity.not_before.timestamp()),
            until: instant(validity.not_after.timestamp()),
            authority: certificate.is_ca(),
        })
    }
}

/// The holder, where exactly one is named: who claims to be two things is neither.
fn identity(names: &[GeneralName<'_>]) -> Option<Identity> {
    let mut identities = names.iter().filter_map(|name| match name {
        GeneralName::URI(uri) => uri.parse::<Identity>().ok(),
        _ => None,
    });
    identities.next().filter(|_| identities.next().is_none())
}

fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| Ipv4Addr::from(bytes).to_string()),
            16 => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| Ipv6Addr::from(bytes).to_string()),
            _ => None,
        },
        _ => None,
    }
}

fn instant(seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let instant = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    instant.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The day of an instant, in UTC, for people.
pub fn day(instant: SystemTime) -> String {
    match jiff::Timestamp::try_from(instant) {
        Ok(instant) => instant.to_string().chars().take(10).collect(),
        Err(_) => "a day beyond all calendars".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_told_in_utc() {
        assert_eq!(day(instant(1_796_083_199)), "2026-11-30");
        assert_eq!(day(instant(1_796_083_200)), "2026-12-01");
        assert_eq!(day(instant(-1)), "1969-12-31");
    }

    #[test]
    fn two_identities_are_none() {
        let uri = |uri| GeneralName::URI(uri);
        let agent = "spiffe://vufleet/agent/a";
        assert!(identity(&[uri("https://lab"), uri(agent)]).is_some());
        assert_eq!(identity(&[uri(agent), uri("spiffe://vufleet/operator/a")]), None);
    }

    proptest::proptest! {
        #[test]
        fn damaged_certificates_are_no_panic(at in 0_usize..400, byte: u8, cut in 0_usize..600) {
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(["host.lab".to_owned(), "10.0.0.1".to_owned()]).unwrap();
            let mut der = params.self_signed(&key).unwrap().der().to_vec();
            let last = der.len() - 1;
            der[at.min(last)] = byte;
            der.truncate(cut.min(last));
            Facts::of(&der).map(drop).unwrap_or_default();
        }
    }

    #[test]
    fn what_is_no_certificate_is_no_panic() {
        for bytes in [&b""[..], b"\x30", b"\x30\x82\xff\xff", &[0x30; 300]] {
            Facts::of(bytes).unwrap_err();
        }
    }
}
