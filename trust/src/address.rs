//! Where plaintext may travel: on loopback, elsewhere only when `--insecure` was typed. Every end of the wire asks here, so
//! that a database password never leaves the machine in the clear by accident.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// What protects a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Security {
    /// Nothing does: plaintext.
    Plaintext(Plaintext),
    /// TLS on both sides, with the certificates of this directory.
    Certificates(PathBuf),
}

/// Where plaintext may travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plaintext {
    /// On loopback only.
    Loopback,
    /// Anywhere: `--insecure` was typed.
    Anywhere,
}

/// An address that may not be dialled, or not be listened on, like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mistake(pub String);

impl Security {
    /// What `--certs DIR` and `--insecure` say.
    ///
    /// # Errors
    /// When both were given.
    pub fn from_flags(certs: Option<PathBuf>, insecure: bool) -> Result<Security, Mistake> {
        match (certs, insecure) {
            (Some(directory), true) => Err(Mistake(format!(
                "--certs {} and --insecure exclude each other; leave --insecure out",
                directory.display()
            ))),
            (Some(directory), false) => Ok(Security::Certificates(directory)),
            (None, true) => Ok(Security::Plaintext(Plaintext::Anywhere)),
            (None, false) => Ok(Security::Plaintext(Plaintext::Loopback)),
        }
    }

    /// The scheme of a URL that is protected like this.
    pub fn scheme(&self) -> &'static str {
        match self {
            Security::Plaintext(_) => "http",
            Security::Certificates(_) => "https",
        }
    }

    /// A coordinator's URL in full, when it may be dialled like this. Without a scheme it has the one that fits.
    ///
    /// # Errors
    /// What is no URL; plaintext to another host; a scheme that contradicts the flags.
    pub fn url(&self, text: &str) -> Result<String, Mistake> {
        let (scheme, rest) = text.split_once("://").unwrap_or((self.scheme(), text));
        let authority = rest.trim_end_matches('/');
        let host = host_of(authority, text, self.scheme())?;
        match (scheme, self) {
            ("https", Security::Plaintext(_)) => Err(Mistake(format!(
                "{text} is TLS, for which certificates are needed; add --certs DIR with ca.crt, tls.crt and tls.key"
            ))),
            ("http", Security::Certificates(directory)) => Err(Mistake(format!(
                "{text} is plaintext, but --certs {} is given; write https://{authority}",
                directory.display()
            ))),
            ("http", Security::Plaintext(Plaintext::Loopback)) if !is_loopback(host) => Err(Mistake(format!(
                "{text} is not on this machine and the connection would be plaintext, database passwords included; add \
                 --certs DIR (`vufleet certs` makes certificates), or --insecure on a network that is yours alone"
            ))),
            ("http" | "https", _) => Ok(format!("{scheme}://{authority}")),
            _ => {
                Err(Mistake(format!("{text} is not a coordinator's URL; write https://HOST:7411 or http://HOST:7411")))
            }
        }
    }

    /// Whether an address may be listened on like this. `flag` is how the address was given.
    ///
    /// # Errors
    /// Plaintext beyond loopback.
    pub fn listen(&self, address: SocketAddr, flag: &str) -> Result<(), Mistake> {
        if *self == Security::Plaintext(Plaintext::Loopback) && !stays_here(address) {
            return Err(Mistake(format!(
                "{flag} {address} is not a loopback address and the service would be plaintext, database passwords \
                 included; add --certs DIR (`vufleet certs` makes certificates), or --insecure on a network that is yours \
                 alone"
            )));
        }
        Ok(())
    }
}

/// Whether only this machine reaches what listens at an address.
pub fn stays_here(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn host_of<'a>(authority: &'a str, text: &str, scheme: &str) -> Result<&'a str, Mistake> {
    let Some((host, port)) = authority.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
        return Err(Mistake(format!("{text:?} has no port; write {scheme}://HOST:7411")));
    };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let strange = |c: char| c.is_whitespace() || c.is_control() || "/@?#".contains(c);
    if port.parse::<u16>().is_err() || authority.contains(strange) || (host.contains(':') && !bracketed) {
        return Err(Mistake(format!("{text:?} is not a coordinator's URL; write {scheme}://HOST:7411")));
    }
    Ok(host)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Security = Security::Plaintext(Plaintext::Loopback);
    const ANYWHERE: Security = Security::Plaintext(Plaintext::Anywhere);

    fn certified() -> Security {
        Security::from_flags(Some("certs/operator".into()), false).unwrap()
    }

    #[test]
    fn loopback_is_always_allowed() {
        for (text, full) in [
            ("http://127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("http://127.8.0.1:1/", "http://127.8.0.1:1"),
            ("localhost:7411", "http://localhost:7411"),
            ("http://[::1]:7411", "http://[::1]:7411"),
            ("[::ffff:127.0.0.1]:7411", "http://[::ffff:127.0.0.1]:7411"),
        ] {
            assert_eq!(HERE.url(text).expect(text), full);
        }
    }

    #[test]
    fn plaintext_elsewhere_needs_the_flag() {
        for text in ["http://10.0.0.5:7411", "db1.example:7411", "http://[::2]:7411", "http://localhost.example:1"] {
            let refusal = HERE.url(text).expect_err(text).to_string();
            assert!(
                refusal.contains(text) && refusal.contains("--insecure") && refusal.contains("--certs"),
                "{refusal}"
            );
            ANYWHERE.url(text).expect(text);
        }
    }

    #[test]
    fn certificates_mean_tls_everywhere() {
        for (text, full) in [
            ("db1:7411", "https://db1:7411"),
            ("https://10.0.0.5:7411/", "https://10.0.0.5:7411"),
            ("localhost:1", "https://localhost:1"),
        ] {
            assert_eq!(certified().url(text).expect(text), full);
        }
        let refusal = certified().url("http://127.0.0.1:7411").unwrap_err().to_string();
        assert!(refusal.contains("write https://127.0.0.1:7411"), "{refusal}");
        for plain in [HERE, ANYWHERE] {
            let refusal = plain.url("https://127.0.0.1:7411").unwrap_err().to_string();
            assert!(refusal.contains("--certs DIR"), "{refusal}");
        }
        Security::from_flags(Some("certs".into()), true).unwrap_err();
    }

    #[test]
    fn what_is_no_url_is_refused_whatever_the_flags() {
        for text in [
            "",
            "http://",
            "7411",
            "http://host",
            "ftp://h:80",
            "http://h:port",
            "a/b:80",
            "u@h:80",
            "h h:80",
            "::1:80",
            "h\n:80",
        ] {
            for security in [ANYWHERE, certified()] {
                security.url(text).expect_err(text);
            }
        }
    }

    #[test]
    fn listening_follows_the_same_rule() {
        for address in ["127.0.0.1:7411", "[::1]:0"] {
            HERE.listen(address.parse().unwrap(), "--listen").expect(address);
        }
        for address in ["0.0.0.0:7411", "10.1.2.3:7411", "[::]:7411"] {
            let refusal = HERE.listen(address.parse().unwrap(), "--listen").expect_err(address).to_string();
            assert!(refusal.contains("--certs") && refusal.contains("--insecure"), "{refusal}");
            ANYWHERE.listen(address.parse().unwrap(), "--listen").expect(address);
            certified().listen(address.parse().unwrap(), "--listen").expect(address);
        }
    }
}
