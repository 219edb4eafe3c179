//! The agent as a whole: one small runtime for the uplink, beside the threads that serve virtual users.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use vufleet_trust::address::Security;
use vufleet_trust::credentials;
use vufleet_trust::identity::Role;

use crate::clock::CommonClock;
use crate::config::Config;
use crate::limits::Host;
use crate::snapshot;
use crate::uplink::Uplink;

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// When the coordinator refuses this agent for good.
pub fn run(config: Config) -> anyhow::Result<()> {
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
    runtime.block_on(async {
        if let Security::Certificates(directory) = &config.security {
            tokio::spawn(credentials::warn_daily(directory.clone(), Role::Agent));
        }
        let uplink = Uplink::new(config, Host::read()?, CommonClock::default());
        let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
        let stop = async move {
            tokio::select! {
                _ = terminate.recv() => {}
                result = tokio::signal::ctrl_c() => if let Err(error) = result {
                    tracing::error!(%error, "cannot listen for Ctrl-C");
                    std::future::pending::<()>().await;
                },
            }
        };
        uplink.run(stop).await
    })
}
