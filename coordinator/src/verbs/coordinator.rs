//! `vufleet coordinator`: the service that agents and operators dial, until it is told to stop.

use anyhow::Context;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use vufleet_trust::address::{Plaintext, Security};
use vufleet_trust::credentials::{self, Credentials};
use vufleet_trust::identity::Role;

use crate::args::Coordinator;
use crate::exit::{Exit, Usage};
use crate::fleet::{self, ServeOptions};
use crate::interrupt;

/// Serves until SIGTERM or Ctrl-C; a second one does not wait for what is being written.
pub async fn run(args: Coordinator) -> anyhow::Result<Exit> {
    let security = args.wire.security()?;
    security.listen(args.listen, "--listen").map_err(Usage::from)?;
    if let Security::Certificates(directory) = &security {
        Credentials::load(directory, Role::Coordinator)?;
        tokio::spawn(credentials::warn_daily(directory.clone(), Role::Coordinator));
    }
    raise_open_files();
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

/// Every agent and operator is a connection; what the system allows beyond its default is asked for.
fn raise_open_files() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(soft, hard)| if soft < hard { setrlimit(Resource::RLIMIT_NOFILE, hard, hard) } else { Ok(()) });
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}
