//! `vufleet coordinator`: the service that agents and operators dial, until it is told to end.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc;
use tokio_stream::wrappers::TcpListenerStream;
use vufleet_telemetry::{logs, page, service};

use crate::args::Coordinator;
use crate::exit::Exit;
use crate::fleet::{self, Core, ServeOptions, tallies, vitals};
use crate::interrupt;
use crate::plaintext::{self, Plaintext};

/// How long the job at hand may take to end in good order: its load stops, its variant is undone, its report is written. A reset
/// that is seen through may take longer than anybody waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// Serves until SIGTERM or Ctrl-C; a second one does not wait for anything.
pub async fn run(args: Coordinator) -> anyhow::Result<Exit> {
    let allowed = Plaintext::from_flag(args.insecure);
    plaintext::listen(args.listen, allowed)?;
    let page = args.metrics.map(|address| bind(address, allowed)).transpose()?;
    let (sender, mut nudges) = mpsc::channel(4);
    interrupt::listen(sender)?;
    let listener = tokio::net::TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; if a coordinator runs there already use that one, else choose another port with \
             --listen",
            args.listen
        )
    })?;
    let options = ServeOptions { data: args.data, lease: args.lease };
    let server = fleet::serve(listener, options).await?;
    let url = server.url();
    let say = |words: &str| logs::say(args.log_format, words);
    say(&format!(
        "coordinator at {url}; Ctrl-C ends it. An agent joins with: vufleet-agent --coordinator {url} --roles drive"
    ));
    if let Some(listener) = page {
        say(&format!("metrics and health at http://{}/metrics and /health", show(listener, server.core())?));
    }
    service::ready();
    service::status(&format!("serving agents and operators at {url}"));
    nudges.recv().await;
    service::stopping();
    say("stopping: no more jobs are taken, and the one at hand ends in good order; a second signal leaves at once");
    tokio::select! {
        ended = server.shutdown(PATIENCE) => ended.map(|()| Exit::Done),
        _ = nudges.recv() => Ok(Exit::Interrupted),
    }
}

fn bind(address: SocketAddr, allowed: Plaintext) -> anyhow::Result<TcpListener> {
    plaintext::metrics(address, allowed)?;
    let listener = TcpListener::bind(address)
        .with_context(|| format!("cannot show metrics at {address}; choose another address with --metrics"))?;
    listener.set_nonblocking(true).context("the socket of --metrics cannot be used")?;
    Ok(listener)
}

/// Shows how this coordinator is. Returns where.
fn show(listener: TcpListener, core: Arc<Core>) -> anyhow::Result<SocketAddr> {
    let address = listener.local_addr().context("the socket of --metrics has no address")?;
    tokio::spawn(tallies::watch(Arc::clone(&core)));
    page::on_its_own_thread(move || async move {
        match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => {
                let source = Arc::new(vitals::Shown::new(core));
                page::serve(TcpListenerStream::new(listener), |_| Ok(()), source).await;
            }
            Err(error) => tracing::error!(%error, "metrics are not shown"),
        }
    })
    .context("no thread to show metrics; raise the limits of threads and open files")?;
    Ok(address)
}
