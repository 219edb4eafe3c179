//! The server's side of TLS, and its certificates as they are on disk now: renewed files are taken up without a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;

use super::Protocol;
use crate::certificate::day;
use crate::credentials::{Credentials, FILES, Problems};
use crate::identity::Role;
use crate::verify::{OfClients, provider};

/// How often the files are looked at, at most.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Renewal {
    directory: PathBuf,
    role: Role,
    admits: Vec<Role>,
    protocol: Protocol,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    looked: Instant,
    stamp: Stamp,
}

/// When each file was last written. A secret that Kubernetes renews is a link to another directory, whose files are newer.
type Stamp = [Option<SystemTime>; 3];

impl Renewal {
    pub(super) fn load(
        directory: &Path,
        role: Role,
        admits: Vec<Role>,
        protocol: Protocol,
    ) -> Result<Renewal, Problems> {
        let stamp = stamp(directory);
        let config = config(&Credentials::load(directory, role)?, &admits, protocol)?;
        let current = Mutex::new(Current { config, looked: Instant::now(), stamp });
        Ok(Renewal { directory: directory.to_owned(), role, admits, protocol, current })
    }

    /// The configuration for the next handshake.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= LOOK {
            current.looked = Instant::now();
            let stamp = stamp(&self.directory);
            if stamp != current.stamp {
                // Noted in any case, so that what is wrong is said once and not with every connection.
                current.stamp = stamp;
                self.renew(&mut current);
            }
        }
        Arc::clone(&current.config)
    }

    fn renew(&self, current: &mut Current) {
        let renewed = Credentials::load(&self.directory, self.role).and_then(|credentials| {
            config(&credentials, &self.admits, self.protocol).map(|config| (credentials, config))
        });
        match renewed {
            Ok((credentials, config)) => {
                current.config = config;
                tracing::info!(
                    "renewed certificate of {}, valid until {}",
                    credentials.identity,
                    day(credentials.expires())
                );
            }
            Err(problems) => tracing::error!("{problems}\nthe ones that were read before are still used"),
        }
    }
}

fn stamp(directory: &Path) -> Stamp {
    FILES.map(|name| std::fs::metadata(directory.join(name)).and_then(|metadata| metadata.modified()).ok())
}

fn config(credentials: &Credentials, admits: &[Role], protocol: Protocol) -> Result<Arc<ServerConfig>, Problems> {
    let unusable = |error: rustls::Error| Problems::of(&credentials.directory, error.to_string());
    let verifier = OfClients::new(credentials, admits).map_err(unusable)?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(unusable)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&credentials.key))));
    config.alpn_protocols = vec![match protocol {
        Protocol::Http2 => b"h2".to_vec(),
        Protocol::Http1 => b"http/1.1".to_vec(),
    }];
    // A resumed session would pass by the look at the certificate's dates.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
