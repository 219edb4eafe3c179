//! The end of the agent in good order: it says goodbye, its load stops, the variants it holds are undone, and what it has to
//! tell is handed over and acknowledged. Each is waited for up to a bound; whoever says it twice waits for nothing.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use vufleet_proto::v1::{Command, Goodbye, command, event::Body};
use vufleet_telemetry::service;

use super::link::next_command;
use super::{Dial, HEARTBEAT, ROUND, Uplink};
use crate::agent::Ending;

/// How soon another signal counts as a second one. The kernel tells an agent of its parent's end once for each thread of the
/// parent, one right after the other.
const AGAIN: Duration = Duration::from_secs(1);
/// Transactions under way have this long before their queries are stopped.
const GRACE: Duration = Duration::from_secs(2);
/// How long the end of the load is waited for: the grace, the time after which sessions are dropped, and some.
const LOAD_PATIENCE: Duration = Duration::from_secs(8);
/// How long variants that are being undone are waited for, and a server that was stopped to be copied.
const UNDO_PATIENCE: Duration = Duration::from_secs(30);
/// How long the coordinator may then take to acknowledge the last events, a connection that broke just now included.
const FAREWELL: Duration = Duration::from_secs(3);

impl Uplink {
    /// Ends the agent because of a signal.
    pub(super) async fn drain(
        mut self,
        signal: &str,
        signals: &mut mpsc::Receiver<&'static str>,
        mut dial: Option<Dial>,
    ) -> Ending {
        tracing::info!(
            "told to end by {signal}: the load stops, and what was recorded is handed over; a second signal ends this at once"
        );
        service::stopping();
        self.ending = Some(format!("was told to end ({signal})"));
        self.write_down();
        self.say_goodbye();
        self.desk.wind_up(GRACE);
        let begun = Instant::now();
        let mut settled = None;
        let (mut heartbeat, mut round) = (tokio::time::interval(HEARTBEAT), tokio::time::interval(ROUND));
        loop {
            tokio::select! {
                Some(_) = signals.recv() => {
                    if begun.elapsed() >= AGAIN {
                        return Ending::AtOnce;
                    }
                }
                linked = async { dial.as_mut().expect("guarded").await }, if dial.is_some() => {
                    dial = None;
                    self.unlink();
                    self.link = linked.ok();
                }
                command = next_command(&mut self.link), if self.link.is_some() => match command {
                    Ok(Some(Command { body: Some(body) })) => self.obey_to_the_end(body),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => self.unlink(),
                },
                Some((run, body)) = self.inbox.recv() => self.take_in(run, body),
                _ = heartbeat.tick() => self.beat(),
                _ = round.tick() => {
                    self.write_down();
                    if self.goodbye_ns.is_none() {
                        self.say_goodbye();
                    }
                    if self.link.is_none() && dial.is_none() && !self.outbox.is_empty() {
                        dial = Some(self.dial());
                    }
                }
            }
            self.hand_over();
            if !self.is_settled(begun.elapsed()) {
                continue;
            }
            let settled = *settled.get_or_insert_with(Instant::now);
            if self.is_told() || settled.elapsed() >= FAREWELL {
                break;
            }
        }
        self.tell_what_is_left();
        Ending::InGoodOrder
    }

    /// Says it to whoever is connected, and asks for the time: an answer to this or a later question shows that it was heard.
    /// Where the connection is full, it is said in the next round.
    pub(super) fn say_goodbye(&mut self) {
        let Some(reason) = self.ending.clone() else { return };
        if self.send_now(Body::Goodbye(Goodbye { reason })) {
            self.goodbye_ns = Some(self.probe());
        }
    }

    /// Nothing new is begun any more.
    fn obey_to_the_end(&mut self, body: command::Body) {
        match body {
            command::Body::ClockEcho(echo) => {
                if self.goodbye_ns.is_some_and(|sent| echo.sent_ns >= sent) {
                    self.goodbye_heard = true;
                }
                self.obey(command::Body::ClockEcho(echo));
            }
            body @ (command::Body::Welcome(_)
            | command::Body::Ack(_)
            | command::Body::Release(_)
            | command::Body::Cancel(_)) => self.obey(body),
            _ => tracing::debug!("an order that came after the goodbye is left to others"),
        }
    }

    /// Whether nothing is under way any more, or has been for too long.
    fn is_settled(&self, since: Duration) -> bool {
        let is_loaded = self.desk.has_load() && since < LOAD_PATIENCE;
        let is_undoing = self.desk.is_undoing() && since < UNDO_PATIENCE;
        !is_loaded && !is_undoing
    }

    /// Whether the coordinator has everything, the goodbye included; or there is nobody to tell, and nothing.
    fn is_told(&self) -> bool {
        let heard = self.goodbye_heard || self.link.is_none();
        self.inbox.is_empty() && self.outbox.is_empty() && heard
    }

    fn tell_what_is_left(&self) {
        if self.desk.is_undoing() {
            tracing::warn!("ended before everything was undone: look at the variants of the study that ran");
        }
        match self.outbox.len() {
            0 => tracing::info!("ended in good order"),
            lost => tracing::warn!(lost, "ended with events that no coordinator has recorded"),
        }
    }
}

#[cfg(test)]
mod tests;
