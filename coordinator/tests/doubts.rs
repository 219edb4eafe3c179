//! What makes a run degraded, in both directions: just within its bound, and just beyond.

mod synthetic;

use synthetic::judged::{expect, judge};
use synthetic::{AGENTS, LOAD_S, MS, S, SESSIONS, STATEMENTS, T0, TPS, Tape, WINDOW_S, report_of};
use vufleet::analysis::verdict::Verdict::{self, Degraded, Invalid, Valid};
use vufleet::ledger::MeasureFacts;
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

/// A run of a number of transactions, done after a while: nothing else is in it.
fn by_transactions(tape: &mut Tape, length_ns: u64) {
    tape.facts().measure = MeasureFacts::Transactions(100);
    tape.facts().ramp_up_ns = 0;
    tape.events.retain(|(_, body)| matches!(body, Body::Interval(it) if it.start_ns == T0));
    tape.intervals().for_each(|(_, it)| (it.sessions, it.end_ns) = (0, T0 + length_ns));
    for agent in AGENTS {
        let kind = v1::phase::Kind::Connected as i32;
        let phase = v1::Phase { kind, sessions: SESSIONS, ..Default::default() };
        tape.events.push((agent.to_owned(), Body::Phase(phase)));
    }
    tape.facts().observing.clear();
}

#[test]
fn sessions_that_were_done_before_the_first_interval_was_over_had_been_there() {
    expect(judge(|tape| by_transactions(tape, 100 * MS)), Valid, "");
    expect(judge(|tape| by_transactions(tape, 900 * MS)), Valid, "");
}

/// The database counts so many commits more in each second than the clients.
fn witness_off_by(per_s: i64) -> (Verdict, String) {
    judge(move |tape| {
        for reading in tape.readings() {
            let seconds = (reading.before_ns + MS).saturating_sub(T0) / S;
            let commits = reading.values.get_mut("Com_commit").unwrap();
            *commits = commits.checked_add_signed(per_s * seconds as i64).unwrap();
        }
    })
}

#[test]
fn witnesses() {
    // Of 4000 transactions; 16 sessions and 2 ms of reading allow for 16 and a half more.
    expect(witness_off_by(2), Valid, "");
    let words = |percent: &str, side: &str, database: u32| {
        format!(
            "the clients' tps count is {percent} % {side} the database's (4000 against {database}) in Com_commit; \
             does anybody else use this database?"
        )
    };
    expect(witness_off_by(4), Degraded, &words("2.0", "below", 4080));
    expect(witness_off_by(-4), Degraded, &words("2.0", "above", 3920));
    expect(witness_off_by(10), Degraded, &words("4.8", "below", 4200));
    // What is allowed for does not bring 5.2 % below 5 %.
    expect(witness_off_by(11), Invalid, &words("5.2", "below", 4220));
    expect(witness_off_by(-10), Invalid, &words("5.3", "above", 3800));
}

#[test]
fn a_few_transactions_are_within_what_is_allowed_for() {
    let mut tape = Tape::with_rate(1, 1);
    // Of 40 transactions that the clients count the database has 44: 9 % less, and fewer than the sessions.
    for reading in tape.readings().filter(|reading| reading.before_ns > T0 + 12 * S) {
        *reading.values.get_mut("Com_commit").unwrap() += 4;
    }
    let run = report_of(tape).runs.remove(0);
    assert!(run.witness[0].difference_percent < -9.0, "{:?}", run.witness[0]);
    assert_eq!(run.reasons, []);
}

#[test]
fn a_reading_inside_an_interval_knows_little_of_its_halves() {
    // A cut came 200 ms late, and the database did nothing meanwhile: 40 transactions are on the wrong side.
    let late = |lost: u64| {
        judge(move |tape| {
            for agent in ["load-a", "load-b"] {
                tape.interval(agent, 1).end_ns += 200 * MS;
                tape.interval(agent, 2).start_ns += 200 * MS;
            }
            let reading = tape.readings().find(|it| it.before_ns + MS == T0 + 2 * S).unwrap();
            *reading.values.get_mut("Com_commit").unwrap() -= lost;
        })
    };
    expect(late(0), Valid, "");
    expect(late(120), Valid, "");
    let found = late(400);
    assert_eq!(found.0, Invalid, "another client is still seen: {}", found.1);
}

#[test]
fn a_slow_reading_gives_way_to_a_quick_one() {
    let mut tape = Tape::new(1);
    // The counters are those of its end.
    let slow = tape.readings().find(|it| it.before_ns + MS == T0 + 2 * S).unwrap();
    slow.after_ns += 600 * MS;
    let done = |name: &str| if name == "Com_commit" { 120 } else { 120 * STATEMENTS };
    for name in ["Com_commit", "Questions"] {
        *slow.values.get_mut(name).unwrap() += done(name);
    }
    let run = report_of(tape).runs.remove(0);
    assert_eq!(run.reasons, []);
    let witness = &run.witness[0];
    assert_eq!((witness.client_count, witness.difference_percent), (4200.0, 0.0), "{witness:?}");
    assert!(witness.allowance_count < 20.0, "{witness:?}");
}

#[test]
fn a_busy_driving_host() {
    let busy = |ticks: u64, shared: bool| {
        judge(move |tape| {
            tape.facts().shared_host = shared;
            for sample in tape.hosts("load-a") {
                let cpu = sample.cpu.as_mut().unwrap();
                let seconds = cpu.system / 20;
                cpu.user = seconds * (ticks - 20);
                cpu.idle = seconds * (190 - ticks);
            }
        })
    };
    let words = "the host of driving agent load-a was 92 % busy; add agents on other hosts";
    expect(busy(184, false), Degraded, words);
    expect(busy(184, true), Valid, "");
    expect(busy(179, false), Valid, "");
}

/// Its host is 30 % busy all the same.
#[test]
fn a_driving_agent_that_has_used_what_it_may_use() {
    let held = |usable_millicores: u32, ticks: u64, shared: bool| {
        judge(move |tape| {
            tape.facts().shared_host = shared;
            for sample in tape.hosts("load-a") {
                let seconds = sample.cpu.unwrap().system / 20;
                let cores = 2;
                sample.cores = vec![v1::CpuTimes::default(); cores];
                sample.usable_millicores = usable_millicores;
                sample.processes = vec![v1::ProcessSample {
                    role: "agent".to_owned(),
                    cpu_ticks: seconds * ticks,
                    ..Default::default()
                }];
            }
        })
    };
    let words = "driving agent load-a used 92 % of the CPU that it may use (0.5 of its host's 2 cores); raise the limit of its \
                 container or unit, or add agents";
    expect(held(500, 46, false), Degraded, words);
    expect(held(500, 46, true), Valid, "");
    expect(held(500, 45, false), Valid, "");
    expect(held(0, 46, false), Valid, "");
}

#[test]
fn errors() {
    let faults = |count: u64| {
        judge(move |tape| {
            let kind = &mut tape.interval("load-a", 9).kinds[0];
            kind.faults = vec![v1::FaultCount { kind: v1::FaultKind::FaultDeadlock as i32, count }];
        })
    };
    expect(faults(60), Degraded, "1.5 faults per 100 transactions");
    expect(faults(40), Valid, "");
}

/// A run of failures said how many there were, and nobody learned why.
#[test]
fn the_databases_words_to_the_most_frequent_fault_are_told() {
    let run = judge(|tape| {
        let kind = &mut tape.interval("load-a", 9).kinds[0];
        kind.faults = vec![
            v1::FaultCount { kind: v1::FaultKind::FaultDeadlock as i32, count: 60 },
            v1::FaultCount { kind: v1::FaultKind::FaultStatement as i32, count: 70 },
        ];
        for text in
            ["first deadlock: a deadlock (1213)", "first statement: no column x (1054)", "first statement: other"]
        {
            let notice = v1::Notice { text: text.to_owned(), ..Default::default() };
            tape.events.push(("load-a".to_owned(), Body::Notice(notice)));
        }
    });
    expect(run, Degraded, "3.2 faults per 100 transactions; the first statement: no column x (1054)");
}

#[test]
fn clocks() {
    let uncertain = |ns: u64| judge(move |tape| tape.interval("load-b", 9).uncertainty_ns = ns);
    expect(uncertain(60 * MS), Degraded, "the agents' clocks are known to 60.0 ms, the window needs 50.0 ms");
    expect(uncertain(50 * MS), Valid, "");
    let short = judge(|tape| {
        tape.facts().measure = MeasureFacts::DurationNs(4 * S);
        tape.interval("load-b", 3).uncertainty_ns = 25 * MS;
    });
    expect(short, Degraded, "the agents' clocks are known to 25.0 ms, the window needs 20.0 ms");
    let counted = judge(|tape| {
        by_transactions(tape, 100 * MS);
        tape.interval("load-b", 0).uncertainty_ns = 25 * MS;
    });
    expect(counted, Valid, "");
}

/// Throughput as a function of the second; counters are taken away.
fn shaped(shape: impl Fn(u64) -> u64) -> (Verdict, String) {
    judge(|tape| {
        tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
        for (_, interval) in tape.intervals().filter(|(_, it)| it.start_ns >= T0) {
            interval.kinds[0].ok = shape((interval.start_ns - T0) / S);
        }
    })
}

#[test]
fn steadiness() {
    let words = "throughput went -70 % over the window (p < 0.001); ramp up for longer";
    expect(shaped(|second| 200 - 5 * second), Degraded, words);
    expect(shaped(|second| 200 - second / 4), Valid, "");
    // As large a drift, drowned in noise: every other second does next to nothing.
    expect(shaped(|second| if second % 2 == 0 { 200 - 5 * second } else { 20 }), Valid, "");
}

#[test]
fn users_that_ended_early() {
    let ended = |second: u64| {
        judge(move |tape| {
            for later in second..LOAD_S {
                tape.interval("load-a", later).ended = 2;
            }
        })
    };
    expect(ended(9), Degraded, "2 sessions ended before the run did");
    expect(ended(WINDOW_S + 2), Valid, "");
}

#[test]
fn users_that_did_not_come_back() {
    let away = |from: u64, to: u64| {
        judge(move |tape| (from..to).for_each(|second| tape.interval("load-b", second).sessions = 7))
    };
    expect(away(9, LOAD_S), Degraded, "1 session ended before the run did");
    expect(away(9, WINDOW_S), Valid, "");
}

#[test]
fn arrivals_that_found_nobody_idle() {
    let not_started = |second: u64| {
        judge(move |tape| {
            tape.intervals().for_each(|(_, it)| it.due = TPS);
            tape.interval("load-a", second).not_started = 30;
        })
    };
    // From the window's start to the end of the load: what a short window left in the queue is known only then.
    let words = "30 of 4200 arrivals found no idle session; add virtual users or lower the rate";
    expect(not_started(9), Degraded, words);
    expect(not_started(LOAD_S - 1), Degraded, words);
    expect(not_started(1), Valid, "");
}

#[test]
fn arrivals_that_queued_up() {
    // 4000 transactions end in the window, 16 sessions may be busy; the root of 4200 is 65.
    let due = |per_s: u64| judge(move |tape| tape.intervals().for_each(|(_, it)| it.due = per_s));
    let words = "4240 arrivals became due and 4000 transactions ended: the load fell behind its rate, and response times \
                 grow with the window; add virtual users or lower the rate";
    expect(due(106), Degraded, words);
    expect(due(105), Valid, "");
    expect(due(0), Valid, "");
}

#[test]
fn the_worst_reason_comes_first() {
    let found = judge(|tape| {
        tape.interval("load-a", 9).ended = 1;
        tape.interval("load-b", 1).sessions = 4;
    });
    let words = "12 of 16 sessions were connected when the window began; 1 session ended before the run did";
    expect(found, Invalid, words);
}
