//! What a server counts of the user's own SQL, on ledgers with a known truth.

mod synthetic;

use synthetic::{AGENTS, Lab, S, STUDY, T0, TPS, Tape, near};
use vufleet::analysis::RunReport;

const AUTOCOMMITTED: &str = r#"kind = "sql"
[[workload.transactions]]
name = "look"
statements = ["SELECT balance FROM account WHERE id = 1"]
[[workload.transactions]]
name = "swap"
statements = ["REPLACE INTO a VALUES (1)", "UPDATE a, b SET a.x = b.x", "DELETE FROM a"]
"#;

fn study(transactions: &str) -> String {
    let oltp = "kind = \"oltp\"\nscript = \"read_write\"\ntables = 10\ntable_size = 25000\n";
    assert!(STUDY.contains(oltp));
    STUDY.replace(oltp, transactions)
}

/// As many of each of these kinds as the lab has transactions, and a server that counts so many statements by name for one
/// of each.
fn tape(kinds: [(&str, u64); 2], counters: &[(&str, u64)]) -> Tape {
    let mut tape = Tape::new(1);
    for (_, interval) in tape.intervals() {
        let pattern = interval.kinds.remove(0);
        for (name, statements) in kinds {
            let (name, statements) = (name.to_owned(), pattern.ok * statements);
            interval.kinds.push(vufleet_proto::v1::KindCounts { name, statements, ..pattern.clone() });
        }
    }
    let statements: u64 = kinds.iter().map(|(_, statements)| statements).sum();
    for reading in tape.readings() {
        let load = (reading.after_ns.saturating_sub(T0) / S).min(synthetic::LOAD_S);
        let each = load * TPS * AGENTS.len() as u64;
        reading.values =
            [("Com_select", 0), ("Com_insert", 0), ("Com_update", 0), ("Com_delete", 0), ("Com_commit", 0)]
                .iter()
                .chain(counters)
                .map(|(name, times)| ((*name).to_owned(), 1_000 + times * each))
                .collect();
        reading.values.insert("Questions".to_owned(), statements * each + reading.own_statements);
    }
    tape
}

fn run(study: &str, tape: Tape) -> RunReport {
    let mut lab = Lab::of(study);
    lab.record(tape);
    lab.finish();
    lab.report().runs.remove(0)
}

#[test]
fn autocommitted_kinds_of_different_lengths_are_witnessed_by_their_statements() {
    let server = [("Com_select", 1), ("Com_replace", 1), ("Com_update_multi", 1), ("Com_delete", 1)];
    let run = run(&study(AUTOCOMMITTED), tape([("look", 1), ("swap", 3)], &server));
    let [tps, qps] = run.witness.as_slice() else { panic!("two witnesses: {:?}", run.witness) };
    assert_eq!((tps.metric, qps.metric), ("tps", "qps"));
    assert!(tps.source.starts_with("Com_select + ") && tps.source.ends_with("in all their forms"), "{}", tps.source);
    near(tps.client, 400.0, 1e-9);
    near(tps.database, 400.0, 1e-9);
    near(qps.client, 800.0, 1e-9);
    near(qps.database, 800.0, 1e-9);
}

#[test]
fn statements_that_the_server_did_not_see_are_missed() {
    let server = [("Com_select", 1), ("Com_replace", 1), ("Com_delete", 1)];
    let run = run(&study(AUTOCOMMITTED), tape([("look", 1), ("swap", 3)], &server));
    near(run.witness[0].database, 300.0, 1e-9);
    let told = run.sentences(false).join("\n");
    assert!(told.contains("in all their forms"), "{told}");
}

#[test]
fn enclosed_transactions_are_witnessed_by_their_commits() {
    let enclosed = AUTOCOMMITTED.replace("statements = ", "transaction = true\nstatements = ");
    let run = run(&study(&enclosed), tape([("look", 3), ("swap", 5)], &[("Com_commit", 2)]));
    assert_eq!(run.witness[0].source, "Com_commit");
    near(run.witness[0].database, 400.0, 1e-9);
    near(run.witness[1].database, 1_600.0, 1e-9);
}

#[test]
fn what_no_counter_follows_has_the_statements_alone() {
    let call = AUTOCOMMITTED.replace("DELETE FROM a", "CALL sweep()");
    let mixed = AUTOCOMMITTED.replacen("statements = ", "transaction = true\nstatements = ", 1);
    for (text, kinds) in [(call, [("look", 1), ("swap", 3)]), (mixed, [("look", 3), ("swap", 3)])] {
        let run = run(&study(&text), tape(kinds, &[("Com_select", 5), ("Com_commit", 1)]));
        let metrics: Vec<_> = run.witness.iter().map(|witness| witness.metric).collect();
        assert_eq!(metrics, ["qps"], "{text}");
        assert_eq!(run.sentences(false), [""; 0], "{text}");
    }
}

#[test]
fn a_kind_called_as_one_of_tprocc_is_none() {
    let orders = AUTOCOMMITTED
        .replace("\"look\"", "\"new_order\"")
        .replace("statements = ", "transaction = true\nstatements = ");
    let run = run(&study(&orders), tape([("new_order", 3), ("swap", 5)], &[("Com_commit", 2)]));
    assert_eq!(run.sentences(false), [""; 0]);
    near(run.witness[0].database, 400.0, 1e-9);
}
