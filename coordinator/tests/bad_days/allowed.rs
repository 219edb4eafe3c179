//! What agents allow by their own configuration, and what a fleet can do whose agents allow nothing but load and questions.

use vufleet_testbed::MariaDb;

use super::lab::fleet::{Coordinator, agent, is_here, listed};
use super::lab::{Job, Lab, agent_executable, study};

const LAZY: &str = r#"
[[variants]]
name = "lazy"
apply = ["SET GLOBAL innodb_flush_log_at_trx_commit = 0"]
revert = ["SET GLOBAL innodb_flush_log_at_trx_commit = 1"]
"#;

fn restricted(lab: &Lab, coordinator: &Coordinator, roles: &str, name: &str) -> Job {
    let mut command = std::process::Command::new(agent_executable());
    command.args(["--coordinator", &coordinator.url, "--roles", roles, "--name", name]);
    let mut job = lab.spawn(command);
    job.await_that("it joins", || listed(lab, &coordinator.url).iter().any(|line| is_here(line, name)));
    job
}

#[test]
fn agents_that_allow_nothing_build_check_and_run_and_one_that_allows_control_does_the_rest() {
    let server = MariaDb::start().unwrap();
    let plain = study::small(&study::mariadb_with_control(&server));
    let lab = Lab::new(&plain);
    std::fs::write(lab.path("lazy.toml"), plain + LAZY).unwrap();
    let coordinator = Coordinator::start(&lab, "");
    let at = format!("--coordinator {}", coordinator.url);
    let _load = restricted(&lab, &coordinator, "drive", "load-1");
    let _db = restricted(&lab, &coordinator, "observe", "db-1");
    let lines = listed(&lab, &coordinator.url);
    assert!(!lines.iter().any(|line| line.contains("allowed")), "{lines:?}");

    lab.run(&format!("schema build study.toml {at}")).expect(0);
    lab.run(&format!("check study.toml {at}")).expect(0);
    lab.run(&format!("run study.toml {at} --out first")).expect(0);

    let words = ["variant lazy changes the database", "load-1, db-1", "allow_control = true", "--allow-control"];
    lab.run(&format!("check lazy.toml {at}")).refused(&words);
    lab.run(&format!("run lazy.toml {at}")).refused(&words);

    let _control = agent(&lab, &coordinator, "observe", "db-2");
    let lines = listed(&lab, &coordinator.url);
    assert!(lines.iter().any(|line| line.starts_with(" db-2") && line.contains("allowed")), "{lines:?}");
    lab.run(&format!("run lazy.toml {at} --out second")).expect(0);
}
