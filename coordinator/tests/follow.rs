//! Following a job, against a coordinator that does what the test says: results, Ctrl-C, and everything that breaks.

mod scripted;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use scripted::{Scripted, Submitted, soon};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use vufleet::exit::Exit;
use vufleet::follow::{Destination, Ended, Nudge, follow};
use vufleet::live::Console;
use vufleet::operator::Operator;
use vufleet::results::Results;
use vufleet_proto::v1::progress::Body;
use vufleet_proto::v1::{Job, Line, Live};
use vufleet_trust::address::{Plaintext, Security};

const HERE: Security = Security::Plaintext(Plaintext::Loopback);

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until something was printed.
    async fn shows(&self, what: &str) {
        soon(async {
            while !self.text().contains(what) {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        })
        .await;
    }
}

/// A follower of one job, and everything around it.
struct Scene {
    coordinator: Scripted,
    submitted: Submitted,
    nudges: mpsc::Sender<Nudge>,
    follower: JoinHandle<anyhow::Result<Ended>>,
    out: Paper,
    err: Paper,
}

impl Scene {
    async fn begin(destination: Destination) -> Scene {
        let mut coordinator = scripted::serve().await;
        let operator = Operator::dial(&coordinator.url, &HERE).await.unwrap();
        let (nudges, mut received) = mpsc::channel(8);
        let (out, err) = (Paper::default(), Paper::default());
        let mut console = Console::plain(Box::new(out.clone()), Box::new(err.clone()));
        let follower = tokio::spawn(async move {
            let job = Job { study: "name = \"x\"".into(), ..Job::default() };
            follow(&operator, job, &mut received, &mut console, destination).await
        });
        let submitted = coordinator.job().await;
        Scene { coordinator, submitted, nudges, follower, out, err }
    }

    async fn interrupt(&self) {
        self.nudges.send(Nudge::Interrupt).await.unwrap();
    }

    async fn end(self) -> (anyhow::Result<Ended>, String, String) {
        let ended = soon(self.follower).await.unwrap();
        (ended, self.out.text(), self.err.text())
    }
}

fn open(directory: &Path) -> Destination {
    Destination::Open(Results::open(directory).unwrap())
}

#[tokio::test]
async fn results_go_to_stdout_and_files_and_progress_to_stderr() {
    let dir = tempfile::tempdir().unwrap();
    let scene = Scene::begin(Destination::Below(dir.path().into())).await;
    assert_eq!(scene.submitted.job.study, "name = \"x\"");
    scene.submitted.accept("7").await;
    scene.submitted.say(Body::Live(Live { phase: "measure".into(), tps: Some(5.0), ..Live::default() })).await;
    scene.submitted.say(Body::Line(Line { level: 1, text: "run 2 is invalid".into() })).await;
    scene.submitted.say(Body::Line(Line { level: 3, text: "16vu of repetition 2 runs again".into() })).await;
    scene.submitted.line("| the table |").await;
    scene.submitted.output("runs.csv", "a,").await;
    scene.submitted.output("runs.csv", "b\n").await;
    scene.submitted.finish(3, "1 of 2 runs is valid").await;
    let (ended, out, err) = scene.end().await;
    assert_eq!(ended.unwrap(), Ended::Job(Exit::TooFewValid));
    let file = dir.path().join("7/runs.csv");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a,b\n");
    assert!(out.contains("| the table |") && out.contains(file.to_str().unwrap()), "{out}");
    assert!(!out.contains("TPS") && !out.contains("invalid") && !out.contains("again"), "{out}");
    assert!(err.contains("16vu of repetition 2 runs again"), "{err}");
    assert!(err.contains("measure: 5.0 TPS") && err.contains("warning: run 2 is invalid"), "{err}");
    assert!(err.contains("error: 1 of 2 runs is valid"), "{err}");
}

#[tokio::test]
async fn one_interrupt_stops_the_study_and_keeps_what_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let mut scene = Scene::begin(open(dir.path())).await;
    scene.submitted.accept("7").await;
    scene.interrupt().await;
    assert_eq!(scene.coordinator.stop().await, "7");
    assert!(scene.err.text().contains("again leaves at once"), "{}", scene.err.text());
    scene.submitted.line("table so far").await;
    scene.submitted.output("results.json", "{}").await;
    scene.submitted.finish(0, "").await;
    let (ended, out, _) = scene.end().await;
    assert_eq!(ended.unwrap(), Ended::Job(Exit::Interrupted), "130 whatever the coordinator makes of it");
    assert!(out.contains("table so far"), "{out}");
    assert!(dir.path().join("results.json").exists());
}

#[tokio::test]
async fn a_second_interrupt_leaves_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut scene = Scene::begin(open(dir.path())).await;
    scene.submitted.accept("7").await;
    scene.submitted.output("results.json", "{").await;
    scene.interrupt().await;
    scene.coordinator.stop().await;
    scene.interrupt().await;
    let (ended, _, _) = scene.end().await;
    assert_eq!(ended.unwrap(), Ended::Left);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "half a file is no result");
}

#[tokio::test]
async fn an_interrupt_before_the_job_is_accepted_stops_that_job_and_no_other() {
    let mut scene = Scene::begin(Destination::Nowhere).await;
    scene.interrupt().await;
    scene.err.shows("stopping").await;
    scene.submitted.accept("9").await;
    assert_eq!(scene.coordinator.stop().await, "9", "a stop without an id would end somebody else's study");
    scene.submitted.finish(130, "").await;
    assert_eq!(scene.end().await.0.unwrap(), Ended::Job(Exit::Interrupted));
}

#[tokio::test]
async fn leaving_before_the_job_is_accepted_says_how_to_stop_it() {
    let scene = Scene::begin(Destination::Nowhere).await;
    scene.interrupt().await;
    scene.interrupt().await;
    let url = scene.coordinator.url.clone();
    let (ended, _, err) = scene.end().await;
    assert_eq!(ended.unwrap(), Ended::Left);
    assert!(err.contains(&format!("vufleet stop --coordinator {url}")), "{err}");
}

#[tokio::test]
async fn a_coordinator_that_goes_away_is_an_error_that_names_the_study() {
    let scene = Scene::begin(Destination::Nowhere).await;
    scene.submitted.accept("7").await;
    let Scene { submitted, follower, .. } = scene;
    drop(submitted);
    let error = soon(follower).await.unwrap().unwrap_err().to_string();
    assert!(error.contains("went away") && error.contains("vufleet report 7"), "{error}");
}

#[tokio::test]
async fn whoever_does_not_wait_for_a_coordinator_that_went_away_leaves_at_once() {
    let mut scene = Scene::begin(Destination::Nowhere).await;
    scene.submitted.accept("7").await;
    scene.coordinator.close().await;
    let Scene { submitted, follower, nudges, err, .. } = scene;
    drop(submitted);
    err.shows("it is looked for").await;
    nudges.send(Nudge::Interrupt).await.unwrap();
    nudges.send(Nudge::Interrupt).await.unwrap();
    assert_eq!(soon(follower).await.unwrap().unwrap(), Ended::Left);
}

#[tokio::test]
async fn a_fleet_that_breaks_before_anything_began_ends_at_once() {
    let scene = Scene::begin(Destination::Nowhere).await;
    scene.nudges.send(Nudge::Broken("drive-1 is gone".into())).await.unwrap();
    assert_eq!(scene.end().await.0.unwrap_err().to_string(), "drive-1 is gone");
}

#[tokio::test]
async fn a_fleet_that_breaks_in_mid_study_stops_it_and_keeps_what_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let mut scene = Scene::begin(open(dir.path())).await;
    scene.submitted.accept("7").await;
    scene.submitted.line("first run").await;
    scene.out.shows("first run").await;
    scene.nudges.send(Nudge::Note("drive-1 was started again".into())).await.unwrap();
    scene.nudges.send(Nudge::Broken("drive-1 is gone".into())).await.unwrap();
    assert_eq!(scene.coordinator.stop().await, "7");
    scene.submitted.output("results.json", "{}").await;
    scene.submitted.finish(130, "").await;
    let (ended, _, err) = scene.end().await;
    assert!(ended.unwrap_err().to_string().contains("broke"));
    assert!(err.contains("drive-1 was started again") && err.contains("error: drive-1 is gone"), "{err}");
    assert!(dir.path().join("results.json").exists());
}

#[tokio::test]
async fn a_results_directory_that_cannot_be_made_stops_the_study() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("7"), "in the way").unwrap();
    let mut scene = Scene::begin(Destination::Below(dir.path().into())).await;
    scene.submitted.accept("7").await;
    assert_eq!(scene.coordinator.stop().await, "7");
    scene.submitted.finish(130, "").await;
    let error = scene.end().await.0.unwrap_err().to_string();
    assert!(error.contains("--out"), "{error}");
}

#[tokio::test]
async fn a_file_name_that_leads_elsewhere_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let scene = Scene::begin(open(&dir.path().join("out"))).await;
    scene.submitted.accept("7").await;
    scene.submitted.output("../elsewhere", "x").await;
    scene.submitted.finish(0, "").await;
    scene.end().await.0.unwrap_err();
    assert!(!dir.path().join("elsewhere").exists());
}

#[tokio::test]
async fn nobody_at_the_address_is_told_with_a_remedy() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Operator::dial(&url, &HERE).await.unwrap_err().to_string();
    assert!(error.contains(&url) && error.contains("vufleet coordinator"), "{error}");
}
