//! SIGTERM to agents and to coordinators, in every phase of a job: what it leads to, and that nothing is left.

mod agents;
mod coordinators;

use vufleet_testbed::MariaDb;

use super::lab::fleet::{Coordinator, agent};
use super::lab::page::Page;
use super::lab::{Job, Lab, eventually, study};

/// Long phases, so that a signal meets the one it is meant for.
const CONNECT: &str = "--set schedule.connect_rate=1";
const RAMP_UP: &str = "--set schedule.ramp_up=60s";
const WINDOW: &str = "--set schedule.measure=60s";
/// Rows that take a while.
const MANY_ROWS: &str = "--set workload.table_size=400000";
const RESET: &str = "\n[reset]\nbefore = \"run\"\nmethod = \"rebuild\"\n";

/// Two agents that drive and one that observes, at a coordinator that shows how it is.
struct Fleet {
    server: MariaDb,
    lab: Lab,
    coordinator: Coordinator,
    page: Page,
    load: [Job; 2],
    _observer: Job,
}

impl Fleet {
    fn new(also: &str) -> Fleet {
        let server = MariaDb::start().unwrap();
        let lab =
            Lab::new(&(study::small(&study::mariadb_with_control(&server)).replace("vus = 4", "vus = 12") + also));
        lab.run("schema build study.toml --data elsewhere").expect(0);
        let mut coordinator = Coordinator::start(&lab, "--lease 3s --metrics 127.0.0.1:0");
        let page = Page::of(&mut coordinator.job);
        let load = ["load-1", "load-2"].map(|name| agent(&lab, &coordinator, "drive", name));
        let observer = agent(&lab, &coordinator, "observe", "db-1");
        Fleet { server, lab, coordinator, page, load, _observer: observer }
    }

    /// Starts a job and waits until it is in a phase.
    fn start(&self, line: &str, phase: &str) -> Job {
        let mut job = self.lab.start(&format!("{line} --coordinator {} --wait-for-agents 3", self.coordinator.url));
        let sample = format!("vufleet_coordinator_phase{{phase=\"{phase}\"}}");
        job.await_that("the phase comes", || self.page.metrics().contains_key(&sample));
        job
    }
}

fn assert_no_session(server: &MariaDb) {
    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user IN ('bench')";
    eventually("no session is left", || server.sql(sessions).unwrap().trim() == "0");
}
