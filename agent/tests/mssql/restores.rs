//! A restore over the wire: in `master`, in its order, and with its end whatever becomes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use vufleet_agent::observe::control;
use vufleet_proto::v1;
use vufleet_scenarios::backup;
use vufleet_scenarios::study::Backup;

use super::mock::PASSWORD;
use super::scripted::{Then, serve};

/// What the server was asked, and what came of it.
fn restore(failing: &'static str) -> (Vec<String>, v1::ControlResult, [String; 3]) {
    vufleet_agent::session::install_tls_provider();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let port = runtime.block_on(serve(Then::Listen(Arc::clone(&heard), failing)));
    let study = format!(
        "name = 'mock'\nseed = 1\n[target]\nkind = 'mssql'\ndatabase = 'tpcc'\nuser = 'bench'\nport = {port}\ntls = \
         'disabled'\n[workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n"
    );
    let statements = Backup { files: vec!["/b/tpcc.bak".to_owned()], moves: BTreeMap::new() }.restore("tpcc");
    let result = control::run(&v1::Control {
        study,
        secrets: Some(v1::Secrets { password: Some(PASSWORD.to_owned()), control_password: None }),
        as_control: true,
        statements: statements.to_vec(),
        keep_going: true,
        changes: true,
        database: backup::FROM.to_owned(),
        ..Default::default()
    });
    let heard = heard.lock().unwrap().clone();
    (heard, result, statements)
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
