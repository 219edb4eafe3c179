//! What one session costs in memory, measured: alone in its process, so that nobody else's memory is counted.
//!
//! Leaves out the kernel's socket buffers and the server's side.

use std::rc::Rc;
use std::time::Duration;

use secrecy::SecretString;
use vufleet_agent::event_loop;
use vufleet_agent::session::{MysqlSession, SimulatedSession, install_tls_provider};
use vufleet_scenarios::session::{Session, Stmt, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::{Mssql, MysqlDriver, ServiceDistribution, Simulated, Target, TargetKind, Tls};
use vufleet_testbed::MariaDb;

/// Within the 1,024 open files that many systems allow.
const MYSQL_SESSIONS: usize = 800;
const MYSQL_BYTES: usize = 6 << 10;
/// A call's future is part of every virtual user that waits for it.
const FUTURE_BYTES: usize = 1 << 10;
const SIMULATED_SESSIONS: usize = 50_000;
const SIMULATED_BYTES: usize = 200;

fn target(kind: TargetKind) -> Target {
    let simulated =
        Simulated { service_time: Duration::ZERO, distribution: ServiceDistribution::Constant, faults: vec![] };
    Target {
        kind,
        host: Some("127.0.0.1".to_owned()),
        port: 0,
        socket: None,
        path: None,
        database: Some(MariaDb::DATABASE.to_owned()),
        user: Some(MariaDb::BENCH.user.to_owned()),
        password_source: None,
        password: Some(SecretString::from(MariaDb::BENCH.password)),
        tls: Tls::Preferred,
        ca_file: None,
        server_name: None,
        client_cert: None,
        client_key: None,
        driver: MysqlDriver::Native,
        mssql: Mssql::default(),
        deadline: Duration::from_secs(30),
        simulated: simulated.into(),
    }
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("a Linux");
    let pages: usize = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("statm has numbers");
    pages * 4_096
}

/// Opens `count` sessions, each of which has executed its statement, and returns the bytes that each costs.
async fn footprint<S: Session>(target: &Target, count: usize, warm: usize) -> usize {
    let statement = Statement::parse("SELECT c FROM sbtest1 WHERE id = :id", S::DIALECT, Protocol::Prepared);
    let statements: Rc<[Statement]> = Rc::new([statement]);
    let mut sessions = Vec::with_capacity(count + warm);
    let mut before = 0;
    for i in 0..count + warm {
        if i == warm {
            before = resident();
        }
        let mut session = S::connect(target, Rc::clone(&statements)).await.expect("the server lets us in");
        session.execute(Stmt(0), &[Value::Int(1)], &mut ()).await.expect("the statement is right");
        sessions.push(session);
    }
    let cost = (resident() - before) / count;
    let mut ignored = ();
    let future = size_of_val(&sessions[0].execute(Stmt(0), &[], &mut ignored));
    println!("{future} bytes the future of a call");
    assert!(future <= FUTURE_BYTES, "{future} bytes the future of a call");
    cost
}

#[test]
fn sessions_fit_their_budget() {
    install_tls_provider();
    let server = MariaDb::builder().option("max_connections", "1000").start().unwrap();
    server
        .sql(
            "CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY, c CHAR(120)); INSERT INTO sbtest.sbtest1 VALUES (1, 'c')",
        )
        .unwrap();
    event_loop::block_on(async {
        let target = Target { port: server.port(), ..target(TargetKind::Mysql) };
        let mysql = Box::pin(footprint::<MysqlSession>(&target, MYSQL_SESSIONS, 50)).await;
        println!("{mysql} bytes a MySQL session with one prepared statement");
        assert!(mysql <= MYSQL_BYTES, "{mysql} bytes a MySQL session");

        let target = self::target(TargetKind::Simulated);
        let simulated = footprint::<SimulatedSession>(&target, SIMULATED_SESSIONS, 0).await;
        println!("{simulated} bytes a simulated session");
        assert!(simulated <= SIMULATED_BYTES, "{simulated} bytes a simulated session");
    })
    .unwrap();
}
