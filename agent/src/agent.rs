//! The agent as a whole: one small runtime for the uplink, beside the threads that serve virtual users, and one thread for
//! whoever asks how it is.

use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use vufleet_telemetry::port::Port;
use vufleet_telemetry::service;
use vufleet_trust::address::Security;
use vufleet_trust::credentials;
use vufleet_trust::identity::Role;

use crate::clock::CommonClock;
use crate::config::Config;
use crate::limits::Host;
use crate::snapshot;
use crate::uplink::Uplink;
use crate::vitals::Shown;

/// How the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Told to, with everything undone and handed over that could be.
    InGoodOrder,
    /// Told to a second time.
    AtOnce,
}

/// Serves until SIGTERM or SIGINT, and then until everything is in order; a second one is not waited for.
///
/// # Errors
/// When the coordinator refuses this agent for good, or metrics cannot be shown.
pub fn run(config: Config) -> anyhow::Result<Ending> {
    let port = config.metrics.map(|address| Port::bind(address, &config.security, Role::Agent)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("no runtime for the uplink; raise the limits of threads and open files")?;
    if let Some(files) = config.snapshot.clone() {
        // An agent that was killed may have left its server stopped.
        std::thread::Builder::new()
            .name("recover".to_owned())
            .spawn(move || snapshot::recover(&files))
            .context("no thread to look after the server of [snapshot]; raise the limit of threads (ulimit -u)")?;
    }
    let ended = runtime.block_on(async {
        if let Security::Certificates(directory) = &config.security {
            tokio::spawn(credentials::warn_daily(directory.clone(), Role::Agent));
        }
        let security = config.security.clone();
        let uplink = Uplink::new(config, Host::read()?, CommonClock::default());
        if let Some(port) = port {
            let at = port.show(Arc::new(Shown::new(uplink.vitals(), security)))?;
            tracing::info!("metrics and health at {at}/metrics and /health");
        }
        let signals = listen()?;
        service::ready();
        uplink.run(signals).await
    });
    // Whoever is told twice does not wait for what hangs.
    runtime.shutdown_background();
    ended
}

/// The names of the signals that tell this process to end, as they arrive.
fn listen() -> anyhow::Result<mpsc::Receiver<&'static str>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let (told, signals) = mpsc::channel(4);
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if told.send(name).await.is_err() {
                return;
            }
        }
    });
    Ok(signals)
}
