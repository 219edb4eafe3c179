//! Where the page is: plaintext on loopback, elsewhere TLS whose other end shows a certificate, or `--insecure` spelled out.
//! Monitors, operators and coordinators may read; agents have no business with each other's figures.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use vufleet_trust::address::{Plaintext, Security, stays_here};
use vufleet_trust::credentials::Credentials;
use vufleet_trust::identity::Role;
use vufleet_trust::server::{Limits, Options, Protocol, incoming};

use crate::page;
use crate::sheet::Source;

/// Who may read.
const READERS: [Role; 3] = [Role::Monitor, Role::Operator, Role::Coordinator];
/// Connections at a time; those that have not shown who they are take none of the places of those that have.
const LIMITS: Limits = Limits { all: 64, per_address: 32, unknown: 64, unknown_per_address: 32 };

/// A port that is bound and not served yet.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    options: Options,
}

/// Says why metrics may not be shown at an address.
///
/// # Errors
/// Plaintext beyond loopback that nobody has asked for.
pub fn check(address: SocketAddr, security: &Security) -> Result<(), String> {
    if *security != Security::Plaintext(Plaintext::Loopback) || stays_here(address) {
        return Ok(());
    }
    Err(format!(
        "--metrics {address} is not a loopback address, and whoever reaches it could read; show metrics at 127.0.0.1, add \
         --certs DIR, so that readers need a certificate, or --insecure on a network that is yours alone"
    ))
}

impl Port {
    /// Binds it, for a process that is of a role.
    ///
    /// # Errors
    /// When the address cannot be had, or the certificates cannot be used.
    pub fn bind(address: SocketAddr, security: &Security, role: Role) -> anyhow::Result<Port> {
        let listener = TcpListener::bind(address)
            .with_context(|| format!("cannot show metrics at {address}; choose another address with --metrics"))?;
        listener.set_nonblocking(true).context("the socket of --metrics cannot be used")?;
        let security = if stays_here(address) { Security::Plaintext(Plaintext::Loopback) } else { security.clone() };
        if let Security::Certificates(directory) = &security {
            Credentials::load(directory, role)?;
        }
        let options = Options { security, role, admits: READERS.to_vec(), protocol: Protocol::Http1, limits: LIMITS };
        Ok(Port { listener, options })
    }

    /// Shows a source on it from now on. Returns where.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn show(self, source: Arc<dyn Source>) -> anyhow::Result<String> {
        let address = self.listener.local_addr().context("the socket of --metrics has no address")?;
        let scheme = self.options.security.scheme();
        page::on_its_own_thread(move || async move {
            let listener = tokio::net::TcpListener::from_std(self.listener);
            let connections = listener.map_err(anyhow::Error::from).and_then(|it| Ok(incoming(it, self.options)?));
            match connections {
                Ok(connections) => page::serve(connections, source).await,
                Err(error) => tracing::error!("metrics are not shown: {error:#}"),
            }
        })
        .context("no thread to show metrics; raise the limits of threads and open files")?;
        Ok(format!("{scheme}://{address}"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn plaintext_beyond_loopback_is_asked_for() {
        let address = |text: &str| text.parse().unwrap();
        let here = Security::Plaintext(Plaintext::Loopback);
        for text in ["127.0.0.1:7412", "[::1]:7412", "[::ffff:127.0.0.1]:7412"] {
            check(address(text), &here).unwrap();
        }
        for text in ["0.0.0.0:7412", "10.1.2.3:7412", "[::]:7412"] {
            let refusal = check(address(text), &here).unwrap_err();
            assert!(
                refusal.contains(text) && refusal.contains("--certs") && refusal.contains("--insecure"),
                "{refusal}"
            );
            check(address(text), &Security::Plaintext(Plaintext::Anywhere)).unwrap();
            check(address(text), &Security::Certificates(PathBuf::from("certs"))).unwrap();
        }
    }
}
