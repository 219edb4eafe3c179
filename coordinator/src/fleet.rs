//! The coordinator's server: agents on one side, operators on the other, the ledger behind both.
//!
//! Nothing here decides what a study does next; that is the autopilot's.

pub mod admission;
pub mod clock;
pub mod hello;
pub mod inflow;
pub mod keep;
pub mod operator;
pub mod progress;
pub mod queue;
pub mod record;
pub mod registry;
pub mod relay;
pub mod service;
pub mod tallies;
pub mod versions;
pub mod vitals;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use vufleet_proto::v1::fleet_server::FleetServer;
use vufleet_proto::v1::operator_server::OperatorServer;
use vufleet_trust::address::{Security, stays_here};
use vufleet_trust::identity::Role;
use vufleet_trust::server::{self as door, Limits, Protocol};

use crate::ledger::Ledger;
use crate::rollup::Keep;
use admission::Admission;
use clock::Clock;
use progress::Progress;
use record::Record;
use registry::Registry;
use tallies::Tallies;

/// Calls that may be under way on one connection. Agents have one, operators three.
const STREAMS: u32 = 16;
/// Bytes of headers of a call.
const HEADERS: u32 = 16 * 1024;
/// How long a call may take to be received and answered; what it streams afterwards takes as long as it takes.
const ANSWER: Duration = Duration::from_secs(30);

/// How often a connection that is silent is asked for a sign of life, and how long that is waited for: together less than the
/// lease, whose end on this side is that of a connection which is not there.
const KEEPALIVE: Duration = Duration::from_secs(2);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a job that has told its end may take to be gone.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// How a coordinator serves.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Directory of the ledger.
    pub data: PathBuf,
    /// How long an agent goes on without hearing from us, and how long we wait for one that is silent.
    pub lease: Duration,
    /// What protects connections.
    pub security: Security,
    /// How long everything is kept as it was received.
    pub keep: Keep,
}

/// What every connection and the autopilot share.
#[derive(Debug)]
pub struct Core {
    /// Plaintext is served beyond loopback: `--insecure` was typed.
    pub exposed: bool,
    /// The common clock.
    pub clock: Clock,
    /// The agents.
    pub registry: Registry,
    /// The ledger, on its own thread.
    pub record: Record,
    /// Which ledger it is: agents tell ledgers apart by it.
    pub ledger: u64,
    /// How this coordinator serves.
    pub options: ServeOptions,
    /// Drawn at start: agents tell coordinators apart by it.
    pub instance: u64,
    /// The job at hand.
    pub job: Mutex<Option<CurrentJob>>,
    /// Jobs taken so far.
    pub jobs: AtomicU64,
    /// Told whenever there is no job any more.
    pub freed: Notify,
    /// How far the job at hand is.
    pub progress: Progress,
    /// What agents sent.
    pub tallies: Tallies,
    /// Told to end: no job is taken any more.
    closing: AtomicBool,
    /// Turned true when agents are to go too.
    dismissed: watch::Sender<bool>,
}

/// The job at hand, as far as others may interfere with it.
#[derive(Debug)]
pub struct CurrentJob {
    /// What it was called when it was taken.
    pub job: String,
    /// The id of its study, once there is one.
    pub study_id: Option<String>,
    /// Turned true to end it.
    pub stop: watch::Sender<bool>,
}

/// A running coordinator. Dropping it without [`shutdown`](Server::shutdown) ends it without farewells.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), tonic::transport::Error>>,
    keeper: Keeper,
    core: Arc<Core>,
}

/// Opens the ledger and serves agents and operators on `listener`.
///
/// # Errors
/// When the ledger cannot be opened: another coordinator has it, its disk is full, its version is another.
pub async fn serve(listener: TcpListener, options: ServeOptions) -> anyhow::Result<Server> {
    let address = listener.local_addr().context("the listening socket has no address")?;
    let ledger = Ledger::open(&options.data)?;
    let incoming = door::incoming(listener, door_options(&options.security))?;
    let registry = Registry::default();
    for standing in ledger.standing()? {
        tracing::warn!("{}", standing.sentence());
        registry.hold(standing.run.0);
    }
    let exposed = options.security.scheme() == "http" && !stays_here(address);
    let core = Arc::new(Core {
        exposed,
        ledger: ledger.identity()?,
        clock: Clock::default(),
        registry,
        record: Record::keep(ledger)?,
        options,
        instance: rand::random_range(1..u64::MAX),
        job: Mutex::new(None),
        jobs: AtomicU64::new(0),
        freed: Notify::new(),
        progress: Progress::default(),
        tallies: Tallies::default(),
        closing: AtomicBool::new(false),
        dismissed: watch::Sender::new(false),
    });
    let keeper = Keeper(tokio::spawn(keep::look_after(Arc::clone(&core))));
    let (stop, stopped) = oneshot::channel::<()>();
    let limit = vufleet_proto::MAX_MESSAGE_BYTES;
    let fleet = FleetServer::new(service::FleetService::new(Arc::clone(&core)))
        .max_decoding_message_size(limit)
        .max_encoding_message_size(limit);
    let operator = OperatorServer::new(operator::OperatorService::new(Arc::clone(&core)))
        .max_decoding_message_size(limit)
        .max_encoding_message_size(limit);
    let router = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some((core.options.lease / 5).min(KEEPALIVE)))
        .http2_keepalive_timeout(Some((core.options.lease / 2).min(KEEPALIVE_TIMEOUT)))
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(HEADERS)
        .timeout(ANSWER)
        .layer(Admission::default())
        .layer(versions::Versions::default())
        .add_service(fleet)
        .add_service(operator);
    let served = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async {
        // An error means that the server was dropped, which ends it too.
        stopped.await.unwrap_or_default();
    }));
    Ok(Server { address, stop, served, keeper, core })
}

/// Every role may knock, so that who has no business here is told so in words.
fn door_options(security: &Security) -> door::Options {
    let open_files =
        nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).map_or(1_024, |limit| limit.0);
    door::Options {
        security: security.clone(),
        role: Role::Coordinator,
        admits: Role::ALL.to_vec(),
        protocol: Protocol::Http2,
        limits: Limits::default().within(open_files),
    }
}

/// Who looks after what is kept. It has the ledger open, and ends with the server however that ends.
#[derive(Debug)]
struct Keeper(JoinHandle<()>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Server {
    /// Where clients on this machine reach it.
    pub fn url(&self) -> String {
        format!("{}://{}", self.core.options.security.scheme(), self.address)
    }

    /// What connections and the autopilot share.
    pub fn core(&self) -> Arc<Core> {
        Arc::clone(&self.core)
    }

    /// Takes no more jobs, ends the one at hand, waiting at most so long for it, lets the agents go and closes the ledger.
    pub async fn shutdown(self, patience: Duration) -> anyhow::Result<()> {
        self.core.close();
        drop(self.keeper);
        if tokio::time::timeout(patience, self.core.idle()).await.is_err() {
            tracing::warn!("the job at hand did not end within {} s; what it was doing is left", patience.as_secs());
        }
        self.core.dismissed.send_replace(true);
        if self.stop.send(()).is_err() {
            tracing::debug!("the server had ended before it was told to");
        }
        // Streams that agents keep open would hold the end up.
        match tokio::time::timeout(Duration::from_secs(2), self.served).await {
            Ok(served) => served.context("the server's task died")?.context("the server ended with an error")?,
            Err(_) => tracing::debug!("some connections were still open at the end"),
        }
        match self.core.record.with(|ledger| ledger.fold_log()).await {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("somebody reads the ledger: its log stays beside it, and belongs to a copy of it")
            }
            Err(error) => tracing::warn!(%error, "the ledger's log stays beside it, and belongs to a copy of it"),
        }
        Ok(())
    }
}

impl CurrentJob {
    /// What people call it.
    fn name(&self) -> &str {
        self.study_id.as_deref().unwrap_or(&self.job)
    }
}

impl Core {
    /// Claims the coordinator for a job of a kind, and names it.
    ///
    /// # Errors
    /// The name of the job at hand, when there is one.
    pub fn claim(&self, kind: &str) -> Result<(String, watch::Receiver<bool>), String> {
        let mut job = self.lock_job();
        if let Some(current) = &*job {
            return Err(current.name().to_owned());
        }
        if self.is_closing() {
            return Err("its own end".to_owned());
        }
        let name = format!("{kind}-{}", self.jobs.fetch_add(1, Ordering::Relaxed) + 1);
        let (stop, stopped) = watch::channel(false);
        *job = Some(CurrentJob { job: name.clone(), study_id: None, stop });
        Ok((name, stopped))
    }

    /// The same for somebody who has just been told the end of a job, which is still here for a moment then.
    ///
    /// # Errors
    /// The name of a job that goes on.
    pub async fn claim_soon(&self, kind: &str) -> Result<(String, watch::Receiver<bool>), String> {
        let freed = self.freed.notified();
        let mut freed = std::pin::pin!(freed);
        freed.as_mut().enable();
        if let Ok(claimed) = self.claim(kind) {
            return Ok(claimed);
        }
        if tokio::time::timeout(LAST_MOMENT, freed).await.is_err() {
            tracing::debug!("the job at hand goes on");
        }
        self.claim(kind)
    }

    /// Notes the id of the study that the job at hand works on.
    pub fn name_job(&self, study_id: &str) {
        if let Some(job) = &mut *self.lock_job() {
            job.study_id = Some(study_id.to_owned());
        }
    }

    /// Frees the coordinator for another job.
    pub fn release(&self) {
        *self.lock_job() = None;
        self.progress.clear();
        self.freed.notify_waiters();
    }

    /// The name of the job at hand.
    pub fn job_at_hand(&self) -> Option<String> {
        self.lock_job().as_ref().map(|job| job.name().to_owned())
    }

    /// From now on there are no new jobs; the one at hand is told to end. Its name, when there is one.
    pub fn close(&self) -> Option<String> {
        self.closing.store(true, Ordering::SeqCst);
        self.end_job()
    }

    /// Whether this coordinator has been told to end.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Waits until agents are to go.
    pub async fn dismissed(&self) {
        if self.dismissed.subscribe().wait_for(|dismissed| *dismissed).await.is_err() {
            tracing::debug!("nobody is left who could dismiss agents");
        }
    }

    /// Waits until there is no job.
    async fn idle(&self) {
        loop {
            let freed = self.freed.notified();
            let mut freed = std::pin::pin!(freed);
            freed.as_mut().enable();
            if self.is_idle() {
                return;
            }
            freed.await;
        }
    }

    /// What kind of job is at hand.
    pub fn job_kind(&self) -> Option<String> {
        let job = self.lock_job();
        job.as_ref().and_then(|job| job.job.rsplit_once('-')).map(|(kind, _)| kind.to_owned())
    }

    /// Whether there is no job.
    pub fn is_idle(&self) -> bool {
        self.lock_job().is_none()
    }

    /// Tells the job at hand to end. Its name, when there is one.
    pub fn end_job(&self) -> Option<String> {
        let job = self.lock_job();
        job.as_ref().map(|job| {
            job.stop.send_replace(true);
            job.name().to_owned()
        })
    }

    /// Tells the job of that name to end. `Err` names the one that is at hand instead.
    pub fn end_job_named(&self, wanted: &str) -> Result<Option<String>, String> {
        match &*self.lock_job() {
            None => return Ok(None),
            Some(job) if wanted.is_empty() || job.job == wanted || job.study_id.as_deref() == Some(wanted) => {}
            Some(job) => return Err(job.name().to_owned()),
        }
        Ok(self.end_job())
    }

    fn lock_job(&self) -> std::sync::MutexGuard<'_, Option<CurrentJob>> {
        self.job.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
