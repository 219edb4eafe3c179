//! `vufleet coordinator`: the service that agents and operators dial, until it is told to end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc;
use vufleet_telemetry::port::{self, Port};
use vufleet_telemetry::{logs, service};
use vufleet_trust::address::{Plaintext, Security};
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
    let options = ServeOptions { data: args.data, lease: args.lease, security };
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

fn bind(address: SocketAddr, security: &Security) -> anyhow::Result<Port> {
    port::check(address, security).map_err(Usage)?;
    Port::bind(address, security, Role::Coordinator)
}
