//! Driving agents that die in mid-run.

use serde_json::Value;

use super::lab::fleet::{Coordinator, agent};
use super::lab::{Ended, Job, Lab, files, procs, study};

#[test]
fn an_embedded_agent_is_started_again_and_its_run_repeated() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let mut job = lab.start("run study.toml --set schedule.measure=3s --out out");
    lab.await_load(&mut job, 1, 2);
    procs::agent(&lab.processes(), "drive-1").kill();
    job.end().expect(0).says(&["agent drive-1", "starting it again", "is invalid", "drive-1 was lost"]);
    let results = files::results(&lab.path("out"));
    let (first, last) = files::ends(&results);
    assert_eq!(files::verdict(first), "invalid", "{first:#}");
    assert!(files::reasons(first).contains("agent drive-1 was lost"), "{first:#}");
    assert!(files::counts(last), "{last:#}");
    assert_eq!(files::count(last, "/sessions"), 4, "{last:#}");
    lab.assert_deserted();
}

#[test]
fn an_agent_that_dies_at_every_run_leaves_its_cell_short() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let mut job = lab.start("run study.toml --set schedule.max_repeats=1 --out out");
    for run in 1..=2 {
        lab.await_load(&mut job, run, 1);
        procs::agent(&lab.processes(), "drive-2").kill();
    }
    job.end().expect(3).says(&["fewer valid runs than asked for"]);
    let results = files::results(&lab.path("out"));
    let verdicts: Vec<_> = files::runs(&results).iter().map(files::verdict).collect();
    assert_eq!(verdicts, ["invalid", "invalid"], "{results:#}");
}

/// Two repetitions by two agents, one of which dies in the first.
fn lose_one(policy: &str) -> (Ended, Value) {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let _stays = agent(&lab, &coordinator, "drive,observe", "stays");
    let goes: Job = agent(&lab, &coordinator, "drive", "goes");
    let mut job = lab.start(&format!(
        "run study.toml --coordinator {} --wait-for-agents 2 --on-agent-loss {policy} --set schedule.repetitions=2 \
         --set schedule.measure=5s --out out",
        coordinator.url
    ));
    lab.await_load(&mut job, 1, 2);
    goes.kill();
    let ended = job.end();
    (ended, files::results(&lab.path("out")))
}

/// The first run is told to have lost the agent.
#[track_caller]
fn assert_lost(run: &Value) {
    assert_eq!(files::verdict(run), "invalid", "{run:#}");
    assert!(files::reasons(run).contains("agent goes was lost"), "{run:#}");
}

#[test]
fn the_remaining_agents_carry_the_repeat() {
    let (ended, results) = lose_one("repeat");
    ended.expect(0).says(&["agent goes did not come back; the remaining agents carry on", "runs again"]);
    let (first, _) = files::ends(&results);
    assert_lost(first);
    assert_eq!(results["cells"][0]["n"], 2, "{}", files::story(&results));
    for run in files::runs(&results).iter().filter(|run| files::counts(run)) {
        assert_eq!(files::count(run, "/sessions"), 4, "all virtual users are on the one that is left: {run:#}");
    }
}

#[test]
fn continuing_leaves_the_run_out_and_the_cell_short() {
    let (ended, results) = lose_one("continue");
    ended.expect(3).says(&["fewer valid runs than asked for"]);
    let (first, last) = files::ends(&results);
    assert_lost(first);
    assert!(files::counts(last), "{last:#}");
    assert_eq!((&last["repetition"], &last["sessions"]), (&2.into(), &4.into()), "{last:#}");
}

#[test]
fn stopping_keeps_what_was_measured() {
    let (ended, results) = lose_one("stop");
    let ended = ended.expect(3).says(&["agent goes was lost", "--on-agent-loss"]);
    assert!(ended.out.contains("1 invalid"), "the table so far:\n{ended}");
    let [first] = files::exactly(&results);
    assert_lost(first);
}
