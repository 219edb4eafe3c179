//! Terminals that no longer take what a study tells them: the study does not wait for them, and neither does the next one.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::runtime::Runtime;
use tonic::transport::Endpoint;
use vufleet_proto::peer;
use vufleet_proto::v1::operator_client::OperatorClient;
use vufleet_proto::v1::{self, Job};
use vufleet_scenarios::study::{self as text, Edits};

use super::lab::fleet::{Coordinator, agent};
use super::lab::{Lab, eventually, files, study};

/// Longer than a terminal may take nothing, and than what may wait for it lasts.
const RUNS: &str = "--set schedule.measure=20s --set schedule.repetitions=2";

/// Whether the only study so far has ended of itself.
fn study_is_over(lab: &Lab) -> bool {
    lab.run("studies").out.contains("finished")
}

/// Two runs that count, and a coordinator that has time for the next study.
fn has_gone_on(lab: &Lab, coordinator: &Coordinator) {
    eventually("the study is over", || study_is_over(lab));
    lab.run("export last --out out").expect(0);
    let results = files::results(&lab.path("out"));
    let counted = files::runs(&results).iter().filter(|run| files::counts(run)).count();
    assert_eq!(counted, 2, "{}", files::story(&results));
    lab.run(&format!("run study.toml --coordinator {} --out next", coordinator.url)).expect(0);
}

fn fleet(lab: &Lab) -> (Coordinator, super::lab::Job) {
    let coordinator = Coordinator::start(lab, "");
    let agent = agent(lab, &coordinator, "drive,observe", "one");
    (coordinator, agent)
}

/// Ctrl-Z, a closed lid: nothing is read and no ping is answered.
#[test]
fn a_stopped_vufleet_run_does_not_hold_up_its_study() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let (coordinator, _agent) = fleet(&lab);
    let mut job = lab.start(&format!("run study.toml --coordinator {} {RUNS} --out first", coordinator.url));
    lab.await_load(&mut job, 1, 1);
    job.signal(Signal::SIGSTOP);
    has_gone_on(&lab, &coordinator);
    // It has missed the end, and says so when it is woken.
    job.signal(Signal::SIGCONT);
    job.end().expect(1).says(&["is not at hand there any more: it has ended", "vufleet report"]);
}

/// A terminal whose connection is alive, pings and all, while it takes not one byte of progress.
#[test]
fn a_terminal_that_takes_nothing_does_not_hold_up_its_study() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let (mut coordinator, _agent) = fleet(&lab);
    let edits =
        Edits { set: RUNS.split("--set ").skip(1).map(|set| set.trim().to_owned()).collect(), ..Edits::default() };
    let study = text::read(&study::small(study::SIMULATED), &edits).unwrap().text.clone();
    let runtime = Runtime::new().unwrap();
    let progress = runtime.block_on(async {
        let endpoint = Endpoint::from_shared(coordinator.url.clone()).unwrap().initial_stream_window_size(1_u32);
        let mut client = OperatorClient::new(endpoint.connect().await.unwrap());
        let job = Job { kind: v1::job::Kind::Run.into(), study, agents: 1, ..Default::default() };
        client.submit(peer::introduced(job, env!("CARGO_PKG_VERSION"))).await.unwrap().into_inner()
    });
    coordinator.job.await_words("takes no progress; the job goes on");
    has_gone_on(&lab, &coordinator);
    runtime.shutdown_timeout(Duration::ZERO);
    drop(progress);
}
