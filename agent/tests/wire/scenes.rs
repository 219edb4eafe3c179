//! What is asked of the server, and what a session made of the answers.

use std::rc::Rc;

use vufleet_agent::session::MysqlSession;
use vufleet_scenarios::session::{Access, Dialect, Fault, Row, Rows, Session, Stmt, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::Target;

use crate::recorder::Age;

/// One call of a session.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Execute(u16, &'static [Value<'static>]),
    Query(&'static str),
    Begin,
    Commit,
    Rollback,
    Ping,
}

/// A session's life.
#[derive(Debug, Clone)]
pub struct Scene {
    pub name: &'static str,
    pub user: &'static str,
    pub password: &'static str,
    pub protocol: Protocol,
    pub statements: &'static [&'static str],
    pub steps: &'static [Step],
    /// Servers that it is played on.
    pub ages: &'static [Age],
    /// Somebody kills the connection while it sleeps.
    pub is_killed: bool,
    /// Too much for a cut at every byte.
    pub is_large: bool,
}

const ALL_AGES: &[Age] = &[Age::Today, Age::WithoutCache, Age::Old];
const BOTH_ENDS: &[Age] = &[Age::Today, Age::Old];

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub result: Result<u64, Fault>,
    pub sets: usize,
    pub rows: Vec<String>,
}

impl Rows for Told {
    fn set(&mut self, index: usize) {
        assert_eq!(index, self.sets, "results are announced in order");
        self.sets += 1;
    }

    fn row(&mut self, row: &impl Row) {
        let values: Vec<_> = (0..row.len()).map(|column| brief(row.get(column))).collect();
        self.rows.push(values.join(", "));
    }
}

/// Megabytes by their length.
fn brief(value: Value<'_>) -> String {
    match value {
        Value::Text(text) if text.len() > 1_000 && text == "x".repeat(text.len()) => format!("{} times x", text.len()),
        value => format!("{value:?}"),
    }
}

/// Plays a scene. The first that is told is how the session came about.
pub async fn play(scene: &Scene, target: &Target) -> Vec<Told> {
    let parse = |sql: &&str| Statement::parse(sql, Dialect::Mysql, scene.protocol);
    let statements: Rc<[Statement]> = scene.statements.iter().map(parse).collect();
    let opened = MysqlSession::connect(target, statements).await;
    let mut session = match opened {
        Ok(session) => session,
        Err(fault) => return vec![Told { result: Err(anywhere(fault, target)), sets: 0, rows: vec![] }],
    };
    let mut told = vec![Told { result: Ok(0), sets: 0, rows: vec![session.version()] }];
    for step in scene.steps {
        let mut next = Told { result: Ok(0), sets: 0, rows: vec![] };
        next.result = take(&mut session, *step, &mut next).await;
        let is_over = next.result.as_ref().is_err_and(|fault| fault.kind.ends_connection());
        told.push(next);
        if is_over {
            break;
        }
    }
    session.discard();
    told
}

/// Every directory is another one.
fn anywhere(fault: Fault, target: &Target) -> Fault {
    let socket = target.socket.as_ref().map(|socket| socket.display().to_string()).unwrap_or_default();
    Fault { message: fault.message.replace(&socket, "somewhere").into(), ..fault }
}

async fn take(session: &mut MysqlSession, step: Step, told: &mut Told) -> Result<u64, Fault> {
    match step {
        Step::Execute(stmt, params) => session.execute(Stmt(stmt), params, told).await,
        Step::Query(sql) => session.query(sql, told).await.map(|()| 0),
        Step::Begin => session.begin(Access::Write).await.map(|()| 0),
        Step::Commit => session.commit().await.map(|()| 0),
        Step::Rollback => session.rollback().await.map(|()| 0),
        Step::Ping => session.ping().await.map(|()| 0),
    }
}

/// What the scenes stand on.
pub const SETUP: &str = "
USE sbtest;
CREATE TABLE kinds (id INT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT, l INT, b BIGINT,
  bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(12,3), y YEAR, da DATE, ti TIME(6), dt DATETIME(6), ts TIMESTAMP NULL,
  c CHAR(4), v VARCHAR(9), x TEXT, bi BINARY(2), vb VARBINARY(4), bl BLOB, e ENUM('a','b'), se SET('a','b'), bt BIT(9),
  j JSON, g POINT, u UUID, i6 INET6);
INSERT INTO kinds VALUES
 (1, -128, 255, -32768, -8388608, -2147483648, -9223372036854775808, 18446744073709551615, 1.5, -2.5e300, -123456789.125, 1999,
  '2000-02-29', '-838:59:58.999999', '2024-12-31 23:59:59.000001', '2001-01-01 00:00:00', 'ab', 'wörd', 'text', x'00ff', x'01',
  x'', 'a', 'a,b', b'100000001', '{\"k\":1}', POINT(1,2), '123e4567-e89b-12d3-a456-426655440000', '::1'),
 (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1970, '1970-01-01', '00:00:00', '1970-01-01', '1971-01-01', '', '', '', '', '', '', 'b', '', 0,
  '{}', POINT(0,0), '00000000-0000-0000-0000-000000000000', '::');
INSERT INTO kinds (id) VALUES (3);
CREATE TABLE few (id INT PRIMARY KEY, k INT, s VARCHAR(9));
CREATE TABLE grown (id INT PRIMARY KEY, s VARCHAR(9));
INSERT INTO grown VALUES (1, 'one');
CREATE TABLE many (id INT PRIMARY KEY);
INSERT INTO many SELECT seq FROM seq_1_to_40;
INSTALL SONAME 'auth_ed25519';
CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('ed-password');
CREATE USER blank@'%';
GRANT ALL ON sbtest.* TO ed@'%', blank@'%';
";

/// More than 255 bytes, whose length takes more than one.
macro_rules! wordy {
    ($($part:literal)*) => { concat!($($part, "a password of a hundred characters, one after the other, and not one of them is to be left out. ..",)*) };
}
pub const WORDY: &str = wordy!("1" "2" "3");

/// The same, one by one: they hold semicolons.
pub const PROCEDURES: [&str; 2] = [
    "CREATE PROCEDURE several(IN a INT, OUT b INT, INOUT c VARCHAR(9)) \
     BEGIN SELECT a; SELECT 'x', a + 1 UNION ALL SELECT 'y', NULL; SET b = a * 2, c = CONCAT(c, '!'); END",
    "CREATE PROCEDURE fails() \
     BEGIN SELECT 1 UNION ALL SELECT 2; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose'; END",
];

const NONE: &[Value<'static>] = &[];
const ALL_KINDS: &str = "SELECT * FROM kinds ORDER BY id";
/// Rows are sent while the third is still to fail.
const FAILS_LATE: &str = "SELECT id, IF(id < 3, id, (SELECT 1 UNION SELECT 2)) FROM many ORDER BY id";
const CHANGES: [&str; 5] = [
    "INSERT INTO few VALUES (:id, :k, :s)",
    "SELECT id, k, s FROM few WHERE id >= :id",
    "UPDATE few SET k = k + 1",
    "DELETE FROM few",
    "SELECT * FROM no_such_table WHERE id = :id",
];
const CHANGE: &[Step] = {
    use Step::*;
    use Value::{Int, Null, Text};
    &[
        Ping,
        Begin,
        Execute(0, &[Int(1), Int(7), Text("one")]),
        Execute(0, &[Int(2), Null, Text("")]),
        Execute(1, &[Int(1)]),
        Execute(1, &[Int(9)]),
        Execute(2, NONE),
        Commit,
        Execute(0, &[Int(1), Int(8), Null]),
        Execute(4, &[Int(1)]),
        Rollback,
        Execute(1, &[Int(2)]),
        Execute(3, NONE),
        Query("INSERT IGNORE INTO few VALUES (1, 'no number', 'too long for it')"),
        Query("SHOW WARNINGS"),
        Query("DELETE FROM few; SELECT 1; SELECT 2 WHERE 1 = 0; UPDATE few SET k = 1"),
        Query("SELECT 1; SELECT * FROM no_such_table; SELECT 2"),
    ]
};
const CALLS: [&str; 2] = ["CALL several(:a, :b, :c)", "CALL fails()"];
const CALL: &[Step] = {
    use Step::*;
    use Value::{Int, Null, Text};
    &[
        Execute(0, &[Int(4), Null, Text("c")]),
        Execute(1, NONE),
        Execute(0, &[Int(5), Null, Text("d")]),
        Execute(1, NONE),
        Ping,
    ]
};
/// Text has no parameters to write to.
const CALLS_AS_TEXT: [&str; 2] = ["CALL several(:a, @b, @c)", "CALL fails()"];
const CALL_AS_TEXT: &[Step] = {
    use Step::*;
    &[Execute(0, &[Value::Int(4)]), Query("SELECT @b, @c"), Execute(1, NONE), Ping]
};
const GROW: &[Step] = {
    use Step::*;
    &[
        Execute(0, NONE),
        Execute(0, NONE),
        Query("ALTER TABLE grown ADD n DOUBLE DEFAULT 2.5 FIRST"),
        Execute(0, NONE),
        Execute(0, NONE),
        Query("ALTER TABLE grown DROP n"),
        Execute(0, NONE),
    ]
};

/// All of them.
pub fn scenes() -> Vec<Scene> {
    let bench = Scene {
        name: "logs in by mysql_native_password",
        user: "bench",
        password: "bench-password",
        protocol: Protocol::Prepared,
        statements: &[],
        steps: &[Step::Ping],
        ages: &[Age::Today],
        is_killed: false,
        is_large: false,
    };
    let text = Scene { protocol: Protocol::Text, ..bench.clone() };
    vec![
        Scene { name: "logs in by ed25519", user: "ed", password: "ed-password", ..bench.clone() },
        Scene { name: "logs in without a password", user: "blank", password: "", ..bench.clone() },
        Scene { name: "logs in by 300 characters", user: "wordy", password: WORDY, ..bench.clone() },
        Scene { name: "is refused", password: "wrong", ..bench.clone() },
        Scene {
            name: "reads every kind of column in binary",
            ages: BOTH_ENDS,
            statements: &[ALL_KINDS],
            steps: &[Step::Execute(0, NONE), Step::Execute(0, NONE)],
            ..bench.clone()
        },
        Scene {
            name: "reads every kind of column as text",
            ages: BOTH_ENDS,
            statements: &[ALL_KINDS],
            steps: &[Step::Execute(0, NONE)],
            ..text.clone()
        },
        Scene { name: "changes rows in binary", ages: BOTH_ENDS, statements: &CHANGES, steps: CHANGE, ..bench.clone() },
        Scene { name: "changes rows as text", ages: BOTH_ENDS, statements: &CHANGES, steps: CHANGE, ..text.clone() },
        Scene { name: "calls in binary", ages: ALL_AGES, statements: &CALLS, steps: CALL, ..bench.clone() },
        Scene {
            name: "calls as text",
            ages: BOTH_ENDS,
            statements: &CALLS_AS_TEXT,
            steps: CALL_AS_TEXT,
            ..text.clone()
        },
        Scene {
            name: "fails among rows in binary",
            ages: BOTH_ENDS,
            statements: &[FAILS_LATE],
            steps: &[Step::Execute(0, NONE), Step::Ping],
            ..bench.clone()
        },
        Scene {
            name: "fails among rows as text",
            ages: BOTH_ENDS,
            statements: &[FAILS_LATE],
            steps: &[Step::Execute(0, NONE), Step::Ping],
            ..text.clone()
        },
        Scene { name: "sees its table altered", statements: &["SELECT * FROM grown"], steps: GROW, ..bench.clone() },
        Scene {
            name: "is asked for a file",
            steps: &[Step::Query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE few"), Step::Ping],
            ..text.clone()
        },
        Scene {
            name: "is killed",
            statements: &["SELECT 7, SLEEP(600)"],
            steps: &[Step::Execute(0, NONE)],
            is_killed: true,
            ..bench.clone()
        },
        Scene {
            name: "reads large rows in binary",
            statements: &["SELECT :id, REPEAT('x', :n), 2", "SELECT 5"],
            steps: &[Step::Execute(0, &[Value::Int(1), Value::Int(0xff_ffff + 5)]), Step::Execute(1, NONE)],
            is_large: true,
            ..bench.clone()
        },
        // Its last packet is empty: the row fills the one before to the last byte.
        Scene {
            name: "reads large rows as text",
            statements: &["SELECT :id, REPEAT('x', :n), 2", "SELECT 5"],
            steps: &[Step::Execute(0, &[Value::Int(1), Value::Int(0xff_ffff - 8)]), Step::Execute(1, NONE)],
            is_large: true,
            ..text
        },
        bench,
    ]
}
