//! What clients call a server by: a name of the DNS or an address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A server's name in a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Of the DNS or a hosts file. A leading `*.` stands for one label.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A text that is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no host; write a name or an address as clients dial it, without scheme and port: db1.lab, 10.0.0.7, fd00::7"
)]
pub struct NoHost(pub String);

impl FromStr for Host {
    type Err = NoHost;

    fn from_str(text: &str) -> Result<Host, NoHost> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse() {
            return Ok(Host::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let labels = name.strip_prefix("*.").unwrap_or(&name);
        // Digits and dots alone are an address that somebody mistyped.
        let fits = name.len() <= 253
            && labels.split('.').all(is_label)
            && !labels.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if fits { Ok(Host::Name(name)) } else { Err(NoHost(text.to_owned())) }
    }
}

/// RFC 1123, and the underscore that container networks put into names.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_and_addresses() {
        for (text, host) in [
            ("db1", Host::Name("db1".into())),
            ("DB1.Lab.", Host::Name("db1.lab".into())),
            ("*.agents.lab", Host::Name("*.agents.lab".into())),
            ("vufleet_db_1", Host::Name("vufleet_db_1".into())),
            ("10.0.0.7", Host::Address([10, 0, 0, 7].into())),
            ("[fd00::7]", Host::Address("fd00::7".parse().unwrap())),
            ("::1", Host::Address("::1".parse().unwrap())),
        ] {
            assert_eq!(text.parse(), Ok(host));
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let long = "a".repeat(64);
        for text in [
            "",
            "db1:7411",
            "https://db1",
            "a b",
            "a..b",
            "-a",
            "a-",
            "*",
            "*.",
            "a.*.b",
            "10.0.0.300",
            "1.2.3",
            "bücher",
            &long,
        ] {
            assert_eq!(text.parse::<Host>(), Err(NoHost(text.to_owned())));
        }
    }
}
