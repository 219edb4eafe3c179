//! The test server itself: starts, survives a kill, cleans up.

use vufleet_testbed::MariaDb;

#[test]
fn committed_rows_survive_a_kill_and_nothing_survives_the_end() {
    let mut server = MariaDb::builder().option("max_connections", "17").start().unwrap();
    assert_eq!(server.sql("SELECT @@max_connections, @@port").unwrap(), format!("17\t{}\n", server.port()));
    server.sql("CREATE TABLE sbtest.t (id INT PRIMARY KEY); INSERT INTO sbtest.t VALUES (7)").unwrap();

    let (port, first) = (server.port(), server.pid());
    server.kill9().unwrap();
    assert_eq!(server.pid(), None);
    assert!(server.sql("SELECT 1").is_err());
    server.restart().unwrap();
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), first);
    assert_eq!(server.sql("SELECT id FROM sbtest.t").unwrap(), "7\n");

    let data = server.data();
    drop(server);
    assert!(!data.exists());
}

#[test]
fn two_servers_do_not_meet() {
    let (one, two) = (MariaDb::start().unwrap(), MariaDb::builder().tls().start().unwrap());
    assert_ne!(one.port(), two.port());
    assert_eq!(one.sql("SELECT @@have_ssl").unwrap(), "DISABLED\n");
    assert_eq!(two.sql("SELECT @@have_ssl").unwrap(), "YES\n");
}

#[test]
fn a_server_that_does_not_start_says_why() {
    let error = MariaDb::builder().option("no_such_option", "1").start().err().unwrap();
    assert!(format!("{error:#}").contains("no_such_option"), "{error:#}");
}
