//! A MariaDB whose agent stops it, copies its files, puts them back and starts it.

use std::path::Path;

use vufleet_testbed::MariaDb;

use super::super::lab::fleet::{Coordinator, agent, agent_command, is_here, listed};
use super::super::lab::{Job, Lab, eventually, files, study};
use super::{INSERTS, assert_reset, reset, twice};

/// What stops and starts a server as an administrator would. The one that it starts ends with the server's directory.
fn snapshot_of(server: &MariaDb) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    let home = server.data().parent().unwrap().display().to_string();
    let quiet = "</dev/null >/dev/null 2>&1 &";
    let start = format!(
        "{} {quiet}\npid=$!\n(while [ -d {home} ]; do sleep 0.2; done; kill -9 $pid) {quiet}",
        quoted(&server.command_line())
    );
    let stop = format!("mariadb-admin --no-defaults --user=root --socket={} shutdown", server.socket().display());
    let shell = |script: &str| format!("[\"/bin/sh\", \"-c\", {script:?}]");
    format!(
        "allow_control = true\n[snapshot]\ndatadir = {:?}\nstop = {}\nstart = {}\n",
        server.data().to_str().unwrap(),
        shell(&stop),
        shell(&start)
    )
}

fn observer(lab: &Lab, coordinator: &Coordinator) -> Job {
    let mut command = agent_command(&coordinator.url, "observe", "db-1");
    command.args(["--config", "agent.toml"]);
    let job = lab.spawn(command);
    eventually("the agent is here", || listed(lab, &coordinator.url).iter().any(|line| is_here(line, "db-1")));
    job
}

fn left_beside(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("vufleet")).collect()
}

fn inserted(server: &MariaDb) -> u64 {
    server.sql("SELECT count(*) FROM sbtest.sbtest1").ok().and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[test]
fn a_server_is_stopped_copied_put_back_and_started_between_runs() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&(twice(&study::small(&study::mariadb_with_control(&server))) + &reset("\"snapshot\"")));
    lab.run("schema build study.toml").expect(0);
    lab.run("run study.toml").expect(1).says(&["no agent here is configured for that", "[snapshot] datadir ="]);
    std::fs::write(lab.path("agent.toml"), snapshot_of(&server)).unwrap();
    let coordinator = Coordinator::start(&lab, "--data data");
    let _driver = agent(&lab, &coordinator, "drive", "load-1");
    let db = observer(&lab, &coordinator);
    let at = format!("study.toml {INSERTS} --coordinator {}", coordinator.url);
    lab.run(&format!("check {at}")).expect(0).says(&["can run"]);
    assert!(left_beside(&server.data()).is_empty(), "a check touches nothing");
    lab.run(&format!("run {at} --out out")).expect(0);
    let results = files::results(&lab.path("out"));
    assert_reset(&results);
    assert!(files::runs(&results).iter().any(|run| run["witness"].is_array()), "{results:#}");
    eventually("the server answers", || inserted(&server) > 0);
    assert_eq!(inserted(&server), 1_000, "as before the study");
    assert_eq!(left_beside(&server.data()), [""; 0]);

    // The agent is killed while the server is stopped; the next one starts it.
    let mut job = lab.start(&format!("run {at}"));
    let mark = server.data().with_file_name("data.vufleet-stopped");
    job.await_that("the server is stopped", || mark.exists());
    db.kill();
    job.end();
    eventually("nobody has started it", || mark.exists());
    let _db = observer(&lab, &coordinator);
    eventually("it is started", || inserted(&server) > 0);
    eventually("the mark has gone", || !mark.exists());
    lab.run(&format!("run {at}")).expect(0);
    eventually("the server answers", || inserted(&server) > 0);
    assert_eq!(inserted(&server), 1_000);
    assert_eq!(left_beside(&server.data()), [""; 0]);
}
