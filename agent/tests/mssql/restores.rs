//! A restore over the wire: in `master`, in its order, and with its end whatever becomes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vufleet_agent::allow::Allowance;
use vufleet_agent::observe::control;
use vufleet_proto::v1;
use vufleet_scenarios::backup;
use vufleet_scenarios::study::Backup;

use super::mock::PASSWORD;
use super::scripted::{Then, serve};

/// What the server was asked, and what came of it.
fn restore(failing: &'static str) -> (Vec<String>, v1::ControlResult, [String; 3]) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (result, statements) = restore_on(Then::Listen(Arc::clone(&heard), failing), Duration::ZERO);
    let heard = heard.lock().unwrap().clone();
    (heard, result, statements)
}

/// On a server that does that, within a limit; none where it is zero.
fn restore_on(then: Then, limit: Duration) -> (v1::ControlResult, [String; 3]) {
    vufleet_agent::session::install_tls_provider();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let port = runtime.block_on(serve(then));
    let study = format!(
        "name = 'mock'\nseed = 1\n[target]\nkind = 'mssql'\ndatabase = 'tpcc'\nuser = 'bench'\nport = {port}\ntls = \
         'disabled'\n[workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n"
    );
    let statements = Backup { files: vec!["/b/tpcc.bak".to_owned()], moves: BTreeMap::new() }.restore("tpcc");
    let result = control::run(
        &v1::Control {
            study,
            secrets: Some(v1::Secrets { password: Some(PASSWORD.to_owned()), control_password: None }),
            as_control: true,
            statements: statements.to_vec(),
            keep_going: true,
            changes: true,
            database: backup::FROM.to_owned(),
            limit_ns: limit.as_nanos() as u64,
            ..Default::default()
        },
        Allowance::ALL,
    );
    (result, statements)
}

#[test]
fn a_restore_that_takes_longer_than_it_may_is_given_up_and_told_as_late() {
    let (result, _) = restore_on(Then::FallSilent, Duration::from_millis(300));
    assert_eq!((result.failed, result.fault(), result.tables.len()), (0, v1::FaultKind::FaultDeadline, 3));
    assert!(result.error.contains("longer than the 300ms that it may, and was stopped"), "{}", result.error);
    assert!(result.error.contains("the server did not end it within"), "{}", result.error);
}

#[test]
fn a_restore_is_sent_in_its_order_to_a_connection_in_master() {
    let (heard, result, statements) = restore("nothing");
    assert_eq!(result.error, "");
    let [login, _settings, asked @ ..] = heard.as_slice() else { panic!("{heard:?}") };
    assert!(login.contains("master") && !login.contains("tpcc"), "{login:?}");
    assert_eq!(asked, statements);
}

#[test]
fn a_restore_that_fails_lets_others_in_again() {
    let (heard, result, statements) = restore("RESTORE DATABASE");
    assert_eq!(&heard[2..], statements);
    assert!(result.error.contains("Cannot open backup device"), "{}", result.error);
    assert_eq!((result.failed, result.tables.len()), (1, 3));
}
