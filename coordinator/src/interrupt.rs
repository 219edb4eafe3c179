//! Ctrl-C and SIGTERM, turned into nudges. From the first call on neither ends the process by itself.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::follow::Nudge;

/// Sends a nudge for every SIGINT and SIGTERM from now on.
pub fn listen(nudges: mpsc::Sender<Nudge>) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if nudges.send(Nudge::Interrupt).await.is_err() {
                return;
            }
        }
    });
    Ok(())
}
