//! An agent that does what a test tells it, at the very moment that the test is about.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use vufleet_proto::v1::fleet_client::FleetClient;
use vufleet_proto::v1::{self, Command, Event, command, event::Body, phase};

use super::PATIENCE;

/// A driving agent without virtual users. Its stream ends when it is dropped.
pub struct Puppet {
    runtime: Runtime,
    events: mpsc::Sender<Event>,
    commands: Streaming<Command>,
    seq: u64,
    interval_ns: u64,
    sessions: u32,
}

impl Puppet {
    /// Joins as the process `boot` of an agent.
    pub fn join(url: &str, name: &str, boot: u64) -> Puppet {
        Puppet::introduced(url, Puppet::hello(name, boot)).unwrap()
    }

    /// What it says of itself unless a test has it say something else.
    pub fn hello(name: &str, boot: u64) -> v1::Hello {
        v1::Hello {
            protocol: vufleet_proto::PROTOCOL,
            name: name.to_owned(),
            boot,
            roles: vec!["drive".to_owned()],
            cores: 1,
            machine: name.to_owned(),
            limits: Some(v1::Limits {
                open_files: 1024,
                somaxconn: 4096,
                port_low: 32_768,
                port_high: 60_999,
                ..v1::Limits::default()
            }),
            ..Default::default()
        }
    }

    /// Joins with these words, unless it is refused.
    pub fn introduced(url: &str, hello: v1::Hello) -> Result<Puppet, Status> {
        let runtime = Runtime::new().unwrap();
        let (events, outgoing) = mpsc::channel(1024);
        events.try_send(Event { seq: 0, run: 0, body: Some(Body::Hello(hello)) }).unwrap();
        let commands = runtime.block_on(async {
            let mut client = FleetClient::connect(url.to_owned()).await.unwrap();
            client.join(ReceiverStream::new(outgoing)).await.map(tonic::Response::into_inner)
        })?;
        Ok(Puppet { runtime, events, commands, seq: 0, interval_ns: 0, sessions: 0 })
    }

    /// The next command; none when the coordinator has closed the stream.
    pub fn hear(&mut self) -> Option<command::Body> {
        let message = async { tokio::time::timeout(PATIENCE, self.commands.message()).await };
        let heard = self.runtime.block_on(message).expect("the coordinator says something");
        heard.ok().flatten()?.body
    }

    /// Says what is about now.
    pub fn say(&mut self, body: Body) {
        self.send(0, 0, body);
    }

    /// Says what is to be recorded, with a sequence number of the test's choice.
    pub fn send(&mut self, seq: u64, run: u64, body: Body) {
        self.events.try_send(Event { seq, run, body: Some(body) }).unwrap();
    }

    fn tell(&mut self, run: u64, body: Body) {
        self.seq += 1;
        self.send(self.seq, run, body);
    }

    fn step(&mut self, run: u64, kind: phase::Kind) {
        self.tell(run, Body::Phase(v1::Phase { kind: kind as i32, sessions: self.sessions, ..Default::default() }));
    }

    /// Obeys as a flawless agent would, `intervals` in all and all of them at once, until a command that the test waits for.
    pub fn obey_until(&mut self, intervals: u64, awaited: impl Fn(&command::Body) -> bool) {
        loop {
            let order = self.hear().expect("the coordinator is there");
            let is_awaited = awaited(&order);
            match order {
                command::Body::Prepare(order) => {
                    self.interval_ns = order.interval_ns;
                    self.sessions = order.drive.map_or(0, |drive| drive.vus);
                    self.step(order.run, phase::Kind::Prepared);
                }
                command::Body::Connect(order) => self.step(order.run, phase::Kind::Connected),
                command::Body::Start(order) => self.work(order, intervals),
                command::Body::Stop(order) => self.step(order.run, phase::Kind::Stopped),
                _ => {}
            }
            if is_awaited {
                return;
            }
        }
    }

    fn work(&mut self, order: v1::StartAt, intervals: u64) {
        for index in 0..intervals {
            let start_ns = order.at_ns + index * self.interval_ns;
            let interval = v1::Interval {
                start_ns,
                end_ns: start_ns + self.interval_ns,
                uncertainty_ns: 1_000,
                sessions: self.sessions,
                kinds: vec![twenty_transactions()],
                ..Default::default()
            };
            self.tell(order.run, Body::Interval(interval));
        }
    }
}

fn twenty_transactions() -> v1::KindCounts {
    let mut latencies = Histogram::<u64>::new(3).unwrap();
    latencies.record_n(5_000_000, 20).unwrap();
    let mut service = Vec::new();
    V2Serializer::new().serialize(&latencies, &mut service).unwrap();
    v1::KindCounts {
        name: "read_write".to_owned(),
        ok: 20,
        statements: 400,
        service: service.into(),
        ..Default::default()
    }
}
