use super::*;
use std::path::Path;

const STUDY: &str = "name = \"h\"\nseed = 1\n[target]\nkind = \"sqlite\"\npath = \"PATH\"\n[workload]\nkind = \"oltp\"\n\
                     script = \"point_select\"\n[[profiles]]\nvus = 1\n[schedule]\nmeasure = \"1s\"\n";

fn sql(text: &str) -> v1::Step {
    v1::Step { body: Some(step::Body::Sql(text.to_owned())) }
}

fn run_command(name: &str) -> v1::Step {
    v1::Step { body: Some(step::Body::Command(name.to_owned())) }
}

fn hold(path: &Path, run: u64, steps: Vec<v1::Step>) -> v1::Hold {
    let study = STUDY.replace("PATH", path.to_str().unwrap());
    v1::Hold { run, study, steps, ..Default::default() }
}

fn means(commands: &[(&str, &str)]) -> Means {
    let line = |script: &str| ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let commands = commands.iter().map(|(name, script)| ((*name).to_owned(), line(script)));
    Means { commands: commands.collect(), clock: CommonClock::default(), one_at_a_time: OneAtATime::default() }
}

/// A database with one table of one row.
fn database(path: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("CREATE TABLE setting (value TEXT); INSERT INTO setting VALUES ('on')").unwrap();
    database
}

fn setting(database: &rusqlite::Connection) -> String {
    database.query_row("SELECT value FROM setting", [], |row| row.get(0)).unwrap()
}

/// What is told of the next variant that was undone: its run, and what went wrong.
fn told(inbox: &mut tokio::sync::mpsc::UnboundedReceiver<(u64, Body)>) -> (u64, String) {
    match inbox.blocking_recv().unwrap() {
        (run, Body::Undone(undone)) => (run, undone.error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_step_is_done_in_order_whatever_becomes_of_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = database(&path);
    let (outlet, mut inbox) = Outlet::new();
    let mut holds = Holds::default();
    let steps = vec![
        sql("UPDATE setting SET value = 'half'"),
        run_command("touch"),
        sql("DROP TABLE never_was"),
        sql("UPDATE setting SET value = value || ', off'"),
    ];
    holds.keep(hold(&path, 7, steps)).unwrap();
    assert_eq!((holds.runs(), holds.is_empty()), (vec![7], false));
    let file = directory.path().join("touched");
    holds.undo(&means(&[("touch", &format!("touch {}", file.display()))]), &outlet);
    assert!(holds.is_empty(), "it is not undone twice");
    let (run, error) = told(&mut inbox);
    assert_eq!(run, 7);
    assert!(error.contains("never_was"), "{error}");
    assert!(file.exists());
    assert_eq!(setting(&database), "half, off", "the last step was done too");
}

#[test]
fn a_database_that_comes_back_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("away").join("db");
    let (outlet, mut inbox) = Outlet::new();
    let mut holds = Holds::default();
    holds.keep(hold(&path, 1, vec![sql("UPDATE setting SET value = 'off'")])).unwrap();
    holds.undo(&means(&[]), &outlet);
    assert!(holds.are_undoing());
    assert_eq!(holds.runs(), [1], "the coordinator still hears of it");
    // The first attempts find no directory; the last one is half a minute away.
    let apart = directory.path().join("apart");
    std::fs::create_dir(&apart).unwrap();
    drop(database(&apart.join("db")));
    std::fs::rename(&apart, path.parent().unwrap()).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(told(&mut inbox), (1, String::new()));
    assert_eq!(setting(&database), "off");
}

#[test]
fn what_was_released_is_not_undone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let database = database(&path);
    let (outlet, mut inbox) = Outlet::new();
    let mut holds = Holds::default();
    let means = means(&[]);
    holds.keep(hold(&path, 1, vec![sql("UPDATE setting SET value = 'off'")])).unwrap();
    holds.release(1);
    holds.undo(&means, &outlet);
    assert!(inbox.try_recv().is_err(), "there was nothing to undo");
    // Released while its turn had not come yet.
    let busy = means.one_at_a_time.lock().unwrap();
    holds.keep(hold(&path, 2, vec![sql("UPDATE setting SET value = 'off'")])).unwrap();
    holds.undo(&means, &outlet);
    holds.release(2);
    assert_eq!(holds.runs(), [] as [u64; 0]);
    drop(busy);
    assert_eq!(told(&mut inbox), (2, String::new()));
    assert_eq!(setting(&database), "on");
}

#[test]
fn a_hold_that_cannot_be_understood_is_refused_at_once() {
    let refusal = Holds::default().keep(v1::Hold { run: 1, study: "no study".to_owned(), ..Default::default() });
    assert!(refusal.unwrap_err().to_string().contains("study"));
}
