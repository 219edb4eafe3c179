//! What a run with a known truth is reported as.

mod synthetic;

use synthetic::{
    AGENTS, LOAD_S, Lab, MS, RAMP_UP_S, S, STATEMENTS, STUDY, T0, TPS, Tape, WINDOW_S, boot, histogram, near, report_of,
};
use vufleet::analysis::verdict::Verdict;
use vufleet::analysis::{Metric, RunReport};
use vufleet::ledger::MeasureFacts;
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

fn run_of(tape: Tape) -> RunReport {
    report_of(tape).runs.remove(0)
}

fn metric(run: &RunReport, metric: Metric) -> f64 {
    *run.metrics.get(metric).unwrap_or_else(|| panic!("{} applies", metric.name()))
}

#[test]
fn the_truth_is_recovered() {
    let run = run_of(Tape::new(1));
    assert_eq!((run.verdict(), run.reasons.as_slice()), (Verdict::Valid, &[][..]));
    assert_eq!(run.measured_s, Some(WINDOW_S as f64));
    assert_eq!(run.sessions, 16);
    for (of, known) in [
        (Metric::Tps, 200.0),
        (Metric::Qps, 4000.0),
        (Metric::ErrorsPerS, 0.0),
        (Metric::ServiceP50Ms, 5.0),
        (Metric::ServiceP95Ms, 9.5),
        (Metric::ServiceP99Ms, 9.9),
        (Metric::ServiceMeanMs, 5.05),
        (Metric::P50Ms, 6.0),
        (Metric::P95Ms, 10.5),
        (Metric::P99Ms, 10.9),
        (Metric::MeanMs, 6.05),
        (Metric::DriverHostCpuPercent, 30.0),
        (Metric::DbHostCpuPercent, 60.0),
        (Metric::DbProcessCpuPercent, 50.0),
        (Metric::CpuMsPerTxn, 5.0),
        (Metric::DbDiskWriteBytesPerS, 1e6),
    ] {
        near(metric(&run, of), known, 0.001);
    }
    let kind = &run.transactions["read_write"];
    assert_eq!((kind.ok, kind.statements), (2 * TPS * WINDOW_S, 2 * TPS * WINDOW_S * STATEMENTS));
    let whole = &run.whole_run["read_write"];
    assert_eq!((whole.client, whole.database), (Some(2 * TPS * LOAD_S), Some(2 * TPS * LOAD_S)));
}

#[test]
fn both_witnesses_count_the_same_between_their_own_readings() {
    let mut tape = Tape::new(1);
    // The readings come 0.3 s late: counts are taken between them, not between the window's edges.
    for reading in tape.readings() {
        let lag = 3 * S / 10;
        let done = (reading.before_ns + MS).saturating_sub(T0).min(LOAD_S * S);
        let more = if (1..LOAD_S * S).contains(&(done + 1)) { 60 } else { 0 };
        reading.before_ns += lag;
        reading.after_ns += lag;
        *reading.values.get_mut("Com_commit").unwrap() += more;
        *reading.values.get_mut("Questions").unwrap() += more * STATEMENTS;
    }
    let run = run_of(tape);
    let found: Vec<_> = run.witness.iter().map(|it| (it.metric, it.source)).collect();
    assert_eq!(found, [("tps", "Com_commit"), ("qps", "Questions")]);
    for witness in &run.witness {
        near(witness.client_count, witness.database_count, 1e-9);
        near(witness.over_s, WINDOW_S as f64, 1e-9);
        assert!(witness.difference_percent.abs() < 1e-6, "{witness:?}");
    }
    near(run.witness[0].client, 200.0, 1e-9);
    near(run.witness[1].database, 4000.0, 1e-9);
}

#[test]
fn autocommitted_work_is_witnessed_by_its_statements() {
    let text = STUDY.replace("table_size = 25000", "table_size = 25000\nskip_trx = true");
    let mut lab = Lab::of(&text);
    lab.record(Tape::new(1));
    let run = lab.report().runs.remove(0);
    let tps = &run.witness[0];
    assert_eq!(tps.source, "Com_select + Com_insert + Com_update + Com_delete");
    near(tps.database, 200.0, 1e-9);
}

#[test]
fn ramp_up_and_what_follows_the_window_are_left_out() {
    let mut tape = Tape::new(1);
    for agent in AGENTS {
        for second in [0, 1, LOAD_S - 1] {
            let kind = &mut tape.interval(agent, second).kinds[0];
            kind.ok = 7;
            kind.service = histogram([5 * S].into_iter());
            kind.response = kind.service.clone();
        }
    }
    let run = run_of(tape);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    near(metric(&run, Metric::P99Ms), 10.9, 0.001);
}

#[test]
fn a_missing_interval_is_taken_out_of_the_time_too() {
    let mut tape = Tape::new(1);
    tape.drop_interval("load-a", 9);
    let run = run_of(tape);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    assert_eq!(run.transactions["read_write"].ok, 2 * TPS * WINDOW_S - TPS);
}

#[test]
fn an_interval_told_twice_counts_once() {
    let mut tape = Tape::new(1);
    let again: Vec<_> = tape.events.iter().filter(|(agent, _)| agent == "load-b").cloned().collect();
    tape.events.extend(again);
    let run = run_of(tape);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    assert_eq!(run.transactions["read_write"].ok, 2 * TPS * WINDOW_S);
    assert_eq!(run.verdict(), Verdict::Valid);
}

#[test]
fn a_late_interval_divides_by_its_own_length() {
    let mut tape = Tape::new(1);
    // One interval was cut a quarter of a second late, the next one is shorter.
    let late = tape.interval("load-a", 9);
    late.end_ns += S / 4;
    late.kinds[0].ok = TPS + TPS / 4;
    let next = tape.interval("load-a", 10);
    next.start_ns += S / 4;
    next.kinds[0].ok = TPS - TPS / 4;
    let run = run_of(tape);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    assert_eq!(run.verdict(), Verdict::Valid);
}

#[test]
fn agents_whose_clocks_are_corrected_to_a_few_milliseconds_add_up() {
    let mut tape = Tape::new(1);
    for (agent, interval) in tape.intervals() {
        let shift = if agent == "load-a" { 4 * MS } else { 0 };
        interval.start_ns += shift;
        interval.end_ns += shift;
    }
    let run = run_of(tape);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    assert_eq!(run.transactions["read_write"].ok, 2 * TPS * WINDOW_S);
}

#[test]
fn the_order_in_which_agents_are_heard_changes_nothing() {
    let straight = run_of(Tape::new(1));
    let mut tape = Tape::new(1);
    tape.events.reverse();
    assert_eq!(run_of(tape), straight);
}

#[test]
fn outcomes_and_faults_are_told_apart() {
    let mut tape = Tape::new(1);
    let interval = tape.interval("load-a", 5);
    interval.reconnects = 2;
    interval.connect_faults = vec![v1::FaultCount { kind: v1::FaultKind::FaultRefused as i32, count: 1 }];
    let kind = &mut interval.kinds[0];
    (kind.ok, kind.rollback, kind.unknown, kind.failed, kind.retries) = (90, 10, 3, 2, 5);
    kind.queued_ns = S / 2;
    kind.faults = vec![
        v1::FaultCount { kind: v1::FaultKind::FaultDeadlock as i32, count: 4 },
        v1::FaultCount { kind: v1::FaultKind::FaultDuplicate as i32, count: 1 },
        v1::FaultCount { kind: v1::FaultKind::FaultNone as i32, count: 50 },
        v1::FaultCount { kind: 99, count: 50 },
    ];
    let run = run_of(tape);
    let kind = &run.transactions["read_write"];
    assert_eq!((kind.ok, kind.rollback, kind.unknown, kind.failed, kind.retries), (3990, Some(10), 3, 2, 5));
    assert_eq!(kind.errors, [("deadlock", 4), ("duplicate_key", 1)].into());
    assert_eq!((run.reconnects, kind.queued_s), (Some(2), Some(0.5)));
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    near(metric(&run, Metric::ErrorsPerS), 6.0 / WINDOW_S as f64, 1e-9);
}

#[test]
fn a_simulated_target_has_no_host() {
    let mut lab = Lab::of(&STUDY.replace("\"mysql\"", "\"simulated\""));
    lab.record(Tape::new(1));
    lab.finish();
    let run = lab.report().runs.remove(0);
    let hosts_or_more =
        run.metrics.iter().filter(|(metric, _)| metric.name().contains("cpu") || metric.name().starts_with("db_"));
    let told: Vec<_> = hosts_or_more.map(|(metric, _)| metric.name()).collect();
    assert_eq!(told, ["driver_host_cpu_percent"]);
}

#[test]
fn a_database_that_is_away_does_not_lend_its_figures_from_the_agent() {
    let mut tape = Tape::new(1);
    tape.hosts("observer").skip(12).for_each(|sample| drop(sample.processes.pop()));
    let run = run_of(tape);
    assert_eq!(run.metrics.get(Metric::DbProcessCpuPercent), None);
    let told = run.host_series.iter().filter(|host| !host.key.drives);
    let away = told.skip(12).map(|host| host.usage.database.clone());
    assert!(away.clone().count() > 0);
    assert!(away.clone().all(|figures| figures.is_none()), "{:?}", away.collect::<Vec<_>>());
}

/// Both roles in one process, which is how an agent is started when nobody says otherwise.
fn in_both_roles() -> Tape {
    let mut tape = Tape::new(1);
    tape.events.retain(|(_, body)| !matches!(body, Body::Host(sample) if sample.role == "drive"));
    let name = "observer".to_owned();
    for (agent, _) in tape.events.iter_mut().filter(|(agent, _)| agent == "load-a") {
        agent.clone_from(&name);
    }
    tape.facts().driving[0].boot = boot(&name);
    tape.facts().driving[0].name = name;
    tape
}

#[test]
fn an_agent_that_drives_and_observes_has_one_host() {
    let run = run_of(in_both_roles());
    near(metric(&run, Metric::DriverHostCpuPercent), 60.0, 0.02);
    near(metric(&run, Metric::DbHostCpuPercent), 60.0, 0.02);
}

#[test]
fn an_agent_in_both_roles_may_be_too_busy_to_drive() {
    let mut tape = in_both_roles();
    for sample in tape.hosts("observer") {
        let cpu = sample.cpu.as_mut().unwrap();
        (cpu.user, cpu.idle) = (cpu.user + cpu.idle, 0);
    }
    let run = run_of(tape);
    assert_eq!(run.verdict(), Verdict::Degraded);
    assert!(run.reasons[0].to_string().contains("agent observer was 95 % busy"), "{:?}", run.reasons);
}

#[test]
fn counters_that_fell_give_no_figure() {
    let mut tape = Tape::new(1);
    for sample in tape.hosts("observer").skip(12) {
        sample.disks[0].write_bytes = 5;
        sample.cpu = Some(v1::CpuTimes::default());
    }
    let run = run_of(tape);
    for absent in [Metric::DbDiskWriteBytesPerS, Metric::DbHostCpuPercent, Metric::DbProcessCpuPercent] {
        assert_eq!(run.metrics.get(absent), None, "{}", absent.name());
    }
    assert!(run.metrics.get(Metric::DriverHostCpuPercent).is_some());
}

#[test]
fn without_counters_or_hosts_their_figures_are_absent_and_the_rest_is_told() {
    let mut tape = Tape::new(1);
    tape.events.retain(|(_, body)| matches!(body, Body::Interval(_)));
    tape.facts().observing.clear();
    let run = run_of(tape);
    assert_eq!(run.verdict(), Verdict::Valid);
    assert!(run.witness.is_empty() && run.hosts.is_empty());
    assert!(run.witness_missing.is_some());
    assert_eq!(run.metrics.get(Metric::CpuMsPerTxn), None);
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
}

#[test]
fn a_window_of_transactions_reaches_to_the_last_of_them() {
    let mut tape = Tape::new(1);
    tape.facts().measure = MeasureFacts::Transactions(20);
    for (_, interval) in tape.intervals() {
        if interval.start_ns >= T0 + 3 * S {
            interval.kinds.clear();
            interval.sessions = 0;
        }
    }
    for reading in tape.readings() {
        let done = 200 * (reading.after_ns.saturating_sub(T0) / S).min(3);
        reading.values = [("Com_commit".to_owned(), 5000 + done)].into();
    }
    let run = run_of(tape);
    assert_eq!(run.reasons, []);
    assert_eq!(run.measured_s, Some(3.0));
    near(metric(&run, Metric::Tps), 200.0, 1e-9);
    near(metric(&run, Metric::ServiceP95Ms), 9.5, 0.001);
    assert_eq!(run.witness[0].database_count, 600.0);
}

#[test]
fn the_window_begins_where_the_report_says() {
    let run = run_of(Tape::new(1));
    assert_eq!(run.window.unwrap().start_ns, T0 + RAMP_UP_S * S);
    let inside = run.samples.iter().filter(|it| run.in_window(it.start_ns, it.end_ns)).count() as u64;
    assert_eq!(inside, 2 * WINDOW_S);
    assert_eq!(run.samples.len() as u64, 2 * (LOAD_S + 1));
}

#[test]
fn order_entry_without_orders_is_told_by_its_transactions() {
    let study = |mix: &str| {
        let oltp = "kind = \"oltp\"\nscript = \"read_write\"\ntables = 10\ntable_size = 25000";
        STUDY.replace(oltp, &format!("kind = \"tprocc\"\nwarehouses = 2\n{mix}"))
    };
    for (mix, headline) in [
        ("", Metric::Nopm),
        ("mix = { new_order = 1, stock_level = 1 }", Metric::Nopm),
        ("mix = { order_status = 1, stock_level = 1 }", Metric::Tps),
    ] {
        assert_eq!(Lab::of(&study(mix)).report().headline(), headline, "{mix}");
    }
}
