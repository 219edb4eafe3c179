//! What agents of the lab send, second by second.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use vufleet_proto::v1;

use super::{MS, S, SESSIONS, STATEMENTS, T0};

fn at(second: i64) -> u64 {
    (T0 as i64 + second * S as i64) as u64
}

/// One second of one agent: `tps` transactions whose service times are spread evenly from 0.1 to 10 ms and whose
/// response times are 1 ms longer.
pub fn interval(second: i64, tps: u64) -> v1::Interval {
    let spread = |extra_ns: u64| (0..tps).map(move |i| (i % 100 + 1) * 100_000 + extra_ns);
    v1::Interval {
        start_ns: at(second),
        end_ns: at(second + 1),
        uncertainty_ns: 20_000,
        sessions: SESSIONS,
        kinds: vec![v1::KindCounts {
            name: "read_write".to_owned(),
            ok: tps,
            statements: tps * STATEMENTS,
            service: histogram(spread(0)),
            response: histogram(spread(MS)),
            ..Default::default()
        }],
        ..Default::default()
    }
}

pub fn histogram(values_ns: impl Iterator<Item = u64>) -> prost::bytes::Bytes {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    values_ns.for_each(|value| histogram.record(value).unwrap());
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
    bytes.into()
}

fn cpu(second: i64, busy_per_s: u64) -> v1::CpuTimes {
    // Two cores of 100 ticks a second; five ticks of each second wait for a disk.
    let seconds = (second + 10) as u64;
    v1::CpuTimes {
        user: seconds * (busy_per_s - 20),
        system: seconds * 20,
        iowait: seconds * 10,
        steal: 0,
        idle: seconds * (190 - busy_per_s),
    }
}

/// 30 % busy.
pub fn driver_host(second: i64) -> v1::HostSample {
    v1::HostSample {
        at_ns: at(second),
        ticks_per_s: 100,
        cpu: Some(cpu(second, 60)),
        role: "drive".to_owned(),
        ..Default::default()
    }
}

/// 60 % busy; the database takes so many of its 200 ticks a second; writes 1 MB a second.
pub fn database_host(second: i64, process_ticks: u64) -> v1::HostSample {
    let seconds = (second + 10) as u64;
    v1::HostSample {
        at_ns: at(second),
        ticks_per_s: 100,
        cpu: Some(cpu(second, 120)),
        disks: vec![v1::DiskCounters {
            name: "vda".to_owned(),
            write_bytes: seconds * 1_000_000,
            ..Default::default()
        }],
        processes: vec![
            v1::ProcessSample { role: "agent".to_owned(), name: "vufleet-agent".to_owned(), ..Default::default() },
            v1::ProcessSample {
                role: "database".to_owned(),
                name: "mariadbd".to_owned(),
                pid: 77,
                cpu_ticks: seconds * process_ticks,
                rss_bytes: 1 << 30,
                started_ticks: 4711,
                ..Default::default()
            },
        ],
        role: "observe".to_owned(),
        ..Default::default()
    }
}

/// A reading that took 2 ms, when the database had done so many transactions.
pub fn counters(second: i64, transactions: u64) -> v1::Counters {
    let own_statements = (second + 2) as u64;
    let values = [
        ("Com_commit", 5000 + transactions),
        ("Questions", 90_000 + transactions * STATEMENTS + own_statements),
        ("Com_select", 1000 + transactions * 14),
        ("Com_insert", transactions),
        ("Com_update", transactions * 2),
        ("Com_delete", transactions),
    ];
    v1::Counters {
        before_ns: at(second) - MS,
        after_ns: at(second) + MS,
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        own_statements,
        uptime_s: 1000 + (second + 10) as u64,
        error: String::new(),
        requests: Vec::new(),
    }
}
