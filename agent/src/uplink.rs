//! The stream to the coordinator: dials, introduces itself, keeps the clock, resends what was not recorded, and tells
//! when the coordinator has been silent for longer than the lease.

mod link;

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::sync::mpsc;
use tonic::Code;
use vufleet_proto::peer::Said;
use vufleet_proto::v1::{self, Command, Event, command, event::Body};

use self::link::{Dial, Link, VERSION, dial, next_command, pause};
use crate::clock::{CommonClock, Estimator};
use crate::config::Config;
use crate::desk::Desk;
use crate::lease::Lease;
use crate::limits::Host;
use crate::observe::meter::ProcessMeter;
use crate::outbox::{Outbox, Outlet};

const HEARTBEAT: Duration = Duration::from_secs(1);
/// How often the lease is looked at and a lost connection dialled again.
const ROUND: Duration = Duration::from_millis(200);
/// Exchanges right after joining, so that the first estimate is a good one.
const FIRST_PROBES: u32 = 8;
/// How long the end of this process waits for variants that are being undone, and for a server that was stopped to be copied.
const UNDO_PATIENCE: Duration = Duration::from_secs(30);
/// Lease until the first coordinator has told another.
const DEFAULT_LEASE: Duration = Duration::from_secs(10);

/// Keeps the agent connected until it is told to stop or refused for good.
pub struct Uplink {
    config: Config,
    host: Host,
    boot: u64,
    clock: CommonClock,
    estimator: Estimator,
    inbox: mpsc::UnboundedReceiver<(u64, Body)>,
    outbox: Outbox,
    desk: Desk,
    meter: ProcessMeter,
    link: Option<Link>,
    lease: Lease,
    coordinator: u64,
    /// Whose numbers the runs of events in the outbox are.
    ledger: u64,
    /// What was last logged about a missing coordinator, so that it is said once.
    complaint: String,
    /// Dials in a row that led to no welcome.
    refusals: u32,
}

impl Uplink {
    /// An uplink that has not dialled yet.
    pub fn new(config: Config, host: Host, clock: CommonClock) -> Self {
        let (outlet, inbox) = Outlet::new();
        let desk = Desk::new(config.clone(), clock.clone(), outlet);
        Uplink {
            config,
            meter: ProcessMeter::new(host.cores),
            host,
            boot: rand::random_range(1..u64::MAX),
            clock,
            estimator: Estimator::default(),
            inbox,
            outbox: Outbox::default(),
            desk,
            link: None,
            lease: Lease::new(DEFAULT_LEASE, Instant::now()),
            coordinator: 0,
            ledger: 0,
            complaint: String::new(),
            refusals: 0,
        }
    }

    /// Runs until `stop` resolves.
    ///
    /// # Errors
    /// When the coordinator refuses this agent for good (another protocol version).
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        let mut stop = std::pin::pin!(stop);
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        let mut round = tokio::time::interval(ROUND);
        for timer in [&mut heartbeat, &mut round] {
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        let mut dial = Some(self.dial());
        loop {
            tokio::select! {
                () = &mut stop => break,
                linked = async { dial.as_mut().expect("guarded").await }, if dial.is_some() => {
                    dial = None;
                    self.dialled(linked)?;
                }
                command = next_command(&mut self.link), if self.link.is_some() => self.take(command)?,
                Some((run, body)) = self.inbox.recv() => self.outbox.push(run, body),
                _ = heartbeat.tick() => self.beat(),
                _ = round.tick() => {
                    self.watch_lease();
                    if self.link.is_none() && dial.is_none() {
                        dial = Some(self.dial());
                    }
                }
            }
            self.hand_over();
        }
        self.desk.abandon();
        self.await_undone().await;
        // A moment for the last events; the coordinator has noticed by the closed stream if they are late.
        self.farewell().await;
        Ok(())
    }

    fn dial(&self) -> Dial {
        let hello = Event { seq: 0, run: 0, body: Some(Body::Hello(self.hello())) };
        Box::pin(dial(self.config.coordinator.clone(), self.config.security.clone(), hello, pause(self.refusals)))
    }

    fn hello(&self) -> v1::Hello {
        v1::Hello {
            protocol: vufleet_proto::PROTOCOL,
            version: VERSION.to_owned(),
            name: self.config.name.clone(),
            boot: self.boot,
            roles: self.config.roles.iter().map(|role| role.name().to_owned()).collect(),
            labels: self.config.labels.clone().into_iter().collect(),
            cores: self.host.cores,
            memory_bytes: self.host.memory_bytes,
            hostname: self.host.hostname.clone(),
            machine: self.host.machine.clone(),
            limits: Some(self.host.limits),
            allow_control: self.config.allow_control,
            commands: self.config.commands.keys().cloned().collect(),
            snapshot: self.config.snapshot.as_ref().map_or(String::new(), |files| files.datadir.display().to_string()),
        }
    }

    fn dialled(&mut self, linked: Result<Link, tonic::Status>) -> anyhow::Result<()> {
        match linked {
            Ok(link) => {
                self.link = Some(link);
                Ok(())
            }
            Err(status) => {
                self.refusals = self.refusals.saturating_add(1);
                self.lost(&status)
            }
        }
    }

    fn take(&mut self, command: Result<Option<Command>, tonic::Status>) -> anyhow::Result<()> {
        match command {
            Ok(Some(command)) => {
                self.lease.renew();
                if let Some(body) = command.body {
                    self.obey(body);
                }
                Ok(())
            }
            Ok(None) => self.lost(&tonic::Status::unavailable("the coordinator closed the stream")),
            Err(status) => self.lost(&status),
        }
    }

    fn lost(&mut self, status: &tonic::Status) -> anyhow::Result<()> {
        self.link = None;
        if status.code() == Code::FailedPrecondition {
            bail!("{}", status.message());
        }
        if self.complaint != status.message() {
            self.complaint = status.message().to_owned();
            tracing::warn!(coordinator = self.config.coordinator, reason = %self.complaint, "no coordinator; dialling again until there is one");
        }
        Ok(())
    }

    fn obey(&mut self, command: command::Body) {
        match command {
            command::Body::Welcome(welcome) => self.welcomed(&welcome),
            command::Body::Ack(ack) => self.outbox.acknowledged(ack.seq),
            command::Body::ClockEcho(echo) => {
                let received = self.clock.monotonic_ns(Instant::now());
                self.estimator.exchange(&self.clock, echo.sent_ns, echo.coordinator_ns, received);
            }
            other => self.desk.obey(other),
        }
    }

    fn welcomed(&mut self, welcome: &v1::Welcome) {
        self.complaint.clear();
        self.refusals = 0;
        self.lease.set_length(Duration::from_nanos(welcome.lease_ns));
        tracing::info!(coordinator = self.config.coordinator, version = welcome.version, "joined");
        if self.coordinator != welcome.coordinator {
            let said =
                Said { protocol: None, version: Some(welcome.version.clone()).filter(|version| !version.is_empty()) };
            if let Some(told) = said.difference("the coordinator", "this agent", VERSION) {
                tracing::warn!("{told}");
            }
            // Another coordinator knows nothing of what the last one had ordered, and has another clock.
            if self.coordinator != 0 {
                self.desk.abandon();
            }
            self.coordinator = welcome.coordinator;
            self.estimator.reset();
        }
        if self.ledger != welcome.ledger {
            self.turn_to(welcome.ledger);
        }
        self.outbox.rewind(welcome.last_seq);
        if let Some(link) = &mut self.link {
            link.welcomed = true;
        }
        for _ in 0..FIRST_PROBES {
            self.probe();
        }
        self.beat();
    }

    /// Another ledger numbers other runs: it gets nothing of what was done for the last one, not even what a crew that is
    /// still ending has to say.
    fn turn_to(&mut self, ledger: u64) {
        if self.ledger != 0 {
            let (outlet, inbox) = Outlet::new();
            self.desk.report_to(outlet);
            self.inbox = inbox;
            self.outbox.clear();
        }
        self.ledger = ledger;
    }

    fn beat(&mut self) {
        let heartbeat = v1::Heartbeat {
            offset_ns: self.clock.offset_from_wall_ns(),
            uncertainty_ns: self.clock.uncertainty_ns(),
            run: self.desk.run(),
            jobs: self.desk.jobs(),
            holds: self.desk.holds(),
            sessions: self.desk.sessions(),
            process_cpu_percent: self.meter.percent_of_host(),
        };
        self.send_now(Body::Heartbeat(heartbeat));
        self.probe();
    }

    fn probe(&mut self) {
        let sent_ns = self.clock.monotonic_ns(Instant::now());
        self.send_now(Body::ClockProbe(v1::ClockProbe { sent_ns }));
    }

    /// Sends what is only true now; where the connection is full, it is not worth waiting.
    fn send_now(&mut self, body: Body) {
        if let Some(link) = &self.link
            && link.events.try_send(Event { seq: 0, run: 0, body: Some(body) }).is_err()
        {
            tracing::debug!("the connection to the coordinator is full or closed");
        }
    }

    /// Hands recorded events to the connection as long as it takes them.
    fn hand_over(&mut self) {
        let Some(link) = self.link.as_ref().filter(|link| link.welcomed) else { return };
        while let Some(event) = self.outbox.next() {
            if link.events.try_send(event.clone()).is_err() {
                return;
            }
            self.outbox.handed_over();
        }
    }

    fn watch_lease(&mut self) {
        if self.lease.has_run_out(Instant::now()) && self.desk.is_busy() {
            tracing::warn!(lease = ?self.lease.length(), "the coordinator has been silent for longer than the lease: the load stops, and variants are undone");
            self.desk.lease_lost();
        }
    }

    async fn await_undone(&self) {
        let deadline = Instant::now() + UNDO_PATIENCE;
        while self.desk.is_undoing() && Instant::now() < deadline {
            tokio::time::sleep(ROUND / 4).await;
        }
    }

    async fn farewell(mut self) {
        let last_moment = Instant::now() + Duration::from_secs(2);
        while Instant::now() < last_moment && self.link.is_some() {
            while let Ok((run, body)) = self.inbox.try_recv() {
                self.outbox.push(run, body);
            }
            self.hand_over();
            if self.outbox.is_empty() && !self.desk.is_busy() {
                return;
            }
            match tokio::time::timeout(ROUND, next_command(&mut self.link)).await {
                Ok(Ok(Some(Command { body: Some(body @ (command::Body::Ack(_) | command::Body::Welcome(_))) }))) => {
                    self.obey(body);
                }
                Ok(Ok(Some(_))) | Err(_) => {}
                Ok(_) => return,
            }
        }
    }
}
