//! `transactions = N`: what a session sends follows from the seed, not from who serves it.

use std::collections::BTreeMap;

use vufleet_testbed::MariaDb;

use super::lab::{Lab, files, study};

/// The statements of every session, in the order of sending; sessions in no particular order.
fn sent(server: &MariaDb) -> Vec<Vec<String>> {
    let log = server
        .sql(
            "SELECT thread_id, command_type, argument FROM mysql.general_log
             WHERE user_host LIKE 'bench%' AND command_type IN ('Execute', 'Query')",
        )
        .unwrap();
    let mut sessions: BTreeMap<&str, (bool, Vec<String>)> = BTreeMap::new();
    for line in log.lines() {
        let mut fields = line.splitn(3, '\t');
        let (thread, command, sql) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let (executes, statements) = sessions.entry(thread).or_default();
        *executes |= command == "Execute";
        statements.push(sql.to_owned());
    }
    // Nobody but virtual users executes prepared statements.
    let mut sessions: Vec<_> =
        sessions.into_values().filter(|(executes, _)| *executes).map(|(_, statements)| statements).collect();
    sessions.sort();
    sessions
}

#[test]
fn one_agent_and_three_send_the_same_ids_in_each_session() {
    let server = MariaDb::builder().option("log_output", "TABLE").start().unwrap();
    // Every row as likely as any other, and many of them: sessions do not deadlock, which would send some again.
    let text = study::small(&study::mariadb_with_control(&server));
    let text = text
        .replace("measure = \"2s\"", "transactions = 4")
        .replace("table_size = 1000", "table_size = 20000\ndistribution = \"uniform\"")
        .replace("vus = 4", "vus = 3\nsessions_per_vu = 2");
    let lab = Lab::new(&text);
    lab.run("schema build study.toml").expect(0);
    let mut all = Vec::new();
    for agents in [1, 3] {
        server.sql("TRUNCATE mysql.general_log; SET GLOBAL general_log = ON").unwrap();
        let ended = lab.run(&format!("run study.toml --agents {agents} --out out-{agents}")).expect(0);
        server.sql("SET GLOBAL general_log = OFF").unwrap();
        assert!(ended.took.as_secs() < 40, "the window ends with the last transaction: {ended}");
        let results = files::results(&lab.path(&format!("out-{agents}")));
        let [run] = files::exactly(&results);
        assert!(files::counts(run), "{run:#}");
        assert_eq!(files::count(run, "/transactions/read_write/ok"), 24, "{run:#}");
        assert!(files::figure(run, "/metrics/service_p95_ms") > 0.0, "{run:#}");
        assert!(files::figure(&results, "/cells/0/metrics/service_mean_ms/mean") > 0.0, "{results:#}");
        all.push(sent(&server));
    }
    let [one, three] = all.try_into().unwrap();
    assert_eq!(one.len(), 6, "sessions");
    assert!(one.iter().all(|statements| statements.len() >= 4 * 18), "whole transactions are compared: {one:?}");
    assert!(one[0] != one[1], "sessions differ from each other");
    assert_eq!(one, three);
}
