//! Errors of TLS in words that name the cause and the remedy, as seen from either end.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};

use crate::certificate::{Facts, day};
use crate::credentials::Credentials;
use crate::verify::Stranger;

/// A peer that speaks TLS where plaintext was expected.
#[derive(Debug, thiserror::Error)]
#[error("TLS, where plaintext was expected")]
pub(crate) struct SpeaksTls;

/// A peer that speaks something else.
#[derive(Debug, thiserror::Error)]
#[error("not HTTP/2")]
pub(crate) struct NoHttp2;

/// An error and all that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    shown(&text)
}

/// What a peer says of itself, as it may be shown: a terminal obeys control characters, and some others turn a line around.
pub(crate) fn shown(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        let turns = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if character.is_control() || turns { shown.extend(character.escape_unicode()) } else { shown.push(character) }
        shown
    })
}

fn tls(error: &io::Error) -> Option<&Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Error>())
}

fn stranger(error: &CertificateError) -> Option<&Stranger> {
    match error {
        CertificateError::Other(other) => other.0.downcast_ref::<Stranger>(),
        _ => None,
    }
}

/// Authorities of one name are told apart by their signatures alone.
pub(crate) fn is_of_another_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::UnknownIssuer | CertificateError::BadSignature)
}

/// Why a client's handshake failed.
pub(crate) fn of_server(error: &io::Error, host: &str, seen: Option<&Facts>, own: &Credentials) -> String {
    shown(&match tls(error) {
        Some(Error::InvalidCertificate(error)) => bad_server(error, host, seen, own),
        Some(Error::AlertReceived(alert)) => refused(*alert, own),
        Some(Error::InvalidMessage(_)) => {
            "the coordinator does not speak TLS; start it with --certs, or leave --certs out and write http://".to_owned()
        }
        Some(error) => format!("no TLS connection ({error}); is it a vufleet coordinator of this version?"),
        None if error.kind() == io::ErrorKind::UnexpectedEof || error.kind() == io::ErrorKind::ConnectionReset => {
            "the other side hung up during the TLS handshake; is it a vufleet coordinator with --certs? Its log tells whom it refused"
                .to_owned()
        }
        None => format!("the connection broke during the TLS handshake ({error})"),
    })
}

fn bad_server(error: &CertificateError, host: &str, seen: Option<&Facts>, own: &Credentials) -> String {
    let directory = own.directory.display();
    if let Some(stranger) = stranger(error) {
        return format!(
            "this is no coordinator: {stranger}; check the address, or give the coordinator the directory of `vufleet certs issue coordinator`"
        );
    }
    match error {
        error if is_of_another_authority(error) => format!(
            "the coordinator's certificate is of another authority{} than {directory}/ca.crt; both sides' are to come from one `vufleet \
             certs init`",
            seen.map(|facts| format!(" ({})", facts.issuer)).unwrap_or_default()
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "the coordinator's certificate has expired{}; issue another one (vufleet certs issue coordinator)",
            seen.map(|facts| format!(" on {}", day(facts.until))).unwrap_or_default()
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => format!(
            "the coordinator's certificate is valid only{} on; compare the clocks of both hosts",
            seen.map(|facts| format!(" from {}", day(facts.from))).unwrap_or_default()
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let hosts = seen.map(|facts| facts.hosts.join(", ")).filter(|hosts| !hosts.is_empty());
            format!(
                "the coordinator's certificate does not hold for {host}, but for {}; dial it by such a name, or issue it another one with \
                 --host {host}",
                hosts.unwrap_or_else(|| "no host".to_owned())
            )
        }
        error => format!("the coordinator's certificate does not hold ({error}); issue it another one"),
    }
}

/// What an alert of the server's says about our certificate.
fn refused(alert: AlertDescription, own: &Credentials) -> String {
    let (directory, identity) = (own.directory.display(), &own.identity);
    match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => format!(
            "the coordinator refuses our certificate, that of {identity} in {directory}: it is of another authority than the \
             coordinator's ca.crt; both sides' are to come from one `vufleet certs init`"
        ),
        AlertDescription::CertificateExpired => format!(
            "the coordinator refuses our certificate, that of {identity} in {directory}: by its clock it is not valid (it is from {} to \
             {}); compare the clocks of both hosts, or issue another one",
            day(own.facts.from),
            day(own.facts.until)
        ),
        AlertDescription::CertificateUnknown | AlertDescription::AccessDenied => format!(
            "the coordinator refuses our certificate: {identity} (in {directory}) has no business there; use the directory of another role"
        ),
        AlertDescription::NoApplicationProtocol => {
            "what listens there speaks TLS but not HTTP/2; is it a vufleet coordinator, or its --metrics address?"
                .to_owned()
        }
        alert => format!("the other side broke off the TLS handshake ({alert:?}); its log says why"),
    }
}

/// Why the first words after a client's handshake did not come.
pub(crate) fn of_greeting(error: &io::Error, own: &Credentials) -> String {
    match tls(error) {
        Some(Error::AlertReceived(alert)) => refused(*alert, own),
        _ if is::<NoHttp2>(error) => {
            "what listens there speaks TLS, but is no vufleet coordinator; check the address".to_owned()
        }
        _ => format!("the coordinator hung up ({error}); its log says why: it may have too many connections"),
    }
}

/// The same in plaintext.
pub(crate) fn of_plain_greeting(error: &io::Error) -> String {
    if is::<SpeaksTls>(error) {
        return "the coordinator speaks TLS; give --certs DIR and write https://".to_owned();
    }
    if is::<NoHttp2>(error) {
        return "what listens there is no vufleet coordinator; check the address".to_owned();
    }
    format!(
        "the other side hung up ({error}); is it a vufleet coordinator? If it has --certs, give --certs DIR here too"
    )
}

fn is<T: std::error::Error + 'static>(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<T>())
}

/// Why a server refused a client, for the server's log.
pub(crate) fn of_client(error: &io::Error) -> String {
    shown(&match tls(error) {
        Some(Error::NoCertificatesPresented) => "showed no certificate".to_owned(),
        Some(Error::InvalidCertificate(error)) => bad_client(error),
        Some(Error::InvalidMessage(_)) => "does not speak TLS".to_owned(),
        Some(Error::AlertReceived(alert)) => format!("refused our certificate ({alert:?})"),
        Some(Error::PeerIncompatible(why)) => format!("speaks no TLS 1.3 that we do ({why:?})"),
        Some(Error::NoApplicationProtocol) => "speaks TLS, but not the protocol of this port".to_owned(),
        Some(error) => format!("broke the TLS handshake ({error})"),
        None => "hung up during the TLS handshake".to_owned(),
    })
}

/// Why the first words after a server's handshake did not come.
pub(crate) fn of_first_words(error: &io::Error) -> String {
    match tls(error) {
        Some(_) => of_client(error),
        None => "hung up before its first words".to_owned(),
    }
}

fn bad_client(error: &CertificateError) -> String {
    if let Some(stranger) = stranger(error) {
        return format!("has no business here: {stranger}");
    }
    match error {
        error if is_of_another_authority(error) => "showed a certificate of another authority".to_owned(),
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("showed a certificate that expired on {}", on(not_after.as_secs()))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("showed a certificate that is valid from {} on", on(not_before.as_secs()))
        }
        error => format!("showed a certificate that does not hold ({error})"),
    }
}

fn on(seconds: u64) -> String {
    day(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_moves_no_cursor() {
        assert_eq!(shown("CN=lab\u{1b}[2J\r\n\u{9b}0m\u{202e}ö"), "CN=lab\\u{1b}[2J\\u{d}\\u{a}\\u{9b}0m\\u{202e}ö");
    }
}
