//! The agent as a whole: one small runtime for the uplink, beside the threads that serve virtual users, and one thread for
//! whoever asks how it is.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_stream::wrappers::TcpListenerStream;
use vufleet_telemetry::{page, service};

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
    let page = config.metrics.map(bind).transpose()?;
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
        let uplink = Uplink::new(config, Host::read()?, CommonClock::default());
        if let Some(listener) = page {
            show(listener, Shown::new(uplink.vitals()))?;
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

fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot show metrics at {address}; choose another address with --metrics"))?;
    listener.set_nonblocking(true).context("the socket of --metrics cannot be used")?;
    Ok(listener)
}

fn show(listener: TcpListener, source: Shown) -> anyhow::Result<()> {
    let address = listener.local_addr().context("the socket of --metrics has no address")?;
    page::on_its_own_thread(move || async move {
        match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => page::serve(TcpListenerStream::new(listener), |_| Ok(()), Arc::new(source)).await,
            Err(error) => tracing::error!(%error, "metrics are not shown"),
        }
    })
    .context("no thread to show metrics; raise the limits of threads and open files")?;
    tracing::info!("metrics and health at http://{address}/metrics and /health");
    Ok(())
}
