//! A coordinator that is killed: no load goes on without it, and the next one takes its agents back.

use vufleet_testbed::MariaDb;

use super::lab::fleet::{Coordinator, agent, is_here, listed};
use super::lab::{Lab, eventually, files, study};

fn number(server: &MariaDb, sql: &str) -> u64 {
    let answer = server.sql(sql).unwrap();
    answer.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn no_load_outlives_the_coordinator_and_its_agents_join_the_next_one() {
    let server = MariaDb::start().unwrap();
    let lab = Lab::new(&study::small(&study::mariadb(&server)));
    lab.run("schema build study.toml --data elsewhere").expect(0);
    let coordinator = Coordinator::start(&lab, "--lease 3s");
    let _agents = [
        agent(&lab, &coordinator, "drive", "load-1"),
        agent(&lab, &coordinator, "drive", "load-2"),
        agent(&lab, &coordinator, "observe", "db-1"),
    ];
    let run = format!("run study.toml --coordinator {} --wait-for-agents 3", coordinator.url);
    let mut job = lab.start(&format!("{run} --set schedule.measure=60s --out orphaned"));
    lab.await_load(&mut job, 1, 2);
    let (url, address) = (coordinator.url.clone(), coordinator.address().to_owned());
    coordinator.job.kill();
    job.end().refused(&["the coordinator at", "went away", "vufleet report"]);

    let sessions = "SELECT count(*) FROM information_schema.processlist WHERE user = 'bench'";
    eventually("the lease runs out and the sessions close", || number(&server, sessions) == 0);
    let questions = || number(&server, "SHOW GLOBAL STATUS LIKE 'Questions'");
    let before = questions();
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(questions() - before < 10, "nobody but this test asks anything any more");

    let again = Coordinator::listen(&lab, &address, "--lease 3s");
    assert_eq!(again.url, url);
    let all_here = || {
        let lines = listed(&lab, &url);
        ["load-1", "load-2", "db-1"].iter().all(|name| lines.iter().any(|line| is_here(line, name)))
    };
    eventually("the agents are back", all_here);
    lab.run(&format!("{run} --out again")).expect(0);
    let results = files::results(&lab.path("again"));
    assert_eq!(files::count(files::counted(&results), "/sessions"), 4, "{results:#}");
    drop(again);
    let studies = lab.run("studies").expect(0).out;
    assert_eq!(studies.matches("interrupted").count(), 1, "{studies}");
    assert_eq!(studies.matches("finished").count(), 1, "{studies}");
}
