//! What makes a run invalid, in both directions: just within its bound, and just beyond.

mod synthetic;

use synthetic::judged::{expect, judge, told};
use synthetic::{AGENTS, LOAD_S, Lab, MS, S, STUDY, T0, Tape, report_of};
use vufleet::analysis::verdict::Verdict::{Degraded, Invalid, Valid};
use vufleet::analysis::{Options, report};
use vufleet::ledger::{Fact, MeasureFacts, RunEnd};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

#[test]
fn a_flawless_run_is_valid() {
    expect(judge(|_| {}), Valid, "");
}

#[test]
fn endings() {
    let end = |at_s: u64, end: RunEnd| judge(move |tape| tape.end = Some((T0 + at_s * S, end)));
    expect(end(12, RunEnd::Stopped), Invalid, "stopped by the operator");
    expect(end(LOAD_S, RunEnd::Stopped), Valid, "");
    expect(end(12, RunEnd::Failed("table sbtest1 is missing".into())), Invalid, "table sbtest1 is missing");
    let never = judge(|tape| tape.facts().start_at_ns = None);
    expect(never, Invalid, "the load never started");
    let nothing = judge(|tape| tape.facts = None);
    expect(nothing, Invalid, "the load never started");
}

#[test]
fn a_stopped_run_of_transactions_is_invalid_whenever_that_was() {
    let found = judge(|tape| {
        tape.facts().measure = MeasureFacts::Transactions(1000);
        tape.end = Some((T0 + 3600 * S, RunEnd::Stopped));
    });
    assert_eq!(found.0, Invalid, "{}", found.1);
}

#[test]
fn an_agent_lost_inside_the_window() {
    let lost = |at_s: u64| {
        judge(move |tape| {
            let reason = "silent for 10 s".to_owned();
            tape.noted.push(Fact::AgentLost { agent: "load-b".to_owned(), at_ns: T0 + at_s * S, reason });
        })
    };
    expect(lost(12), Invalid, "agent load-b was lost 12.0 s after the start: silent for 10 s");
    expect(lost(LOAD_S), Valid, "");
}

#[test]
fn an_agent_that_gave_up() {
    let phase = |kind: v1::phase::Kind, message: &str| {
        let phase = v1::Phase { kind: kind as i32, message: message.to_owned(), ..Default::default() };
        judge(move |tape| tape.events.push(("load-a".to_owned(), Body::Phase(phase))))
    };
    expect(phase(v1::phase::Kind::Failed, "login refused"), Invalid, "agent load-a gave up: login refused");
    let lease = "agent load-a gave up: it heard nothing from the coordinator and stopped its load";
    expect(phase(v1::phase::Kind::LeaseLost, ""), Invalid, lease);
    expect(phase(v1::phase::Kind::Stopped, ""), Valid, "");
    let noted_late = judge(|tape| {
        let phase = v1::Phase { kind: v1::phase::Kind::LeaseLost as i32, ..Default::default() };
        tape.events.push(("load-a".to_owned(), Body::Phase(phase)));
        let (agent, reason) = ("load-a".to_owned(), String::new());
        tape.noted.push(Fact::AgentLost { agent, at_ns: T0 + LOAD_S * S, reason });
    });
    expect(noted_late, Invalid, lease);
}

#[test]
fn the_variants_state() {
    let found = judge(|tape| {
        let (variant, found) = ("audit".to_owned(), "server_audit_logging is OFF".to_owned());
        tape.noted.push(Fact::WrongState { variant, at_ns: T0, found });
        tape.noted.push(Fact::Note { at_ns: T0, text: "of no consequence".to_owned() });
    });
    expect(found, Invalid, "the database was not in state \"audit\": server_audit_logging is OFF");
}

#[test]
fn sessions_at_the_windows_start() {
    let with = |second: u64, sessions: u32| judge(move |tape| tape.interval("load-a", second).sessions = sessions);
    expect(with(1, 7), Invalid, "15 of 16 sessions were connected when the window began");
    expect(with(2, 7), Valid, "");
    expect(with(0, 7), Valid, "");
}

#[test]
fn without_ramp_up_the_agents_word_on_its_connections_counts() {
    let connected = |sessions: u32| {
        judge(move |tape| {
            tape.facts().ramp_up_ns = 0;
            tape.events.retain(|(_, body)| !matches!(body, Body::Interval(it) if it.start_ns < T0));
            for agent in AGENTS {
                let kind = v1::phase::Kind::Connected as i32;
                let phase = v1::Phase { kind, sessions, ..Default::default() };
                tape.events.push((agent.to_owned(), Body::Phase(phase)));
            }
        })
    };
    expect(connected(8), Valid, "");
    expect(connected(6), Invalid, "12 of 16 sessions were connected when the window began");
}

#[test]
fn a_database_that_restarted() {
    let fallen = |from: u64| {
        judge(move |tape| {
            for reading in tape.readings().filter(|it| it.before_ns + MS >= T0 + from * S) {
                reading.uptime_s = 3;
            }
        })
    };
    expect(fallen(9), Invalid, "the database restarted before 9.0 s after the start");
    expect(fallen(LOAD_S), Valid, "");
    expect(fallen(1), Valid, "");
}

#[test]
fn a_database_process_that_is_another() {
    let replaced = |from: u64, change: fn(&mut v1::HostSample)| {
        judge(move |tape| {
            tape.hosts("observer").filter(|it| it.at_ns >= T0 + from * S).for_each(change);
        })
    };
    let reborn = |sample: &mut v1::HostSample| sample.processes[1].started_ticks = 9999;
    let gone = |sample: &mut v1::HostSample| drop(sample.processes.pop());
    expect(replaced(9, reborn), Invalid, "the database process mariadbd ended before 9.0 s after the start");
    expect(replaced(9, gone), Invalid, "the database process mariadbd ended before 9.0 s after the start");
    expect(replaced(1, reborn), Valid, "");
    expect(replaced(LOAD_S, gone), Valid, "");
}

/// Takes the counts of some seconds away, and the witnesses with them.
fn silence(tape: &mut Tape, seconds: std::ops::Range<u64>) {
    tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
    for agent in AGENTS {
        for second in seconds.clone() {
            tape.interval(agent, second).kinds.clear();
        }
    }
}

#[test]
fn seconds_without_any_transaction() {
    expect(
        judge(|tape| silence(tape, 10..12)),
        Invalid,
        "no transaction succeeded for 2 s, from 10.0 s after the start",
    );
    expect(judge(|tape| silence(tape, 10..11)), Valid, "");
    let one_agent = judge(|tape| {
        silence(tape, 0..0);
        (10..12).for_each(|second| tape.interval("load-a", second).kinds.clear());
    });
    let words = "no transaction of agent load-a (8 sessions) succeeded for 2 s, from 10.0 s after the start; look at its way to the \
                 database";
    expect(one_agent, Invalid, words);
    let slow = judge(|tape| {
        silence(tape, 10..12);
        tape.intervals().flat_map(|(_, it)| &mut it.kinds).for_each(|kind| kind.ok = 5);
    });
    expect(slow, Valid, "");
}

/// An agent that had joined the fleet and took no part added a hundred thousand transactions a second to a run, and ended another.
#[test]
fn figures_of_who_takes_no_part_are_left_out() {
    let words = "agent evil sent figures that the run had not ordered from it; they are left out";
    let plain = report_of(Tape::new(1)).runs.remove(0);
    let failed = v1::Phase { kind: v1::phase::Kind::Failed as i32, message: "so".to_owned(), ..Default::default() };
    let busy = Tape::new(1).interval("load-a", 10).clone();
    for body in [Body::Interval(busy), Body::Phase(failed), Body::Counters(v1::Counters::default())] {
        let mut tape = Tape::new(1);
        tape.events.push(("evil".to_owned(), body));
        let run = report_of(tape).runs.remove(0);
        assert_eq!((run.verdict(), run.reasons[0].to_string().as_str()), (Degraded, words));
        assert_eq!(run.metrics, plain.metrics);
    }
}

/// Makes every transaction of some seconds fail, and takes the counters away.
fn failing(tape: &mut Tape, seconds: std::ops::Range<u64>) {
    tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
    for agent in AGENTS {
        for second in seconds.clone() {
            let kind = &mut tape.interval(agent, second).kinds[0];
            (kind.failed, kind.ok) = (std::mem::take(&mut kind.ok), 0);
        }
    }
}

#[test]
fn transactions_that_fail_are_as_good_as_none() {
    expect(
        judge(|tape| failing(tape, 10..12)),
        Invalid,
        "no transaction succeeded for 2 s, from 10.0 s after the start",
    );
    expect(judge(|tape| failing(tape, 10..11)), Valid, "");
    let words = "no transaction succeeded inside the window, and 4000 were given up";
    expect(judge(|tape| failing(tape, 0..LOAD_S)), Invalid, words);
    let counted = judge(|tape| {
        tape.facts().measure = MeasureFacts::Transactions(10);
        failing(tape, 0..LOAD_S);
    });
    assert!(counted.1.contains("no transaction succeeded inside the window, and 4600"), "{}", counted.1);
    let unsure = judge(|tape| {
        failing(tape, 0..LOAD_S);
        tape.interval("load-a", 9).kinds[0].rollback = 1;
    });
    expect(unsure, Valid, "");
}

#[test]
fn users_that_wait_in_step_are_silent_by_themselves() {
    let mut lab = Lab::of(&STUDY.replace("vus = 16", "vus = 16\npacing = { wait = \"5s\" }"));
    // Sixteen users that wait five seconds end three transactions a second.
    let mut tape = Tape::with_rate(1, 1);
    silence(&mut tape, 10..14);
    lab.record(tape);
    let found = told(report(&lab.ledger, "last", Options::default()).unwrap());
    expect(found, Valid, "");
}

#[test]
fn sessions_that_are_gone() {
    let lost = |sessions: u32, kind: v1::FaultKind| {
        judge(move |tape| {
            let interval = tape.interval("load-a", 9);
            interval.sessions = sessions;
            interval.connect_faults = vec![v1::FaultCount { kind: kind as i32, count: 1 }];
        })
    };
    let gone = "agent load-a had 3 of 8 sessions 10.0 s after the start";
    expect(lost(3, v1::FaultKind::FaultConnectionLost), Invalid, gone);
    expect(lost(3, v1::FaultKind::FaultRefused), Invalid, gone);
    expect(lost(7, v1::FaultKind::FaultConnectionLost), Valid, "");
    expect(lost(3, v1::FaultKind::FaultDeadlock), Valid, "");
}

#[test]
fn missing_samples() {
    let without = |agent: &'static str, seconds: std::ops::Range<u64>| {
        judge(move |tape| {
            tape.events.retain(|(_, body)| !matches!(body, Body::Counters(_)));
            for second in seconds {
                match agent {
                    "observer" => tape.events.retain(|(_, body)| {
                        !matches!(body, Body::Host(it) if it.role == "observe" && it.at_ns == T0 + second * S)
                    }),
                    _ => tape.drop_interval(agent, second),
                }
            }
        })
    };
    expect(without("load-b", 9..10), Valid, "");
    expect(without("load-b", 9..11), Invalid, "agent load-b delivered 18 of 20 intervals");
    expect(without("observer", 9..11), Valid, "");
    expect(without("observer", 9..12), Invalid, "agent observer delivered 18 of 20 host samples");
}

/// Tells when an agent began its load, so many milliseconds after the appointed time.
fn began(tape: &mut synthetic::Tape, agent: &str, late_ms: i64) {
    let at_ns = (T0 as i64 + late_ms * 1_000_000) as u64;
    let told = v1::Phase { kind: v1::phase::Kind::Started as i32, at_ns, ..Default::default() };
    tape.events.push((agent.to_owned(), Body::Phase(told)));
}

#[test]
fn an_agent_that_began_far_from_the_appointed_time_is_told_of() {
    let judged = |late_ms: [i64; 2]| {
        judge(|tape| {
            began(tape, "load-a", late_ms[0]);
            began(tape, "load-b", late_ms[1]);
        })
    };
    expect(judged([0, 50]), Valid, "");
    expect(judged([-50, 3]), Valid, "");
    let late = "agent load-b began its load 51 ms after the appointed time; is its host or network busy?";
    expect(judged([0, 51]), Degraded, late);
    let early = "agent load-a began its load 2000 ms before the appointed time; is its host or network busy?";
    expect(judged([-2_000, 51]), Degraded, early);
}

#[test]
fn late_samples_are_not_missing() {
    let late = judge(|tape| {
        for lost in [10, 11, 15, 16] {
            tape.drop_interval("load-b", lost);
        }
        for late in [9, 14] {
            let interval = tape.interval("load-b", late);
            interval.end_ns += 2 * S;
            interval.kinds[0].ok *= 3;
            interval.kinds[0].statements *= 3;
        }
        tape.events
            .retain(|(_, body)| !matches!(body, Body::Host(it) if it.role == "observe" && it.at_ns / S % 2 == 1));
    });
    expect(late, Valid, "");
}

#[test]
fn a_run_of_transactions_that_is_over_between_two_host_samples() {
    let found = judge(|tape| {
        tape.facts().measure = MeasureFacts::Transactions(1000);
        tape.facts().ramp_up_ns = 0;
        tape.events.retain(|(_, body)| match body {
            Body::Interval(it) => it.end_ns <= T0 + 9 * S,
            Body::Host(it) => it.at_ns < T0 + 9 * S,
            _ => false,
        });
        tape.intervals().filter(|(_, it)| it.end_ns == T0 + 9 * S).for_each(|(_, it)| it.end_ns -= S / 4);
    });
    expect(found, Valid, "");
}

#[test]
fn an_agent_that_never_spoke() {
    let found = judge(|tape| {
        tape.events.retain(|(agent, body)| agent != "load-b" && !matches!(body, Body::Counters(_)));
    });
    let words = "8 of 16 sessions were connected when the window began; agent load-b delivered 0 of 20 intervals";
    expect(found, Invalid, words);
}

#[test]
fn a_window_without_an_interval() {
    let found = judge(|tape| {
        tape.facts().measure = MeasureFacts::DurationNs(S / 4);
    });
    expect(found, Invalid, "the window holds no whole interval; measure for longer");
}

#[test]
fn a_histogram_that_cannot_be_read() {
    let found = judge(|tape| tape.interval("load-a", 1).kinds[0].service = "nonsense".into());
    assert_eq!(found.0, Invalid);
    assert!(found.1.contains("a latency histogram of agent load-a cannot be read"), "{}", found.1);
}
