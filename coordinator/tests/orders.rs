//! TPROC-C in a report: NOPM and TPM, who counted them, and whole runs to the transaction.

mod synthetic;

use synthetic::Lab;
use synthetic::{LOAD_S, MS, S, STUDY, T0, Tape, near};
use vufleet::analysis::verdict::Verdict;
use vufleet::analysis::{Metric, RunReport};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

const ORDERS: &str = "sum(d_next_o_id)";
/// Of each agent and second: committed orders, rolled back ones.
const OK: u64 = 99;
const ROLLED_BACK: u64 = 1;

fn study() -> String {
    STUDY.replace(
        "kind = \"oltp\"\nscript = \"read_write\"\ntables = 10\ntable_size = 25000",
        "kind = \"tprocc\"\nwarehouses = 4",
    )
}

/// When the database holds so many orders.
fn orders(second: i64, orders: u64) -> v1::Counters {
    let at = (T0 as i64 + second * S as i64) as u64;
    let values = [(ORDERS.to_owned(), 120_000 + orders)].into();
    v1::Counters { before_ns: at - MS, after_ns: at + MS, values, ..Default::default() }
}

/// New orders and nothing else, one in a hundred rolled back.
fn tape() -> Tape {
    let mut tape = Tape::new(1);
    for (_, interval) in tape.intervals() {
        let kind = &mut interval.kinds[0];
        kind.name = "new_order".to_owned();
        if kind.ok > 0 {
            (kind.ok, kind.rollback) = (OK, ROLLED_BACK);
        }
        kind.statements = kind.ok + kind.rollback;
    }
    for reading in tape.readings() {
        let done = reading.values["Com_insert"];
        reading.values.insert("Com_commit".to_owned(), 5_000 + done / 100 * OK);
        reading.values.insert("Com_rollback".to_owned(), 70 + done / 100 * ROLLED_BACK);
        reading.values.insert("Questions".to_owned(), 90_000 + done + reading.own_statements);
    }
    for second in -1..=(LOAD_S as i64 + 1) {
        let done = second.clamp(0, LOAD_S as i64) as u64 * 2 * OK;
        tape.events.push(("observer".to_owned(), Body::Counters(orders(second, done))));
    }
    tape
}

fn report(change: impl FnOnce(&mut Tape)) -> RunReport {
    let mut tape = tape();
    change(&mut tape);
    let mut lab = Lab::of(&study());
    lab.record(tape);
    lab.finish();
    lab.report().runs.remove(0)
}

fn metric(run: &RunReport, metric: Metric) -> Option<f64> {
    run.metrics.get(metric).copied()
}

#[test]
fn the_database_counts_orders_and_transactions_by_the_minute() {
    let run = report(|_| {});
    assert_eq!(run.verdict(), Verdict::Valid, "{:?}", run.reasons);
    near(metric(&run, Metric::Nopm).unwrap(), 2.0 * OK as f64 * 60.0, 1e-9);
    near(metric(&run, Metric::Tpm).unwrap(), 200.0 * 60.0, 1e-9);
    let told: Vec<_> = run.witness.iter().map(|it| (it.metric, it.source)).collect();
    let expected =
        [("nopm", ORDERS), ("tpm", "Com_commit + Com_rollback"), ("tps", "Com_commit"), ("qps", "Questions")];
    assert_eq!(told, expected);
    for witness in &run.witness {
        near(witness.client, witness.database, 1e-9);
    }
    near(run.witness[0].client, 11_880.0, 1e-9);
    let whole = &run.whole_run["new_order"];
    assert_eq!((whole.client, whole.unknown, whole.database), (Some(23 * 2 * OK), 0, Some(23 * 2 * OK)));
    assert_eq!(run.transactions["new_order"].rollback, Some(40));
}

#[test]
fn rollbacks_of_faults_are_not_transactions() {
    let run = report(|tape| {
        // Ten deadlocks a second: each is rolled back inside the procedure and once more by its session.
        for second in 0..LOAD_S {
            tape.interval("load-a", second).kinds[0].fault_rollbacks = 10;
        }
        for reading in tape.readings().filter(|reading| reading.values.contains_key("Com_rollback")) {
            let seconds = (reading.before_ns + MS).saturating_sub(T0) / S;
            *reading.values.get_mut("Com_rollback").unwrap() += 20 * seconds.min(LOAD_S);
        }
    });
    near(metric(&run, Metric::Tpm).unwrap(), 200.0 * 60.0, 1e-9);
}

#[test]
fn a_restart_of_the_server_costs_its_counters_and_not_the_orders() {
    let run = report(|tape| {
        for reading in tape.readings().filter(|it| it.values.contains_key("Com_commit") && it.before_ns > T0 + 10 * S) {
            reading.values.insert("Com_commit".to_owned(), 3);
            reading.uptime_s = 1;
        }
        tape.interval("load-b", 10).kinds[0].unknown = 2;
        tape.interval("load-b", 10).kinds[0].ok -= 2;
    });
    let whole = &run.whole_run["new_order"];
    assert_eq!((whole.client, whole.unknown, whole.database), (Some(23 * 2 * OK - 2), 2, Some(23 * 2 * OK)));
    near(metric(&run, Metric::Nopm).unwrap(), 11_880.0, 1e-9);
    assert_eq!(metric(&run, Metric::Tpm), None, "never another count under the same name");
}

#[test]
fn a_whole_run_needs_readings_around_it() {
    let of_orders = |body: &Body| matches!(body, Body::Counters(it) if it.values.contains_key(ORDERS));
    let last = T0 + LOAD_S * S - MS;
    let without_end = report(|tape| {
        tape.events
            .retain(|(_, body)| !(of_orders(body) && matches!(body, Body::Counters(it) if it.before_ns >= last)));
    });
    assert_eq!(without_end.whole_run["new_order"].database, None);
    assert!(metric(&without_end, Metric::Nopm).is_some());
    let without_any = report(|tape| tape.events.retain(|(_, body)| !of_orders(body)));
    assert_eq!(metric(&without_any, Metric::Nopm), None);
    assert!(without_any.witness_missing.is_some());
}

#[test]
fn somebody_elses_orders_are_noticed() {
    let run = report(|tape| {
        for reading in tape.readings() {
            let seconds = (reading.before_ns + MS).saturating_sub(T0) / S;
            if let Some(sum) = reading.values.get_mut(ORDERS) {
                *sum += 20 * seconds;
            }
        }
    });
    assert_eq!(run.verdict(), Verdict::Invalid);
    let words = run.reasons[0].to_string();
    assert!(words.contains("nopm count is") && words.contains(ORDERS), "{words}");
}

/// The database's sum, from ten seconds on, is off by so many.
fn astray(off_by: i64, change: impl FnOnce(&mut Tape)) -> RunReport {
    report(|tape| {
        for reading in tape.readings().filter(|reading| reading.before_ns > T0 + 10 * S) {
            if let Some(sum) = reading.values.get_mut(ORDERS) {
                *sum = sum.checked_add_signed(off_by).unwrap();
            }
        }
        change(tape);
    })
}

#[test]
fn a_single_order_that_is_lost_or_doubled_is_noticed() {
    let placed = 23 * 2 * OK;
    for (off_by, database) in [(-1, placed - 1), (1, placed + 1)] {
        let run = astray(off_by, |_| {});
        assert_eq!(run.verdict(), Verdict::Degraded);
        let words = format!(
            "over the whole run the database took other orders than the virtual users placed ({database} against \
             {placed} and 0 of unknown outcome); orders are lost or doubled, or somebody else places some"
        );
        assert_eq!(run.sentences(false), [words]);
        assert!(!run.sentences(true)[0].contains(&placed.to_string()), "{:?}", run.sentences(true));
    }
    let unknown = |tape: &mut Tape| {
        let kind = &mut tape.interval("load-b", 10).kinds[0];
        (kind.ok, kind.unknown) = (kind.ok - 2, 2);
    };
    for off_by in [-2, 0] {
        let run = astray(off_by, unknown);
        assert_eq!(run.verdict(), Verdict::Valid, "each of two may have happened: {:?}", run.reasons);
    }
    assert_eq!(astray(-3, unknown).verdict(), Verdict::Degraded);
}

/// HammerDB's procedure on MySQL: rolled-back calls look like the others.
fn unseen(tape: &mut Tape) {
    tape.facts().target_version = Some("8.4.3".to_owned());
    for (_, interval) in tape.intervals() {
        let kind = &mut interval.kinds[0];
        (kind.ok, kind.rollback) = (kind.ok + kind.rollback, 0);
    }
}

#[test]
fn rollbacks_that_cannot_be_seen_are_absent_and_allowed_for() {
    let run = report(unseen);
    assert_eq!(run.transactions["new_order"].rollback, None);
    let nopm = &run.witness[0];
    near(nopm.client_count, 4_000.0 * 98.0 / 99.0, 1e-9);
    near(nopm.database_count, 3_960.0, 1e-9);
    assert_eq!(run.witness[0].metric, "nopm");
    assert_eq!(run.verdict(), Verdict::Valid, "{:?}", run.reasons);
    near(metric(&run, Metric::Nopm).unwrap(), 11_880.0, 1e-9);
    let whole = &run.whole_run["new_order"];
    assert_eq!((whole.client, whole.database), (None, Some(23 * 2 * OK)), "calls are not orders");

    // The same counts on MariaDB would mean that orders are missing.
    let run = report(|tape| {
        unseen(tape);
        tape.facts().target_version = Some("11.4.2-MariaDB".to_owned());
    });
    assert_eq!(run.transactions["new_order"].rollback, Some(0));
    near(run.witness[0].client_count, 4_000.0, 1e-9);
}

#[test]
fn rollbacks_that_cannot_be_seen_are_no_commits_however_many_there_are() {
    // A hundred times as many: a hundredth of them is more than 1 % and what is allowed for together.
    let run = report(|tape| {
        unseen(tape);
        tape.intervals().flat_map(|(_, it)| &mut it.kinds).for_each(|kind| {
            kind.ok *= 100;
            kind.statements *= 100;
        });
        for reading in tape.readings() {
            let first = |name: &str| match name {
                "Com_commit" => 5_000,
                "Com_rollback" => 70,
                ORDERS => 120_000,
                _ => 0,
            };
            let own = reading.own_statements;
            for (name, value) in &mut reading.values {
                *value = match name.as_str() {
                    "Questions" => 90_000 + (*value - 90_000 - own) * 100 + own,
                    name => first(name) + (*value - first(name)) * 100,
                };
            }
        }
    });
    let tps = run.witness.iter().find(|witness| witness.metric == "tps").unwrap();
    near(tps.client_count, 400_000.0 * 98.0 / 99.0, 1e-9);
    near(tps.database_count, 396_000.0, 1e-9);
    assert_eq!(run.verdict(), Verdict::Valid, "{:?}", run.reasons);
}

#[test]
fn without_a_database_the_clients_count() {
    let text = study().replace(
        "kind = \"mysql\"\nhost = \"127.0.0.1\"\ndatabase = \"sbtest\"\nuser = \"bench\"",
        "kind = \"simulated\"",
    );
    let mut tape = tape();
    tape.facts().counters_agent = None;
    tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
    let mut lab = Lab::of(&text);
    lab.record(tape);
    lab.finish();
    let run = lab.report().runs.remove(0);
    near(metric(&run, Metric::Nopm).unwrap(), 11_880.0, 1e-9);
    near(metric(&run, Metric::Tpm).unwrap(), 12_000.0, 1e-9);
    assert!(run.witness.is_empty());
    assert_eq!(run.whole_run["new_order"].database, None);
}
