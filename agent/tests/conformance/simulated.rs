//! What only a database that is not there does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vufleet_agent::session::SimulatedSession;
use vufleet_scenarios::session::{Access, FaultKind, Session, Stmt};
use vufleet_scenarios::sql::Protocol;
use vufleet_scenarios::study::Simulated;

use crate::engine::{open, run, simulated};

#[test]
fn a_transaction_takes_its_service_time_once_and_in_commit() {
    run(async {
        let service = Duration::from_millis(30);
        let mut session: SimulatedSession =
            open(&simulated(service), Protocol::Prepared, &["UPDATE t SET a = 1"]).await.unwrap();
        session.begin(Access::Write).await.unwrap();
        for _ in 0..1_000 {
            session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        }
        let before_commit = Instant::now();
        session.commit().await.unwrap();
        assert!(before_commit.elapsed() >= service);

        let outside = Instant::now();
        session.execute(Stmt(0), &[], &mut ()).await.unwrap();
        assert!(outside.elapsed() >= service);
    });
}

#[test]
fn faults_come_as_often_as_they_should_and_a_lost_connection_stays_lost() {
    run(async {
        let mut target = simulated(Duration::ZERO);
        target.simulated =
            Arc::new(Simulated { faults: vec![(FaultKind::Deadlock, 0.5)], ..(*target.simulated).clone() });
        let mut session: SimulatedSession = open(&target, Protocol::Prepared, &[]).await.unwrap();
        let mut deadlocks = 0;
        for _ in 0..2_000 {
            session.begin(Access::Write).await.unwrap();
            match session.commit().await {
                Ok(()) => {}
                Err(fault) => {
                    assert_eq!(fault.kind, FaultKind::Deadlock);
                    deadlocks += 1;
                    session.rollback().await.unwrap();
                }
            }
        }
        // Ten standard deviations.
        assert!((776..=1_224).contains(&deadlocks), "{deadlocks}");

        target.simulated =
            Arc::new(Simulated { faults: vec![(FaultKind::ConnectionLost, 1.0)], ..(*target.simulated).clone() });
        let mut session: SimulatedSession = open(&target, Protocol::Prepared, &["SELECT 1"]).await.unwrap();
        for _ in 0..2 {
            let fault = session.execute(Stmt(0), &[], &mut ()).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::ConnectionLost);
        }
        assert_eq!(session.ping().await.unwrap_err().kind, FaultKind::ConnectionLost);
    });
}
