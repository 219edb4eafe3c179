//! SQL Server in a report: what its counters, waits and process say, what they cannot say, and looks at single sessions.

mod synthetic;

use serde_json::Value;
use synthetic::audit::all_files;
use synthetic::{LOAD_S, Lab, MS, S, STUDY, T0, Tape, WINDOW_S, near};
use vufleet::analysis::verdict::Verdict;
use vufleet::analysis::{Metric, Options, Report, report};
use vufleet::render::text;
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

const ORDERS: &str = "sum(d_next_o_id)";

fn on_mssql() -> String {
    STUDY.replace("kind = \"mysql\"", "kind = \"mssql\"")
}

fn orders_by(calls: &str) -> String {
    let workload = format!("kind = \"tprocc\"\nwarehouses = 4\ncalls = \"{calls}\"");
    on_mssql().replace("kind = \"oltp\"\nscript = \"read_write\"\ntables = 10\ntable_size = 25000", &workload)
}

/// A server of four processors that works on 200 calls a second, seen from a host that is not its own.
fn tape() -> Tape {
    let mut tape = Tape::new(1);
    for (_, interval) in tape.intervals() {
        let kind = &mut interval.kinds[0];
        kind.name = "new_order".to_owned();
        kind.statements = kind.ok;
    }
    for reading in tape.readings() {
        let done = reading.values["Com_insert"];
        let second = (reading.before_ns + MS + 10 * S - T0) / S;
        let mut values = vec![
            ("Batch Requests/sec", 7_000 + done + reading.own_statements),
            ("Transactions/sec", 3 * done),
            ("process_user_time_ms", 600 * second),
            ("process_kernel_time_ms", 200 * second),
            ("cpu_count", 4),
            ("wait.WRITELOG.ms", 500 * second),
            ("wait.WRITELOG.signal_ms", 20 * second),
            ("wait.WRITELOG.count", 300 * second),
        ];
        // Waits that stand still are left out.
        match second {
            9 => values.extend([("wait.LCK_M_X.ms", 40), ("wait.LCK_M_X.count", 4), ("wait.THREADPOOL.ms", 9)]),
            15 => values.extend([("wait.LCK_M_X.ms", 140), ("wait.LCK_M_X.count", 5), ("wait.PAGELATCH_EX.ms", 10)]),
            _ => {}
        }
        reading.values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    }
    for second in -1..=(LOAD_S as i64 + 1) {
        let at = (T0 as i64 + second * S as i64) as u64;
        let orders = 120_000 + second.clamp(0, LOAD_S as i64) as u64 * 200;
        let (before_ns, after_ns) = (at - 2 * MS, at - MS);
        let values = [(ORDERS.to_owned(), orders)].into();
        let counters = v1::Counters { before_ns, after_ns, values, ..Default::default() };
        tape.events.push(("observer".to_owned(), Body::Counters(counters)));
    }
    for sample in tape.hosts("observer") {
        sample.processes.retain(|process| process.role != "database");
    }
    tape
}

fn told(study: &str, change: impl FnOnce(&mut Tape)) -> Report {
    let mut tape = tape();
    change(&mut tape);
    let mut lab = Lab::of(study);
    lab.record(tape);
    lab.finish();
    lab.report()
}

fn results(report: &Report) -> Value {
    serde_json::from_str(&all_files(report)["results.json"]).unwrap()
}

/// Readings of the server, not those of orders.
fn of_server(tape: &mut Tape) -> impl Iterator<Item = &mut v1::Counters> {
    tape.readings().filter(|reading| reading.values.contains_key("cpu_count"))
}

#[test]
fn calls_are_counted_by_the_servers_batch_requests() {
    let report = told(&orders_by("procedures"), |_| {});
    let run = &report.runs[0];
    assert_eq!(run.verdict(), Verdict::Valid, "{:?}", run.reasons);
    let told: Vec<_> = run.witness.iter().map(|it| (it.metric, it.source)).collect();
    assert_eq!(told, [("nopm", ORDERS), ("tpm", "Batch Requests/sec")]);
    let metric = |metric| *run.metrics.get(metric).unwrap();
    near(metric(Metric::Nopm), 12_000.0, 1e-9);
    near(metric(Metric::Tpm), 12_000.0, 1e-9);
    near(metric(Metric::BatchRequestsPerS), 200.0, 1e-9);
    assert_eq!(run.witness_missing, None);
}

#[test]
fn another_client_shows_up_in_the_batch_requests() {
    let report = told(&orders_by("procedures"), |tape| {
        for reading in of_server(tape) {
            let seconds = (reading.before_ns + MS).saturating_sub(T0) / S;
            *reading.values.get_mut("Batch Requests/sec").unwrap() += 20 * seconds;
        }
    });
    assert_eq!(report.runs[0].verdict(), Verdict::Invalid, "{:?}", report.runs[0].reasons);
    near(*report.runs[0].metrics.get(Metric::BatchRequestsPerS).unwrap(), 220.0, 1e-9);
}

#[test]
fn calls_that_met_a_fault_are_no_transactions_whether_their_rollback_counts_or_not() {
    for rollbacks_count in [0, 1] {
        let report = told(&orders_by("procedures"), |tape| {
            for second in 0..LOAD_S {
                tape.interval("load-a", second).kinds[0].fault_rollbacks = 10;
            }
            for reading in of_server(tape) {
                let seconds = ((reading.before_ns + MS).saturating_sub(T0) / S).min(LOAD_S);
                *reading.values.get_mut("Batch Requests/sec").unwrap() += 10 * (1 + rollbacks_count) * seconds;
            }
        });
        let run = &report.runs[0];
        assert_eq!(run.verdict(), Verdict::Valid, "{rollbacks_count}: {:?}", run.reasons);
        near(*run.metrics.get(Metric::Tpm).unwrap(), 60.0 * (200 + 10 * rollbacks_count) as f64, 1e-9);
    }
}

#[test]
fn statements_have_no_tpm() {
    let report = told(&orders_by("statements"), |_| {});
    let run = &report.runs[0];
    assert_eq!(run.verdict(), Verdict::Valid, "{:?}", run.reasons);
    assert_eq!(run.metrics.get(Metric::Tpm), None, "a transaction is many batches");
    assert_eq!(run.witness.iter().map(|it| it.metric).collect::<Vec<_>>(), ["nopm"]);
    assert_eq!(run.witness_missing, None);
}

#[test]
fn why_a_tpm_is_missing_is_told() {
    let lacks = "sys.dm_os_performance_counters cannot be read: permission was denied (300); GRANT VIEW SERVER STATE";
    let report = told(&orders_by("procedures"), |tape| {
        let mut first = true;
        for reading in of_server(tape) {
            reading.values.retain(|name, _| !name.ends_with("/sec"));
            reading.error = if std::mem::take(&mut first) { lacks.to_owned() } else { String::new() };
        }
    });
    let run = &report.runs[0];
    assert_eq!(run.witness_missing.as_deref(), Some(lacks));
    assert_eq!((run.metrics.get(Metric::Tpm), run.metrics.get(Metric::BatchRequestsPerS)), (None, None));
    near(*run.metrics.get(Metric::DbProcessCpuPercent).unwrap(), 20.0, 1e-9);
    assert!(text(&report, 120).contains("the database's own count is missing: sys.dm_os_performance_counters"));
}

#[test]
fn no_counter_stands_for_transactions_of_other_workloads() {
    let report = told(&on_mssql(), |_| {});
    let run = &report.runs[0];
    assert_eq!((run.witness.len(), run.witness_missing.as_deref()), (0, None));
    near(*run.metrics.get(Metric::BatchRequestsPerS).unwrap(), 200.0, 1e-9);
    let words = "nobody but the virtual users counted: no counter of SQL Server grows by a known number";
    assert!(text(&report, 120).contains(words), "{}", text(&report, 120));
}

#[test]
fn the_process_tells_its_own_cpu_where_no_agent_sees_it() {
    let report = told(&orders_by("procedures"), |_| {});
    let metrics = &report.runs[0].metrics;
    near(*metrics.get(Metric::DbProcessCpuPercent).unwrap(), 20.0, 1e-9);
    near(*metrics.get(Metric::CpuMsPerTxn).unwrap(), 4.0, 1e-9);
    assert_eq!(metrics.get(Metric::DbHostCpuPercent), None, "the observer's host is not the database's");
    let seen = told(&orders_by("procedures"), |tape| {
        let process = v1::ProcessSample { role: "database".to_owned(), pid: 7, ..Default::default() };
        for sample in tape.hosts("observer") {
            let cpu_ticks = (sample.at_ns + 10 * S - T0) / S * 100;
            sample.processes.push(v1::ProcessSample { cpu_ticks, ..process.clone() });
        }
    });
    let metrics = &seen.runs[0].metrics;
    near(*metrics.get(Metric::DbProcessCpuPercent).unwrap(), 50.0, 1e-9);
    near(*metrics.get(Metric::DbHostCpuPercent).unwrap(), 60.0, 1e-9);
}

#[test]
fn waits_are_told_by_cell_the_longest_first() {
    let mut lab = Lab::of(&orders_by("procedures"));
    for repetition in 1..=2 {
        let mut tape = tape();
        tape.repetition = repetition;
        if repetition == 2 {
            for reading in of_server(&mut tape) {
                reading.values.retain(|name, _| !name.contains("LCK_M_X"));
            }
        }
        lab.record(tape);
    }
    lab.finish();
    let report = lab.report();
    let waits = &results(&report)["cells"][0]["waits"];
    let told: Vec<(&str, f64)> = waits
        .as_array()
        .unwrap()
        .iter()
        .map(|wait| (wait["name"].as_str().unwrap(), wait["ms_per_s"].as_f64().unwrap()))
        .collect();
    // 100 ms of locks in 20 s of the first run and none in the second; a wait that had never been there began at 0.
    assert_eq!(told.iter().map(|it| it.0).collect::<Vec<_>>(), ["WRITELOG", "LCK_M_X", "PAGELATCH_EX"]);
    for ((name, found), known) in told.into_iter().zip([500.0, 2.5, 0.5]) {
        assert!((found - known).abs() < 1e-9, "{name}: {found}");
    }
    near(waits[0]["signal_ms_per_s"].as_f64().unwrap(), 20.0, 1e-9);
    near(waits[0]["waits_per_s"].as_f64().unwrap(), 300.0, 1e-9);
    assert!(
        text(&report, 120).contains("- 16vu: WRITELOG 500.0, LCK_M_X 2.50, PAGELATCH_EX 0.500\n"),
        "{}",
        text(&report, 120)
    );
}

#[test]
fn a_wait_that_stands_still_is_carried_on_and_one_that_never_moved_has_no_column() {
    let files = all_files(&told(&orders_by("procedures"), |_| {}));
    let mut reader = csv::Reader::from_reader(files["samples.csv"].as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert!(
        header.iter().any(|name| name == "wait.LCK_M_X.count") && !header.iter().any(|it| it.contains("THREADPOOL"))
    );
    assert!(!header.iter().any(|name| name == "session_id"), "nobody looked at sessions");
    let place = |name: &str| header.iter().position(|known| known == name).unwrap();
    let (start, locks, batches) = (place("start_s"), place("wait.LCK_M_X.ms"), place("Batch Requests/sec"));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let at = |second: &str| rows.iter().find(|row| &row[start] == second && !row[batches].is_empty()).unwrap();
    for (second, value) in [("-1.001", "40"), ("2.999", "40"), ("4.999", "140"), ("20.999", "140")] {
        assert_eq!(&at(second)[locks], value, "{second}");
    }
}

#[test]
fn a_restart_begins_all_waits_anew() {
    let report = told(&orders_by("procedures"), |tape| {
        // The last reading, long after the window.
        let last = of_server(tape).last().unwrap();
        (last.uptime_s, last.values) = (1, [("wait.WRITELOG.ms".to_owned(), 3)].into());
    });
    let run = &report.runs[0];
    let last = run.counters.readings.last().unwrap();
    let value = |name| run.counters.value(last, name);
    assert_eq!((value("wait.WRITELOG.ms"), value("wait.LCK_M_X.ms")), (Some(3), None));
}

/// Session 55 has a batch of 1.5 s after the other, session 56 one for the whole run.
fn looked_at(tape: &mut Tape) {
    for reading in of_server(tape) {
        let second = (reading.before_ns + MS).saturating_sub(T0) / S;
        if second == 0 {
            continue;
        }
        let batch = second * 1000 / 1500;
        let short = v1::RequestSample {
            session_id: 55,
            started_ms: batch * 1500,
            cpu_ms: second * 900 - batch * 1350,
            elapsed_ms: second * 1000 - batch * 1500,
            wait: "SOS_SCHEDULER_YIELD".to_owned(),
        };
        let long = v1::RequestSample {
            session_id: 56,
            started_ms: 1,
            cpu_ms: second * 800,
            elapsed_ms: second * 1000,
            wait: String::new(),
        };
        reading.requests = vec![short, long];
    }
}

#[test]
fn sessions_have_the_cpu_and_elapsed_time_of_the_requests_that_were_seen() {
    let report = told(&on_mssql(), looked_at);
    let sessions = &results(&report)["runs"][0]["requests"];
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    let (short, long) = (&sessions[0], &sessions[1]);
    assert_eq!((&short["session_id"], &long["session_id"]), (&55.into(), &56.into()));
    assert_eq!((&long["requests"], &long["cpu_ms"], &long["elapsed_ms"]), (&1.into(), &16_800.into(), &21_000.into()));
    assert_eq!((&long["longest_cpu_ms"], &long["longest_elapsed_ms"]), (&16_800.into(), &21_000.into()));
    assert!(long.get("waits").is_none(), "{long}");
    // Looked at once a second from 2 to 21 (the window ends at 22): of each 1.5 s the last look.
    assert_eq!(short["waits"]["SOS_SCHEDULER_YIELD"], WINDOW_S);
    let (cpu, elapsed) = (short["cpu_ms"].as_f64().unwrap(), short["elapsed_ms"].as_f64().unwrap());
    near(cpu / elapsed, 0.9, 1e-9);
    assert_eq!(short["longest_elapsed_ms"], 1000);
    let files = all_files(&report);
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        csv::Reader::from_reader(files["samples.csv"].as_bytes()).deserialize().map(Result::unwrap).collect();
    let look = rows.iter().find(|row| row["role"] == "request" && row["start_s"] == "3.999").unwrap();
    for (column, value) in [
        ("session_id", "55"),
        ("request_cpu_ms", "900"),
        ("request_elapsed_ms", "1000"),
        ("request_wait", "SOS_SCHEDULER_YIELD"),
        ("in_window", "true"),
        ("Batch Requests/sec", ""),
    ] {
        assert_eq!(look[column], value, "{column}");
    }
    assert!(rows.iter().filter(|row| row["role"] != "request").all(|row| row["session_id"].is_empty()));
}

#[test]
fn a_study_that_withholds_tells_none_of_it() {
    let mut lab = Lab::of(&format!("{}[report]\nrelative_only = true\n", orders_by("procedures")));
    let mut tape = tape();
    looked_at(&mut tape);
    lab.record(tape);
    lab.finish();
    let report = report(&lab.ledger, "last", Options::default()).unwrap();
    let files = all_files(&report);
    let forms = files.values().cloned().chain([text(&report, 120)]);
    for form in forms {
        for word in ["WRITELOG", "session_id", "longest_cpu_ms", "SOS_SCHEDULER"] {
            assert!(!form.contains(word), "{word}: {form}");
        }
    }
    let metrics = &results(&report)["runs"][0]["metrics"];
    assert_eq!((metrics.get("batch_requests_per_s"), metrics["db_process_cpu_percent"].as_f64()), (None, Some(20.0)));
}
