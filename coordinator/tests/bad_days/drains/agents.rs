//! An agent that is told to end.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::super::lab::fleet::{agent, listed};
use super::super::lab::{Job, files, study};
use super::super::pages::showing;
use super::super::variants::{BEFORE, at_work, flush, only_lazy};
use super::{CONNECT, Coordinator, Fleet, MANY_ROWS, RAMP_UP, RESET, WINDOW, eventually};

/// The bound that docs/operating.md names for an agent that holds no variant.
const BOUND: Duration = Duration::from_secs(15);

/// Tells an agent to end, and waits for that.
fn told_to_end(agent: Job) -> String {
    let begun = Instant::now();
    agent.signal(Signal::SIGTERM);
    let ended = agent.end().expect(0).says(&["ended in good order"]);
    assert!(begun.elapsed() < BOUND, "{:?}\n{ended}", begun.elapsed());
    ended.err
}

/// A run in a phase of which one of two agents is told to end: it is invalid and says why, and the other one carries the repeat.
fn in_a_run(phase: &str, long: &str) {
    let fleet = Fleet::new("");
    let job = fleet.start(&format!("run study.toml {long} --set schedule.repetitions=2 --out out"), phase);
    let Fleet { load: [stays, goes], .. } = fleet;
    told_to_end(goes);
    let lines = listed(&fleet.lab, &fleet.coordinator.url);
    let told = |line: &String| line.trim_start().starts_with("load-2 ") && line.contains("was told to end (SIGTERM)");
    assert!(lines.iter().any(told), "{lines:#?}");
    let ended = "vufleet_coordinator_agents{role=\"drive\",state=\"ended\"}";
    assert_eq!(fleet.page.metric(ended), 1.0);
    eventually("the run is told to have lost it", || job.err().contains("agent load-2 was lost"));
    job.signal(Signal::SIGINT);
    job.end().expect(130).says(&["it was told to end (SIGTERM)"]);
    let results = files::results(&fleet.lab.path("out"));
    let first = &files::runs(&results)[0];
    assert_eq!(files::verdict(first), "invalid", "{first:#}");
    let reasons = files::reasons(first);
    assert!(reasons.contains("agent load-2 was lost") && reasons.contains("it was told to end (SIGTERM)"), "{first:#}");
    assert!(!reasons.contains("ended before the run did"), "the load was ended, no session by itself: {reasons}");
    super::assert_no_session(&fleet.server);
    drop(stays);
}

#[test]
fn while_it_connects() {
    in_a_run("connect", CONNECT);
}

#[test]
fn while_it_ramps_up() {
    in_a_run("ramp-up", RAMP_UP);
}

#[test]
fn in_the_window() {
    in_a_run("measure", WINDOW);
}

/// Its last interval is in the ledger: nothing that was done is missing.
#[test]
fn what_it_did_until_then_is_recorded() {
    let fleet = Fleet::new("");
    let mut job = fleet.start(&format!("run study.toml {WINDOW}"), "measure");
    let Fleet { load: [_stays, goes], ref page, .. } = fleet;
    let before = page.metric("vufleet_coordinator_events_recorded_total");
    told_to_end(goes);
    assert!(page.metric("vufleet_coordinator_events_recorded_total") > before);
    job.await_words("runs again");
    job.signal(Signal::SIGINT);
    job.end().expect(130);
    let ledger = rusqlite::Connection::open(fleet.lab.path("vufleet-data/ledger.sqlite3")).unwrap();
    let last = "SELECT kind FROM events WHERE agent = 'load-2' AND run = 1 AND kind IN ('phase', 'interval') ORDER BY seq DESC LIMIT 2";
    let mut statement = ledger.prepare(last).unwrap();
    let kinds: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(kinds, ["phase", "interval"], "the last part of an interval, and that no session is left");
}

#[test]
fn while_the_data_is_brought_back() {
    let fleet = Fleet::new(RESET);
    let job = fleet.start(&format!("run study.toml {MANY_ROWS} --out out"), "loading");
    let Fleet { load: [stays, goes], .. } = fleet;
    told_to_end(goes);
    eventually("the reset is tried once more", || job.err().contains("tried once more: agent load-2 was lost"));
    job.end().expect(0).says(&["it was told to end (SIGTERM)"]);
    super::assert_no_session(&fleet.server);
    drop(stays);
}

#[test]
fn while_tables_are_filled() {
    let fleet = Fleet::new("");
    let job = fleet.start(&format!("schema build study.toml --replace {MANY_ROWS}"), "loading");
    let Fleet { load: [stays, goes], .. } = fleet;
    told_to_end(goes);
    job.end().expect(1).says(&["agent load-2 was lost during the build: it was told to end (SIGTERM)", "incomplete"]);
    super::assert_no_session(&fleet.server);
    drop(stays);
}

/// It undoes the variant before it goes, and the run waits for its word.
#[test]
fn while_it_holds_a_variant() {
    let (server, lab) = at_work(&only_lazy());
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let [_load, observer] = ["drive", "observe"].map(|role| agent(&lab, &coordinator, role, role));
    let run = format!("run study.toml --coordinator {} --wait-for-agents 2 {WINDOW} --out out", coordinator.url);
    let mut job = lab.start(&run);
    lab.await_load(&mut job, 1, 1);
    assert_eq!(flush(&server), "0");
    assert!(told_to_end(observer).contains("undoing the variant"));
    job.await_words("is invalid: agent observe was lost");
    job.signal(Signal::SIGINT);
    let ended = job.end().expect(130).says(&["it was told to end (SIGTERM)"]);
    assert_eq!(flush(&server), BEFORE);
    assert!(!ended.err.contains("could not be undone") && !ended.err.contains("may still be on"), "{ended}");
}

#[test]
fn twice_it_waits_for_nothing() {
    let variants = only_lazy().replace("revert = [", "revert = [\"SELECT SLEEP(20)\", ");
    let (server, lab) = at_work(&variants);
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let (mut load, page) = showing(&lab, &coordinator.url, "drive,observe", "load-1");
    eventually("it is healthy", || page.get("/health").status == 200);
    let _job = lab.start(&format!("run study.toml --coordinator {} --wait-for-agents 1 {WINDOW}", coordinator.url));
    eventually("the variant is on", || flush(&server) == "0");
    load.signal(Signal::SIGTERM);
    load.await_words("undoing the variant");
    let health = page.get("/health");
    assert!(health.status == 503 && health.body.contains("it was told to end (SIGTERM)"), "{health:?}");
    // One that comes within a second is the same one: the kernel repeats what it says of a parent that has died.
    load.signal(Signal::SIGTERM);
    std::thread::sleep(Duration::from_millis(1_100));
    load.signal(Signal::SIGTERM);
    let begun = Instant::now();
    load.end().expect(130);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// An idle fleet has not lost it, and a job does not count on it.
#[test]
fn with_nothing_to_do() {
    let fleet = Fleet::new("");
    let Fleet { load: [stays, goes], lab, coordinator, .. } = fleet;
    told_to_end(goes);
    let run = format!("run study.toml --coordinator {}", coordinator.url);
    let ended = lab.run(&format!("{run} --wait-for-agents 2 --out out")).expect(0);
    assert!(!ended.err.contains("load-2"), "{ended}");
    let results = files::results(&lab.path("out"));
    assert_eq!(files::count(files::counted(&results), "/sessions"), 12, "{results:#}");
    drop(stays);
}

/// As an upgrade does: the study goes on with the same fleet as before.
#[test]
fn and_is_started_again() {
    let lab = super::Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 10s");
    let _stays = agent(&lab, &coordinator, "drive,observe", "stays");
    let goes = agent(&lab, &coordinator, "drive", "goes");
    let run = format!("run study.toml --coordinator {} --wait-for-agents 2", coordinator.url);
    let mut job = lab.start(&format!("{run} --set schedule.measure=4s --out out"));
    lab.await_load(&mut job, 1, 1);
    told_to_end(goes);
    let _again = agent(&lab, &coordinator, "drive", "goes");
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    let drove = files::counted(&results)["driving"].to_string();
    assert!(drove.contains("goes") && drove.contains("stays"), "{}", files::counted(&results));
}
