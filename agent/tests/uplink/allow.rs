//! What an agent refuses at a coordinator's word, which here is a test that asks for all of it.

use super::*;

/// Without `--allow-control`.
pub const DRIVING: [&str; 2] = ["--roles", "drive,observe"];

/// A table that somebody could harm.
struct Target {
    directory: tempfile::TempDir,
}

impl Target {
    fn new() -> Target {
        let target = Target { directory: tempfile::tempdir().unwrap() };
        target.open().execute_batch("CREATE TABLE precious (id INTEGER); INSERT INTO precious VALUES (1)").unwrap();
        target
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("target.db")
    }

    fn open(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }

    fn rows(&self) -> i64 {
        self.open().query_row("SELECT count(*) FROM precious", [], |row| row.get(0)).unwrap()
    }

    fn study(&self) -> String {
        self.study_of("kind = 'oltp'\nscript = 'point_select'\ntables = 1\ntable_size = 100")
    }

    fn study_of(&self, workload: &str) -> String {
        format!(
            "name = 'puppet'\nseed = 1\n[target]\nkind = 'sqlite'\npath = '{}'\n[workload]\n{workload}\n[[profiles]]\nvus = 1\n",
            self.file().display()
        )
    }

    fn control(&self, statements: &[&str]) -> v1::Control {
        let statements = statements.iter().map(|sql| (*sql).to_owned()).collect();
        v1::Control { id: 9, study: self.study(), statements, ..Default::default() }
    }
}

impl Stream {
    pub async fn answer(&mut self, control: v1::Control) -> v1::ControlResult {
        self.say(command::Body::Control(control));
        loop {
            if let Some(Body::Control(result)) = self.next().await.body {
                return result;
            }
        }
    }

    /// The message of the next step of a run, which is a failure.
    pub async fn failure(&mut self) -> String {
        loop {
            if let Some(Body::Phase(told)) = self.next().await.body {
                assert_eq!(told.kind(), FAILED, "{}", told.message);
                return told.message;
            }
        }
    }
}

#[track_caller]
pub fn refused(error: &str, words: &str) {
    for word in [words, "does not allow", "allow_control = true", "--allow-control"] {
        assert!(error.contains(word), "no {word:?} in {error:?}");
    }
}

pub async fn welcomed(lab: &mut Lab) -> Stream {
    let stream = lab.stream().await;
    stream.welcome(7, 0);
    stream
}

#[tokio::test]
async fn questions_are_answered_and_nothing_else_is_sent() {
    let target = Target::new();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    let asked = stream.answer(target.control(&["SELECT count(*) FROM precious", "PRAGMA journal_mode"])).await;
    assert_eq!((asked.error.as_str(), asked.tables.len()), ("", 2));
    for (sql, words) in [
        ("DELETE FROM precious", "DELETE begins no question"),
        ("SELECT 1; DELETE FROM precious", "more than one statement"),
        ("WITH a AS (SELECT 1) DELETE FROM precious", "its WITH is of DELETE"),
        ("DROP TABLE precious", "DROP begins no question"),
        ("ATTACH '/tmp/x' AS x", "ATTACH begins no question"),
    ] {
        let result = stream.answer(target.control(&["SELECT 1", sql])).await;
        refused(&result.error, words);
        assert!(result.tables.is_empty(), "the question before it is not sent either");
    }
    let question = v1::Control { changes: true, ..target.control(&["SELECT 1"]) };
    refused(&stream.answer(question).await.error, "applies or undoes a variant");
    assert_eq!(target.rows(), 1);
}

/// The header of a file says its journal mode.
#[tokio::test]
async fn a_file_is_not_changed_by_being_asked() {
    let target = Target::new();
    let before = std::fs::read(target.file()).unwrap();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    let question =
        ["SELECT count(*) FROM precious", "PRAGMA journal_mode", "SELECT * FROM pragma_table_info('precious')"];
    let asked = stream.answer(target.control(&question)).await;
    assert_eq!(asked.error, "");
    assert_eq!(asked.tables[1].rows[0].cells[0].text, "delete");
    assert_eq!(stream.answer(target.control(&[])).await.error, "");
    for sql in [
        "SELECT load_extension('x')",
        "SELECT writefile('x', 'y')",
        "SELECT * FROM \"pragma_optimize\"",
        "PRAGMA user_version(7)",
    ] {
        assert_ne!(stream.answer(target.control(&[sql])).await.error, "", "{sql}");
    }
    assert!(std::fs::read(target.file()).unwrap() == before, "the file was changed");
    let files = || std::fs::read_dir(target.directory.path()).unwrap().count();
    assert_eq!(files(), 1);

    // Where there is no file, the empty database that there would be is asked.
    std::fs::remove_file(target.file()).unwrap();
    assert_eq!(stream.answer(target.control(&["SELECT count(*) FROM sqlite_schema"])).await.error, "");
    assert_eq!(stream.answer(target.control(&[])).await.error, "");
    let missing = stream.answer(target.control(&["SELECT count(*) FROM precious"])).await;
    assert!(missing.error.contains("no such table"), "{}", missing.error);
    assert_eq!(files(), 0);
}

/// One that a load has left in WAL mode is read with what is not in the file yet.
#[tokio::test]
async fn a_file_in_wal_mode_is_asked_beside_its_writer() {
    let target = Target::new();
    let writer = target.open();
    writer.execute_batch("PRAGMA journal_mode = WAL; INSERT INTO precious VALUES (2)").unwrap();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    let ask = target.control(&["SELECT count(*) FROM precious"]);
    assert_eq!(stream.answer(ask.clone()).await.tables[0].rows[0].cells[0].text, "2");
    drop(writer);
    assert_eq!(stream.answer(ask).await.tables[0].rows[0].cells[0].text, "2");
}

#[tokio::test]
async fn the_tables_of_a_workload_are_made_and_no_others() {
    let target = Target::new();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    let study = study::read(&target.study(), &Edits::default()).unwrap();
    let dialect = study.target.kind.dialect().unwrap();
    let create = study.workload.schema().create(dialect);
    let order = v1::Control { statements: create, ..target.control(&[]) };
    assert_eq!(stream.answer(order).await.error, "");
    let tables: i64 = target
        .open()
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'sbtest1'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
    let job = v1::Populate {
        job: 5,
        study: target.study(),
        statements: vec!["CREATE INDEX mine ON precious (id)".to_owned()],
        ..Default::default()
    };
    stream.say(command::Body::Populate(job));
    let error = loop {
        if let Some(Body::Populate(told)) = stream.next().await.body {
            break told.error;
        }
    };
    refused(&error, "CREATE INDEX mine");
}

#[tokio::test]
async fn an_agent_that_only_observes_makes_no_tables() {
    let target = Target::new();
    let mut lab = Lab::start_with(&["--roles", "observe"]).await;
    let mut stream = welcomed(&mut lab).await;
    let study = study::read(&target.study(), &Edits::default()).unwrap();
    let create = study.workload.schema().create(study.target.kind.dialect().unwrap());
    let error = stream.answer(v1::Control { statements: create, ..target.control(&[]) }).await.error;
    assert!(error.contains("role drive"), "{error}");
}

#[tokio::test]
async fn loads_of_other_statements_variants_commands_and_copies_are_refused() {
    let target = Target::new();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;

    let text =
        target.study_of("kind = 'sql'\n[[workload.transactions]]\nname = 'a'\nstatements = ['DELETE FROM precious']");
    let study = study::read(&text, &Edits::default()).unwrap();
    let drive = Some(v1::Drive { first_vu: 0, vus: 1, total_vus: 1 });
    let (profile, interval_ns) = (study.profiles[0].id.clone(), 100_000_000);
    let (study, digest) = (study.text.clone(), study.digest.clone());
    stream.say(command::Body::Prepare(v1::Prepare {
        run: 1,
        study,
        digest,
        profile,
        drive,
        interval_ns,
        ..Default::default()
    }));
    refused(&stream.failure().await, "DELETE FROM precious");

    let body = Some(v1::step::Body::Sql("DELETE FROM precious".to_owned()));
    let hold = v1::Hold { run: 2, study: target.study(), steps: vec![v1::Step { body }], ..Default::default() };
    stream.say(command::Body::Hold(hold));
    refused(&stream.failure().await, "undoes a variant");

    stream.say(command::Body::RunCommand(v1::RunCommand {
        id: 3,
        name: "restore".to_owned(),
        limit_ns: 1_000_000_000,
    }));
    let error = loop {
        if let Some(Body::Command(result)) = stream.next().await.body {
            break result.error;
        }
    };
    refused(&error, "commands of its host");

    let act = v1::snapshot::Act::Take as i32;
    stream.say(command::Body::Snapshot(v1::Snapshot { id: 4, act, study: target.study(), ..Default::default() }));
    let error = loop {
        if let Some(Body::Snapshot(result)) = stream.next().await.body {
            break result.error;
        }
    };
    refused(&error, "copies of a server's files");
    drop(stream);

    // Nothing was kept either: an agent that has lost its coordinator for good undoes what it holds.
    lab.stream().await.welcome(8, 0);
    assert_eq!(target.rows(), 1);
}

#[tokio::test]
async fn an_agent_that_allows_control_does_what_it_is_told() {
    let target = Target::new();
    let mut lab = Lab::start_with(&["--roles", "observe", "--allow-control"]).await;
    let mut stream = welcomed(&mut lab).await;
    let order = v1::Control { changes: true, ..target.control(&["DELETE FROM precious"]) };
    assert_eq!(stream.answer(order).await.error, "");
    assert_eq!(target.rows(), 0);
}
