//! One process's certificates: a directory with `ca.crt` (whom it trusts), `tls.crt` and `tls.key` (who it is). What is wrong
//! with it is told at once and in full, with remedies, before a port is bound or a coordinator dialled.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;

use crate::authority::{CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY};
use crate::certificate::{Facts, day};
use crate::identity::{Identity, Role};
use crate::reason;
use crate::validity::DAY;
use crate::verify::provider;

/// The files of a directory of certificates.
pub const FILES: [&str; 3] = [CA_CERTIFICATE, CERTIFICATE, KEY];

/// From when on the end of a certificate is warned of, unless a third of its life is shorter.
const SOON: Duration = Duration::from_secs(30 * DAY.as_secs());

/// Checked certificates of this process.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// Who this process is.
    pub identity: Identity,
    /// What its certificate says besides.
    pub facts: Facts,
    pub(crate) directory: PathBuf,
    pub(crate) authorities: Arc<RootCertStore>,
    pub(crate) key: Arc<CertifiedKey>,
    remarks: Vec<String>,
}

/// All that is wrong with a directory of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    directory: PathBuf,
    list: Vec<String>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the certificates in {} cannot be used: {}", self.directory.display(), self.list.join("\n  "))
    }
}

impl std::error::Error for Problems {}

impl Problems {
    /// Each of them.
    pub fn list(&self) -> &[String] {
        &self.list
    }

    pub(crate) fn of(directory: &Path, problem: String) -> Problems {
        Problems { directory: directory.to_owned(), list: vec![problem] }
    }
}

impl Credentials {
    /// Reads and checks a directory, for a process that is to be of a role.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(directory: &Path, role: Role) -> Result<Credentials, Problems> {
        let mut reading = Reading { directory, problems: Vec::new(), remarks: Vec::new() };
        let read = reading.all(role, SystemTime::now());
        let (list, remarks) = (reading.problems, reading.remarks);
        match read {
            Some((identity, facts, authorities, key)) if list.is_empty() => {
                Ok(Credentials { identity, facts, directory: directory.to_owned(), authorities, key, remarks })
            }
            _ => Err(Problems { directory: directory.to_owned(), list }),
        }
    }

    /// Until when its certificate is valid.
    pub fn expires(&self) -> SystemTime {
        self.facts.until
    }

    /// What somebody should look at, though it does not keep anybody from working.
    pub fn warnings(&self, now: SystemTime) -> Vec<String> {
        self.remarks.iter().cloned().chain(self.expiry(now)).collect()
    }

    /// Whether the end of the certificate is near.
    fn expiry(&self, now: SystemTime) -> Option<String> {
        let life = self.facts.until.duration_since(self.facts.from).unwrap_or_default();
        let left = self.facts.until.duration_since(now).unwrap_or_default();
        (left < SOON.min(life / 3)).then(|| {
            format!(
                "the certificate of {} in {} expires on {}, in {} days; issue another one (vufleet certs issue {} {}) and put it in \
                 its place: it is used from the next connection on",
                self.identity,
                self.directory.display(),
                day(self.facts.until),
                left.as_secs() / DAY.as_secs(),
                self.identity.role,
                self.identity.name,
            )
        })
    }
}

type Read = (Identity, Facts, Arc<RootCertStore>, Arc<CertifiedKey>);

/// One look at a directory: goes on after a problem, so that all are told.
struct Reading<'a> {
    directory: &'a Path,
    problems: Vec<String>,
    remarks: Vec<String>,
}

impl Reading<'_> {
    fn all(&mut self, role: Role, now: SystemTime) -> Option<Read> {
        if !self.directory.is_dir() {
            self.problems.push(format!(
                "there is no such directory; make it with `vufleet certs issue {role} ...` and copy it to this host, or check --certs"
            ));
            return None;
        }
        self.look_for_authority_key();
        let authorities = self.authorities(now);
        let chain = self.certificates(CERTIFICATE);
        let key = self.key();
        let chain = chain?;
        let facts = self.facts(&chain[0])?;
        self.check_dates(&facts, now);
        if let Some(authorities) = &authorities {
            self.check_issuer(authorities, &chain, &facts, now);
        }
        let identity = self.identity(&facts, role);
        let key = self.certified(chain, key?);
        Some((identity?, facts, authorities?, key?))
    }

    fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        match std::fs::read(self.directory.join(name)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.problems.push(format!("{name} is missing; copy all of {} here", FILES.join(", ")));
                None
            }
            Err(error) => {
                self.problems.push(format!("{name} cannot be read ({error}); give this process's user the right to"));
                None
            }
        }
    }

    fn certificates(&mut self, name: &str) -> Option<Vec<CertificateDer<'static>>> {
        let bytes = self.file(name)?;
        match CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>() {
            Ok(found) if !found.is_empty() => return Some(found),
            Ok(_) => {
                self.problems.push(format!("{name} holds no certificate; PEM is wanted: -----BEGIN CERTIFICATE-----"))
            }
            Err(error) => self.problems.push(format!("{name} is damaged ({error}); copy it again")),
        }
        None
    }

    /// Those that have expired are left out, for verifying ends at an authority without a look at its dates.
    fn authorities(&mut self, now: SystemTime) -> Option<Arc<RootCertStore>> {
        let mut store = RootCertStore::empty();
        for certificate in self.certificates(CA_CERTIFICATE)? {
            let facts = match Facts::of(&certificate) {
                Ok(facts) => facts,
                Err(error) => {
                    self.problems.push(format!("{CA_CERTIFICATE} is damaged ({error}); copy it again"));
                    continue;
                }
            };
            if !facts.authority {
                self.problems.push(format!(
                    "{CA_CERTIFICATE} holds a certificate that is no authority's; it is to hold the one of `vufleet certs init`"
                ));
            } else if facts.until <= now {
                self.remarks.push(format!(
                    "an authority in {CA_CERTIFICATE} has expired on {}; it is not trusted",
                    day(facts.until)
                ));
            } else if let Err(error) = store.add(certificate) {
                self.problems.push(format!("{CA_CERTIFICATE} holds an authority that cannot be used ({error})"));
            }
        }
        if store.is_empty() && self.problems.is_empty() {
            self.problems.push(format!(
                "the authority in {CA_CERTIFICATE} has expired; make a new one with `vufleet certs init`"
            ));
        }
        (!store.is_empty()).then(|| Arc::new(store))
    }

    fn key(&mut self) -> Option<PrivateKeyDer<'static>> {
        let bytes = self.file(KEY)?;
        let path = self.directory.join(KEY);
        // Not refused: Kubernetes mounts secrets readable by the pod's group.
        if let Ok(metadata) = std::fs::metadata(&path)
            && metadata.permissions().mode() & 0o077 != 0
        {
            let mode = metadata.permissions().mode() & 0o7777;
            self.remarks.push(format!("{} can be read by others (mode {mode:04o}); chmod 600 {0}", path.display()));
        }
        match PrivateKeyDer::from_pem_slice(&bytes) {
            Ok(key) => Some(key),
            Err(_) => {
                self.problems.push(format!(
                    "{KEY} holds no private key; PEM without a pass phrase is wanted: -----BEGIN PRIVATE KEY-----"
                ));
                None
            }
        }
    }

    fn look_for_authority_key(&mut self) {
        let path = self.directory.join(CA_KEY);
        if path.exists() {
            self.remarks.push(format!(
                "{} is the authority's own key, by which anybody can be issued; keep it only where certificates are issued",
                path.display()
            ));
        }
    }

    fn facts(&mut self, certificate: &CertificateDer<'_>) -> Option<Facts> {
        Facts::of(certificate)
            .map_err(|error| self.problems.push(format!("{CERTIFICATE} is damaged ({error}); copy it again")))
            .ok()
    }

    fn check_dates(&mut self, facts: &Facts, now: SystemTime) {
        if facts.until <= now {
            self.problems.push(format!("{CERTIFICATE} has expired on {}; issue another one", day(facts.until)));
        }
        if facts.from > now {
            self.problems.push(format!(
                "{CERTIFICATE} is valid from {} on; compare this host's clock with the issuer's",
                day(facts.from)
            ));
        }
    }

    fn check_issuer(
        &mut self,
        authorities: &Arc<RootCertStore>,
        chain: &[CertificateDer<'static>],
        facts: &Facts,
        now: SystemTime,
    ) {
        let verifier = match WebPkiClientVerifier::builder_with_provider(Arc::clone(authorities), provider()).build() {
            Ok(verifier) => verifier,
            Err(error) => return self.problems.push(format!("{CA_CERTIFICATE} cannot be used ({error})")),
        };
        // Dates have been told already; the rest is looked at on a day when they hold.
        let instant = now.clamp(facts.from, facts.until.max(facts.from));
        let instant = UnixTime::since_unix_epoch(instant.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        if let Err(error) = verifier.verify_client_cert(&chain[0], &chain[1..], instant) {
            let why = match error {
                rustls::Error::InvalidCertificate(error) if reason::is_of_another_authority(&error) => {
                    format!(
                        "{CERTIFICATE} was not issued by the authority in {CA_CERTIFICATE}; both are to come from one `vufleet certs issue`"
                    )
                }
                error => format!("{CERTIFICATE} does not hold ({error}); issue another one"),
            };
            self.problems.push(why);
        }
    }

    fn identity(&mut self, facts: &Facts, role: Role) -> Option<Identity> {
        match &facts.identity {
            Some(identity) if identity.role == role => return Some(identity.clone()),
            Some(identity) => self.problems.push(format!(
                "{CERTIFICATE} is that of {identity}, and {role} is what is wanted here; issue one with `vufleet certs issue {role} ...`"
            )),
            None => self.problems.push(format!(
                "{CERTIFICATE} names no role of a fleet (a URI like spiffe://vufleet/{role}/NAME); issue one with `vufleet certs issue \
                 {role} ...`"
            )),
        }
        None
    }

    fn certified(
        &mut self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Option<Arc<CertifiedKey>> {
        match CertifiedKey::from_der(chain, key, &provider()) {
            Ok(key) => Some(Arc::new(key)),
            Err(rustls::Error::InconsistentKeys(_)) => {
                self.problems.push(format!(
                    "{KEY} is the key of another certificate than {CERTIFICATE}; copy both from one place"
                ));
                None
            }
            Err(error) => {
                self.problems.push(format!("{KEY} cannot be used ({error}); issue another certificate"));
                None
            }
        }
    }
}

/// What is wrong with the dates of a certificate, or will soon be.
pub fn dates(facts: &Facts, now: SystemTime) -> Vec<String> {
    let life = facts.until.duration_since(facts.from).unwrap_or_default();
    let left = facts.until.duration_since(now).unwrap_or_default();
    if facts.until <= now {
        vec![format!("it has expired on {}", day(facts.until))]
    } else if facts.from > now {
        vec![format!("it is valid from {} on; compare this host's clock with the issuer's", day(facts.from))]
    } else if left < SOON.min(life / 3) {
        vec![format!("it expires on {}, in {} days", day(facts.until), left.as_secs() / DAY.as_secs())]
    } else {
        Vec::new()
    }
}

/// Warns now and every day of what [`Credentials::warnings`] tells.
pub async fn warn_daily(directory: PathBuf, role: Role) {
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        match Credentials::load(&directory, role) {
            Ok(credentials) => {
                for warning in credentials.warnings(SystemTime::now()) {
                    tracing::warn!("{warning}");
                }
            }
            Err(problems) => tracing::error!("{problems}"),
        }
    }
}
