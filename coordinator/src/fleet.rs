//! The coordinator's server: agents on one side, operators on the other, the ledger behind both.
//!
//! Nothing here decides what a study does next; that is the autopilot's.

pub mod clock;
pub mod operator;
pub mod record;
pub mod registry;
pub mod service;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use vufleet_proto::v1::fleet_server::FleetServer;
use vufleet_proto::v1::operator_server::OperatorServer;

use crate::ledger::Ledger;
use clock::Clock;
use record::Record;
use registry::Registry;

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
}

/// What every connection and the autopilot share.
#[derive(Debug)]
pub struct Core {
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
    core: Arc<Core>,
}

/// Opens the ledger and serves agents and operators on `listener`.
///
/// # Errors
/// When the ledger cannot be opened: another coordinator has it, its disk is full, its version is another.
pub async fn serve(listener: TcpListener, options: ServeOptions) -> anyhow::Result<Server> {
    let address = listener.local_addr().context("the listening socket has no address")?;
    let ledger = Ledger::open(&options.data)?;
    let registry = Registry::default();
    for standing in ledger.standing()? {
        tracing::warn!("{}", standing.sentence());
        registry.hold(standing.run.0);
    }
    let core = Arc::new(Core {
        ledger: ledger.identity()?,
        clock: Clock::default(),
        registry,
        record: Record::keep(ledger)?,
        options,
        instance: rand::random_range(1..u64::MAX),
        job: Mutex::new(None),
        jobs: AtomicU64::new(0),
        freed: Notify::new(),
    });
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
        .add_service(fleet)
        .add_service(operator);
    let incoming = TcpListenerStream::new(listener);
    let incoming = tokio_stream::StreamExt::map(incoming, |socket| {
        if let Ok(socket) = &socket
            && let Err(error) = socket.set_nodelay(true)
        {
            tracing::debug!(%error, "a connection keeps Nagle's algorithm");
        }
        socket
    });
    let served = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async {
        // An error means that the server was dropped, which ends it too.
        stopped.await.unwrap_or_default();
    }));
    Ok(Server { address, stop, served, core })
}

impl Server {
    /// Where clients on this machine reach it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends the job at hand, lets the agents go and closes the ledger.
    pub async fn shutdown(self) -> anyhow::Result<()> {
        self.core.end_job();
        for _ in 0..100 {
            if self.core.is_idle() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.core.registry.dismiss();
        if self.stop.send(()).is_err() {
            tracing::debug!("the server had ended before it was told to");
        }
        // Streams that agents keep open would hold the end up.
        match tokio::time::timeout(Duration::from_secs(2), self.served).await {
            Ok(served) => served.context("the server's task died")?.context("the server ended with an error")?,
            Err(_) => tracing::debug!("some connections were still open at the end"),
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
        self.freed.notify_waiters();
    }

    /// The name of the job at hand.
    pub fn job_at_hand(&self) -> Option<String> {
        self.lock_job().as_ref().map(|job| job.name().to_owned())
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
