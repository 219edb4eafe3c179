//! Questions of a coordinator that means harm, put to a MariaDB through an agent without `--allow-control`: the server is asked afterwards,
//! and nothing has changed. The login may do anything, so that it is the agent alone who keeps it so.

use vufleet_testbed::MariaDb;

use super::allow::{DRIVING, refused, welcomed};
use super::*;

/// A table, a sequence, a view, and functions that write as soon as they are asked.
const PREPARED: &[&str] = &[
    "CREATE TABLE precious (id INT PRIMARY KEY)",
    "INSERT INTO precious VALUES (1), (2)",
    "CREATE TABLE plain (id INT) ENGINE = Aria",
    "CREATE SEQUENCE numbers NOCACHE",
    "CREATE FUNCTION writes() RETURNS INT BEGIN DELETE FROM precious; RETURN 1; END",
    "CREATE FUNCTION scribbles() RETURNS INT BEGIN INSERT INTO plain VALUES (1); RETURN 1; END",
    "CREATE FUNCTION reopens() RETURNS INT BEGIN SET SESSION TRANSACTION READ WRITE; DELETE FROM precious; RETURN 1; END",
    "CREATE FUNCTION opens() RETURNS INT BEGIN SET SESSION TRANSACTION READ WRITE; RETURN 1; END",
    "CREATE FUNCTION draws() RETURNS INT BEGIN RETURN NEXTVAL(numbers); END",
    "CREATE PROCEDURE clears() DELETE FROM precious",
    "CREATE VIEW harmless AS SELECT writes() AS one",
];

/// Everything that the statements below would change.
const STATE: &[&str] = &[
    "SELECT * FROM precious ORDER BY id",
    "SELECT count(*) FROM plain",
    "SELECT next_not_cached_value FROM numbers",
    "SHOW TABLES",
    "SELECT @@global.general_log, @@global.read_only, @@global.tx_read_only",
    "SELECT user, host FROM mysql.user ORDER BY user, host",
];

/// By its text this is none.
const NO_QUESTIONS: &[(&str, &str)] = &[
    ("DELETE FROM precious", "DELETE begins no question"),
    ("SELECT 1; DELETE FROM precious", "more than one statement"),
    ("SELECT 1;DELETE FROM precious;", "more than one statement"),
    ("SELECT id FROM precious FOR UPDATE", "it says UPDATE"),
    ("SELECT id FROM precious LOCK IN SHARE MODE", "it says LOCK"),
    ("SELECT id INTO OUTFILE 'stolen' FROM precious", "it says INTO"),
    ("SELECT id FROM precious INTO OUTFILE 'stolen'", "it says INTO"),
    ("SELECT id FROM precious LIMIT 1 INTO DUMPFILE 'stolen'", "it says INTO"),
    ("SELECT (SELECT 1 INTO @a)", "it says INTO"),
    ("WITH a AS (SELECT 1) DELETE FROM precious", "its WITH is of DELETE"),
    ("WITH a AS (SELECT 1) UPDATE precious SET id = 9", "its WITH is of UPDATE"),
    ("WITH a AS (SELECT 1) SELECT * FROM a INTO OUTFILE 'stolen'", "it says INTO"),
    ("/*! DELETE FROM precious */", "it holds a comment"),
    ("/*!50000 DELETE FROM precious */", "it holds a comment"),
    ("/*M! DELETE FROM precious */", "it holds a comment"),
    ("SELECT 1 /*! INTO OUTFILE 'stolen' */", "it holds a comment"),
    ("SELECT 1 /*M!100000 , writes() */", "it holds a comment"),
    ("SELECT '\\'; DELETE FROM precious; -- '", "backslash"),
    ("EXPLAIN DELETE FROM precious", "it explains no SELECT"),
    ("ANALYZE DELETE FROM precious", "ANALYZE begins no question"),
    ("ANALYZE FORMAT=JSON DELETE FROM precious", "ANALYZE begins no question"),
    ("ANALYZE SELECT writes()", "ANALYZE begins no question"),
    ("EXPLAIN ANALYZE DELETE FROM precious", "it explains no SELECT"),
    ("SET STATEMENT max_statement_time = 9 FOR DELETE FROM precious", "SET begins no question"),
    ("SET GLOBAL general_log = 1", "SET begins no question"),
    ("EXECUTE IMMEDIATE 'DELETE FROM precious'", "EXECUTE begins no question"),
    ("BEGIN NOT ATOMIC DELETE FROM precious; END", "more than one statement"),
    ("CALL clears()", "CALL begins no question"),
    ("DO writes()", "DO begins no question"),
    ("VALUES (writes())", "VALUES begins no question"),
    ("TRUNCATE precious", "TRUNCATE begins no question"),
    ("CREATE OR REPLACE TABLE precious AS SELECT 1 AS id", "CREATE begins no question"),
    ("LOAD DATA INFILE '/etc/passwd' INTO TABLE precious", "LOAD begins no question"),
    ("START TRANSACTION READ WRITE", "START begins no question"),
    ("FLUSH TABLES WITH READ LOCK", "FLUSH begins no question"),
    ("GRANT ALL ON precious TO guest", "GRANT begins no question"),
    ("SELECT NEXTVAL(numbers)", "it says NEXTVAL"),
    ("SELECT SETVAL(numbers, 500)", "it says SETVAL"),
    ("SELECT NEXT VALUE FOR numbers", "it says NEXT"),
    ("SELECT LOAD_FILE('/etc/passwd')", "it says LOAD_FILE"),
];

/// By its text this is one; the server refuses to write for it.
const WRITING: &[&str] = &[
    "SELECT writes()",
    "SELECT id FROM precious WHERE writes() = 1",
    "SELECT * FROM harmless",
    "WITH a AS (SELECT writes() AS one) SELECT * FROM a",
    "SELECT scribbles()",
    "SELECT reopens()",
    "SHOW TABLES WHERE writes() = 1",
    "SELECT draws()",
];

/// Answered or refused by the server: whichever, nothing is written.
const EITHER: &[&str] = &["EXPLAIN SELECT writes()", "EXPLAIN SELECT * FROM (SELECT writes()) AS a", "SELECT opens()"];

const ANSWERED: &[&str] = &[
    "SELECT count(*) FROM precious",
    "WITH a AS (SELECT id FROM precious) SELECT max(id) FROM a",
    "SHOW GLOBAL STATUS LIKE 'Uptime'",
    "SHOW CREATE TABLE precious",
    "EXPLAIN SELECT * FROM precious",
    "EXPLAIN FORMAT=JSON SELECT * FROM precious",
    "SELECT PREVIOUS VALUE FOR numbers",
];

/// A server that is worth something, and what is asked of it.
struct Treasure {
    server: MariaDb,
}

impl Treasure {
    fn new() -> Treasure {
        let server = MariaDb::start().unwrap();
        for sql in PREPARED {
            server.sql(&format!("USE sbtest;\nDELIMITER //\n{sql}//\n")).unwrap();
        }
        Treasure { server }
    }

    fn state(&self) -> Vec<String> {
        let mut state: Vec<_> =
            STATE.iter().map(|sql| self.server.sql(&format!("USE sbtest; {sql}")).unwrap()).collect();
        for directory in [self.server.data(), self.server.data().join("sbtest")] {
            let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
            state.push(format!("{:?}", files.filter(|name| name == "stolen").collect::<Vec<_>>()));
        }
        state
    }

    fn study(&self, workload: &str) -> String {
        format!(
            "name = 'puppet'\nseed = 1\n[target]\nkind = 'mysql'\nport = {}\ndatabase = 'sbtest'\nuser = 'admin'\n\
             password = {{ env = 'UNSET' }}\n[workload]\n{workload}\n[[profiles]]\nvus = 1\n",
            self.server.port()
        )
    }

    fn control(&self, statements: &[&str]) -> v1::Control {
        let study = self.study("kind = 'oltp'\nscript = 'point_select'\ntables = 1\ntable_size = 100");
        let statements = statements.iter().map(|sql| (*sql).to_owned()).collect();
        v1::Control { id: 9, study, statements, secrets: secrets(), ..Default::default() }
    }
}

fn secrets() -> Option<v1::Secrets> {
    Some(v1::Secrets { password: Some(MariaDb::ADMIN.password.to_owned()), control_password: None })
}

#[tokio::test]
async fn nothing_that_is_asked_of_a_mariadb_changes_it() {
    let treasure = Treasure::new();
    let before = treasure.state();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    for sql in ANSWERED {
        let answer = stream.answer(treasure.control(&[sql])).await;
        assert_eq!((answer.error.as_str(), answer.tables.len()), ("", 1), "{sql}");
    }
    for (sql, words) in NO_QUESTIONS {
        let answer = stream.answer(treasure.control(&[sql])).await;
        refused(&answer.error, words);
        assert_eq!(treasure.state(), before, "{sql}");
    }
    for sql in WRITING {
        for order in [vec![*sql], vec!["SELECT opens()", *sql]] {
            let answer = stream.answer(treasure.control(&order)).await;
            assert!(answer.error.contains("READ ONLY"), "{order:?}: {:?}", answer.error);
            assert_eq!(treasure.state(), before, "{order:?}");
        }
    }
    for sql in EITHER {
        let answer = stream.answer(treasure.control(&[sql])).await;
        assert!(answer.error.is_empty() || answer.error.contains("READ ONLY"), "{sql}: {:?}", answer.error);
        assert_eq!(treasure.state(), before, "{sql}");
    }
    // It was not for want of rights, and the questions above would have been harmful.
    treasure.server.sql("USE sbtest; SELECT writes()").unwrap();
    assert_ne!(treasure.state(), before);
}

/// A load of questions is driven without control, and no function writes for it.
#[tokio::test]
async fn no_load_of_questions_changes_a_mariadb() {
    let treasure = Treasure::new();
    let before = treasure.state();
    let mut lab = Lab::start_with(&DRIVING).await;
    let mut stream = welcomed(&mut lab).await;
    let own = |sql: &str| {
        treasure.study(&format!("kind = 'sql'\n[[workload.transactions]]\nname = 'a'\nstatements = [\"{sql}\"]"))
    };
    for (run, sql) in [(1, "SELECT writes()"), (2, "SELECT * FROM harmless"), (3, "SELECT reopens()")] {
        stream.connect(run, &own(sql)).await;
        let why = stream.failure().await;
        assert!(why.contains("READ ONLY"), "{sql}: {why}");
        assert_eq!(treasure.state(), before, "{sql}");
    }
    stream.connect(4, &own("SELECT count(*) FROM precious")).await;
    stream.step(phase::Kind::Connected).await;
    stream.say(command::Body::Start(v1::StartAt { run: 4, at_ns: 0 }));
    stream.transactions().await;
    // Statements of vufleet's own may write, on the same agent.
    let oltp = "kind = 'oltp'\nscript = 'write_only'\ntables = 1\ntable_size = 10";
    let create = study::read(&treasure.study(oltp), &Edits::default()).unwrap();
    let create = create.workload.schema().create(create.target.kind.dialect().unwrap());
    let order = v1::Control { statements: create, ..treasure.control(&[]) };
    assert_eq!(stream.answer(order).await.error, "");
    treasure.server.sql("USE sbtest; INSERT INTO sbtest1 (id, k) SELECT seq, seq FROM seq_1_to_10").unwrap();
    stream.connect(5, &treasure.study(oltp)).await;
    stream.step(phase::Kind::Connected).await;
    stream.say(command::Body::Start(v1::StartAt { run: 5, at_ns: 0 }));
    stream.transactions().await;
}

impl Stream {
    /// Has a run prepared and its sessions connect.
    async fn connect(&mut self, run: u64, text: &str) {
        let study = study::read(text, &Edits::default()).unwrap();
        let order = v1::Prepare {
            run,
            study: study.text.clone(),
            digest: study.digest.clone(),
            profile: study.profiles[0].id.clone(),
            drive: Some(v1::Drive { first_vu: 0, vus: 1, total_vus: 1 }),
            interval_ns: 100_000_000,
            secrets: secrets(),
            ..Default::default()
        };
        self.say(command::Body::Prepare(order));
        self.step(phase::Kind::Prepared).await;
        self.say(command::Body::Connect(v1::Connect { run }));
    }

    /// Waits for transactions, which succeed.
    async fn transactions(&mut self) {
        loop {
            if let Some(Body::Interval(interval)) = self.next().await.body {
                let kinds = &interval.kinds;
                assert!(kinds.iter().all(|kind| kind.failed == 0), "{:?}", kinds[0].faults);
                if kinds.iter().any(|kind| kind.ok > 0) {
                    return;
                }
            }
        }
    }

    /// Waits for this step of a run, whose others succeed.
    async fn step(&mut self, awaited: phase::Kind) {
        loop {
            if let Some(Body::Phase(told)) = self.next().await.body {
                assert_ne!(told.kind(), FAILED, "{}", told.message);
                if told.kind() == awaited {
                    return;
                }
            }
        }
    }
}
