//! A lab's day as its agents would send it: TPROC-C on MariaDB, one agent that observes among those that drive.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vufleet::analysis::latency::Latency;
use vufleet::ledger::{DrivingAgent, Ledger, MeasureFacts, RunEnd, RunFacts, RunId, StudyFacts, StudyState};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;
use vufleet_scenarios::plan;
use vufleet_scenarios::study::{self, Edits, Study};

const S: u64 = 1_000_000_000;
const BEGUN: u64 = 1_780_000_000 * S;
/// Transactions a second of each agent, with the share, the median latency in milliseconds and the spread of each kind.
const TPS: f64 = 500.0;
const KINDS: [(&str, f64, f64, f64); 5] = [
    ("new_order", 0.45, 6.0, 0.6),
    ("payment", 0.43, 2.0, 0.7),
    ("order_status", 0.04, 1.5, 0.5),
    ("delivery", 0.04, 9.0, 0.5),
    ("stock_level", 0.04, 3.0, 0.8),
];
/// Different seconds, of which the day is made.
const POOL: usize = 200;
const CORES: u32 = 16;

/// How much there is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Driving agents; the first of them observes, too.
    pub agents: u32,
    /// Length of each of its two runs' windows.
    pub half_s: u64,
}

/// What writing one agent's second took, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Writes {
    pub median_us: f64,
    pub p99_us: f64,
    pub longest_ms: f64,
}

impl Day {
    /// Hours that its agents worked for, all together.
    pub fn agent_hours(&self) -> f64 {
        f64::from(self.agents) * 2.0 * self.half_s as f64 / 3_600.0
    }

    /// Id of its profile.
    pub fn profile(&self) -> String {
        format!("{}vu", self.vus())
    }

    fn vus(&self) -> u32 {
        self.agents * 64
    }

    fn study(&self) -> Study {
        let text = format!(
            "name = \"day\"\nseed = 7\n[target]\nkind = \"mysql\"\nhost = \"db1\"\ndatabase = \"tpcc\"\nuser = \"bench\"\n\
             [workload]\nkind = \"tprocc\"\nwarehouses = 500\n[[profiles]]\nvus = {}\n\
             [schedule]\nramp_up = \"60s\"\nmeasure = \"{}s\"\nsettle = \"0ms\"\nrepetitions = 1\n\
             [[variants]]\nname = \"baseline\"\n[[variants]]\nname = \"again\"\n[report]\nbaseline = \"baseline\"\n",
            self.vus(),
            self.half_s,
        );
        study::read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Writes all of it.
    pub fn write(&self, dir: &Path) -> Result<Writes> {
        let study = self.study();
        let mut ledger = Ledger::open(dir)?;
        let id = ledger.begin_study(&study, &StudyFacts { begun_ns: BEGUN, vufleet: "bench".to_owned() })?;
        let mut pool = Pool::new();
        let (mut clock_ns, mut seq, mut took_us) = (BEGUN, 0, Vec::new());
        for planned in plan::expand(&study) {
            let run = ledger.begin_run(&id, &planned, 1)?;
            let start_ns = clock_ns + 10 * S;
            ledger.set_run_facts(run, &self.facts(start_ns))?;
            for second in 0..60 + self.half_s + 1 {
                seq += 4;
                for agent in 0..self.agents {
                    let events = pool.second(run, agent, start_ns + second * S, seq);
                    let begun = Instant::now();
                    ledger.record(&name(agent), boot(agent), &events)?;
                    took_us.push(begun.elapsed().as_nanos() as f64 / 1e3);
                }
            }
            clock_ns = start_ns + (60 + self.half_s + 2) * S;
            ledger.end_run(run, clock_ns, &RunEnd::Finished)?;
        }
        ledger.set_study_state(&id, StudyState::Finished, clock_ns, "")?;
        took_us.sort_by(f64::total_cmp);
        let at = |share: f64| took_us[((took_us.len() - 1) as f64 * share) as usize];
        Ok(Writes { median_us: at(0.5), p99_us: at(0.99), longest_ms: at(1.0) / 1e3 })
    }

    fn facts(&self, start_ns: u64) -> RunFacts {
        RunFacts {
            begun_ns: start_ns - 5 * S,
            start_at_ns: Some(start_ns),
            ramp_up_ns: 60 * S,
            measure: MeasureFacts::DurationNs(self.half_s * S),
            settle_ns: 0,
            interval_ns: S,
            sessions: self.vus(),
            vus: self.vus(),
            driving: (0..self.agents)
                .map(|agent| DrivingAgent { name: name(agent), boot: boot(agent), vus: 64 })
                .collect(),
            observing: vec![name(0)],
            counters_agent: Some(name(0)),
            shared_host: false,
            target_version: Some("10.11.19-MariaDB".to_owned()),
            connection: Some("tcp, TLS".to_owned()),
            connect_ns: Some(S),
            plaintext: false,
            other_versions: Default::default(),
        }
    }
}

fn name(agent: u32) -> String {
    format!("load-{}", agent + 1)
}

fn boot(agent: u32) -> u64 {
    u64::MAX - u64::from(agent)
}

/// Seconds that were drawn once.
struct Pool {
    stream: StdRng,
    kinds: Vec<Vec<v1::KindCounts>>,
    counters: HashMap<String, u64>,
    orders: u64,
    ticks: u64,
}

impl Pool {
    fn new() -> Pool {
        let mut stream = StdRng::seed_from_u64(7);
        let kinds = (0..POOL).map(|_| KINDS.map(|kind| drawn(&mut stream, kind)).to_vec()).collect();
        let names = vufleet_scenarios::counters::mysql::COUNTERS;
        let counters = names.into_iter().map(|name| (name.to_owned(), 1_000_000_000)).collect();
        Pool { stream, kinds, counters, orders: 0, ticks: 1_000_000 }
    }

    /// What an agent sends of a second.
    fn second(&mut self, run: RunId, agent: u32, start_ns: u64, seq: u64) -> Vec<v1::Event> {
        let end_ns = start_ns + S + self.stream.random_range(0..400_000);
        let kinds = self.kinds[self.stream.random_range(0..POOL)].clone();
        let done: u64 = kinds.iter().map(|kind| kind.ok).sum();
        let interval =
            v1::Interval { start_ns, end_ns, uncertainty_ns: 80_000, sessions: 64, kinds, ..Default::default() };
        self.orders += interval.kinds[0].ok;
        let role = if agent == 0 { "observe" } else { "drive" };
        let mut bodies = vec![Body::Interval(interval), Body::Host(self.host(end_ns, role))];
        if agent == 0 {
            for (name, value) in &mut self.counters {
                *value += match name.as_str() {
                    "Uptime" => 1,
                    "Com_commit" | "Questions" => done * 4,
                    "Com_rollback" => 0,
                    _ => self.stream.random_range(0..200_000),
                };
            }
            bodies.push(Body::Counters(reading(end_ns, self.counters.clone())));
            let orders = (vufleet_scenarios::tprocc::ORDERS.to_owned(), self.orders);
            bodies.push(Body::Counters(reading(end_ns + 2_000_000, HashMap::from([orders]))));
        }
        let numbered = bodies.into_iter().zip(seq - 3..);
        numbered.map(|(body, seq)| v1::Event { seq, run: run.0, body: Some(body) }).collect()
    }

    fn host(&mut self, at_ns: u64, role: &str) -> v1::HostSample {
        self.ticks += 100;
        let (ticks, mut busy) = (self.ticks, || self.stream.random_range(0..40));
        let mut times = |cores: u64| v1::CpuTimes {
            user: ticks * cores / 2 + busy(),
            system: ticks * cores / 5 + busy(),
            iowait: ticks / 100,
            steal: 0,
            idle: ticks * cores * 3 / 10,
        };
        let process = |role: &str, cpu_ticks| v1::ProcessSample {
            role: role.to_owned(),
            name: "mariadbd".to_owned(),
            pid: 4_711,
            cpu_ticks,
            rss_bytes: 8_000_000_000 + ticks * 1_000,
            write_bytes: ticks * 90_000,
            started_ticks: 77,
        };
        v1::HostSample {
            at_ns,
            ticks_per_s: 100,
            cpu: Some(times(u64::from(CORES))),
            cores: (0..CORES).map(|_| times(1)).collect(),
            load1: 7.5,
            usable_millicores: 0,
            memory_total: 64_000_000_000,
            memory_available: 21_000_000_000 + ticks * 100,
            disks: vec![
                v1::DiskCounters {
                    name: "nvme0n1".to_owned(),
                    reads: ticks * 20,
                    writes: ticks * 70,
                    read_bytes: ticks * 300_000,
                    write_bytes: ticks * 900_000,
                    busy_ms: ticks * 6,
                };
                2
            ],
            nets: vec![
                v1::NetCounters { name: "eth0".to_owned(), rx_bytes: ticks * 80_000, tx_bytes: ticks * 70_000 };
                2
            ],
            processes: vec![process("database", ticks * 5), process("agent", ticks)],
            role: role.to_owned(),
        }
    }
}

fn reading(at_ns: u64, values: HashMap<String, u64>) -> v1::Counters {
    let uptime_s = values.get("Uptime").copied().unwrap_or(0);
    v1::Counters {
        before_ns: at_ns,
        after_ns: at_ns + 1_500_000,
        values,
        own_statements: 10,
        uptime_s,
        ..Default::default()
    }
}

/// One kind's second: as many as a Poisson process has, with lognormal latencies.
fn drawn(stream: &mut StdRng, (name, share, median_ms, spread): (&str, f64, f64, f64)) -> v1::KindCounts {
    let mut normal = || {
        let (radius, angle) = (1.0 - stream.random::<f64>(), stream.random::<f64>());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    };
    let mean = TPS * share;
    let ok = (mean + normal() * mean.sqrt()).round().max(0.0) as u64;
    let mut latency = Latency::default();
    for _ in 0..ok {
        latency.record_ns((median_ms * 1e6 * (spread * normal()).exp()) as u64);
    }
    let service = latency.to_bytes();
    v1::KindCounts {
        name: name.to_owned(),
        ok,
        statements: ok,
        response: service.clone().into(),
        service: service.into(),
        ..Default::default()
    }
}
