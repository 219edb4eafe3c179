//! Where plaintext may travel: on loopback, elsewhere only when `--insecure` was typed. Both ends of the wire ask here,
//! so that a database password never leaves the machine in the clear by accident.

use std::net::{IpAddr, SocketAddr};

use crate::exit::Usage;

/// Whether the operator accepts plaintext beyond loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plaintext {
    /// On loopback only.
    Loopback,
    /// Anywhere: `--insecure` was typed.
    Anywhere,
}

impl Plaintext {
    /// What the flag says.
    pub fn from_flag(insecure: bool) -> Plaintext {
        if insecure { Plaintext::Anywhere } else { Plaintext::Loopback }
    }
}

/// A coordinator's URL in full, when plaintext may be spoken to it. `host:port` means `http://host:port`.
pub fn url(text: &str, plaintext: Plaintext) -> Result<String, Usage> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    if scheme != "http" {
        return Err(Usage(format!(
            "{text}: this version speaks http only; write http://HOST:PORT, or reach the coordinator through a tunnel"
        )));
    }
    let authority = rest.trim_end_matches('/');
    let Some((host, port)) = authority.rsplit_once(':').filter(|(host, _)| !host.is_empty()) else {
        return Err(Usage(format!("{text}: a coordinator's URL needs a port; write http://HOST:7411")));
    };
    if port.parse::<u16>().is_err() || authority.contains(['/', '@', ' ']) {
        return Err(Usage(format!("{text} is not a coordinator's URL; write http://HOST:7411")));
    }
    if plaintext == Plaintext::Loopback && !is_loopback(host) {
        return Err(Usage(format!(
            "{text} is not on this machine and the connection would be plaintext, database passwords included; use an \
             ssh tunnel to its loopback address, or type --insecure if you trust the network"
        )));
    }
    Ok(format!("http://{authority}"))
}

/// Whether a coordinator may listen there in plaintext.
pub fn listen(address: SocketAddr, plaintext: Plaintext) -> Result<(), Usage> {
    if plaintext == Plaintext::Loopback && !address.ip().is_loopback() {
        return Err(Usage(format!(
            "--listen {address} is not a loopback address and the service would be plaintext, database passwords \
             included; listen on 127.0.0.1 and let agents come through tunnels, or type --insecure if you trust the \
             network"
        )));
    }
    Ok(())
}

/// Whether metrics may be shown there to whoever connects.
pub fn metrics(address: SocketAddr, plaintext: Plaintext) -> Result<(), Usage> {
    if plaintext == Plaintext::Loopback && !address.ip().is_loopback() {
        return Err(Usage(format!(
            "--metrics {address} is not a loopback address, and whoever reaches it could read; show metrics at 127.0.0.1, \
             or type --insecure if you trust the network"
        )));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_always_allowed() {
        for (text, full) in [
            ("http://127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("127.0.0.1:7411", "http://127.0.0.1:7411"),
            ("http://127.8.0.1:1/", "http://127.8.0.1:1"),
            ("localhost:7411", "http://localhost:7411"),
            ("http://[::1]:7411", "http://[::1]:7411"),
        ] {
            assert_eq!(url(text, Plaintext::Loopback).expect(text), full);
        }
    }

    #[test]
    fn elsewhere_needs_the_flag() {
        for text in ["http://10.0.0.5:7411", "db1.example:7411", "http://[::2]:7411", "http://localhost.example:1"] {
            let refusal = url(text, Plaintext::Loopback).expect_err(text).to_string();
            assert!(refusal.contains(text) && refusal.contains("--insecure"), "{refusal}");
            url(text, Plaintext::Anywhere).expect(text);
        }
    }

    #[test]
    fn what_is_no_url_is_refused_whatever_the_flag() {
        for text in
            ["", "http://", "7411", "http://host", "https://127.0.0.1:7411", "http://h:port", "a/b:80", "u@h:80"]
        {
            url(text, Plaintext::Anywhere).expect_err(text);
        }
    }

    #[test]
    fn listening_follows_the_same_rule() {
        for address in ["127.0.0.1:7411", "[::1]:0"] {
            listen(address.parse().unwrap(), Plaintext::Loopback).expect(address);
        }
        for address in ["0.0.0.0:7411", "10.1.2.3:7411", "[::]:7411"] {
            listen(address.parse().unwrap(), Plaintext::Loopback).expect_err(address);
            listen(address.parse().unwrap(), Plaintext::Anywhere).expect(address);
        }
    }
}
