//! The agents' side of the server: one stream each. Events are recorded before they are acknowledged and before anybody
//! acts on them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};
use vufleet_proto::peer::Said;
use vufleet_proto::v1::{self, Command, Event, command, event, fleet_server::Fleet};
use vufleet_trust::quiet::Quiet;
use vufleet_trust::server::Peer;

use super::Core;
use super::hello;
use super::inflow::{Inflow, Outflow, inflow};
use super::queue::Queue;
use super::registry::FleetEvent;
use super::versions::VERSION;

/// How long an agent may take to introduce itself.
const FIRST_EVENT: Duration = Duration::from_secs(10);
/// How long the reason of a refusal may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How soon recording is tried again after it failed.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

/// Serves agents.
pub struct FleetService {
    core: Arc<Core>,
    refusals: Quiet,
    oddities: Arc<Quiet>,
}

impl FleetService {
    /// Serves agents of this coordinator.
    pub fn new(core: Arc<Core>) -> Self {
        FleetService { core, refusals: Quiet::default(), oddities: Arc::default() }
    }
}

type Commands = Pin<Box<dyn Stream<Item = Result<Command, Status>> + Send>>;

#[tonic::async_trait]
impl Fleet for FleetService {
    type JoinStream = Commands;

    async fn join(&self, request: Request<Streaming<Event>>) -> Result<Response<Commands>, Status> {
        let Some(peer) = request.extensions().get::<Peer>().cloned() else {
            return Err(Status::internal("this connection does not say whose it is"));
        };
        let mut events = request.into_inner();
        let hello = introduction(&mut events, &peer).await?;
        check(&hello, &peer)
            .inspect_err(|status| self.refusals.say(|| format!("refused {peer}: {}", status.message())))?;
        self.tell_version(&hello);
        let (name, boot) = (hello.name.clone(), hello.boot);
        let recorded = self.core.record.with(move |ledger| ledger.last_seq(boot)).await;
        let recorded = recorded.map_err(|error| Status::unavailable(error.to_string()))?;
        let (commands, outgoing) = Queue::to(peer.clone());
        let welcome = v1::Welcome {
            lease_ns: self.core.options.lease.as_nanos() as u64,
            last_seq: recorded,
            coordinator: self.core.instance,
            version: VERSION.to_owned(),
            ledger: self.core.ledger,
        };
        tell(&commands, command::Body::Welcome(welcome));
        let stream = self.core.registry.join(hello, commands.clone()).map_err(Status::already_exists)?;
        tracing::info!(agent = name, %peer, "joined");
        let (core, oddities) = (Arc::clone(&self.core), Arc::clone(&self.oddities));
        tokio::spawn(async move {
            let (to_record, batch) = inflow();
            let recorder =
                tokio::spawn(record(Arc::clone(&core), name.clone(), boot, recorded, batch, commands.clone()));
            let ears = Ears { core: &core, name: &name, boot, stream, to_record: &to_record, commands: &commands };
            ears.listen(events, &oddities).await;
            drop(to_record);
            // What has arrived is recorded before the agent counts as gone.
            if let Err(error) = recorder.await {
                tracing::error!(%error, agent = name, "recording died");
            }
            core.registry.leave(&name, stream);
            tracing::info!(agent = name, "left");
        });
        let core = Arc::clone(&self.core);
        // An agent whose stream ends is told when that is because the coordinator does.
        let last_word = tokio_stream::once(()).filter_map(move |()| {
            core.is_closing().then(|| Err(Status::unavailable("the coordinator was told to end")))
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing).map(Ok).chain(last_word))))
    }
}

impl FleetService {
    /// An agent of another version of this protocol is told of.
    fn tell_version(&self, hello: &v1::Hello) {
        if let Some(told) = said(hello).difference(&format!("agent {}", hello.name), "this coordinator", VERSION) {
            self.oddities.say(|| told);
        }
    }
}

/// Nothing that an agent says is shown before its size and its characters are looked at.
fn check(hello: &v1::Hello, peer: &Peer) -> Result<(), Status> {
    hello::check(hello)?;
    check_version(hello)?;
    hello::check_complete(hello)?;
    check_name(hello, peer)
}

/// The first event, soon.
async fn introduction(events: &mut Streaming<Event>, peer: &Peer) -> Result<v1::Hello, Status> {
    match tokio::time::timeout(FIRST_EVENT, events.message()).await {
        Ok(first) => match first?.and_then(|event| event.body) {
            Some(event::Body::Hello(hello)) => Ok(hello),
            _ => Err(Status::invalid_argument("an agent introduces itself with its first event")),
        },
        Err(_) => {
            let peer = peer.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LAST_WORDS).await;
                peer.hang_up();
            });
            Err(Status::deadline_exceeded(format!("an agent introduces itself within {} s", FIRST_EVENT.as_secs())))
        }
    }
}

/// An agent is counted, commanded and told of by its name, which its certificate has to allow.
fn check_name(hello: &v1::Hello, peer: &Peer) -> Result<(), Status> {
    match &peer.identity {
        Some(identity) if !identity.may_join_as(&hello.name) => Err(Status::permission_denied(format!(
            "a certificate of {identity} does not allow to join as {0}; issue one with `vufleet certs issue agent {0}`, or leave --name out",
            hello.name
        ))),
        _ => Ok(()),
    }
}

fn said(hello: &v1::Hello) -> Said {
    Said { protocol: Some(hello.protocol), version: Some(hello.version.clone()) }
}

/// An agent of another protocol is refused.
fn check_version(hello: &v1::Hello) -> Result<(), Status> {
    match said(hello).mismatch(&format!("agent {}", hello.name), "coordinator", VERSION) {
        Some(why) => Err(Status::failed_precondition(why)),
        None => Ok(()),
    }
}

/// An agent that has gone needs no commands; its stream's end is noticed elsewhere.
fn tell(commands: &Queue, body: command::Body) {
    if !commands.send(body) {
        tracing::debug!("a command came after its agent had gone");
    }
}

/// Who listens to one stream.
struct Ears<'a> {
    core: &'a Core,
    name: &'a str,
    boot: u64,
    stream: u64,
    to_record: &'a Inflow,
    commands: &'a Queue,
}

impl Ears<'_> {
    /// Answers what is about now at once, and queues the rest for the ledger. Ends with the stream, or with the recording.
    async fn listen(&self, mut events: Streaming<Event>, oddities: &Quiet) {
        loop {
            let heard = tokio::select! {
                heard = events.message() => heard,
                () = self.to_record.closed() => return,
                () = self.core.dismissed() => return,
            };
            let event = match heard {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(status) => {
                    tracing::debug!(agent = self.name, %status, "an agent's stream broke");
                    return;
                }
            };
            match event.body {
                Some(event::Body::ClockProbe(probe)) => {
                    let echo = v1::ClockEcho { sent_ns: probe.sent_ns, coordinator_ns: self.core.clock.now() };
                    tell(self.commands, command::Body::ClockEcho(echo));
                }
                Some(event::Body::Heartbeat(heartbeat)) => self.beat(heartbeat),
                Some(event::Body::Goodbye(goodbye)) => self.goodbye(goodbye),
                Some(event::Body::Hello(_)) | None => {}
                Some(_) if event.seq > 0 => {
                    self.core.registry.heard(self.boot);
                    if !self.to_record.push(event, &self.core.tallies).await {
                        return;
                    }
                }
                Some(_) => {
                    oddities.say(|| format!("agent {} sent an event to be recorded without a number", self.name))
                }
            }
        }
    }

    fn beat(&self, mut heartbeat: v1::Heartbeat) {
        hello::shorten(&mut heartbeat);
        tell(self.commands, command::Body::Ack(v1::Ack { seq: 0 }));
        // Out of reach when it was told to stop, it has come back with its load.
        for run in self.core.registry.unwanted(&heartbeat) {
            tell(self.commands, command::Body::Cancel(v1::Cancel { run }));
        }
        self.core.registry.each_released(&heartbeat, |run| {
            tell(self.commands, command::Body::Release(v1::Release { run }));
        });
        self.core.registry.beat(self.name, heartbeat);
    }

    fn goodbye(&self, goodbye: v1::Goodbye) {
        let reason = hello::reason(goodbye);
        if self.core.registry.goodbye(self.name, self.stream, reason.clone()) {
            tracing::info!(agent = self.name, "it {reason}: nobody counts on it any more");
        }
    }
}

/// Records events in batches, then acknowledges them, then passes them on; each once, however often it was sent, and
/// none before the one that it follows. What is acknowledged the agent forgets. Ends at a gap.
async fn record(core: Arc<Core>, name: String, boot: u64, mut recorded: u64, mut events: Outflow, commands: Queue) {
    while let Some((mut batch, held)) = events.next().await {
        let came = batch.len();
        let known = batch.iter().filter(|event| event.seq <= recorded).count();
        let complete = keep_following(&mut batch, recorded);
        core.tallies.duplicates.fetch_add(known as u64, Ordering::Relaxed);
        core.tallies.refused.fetch_add((came - known - batch.len()) as u64, Ordering::Relaxed);
        let (agent, fresh) = (name.clone(), Arc::new(batch));
        let seq = loop {
            let (agent, events_now) = (agent.clone(), Arc::clone(&fresh));
            let begun = Instant::now();
            let written = core.record.with(move |ledger| ledger.record(&agent, boot, &events_now)).await;
            core.tallies.wrote(fresh.len(), begun.elapsed(), written.as_ref().err().map(ToString::to_string));
            match written {
                Ok(seq) => break seq,
                Err(error) => {
                    tracing::error!(%error, agent = name, "events could not be recorded");
                    core.registry.pass_on(FleetEvent::LedgerFailed(error.to_string()));
                }
            }
            // The agent keeps what is not acknowledged, and its stream stays open: the load has to be stopped by it.
            if events.is_closed() {
                return;
            }
            tokio::time::sleep(RECORD_AGAIN).await;
        };
        recorded = recorded.max(seq);
        tell(&commands, command::Body::Ack(v1::Ack { seq: recorded }));
        for event in fresh.iter().cloned() {
            core.registry.pass_on(FleetEvent::Event { name: name.clone(), event: Box::new(event) });
        }
        drop((fresh, held));
        if !complete {
            tracing::error!(
                agent = name,
                recorded,
                "the event after the last one recorded is missing; the agent is to send it again"
            );
            return;
        }
    }
}

/// Keeps the events that are not recorded yet, up to the first that does not follow the one before it. False when there is
/// such a one.
fn keep_following(batch: &mut Vec<Event>, recorded: u64) -> bool {
    batch.retain(|event| event.seq > recorded);
    let following = batch.iter().zip(recorded + 1..).take_while(|(event, seq)| event.seq == *seq).count();
    let complete = following == batch.len();
    batch.truncate(following);
    complete
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The refusal is logged and printed as it is.
    #[test]
    fn an_agent_of_another_protocol_is_told_so_and_tells_nothing_that_may_not_be_shown() {
        let peer = Peer::new(([127, 0, 0, 1], 1).into(), None);
        let refused = |version: &str| {
            let hello = v1::Hello { protocol: 1, name: "load-1".into(), version: version.into(), ..Default::default() };
            check(&hello, &peer).unwrap_err()
        };
        let old = refused("0.0.1");
        assert_eq!(old.code(), tonic::Code::FailedPrecondition);
        assert!(old.message().contains("agent load-1 0.0.1 speaks protocol 1"), "{old}");
        for strange in ["1\nINFO all is well", "\u{1b}[2J", &"9".repeat(1 << 24)] {
            let message = refused(strange).message().to_owned();
            assert!(message.len() < 1_000 && !message.chars().any(hello::is_unprintable), "{message:.2000}");
        }
    }

    #[test]
    fn what_is_recorded_has_no_gap() {
        for (sent, recorded, kept, complete) in [
            (&[1, 2, 3][..], 0, &[1, 2, 3][..], true),
            (&[2, 3, 4], 3, &[4], true),
            (&[1, 2], 3, &[], true),
            (&[9, 4, 5], 3, &[], false),
            (&[4, 5, 7, 6], 3, &[4, 5], false),
            (&[3, 4, 3, 4], 2, &[3, 4], false),
        ] {
            let mut batch: Vec<Event> = sent.iter().map(|seq| Event { seq: *seq, ..Default::default() }).collect();
            assert_eq!(keep_following(&mut batch, recorded), complete, "{sent:?} after {recorded}");
            let left: Vec<u64> = batch.iter().map(|event| event.seq).collect();
            assert_eq!(left, kept, "{sent:?} after {recorded}");
        }
    }
}
