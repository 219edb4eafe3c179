//! An agent that may open fewer files than its threads need. Alone in its file: the limit is the whole process's.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use vufleet_agent::clock::CommonClock;
use vufleet_agent::crew::{Crew, CrewPlan};
use vufleet_agent::outbox::Outlet;
use vufleet_proto::v1::event::Body;
use vufleet_proto::v1::{FaultKind, Phase, phase};
use vufleet_scenarios::study::{self, Edits};

/// The coordinator waited a minute for sessions that could not come about, and the reason was in the agent's log only.
#[tokio::test]
async fn threads_without_a_loop_refuse_the_run() {
    setrlimit(Resource::RLIMIT_NOFILE, 40, 40).unwrap();
    let text = "name = 'files'\nseed = 1\n[target]\nkind = 'simulated'\n[workload]\nkind = 'oltp'\n\
                script = 'point_select'\n[[profiles]]\nvus = 512\n[schedule]\nmeasure = '1s'\n";
    let study = study::read(text, &Edits::default()).unwrap();
    let plan = CrewPlan {
        profile: study.profiles[0].clone(),
        study: Arc::new(study),
        first_vu: 0,
        vus: 512,
        total_vus: 512,
        run_key: 1,
        run: 1,
        interval: Duration::from_secs(1),
        limit: None,
        threads: 64,
        opening: None,
    };
    let (outlet, mut inbox) = Outlet::new();
    let _crew = Crew::muster(&plan, CommonClock::default(), outlet).unwrap();
    let told = tokio::time::timeout(Duration::from_secs(60), inbox.recv()).await.expect("the crew refuses").unwrap();
    let Body::Phase(Phase { kind, fault, message, .. }) = told.1 else { panic!("{told:?}") };
    assert_eq!((kind, fault), (phase::Kind::Failed as i32, FaultKind::FaultRefused as i32), "{message}");
    assert!(message.contains("raise the limit of open files"), "{message}");
}
