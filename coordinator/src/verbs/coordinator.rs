//! `vufleet coordinator`: the service that agents and operators dial, until it is told to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::sync::mpsc;
use vufleet_telemetry::port::{self, Port};
use vufleet_telemetry::{logs, service};
use vufleet_trust::address::{Plaintext, Security};
use vufleet_trust::credentials::{self, Credentials};
use vufleet_trust::identity::Role;

use crate::args::Coordinator;
use crate::exit::{Exit, Usage};
use crate::fleet::{self, ServeOptions, tallies, vitals};
use crate::interrupt;

/// How long the job at hand may take to end in good order: its load stops, its variant is undone, its report is written. A reset
/// that is seen through may take longer than anybody waits.
const PATIENCE: Duration = Duration::from_secs(120);

/// Serves until SIGTERM or Ctrl-C; a second one does not wait for anything.
pub async fn run(args: Coordinator) -> anyhow::Result<Exit> {
    let security = args.wire.security()?;
    security.listen(args.listen, "--listen").map_err(Usage::from)?;
    if let Security::Certificates(directory) = &security {
        Credentials::load(directory, Role::Coordinator)?;
        tokio::spawn(credentials::warn_daily(directory.clone(), Role::Coordinator));
    }
    raise_open_files();
    let port = args.metrics.map(|address| bind(address, &security)).transpose()?;
    let (sender, mut nudges) = mpsc::channel(4);
    interrupt::listen(sender)?;
    let listener = tokio::net::TcpListener::bind(args.listen).await.with_context(|| {
        format!(
            "cannot listen on {}; if a coordinator runs there already use that one, else choose another port with \
             --listen",
            args.listen
        )
    })?;
    let joins_with = match &security {
        Security::Plaintext(Plaintext::Loopback) => "",
        Security::Plaintext(Plaintext::Anywhere) => " --insecure",
        Security::Certificates(_) => " --certs DIR",
    };
    let options = ServeOptions { data: args.data, lease: args.lease, security, keep: args.keep };
    let server = fleet::serve(listener, options).await?;
    let url = server.url();
    let say = |words: &str| logs::say(args.log_format, words);
    say(&format!(
        "coordinator at {url}; Ctrl-C ends it. An agent joins with: vufleet-agent --coordinator {url} --roles \
         drive{joins_with}"
    ));
    if let Some(port) = port {
        tokio::spawn(tallies::watch(server.core()));
        let at = port.show(Arc::new(vitals::Shown::new(server.core())))?;
        say(&format!("metrics and health at {at}/metrics and /health"));
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

/// Every agent and operator is a connection; what the system allows beyond its default is asked for.
fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(soft, hard)| if soft < hard { setrlimit(Resource::RLIMIT_NOFILE, hard, hard) } else { Ok(()) });
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn bind(address: SocketAddr, security: &Security) -> anyhow::Result<Port> {
    port::check(address, security).map_err(Usage)?;
    Port::bind(address, security, Role::Coordinator)
}
