//! The stream to the coordinator: dials, introduces itself, keeps the clock, resends what was not recorded, and tells
//! when the coordinator has been silent for longer than the lease.

mod drain;
mod link;

use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::sync::{mpsc, watch};
use tonic::Code;
use vufleet_proto::peer::Said;
use vufleet_proto::v1::{self, Command, Event, command, event::Body};
use vufleet_telemetry::service;

use self::link::{Dial, Link, VERSION, dial, next_command, pause};
use crate::agent::Ending;
use crate::clock::{CommonClock, Estimator};
use crate::config::Config;
use crate::desk::Desk;
use crate::lease::Lease;
use crate::limits::Host;
use crate::observe::meter::ProcessMeter;
use crate::outbox::{Outbox, Outlet};
use crate::vitals::Vitals;

/// Places of a connection's queue that recorded events leave free.
const ROOM_FOR_NOW: usize = 16;
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How often the lease is looked at and a lost connection dialled again.
const ROUND: Duration = Duration::from_millis(200);
/// Exchanges right after joining, so that the first estimate is a good one.
const FIRST_PROBES: u32 = 8;
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
    vitals: watch::Sender<Vitals>,
    /// Why this process ends, once it does; as the end of "agent NAME ...".
    ending: Option<String>,
    /// When the goodbye was said on the present connection, on the monotonic clock, and whether it was heard.
    goodbye_ns: Option<u64>,
    goodbye_heard: bool,
}

impl Uplink {
    /// An uplink that has not dialled yet.
    pub fn new(config: Config, host: Host, clock: CommonClock) -> Self {
        let (outlet, inbox) = Outlet::new();
        let desk = Desk::new(config.clone(), clock.clone(), outlet);
        let roles: Vec<&str> = config.roles.iter().map(|role| role.name()).collect();
        let vitals = Vitals { name: config.name.clone(), roles: roles.join(","), ..Vitals::default() };
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
            vitals: watch::Sender::new(vitals),
            ending: None,
            goodbye_ns: None,
            goodbye_heard: false,
        }
    }

    /// How the agent is, from now on.
    pub fn vitals(&self) -> watch::Receiver<Vitals> {
        self.vitals.subscribe()
    }

    /// Runs until a signal, and then until everything is in order.
    ///
    /// # Errors
    /// When the coordinator refuses this agent for good (another protocol version).
    pub async fn run(mut self, mut signals: mpsc::Receiver<&'static str>) -> anyhow::Result<Ending> {
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        let mut round = tokio::time::interval(ROUND);
        for timer in [&mut heartbeat, &mut round] {
            timer.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        }
        let mut dial = Some(self.dial());
        let signal = loop {
            tokio::select! {
                Some(signal) = signals.recv() => break signal,
                linked = async { dial.as_mut().expect("guarded").await }, if dial.is_some() => {
                    dial = None;
                    self.dialled(linked)?;
                }
                command = next_command(&mut self.link), if self.link.is_some() => self.take(command)?,
                Some((run, body)) = self.inbox.recv() => self.take_in(run, body),
                _ = heartbeat.tick() => self.beat(),
                _ = round.tick() => {
                    self.watch_lease();
                    self.watch_outbox();
                    self.write_down();
                    if self.link.is_none() && dial.is_none() {
                        dial = Some(self.dial());
                    }
                }
            }
            self.hand_over();
        };
        self.write_down();
        Ok(self.drain(signal, &mut signals, dial).await)
    }

    /// Takes in an event, and counts what may be shown of it.
    fn take_in(&mut self, run: u64, body: Body) {
        if let Body::Interval(interval) = &body {
            let lateness = Duration::from_nanos(self.clock.now().saturating_sub(interval.end_ns));
            let withheld = self.desk.withholds(run);
            self.vitals.send_modify(|vitals| {
                vitals.figures.note(lateness);
                if !withheld {
                    vitals.figures.add(interval);
                }
            });
        }
        self.outbox.push(run, body);
    }

    /// For whoever looks at this agent.
    fn write_down(&self) {
        let connected = self.link.as_ref().is_some_and(|link| link.welcomed);
        let uncertainty_ns = self.clock.uncertainty_ns();
        let ailment = match &self.ending {
            Some(reason) => format!("it {reason}"),
            None if connected => String::new(),
            None if self.complaint.is_empty() => "no coordinator has welcomed this agent yet".to_owned(),
            None => format!("no coordinator: {}", self.complaint),
        };
        self.vitals.send_modify(|vitals| {
            vitals.connected = connected;
            vitals.ailment = ailment;
            vitals.lease = self.lease.length();
            vitals.lease_left = self.lease.left();
            vitals.unacknowledged = self.outbox.unacknowledged();
            vitals.unsent = self.outbox.len() - self.outbox.unacknowledged();
            vitals.uncertainty = (uncertainty_ns != u64::MAX).then(|| Duration::from_nanos(uncertainty_ns));
            vitals.offset_ns = self.clock.offset_from_wall_ns();
            vitals.run = self.desk.run();
            vitals.jobs = self.desk.jobs().len();
            vitals.holds = self.desk.holds().len();
            vitals.sessions = self.desk.sessions();
            vitals.vus = self.desk.vus();
            vitals.withheld = self.desk.withholds(self.desk.run());
        });
    }

    fn dial(&mut self) -> Dial {
        self.lease.dial(Instant::now());
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
        self.unlink();
        if status.code() == Code::FailedPrecondition {
            bail!("{}", status.message());
        }
        if self.complaint != status.message() {
            self.complaint = status.message().to_owned();
            service::status("no coordinator; dialling again until there is one");
            tracing::warn!(coordinator = self.config.coordinator, reason = %self.complaint, "no coordinator; dialling again until there is one");
        }
        Ok(())
    }

    /// What was said on a connection that broke may never have arrived.
    fn unlink(&mut self) {
        self.link = None;
        self.goodbye_ns = None;
    }

    fn obey(&mut self, command: command::Body) {
        match command {
            command::Body::Welcome(welcome) => self.welcomed(&welcome),
            command::Body::Ack(ack) => self.outbox.acknowledged(ack.seq),
            command::Body::ClockEcho(echo) => {
                self.lease.answered(echo.sent_ns);
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
        self.lease.welcomed();
        tracing::info!(coordinator = self.config.coordinator, version = welcome.version, "joined");
        service::status(&format!("joined the coordinator at {}", self.config.coordinator));
        self.vitals.send_modify(|vitals| vitals.joins += 1);
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
        self.say_goodbye();
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

    fn probe(&mut self) -> u64 {
        let now = Instant::now();
        let sent_ns = self.clock.monotonic_ns(now);
        if self.send_now(Body::ClockProbe(v1::ClockProbe { sent_ns })) {
            self.lease.ask(sent_ns, now);
        }
        sent_ns
    }

    /// Sends what is only true now; where the connection is full, it is not worth waiting. Whether it is on its way.
    fn send_now(&mut self, body: Body) -> bool {
        let event = Event { seq: 0, run: 0, body: Some(body) };
        let is_sent = self.link.as_ref().is_some_and(|link| link.events.try_send(event).is_ok());
        if !is_sent {
            tracing::debug!("the connection to the coordinator is full or closed");
        }
        is_sent
    }

    /// Hands recorded events to the connection as long as it takes them, and leaves room for what is about now: a coordinator
    /// that is behind with them is there all the same.
    fn hand_over(&mut self) {
        let Some(link) = self.link.as_ref().filter(|link| link.welcomed) else { return };
        while let Some(event) = self.outbox.next().filter(|_| link.events.capacity() > ROOM_FOR_NOW) {
            if link.events.try_send(event.clone()).is_err() {
                return;
            }
            self.outbox.handed_over();
        }
    }

    /// Ends the load where what it has to tell is not taken from this agent: memory is not endless, and nothing is thrown away.
    fn watch_outbox(&mut self) {
        if self.outbox.bytes() > self.config.send_queue_bytes && self.desk.run() != 0 {
            let message = format!(
                "its send queue is full ({} MiB): the coordinator, or the network to it, takes events more slowly than they come; the load was stopped",
                self.config.send_queue_bytes >> 20
            );
            tracing::error!("{message}");
            self.desk.give_up(message);
        }
    }

    fn watch_lease(&mut self) {
        if self.lease.has_run_out(Instant::now()) && self.desk.is_busy() {
            tracing::warn!(lease = ?self.lease.length(), "the coordinator has been silent for longer than the lease: the load stops, and variants are undone");
            self.desk.lease_lost();
        }
    }
}
