//! `vufleet coordinator`: the service that agents and operators dial, until it is told to stop.

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use vufleet_trust::address::{Plaintext, Security};

use crate::args::Coordinator;
use crate::exit::{Exit, Usage};
use crate::fleet::{self, ServeOptions};
use crate::interrupt;

/// Serves until SIGTERM or Ctrl-C; a second one does not wait for what is being written.
pub async fn run(args: Coordinator) -> anyhow::Result<Exit> {
    let security = args.wire.security()?;
    security.listen(args.listen, "--listen").map_err(Usage::from)?;
    let (sender, mut nudges) = mpsc::channel(4);
    interrupt::listen(sender)?;
    let listener = TcpListener::bind(args.listen).await.with_context(|| {
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
    eprintln!(
        "coordinator at {url}; Ctrl-C ends it. An agent joins with: vufleet-agent --coordinator {url} --roles \
         drive{joins_with}"
    );
    nudges.recv().await;
    eprintln!("stopping");
    tokio::select! {
        ended = server.shutdown() => ended.map(|()| Exit::Done),
        _ = nudges.recv() => Ok(Exit::Interrupted),
    }
}
