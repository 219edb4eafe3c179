//! The databases under the suite, and how a test talks to them.

use std::any::type_name;
use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tempfile::TempDir;
use vufleet_agent::session::{MssqlSession, MysqlAsyncSession};
use vufleet_scenarios::session::{Dialect, Fault, Row, Rows, Session, Value};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::{Mssql, MysqlDriver, ServiceDistribution, Simulated, Target, TargetKind, Tls};
use vufleet_testbed::{Login, MariaDb, MssqlServer};

/// Counts to 10^12. One query and no loop: Babelfish does not notice in a loop that its client has left.
const MSSQL_ENDLESS: &str = "WITH n AS (SELECT x FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS v(x)) \
     SELECT COUNT_BIG(*) FROM n a, n b, n c, n d, n e, n f, n g, n h, n i, n j, n k, n l \
     WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x + h.x + i.x + j.x + k.x + l.x < 0";

/// A database to test on, alive as long as this is.
pub struct Engine {
    pub target: Target,
    /// Whether what is written can be read again.
    pub stores: bool,
    /// Whether statements sent as text tell their affected rows.
    pub counts_text: bool,
    /// PostgreSQL in SQL Server's place. It does not know a NULL without a type, hears an attention only between two
    /// statements, and keeps the row of a bulk load that it refused as a duplicate (4.3).
    pub is_babelfish: bool,
    /// A query that takes far longer than a test.
    pub endless: &'static str,
    /// A table name that no other test uses.
    pub table: String,
    prefix: &'static str,
    _server: Option<Arc<MariaDb>>,
    _directory: Option<TempDir>,
}

impl Engine {
    pub fn mysql_tcp() -> Engine {
        // The server has no TLS: `preferred` has to find out.
        let server = MariaDb::shared().expect("a MariaDB to test on");
        Engine::on_mysql("tcp", Target { tls: Tls::Preferred, ..tcp(&server) }, server)
    }

    /// The same with tables of its own for each driver.
    pub fn mysql<S: Session>() -> Engine {
        let library = type_name::<S>() == type_name::<MysqlAsyncSession>();
        Engine { prefix: if library { "lib" } else { "tcp" }, ..Engine::mysql_tcp() }
    }

    pub fn mysql_socket() -> Engine {
        let server = MariaDb::shared().expect("a MariaDB to test on");
        let target = Target { host: None, socket: Some(server.socket()), ..tcp(&server) };
        Engine::on_mysql("sock", target, server)
    }

    pub fn mysql_tls() -> Engine {
        let server = MariaDb::shared_tls().expect("a MariaDB to test on");
        Engine::on_mysql("tls", Target { tls: Tls::Required, ..tcp(&server) }, server)
    }

    fn on_mysql(prefix: &'static str, target: Target, server: Arc<MariaDb>) -> Engine {
        let endless = "SELECT SLEEP(600)";
        Engine {
            target,
            stores: true,
            counts_text: true,
            is_babelfish: false,
            endless,
            table: String::new(),
            prefix,
            _server: Some(server),
            _directory: None,
        }
    }

    pub fn sqlite() -> Engine {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let target = file(directory.path().join("suite.db"));
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n";
        Engine {
            target,
            stores: true,
            counts_text: true,
            is_babelfish: false,
            endless,
            table: String::new(),
            prefix: "file",
            _server: None,
            _directory: Some(directory),
        }
    }

    pub fn simulated() -> Engine {
        Engine {
            target: simulated(Duration::from_micros(50)),
            stores: false,
            counts_text: true,
            is_babelfish: false,
            endless: "SELECT 1",
            table: String::new(),
            prefix: "sim",
            _server: None,
            _directory: None,
        }
    }

    /// The server that the environment names; none, said aloud, where it names none.
    pub fn mssql() -> Option<Engine> {
        let target = mssql(&MssqlServer::named()?);
        let version = run(async {
            let session: MssqlSession = open(&target, Protocol::Text, &[]).await.expect("the server lets us in");
            session.version()
        });
        Some(Engine {
            target,
            stores: true,
            counts_text: false,
            is_babelfish: version.starts_with("Babelfish"),
            endless: MSSQL_ENDLESS,
            table: String::new(),
            prefix: "vufleet_suite",
            _server: None,
            _directory: None,
        })
    }

    /// Removes what an earlier run, or this one, left on a server that outlives the tests.
    pub async fn clear<S: Session>(&self) {
        if S::DIALECT != Dialect::Mssql {
            return;
        }
        let mut session: S = self.open(Protocol::Text, &[]).await;
        session.batch(&format!("DROP TABLE IF EXISTS {}", self.table)).await.expect("the login may drop its tables");
        session.close().await;
    }

    /// The same with a table name of a test's own.
    pub fn named(mut self, point: &str) -> Engine {
        self.table = format!("{}_{point}", self.prefix);
        self
    }

    /// A session that is to load.
    pub async fn open_to_load<S: Session>(&self, opened: Opened) -> S {
        match opened {
            Opened::ToWork => self.open(Protocol::Text, &[]).await,
            Opened::ToLoad => S::connect_to_load(&self.target).await.expect("the engine lets us in"),
        }
    }

    /// A session that will send these statements, prepared or as text.
    pub async fn open<S: Session>(&self, protocol: Protocol, statements: &[&str]) -> S {
        open(&self.target, protocol, statements).await.expect("the engine lets us in")
    }
}

/// How a session that loads was opened: MySQL's takes rows another way when it is known that it will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    ToWork,
    ToLoad,
}

/// A session that will send these statements.
pub async fn open<S: Session>(target: &Target, protocol: Protocol, statements: &[&str]) -> Result<S, Fault> {
    let statements: Rc<[Statement]> =
        statements.iter().map(|sql| Statement::parse(sql, S::DIALECT, protocol)).collect();
    S::connect(target, statements).await
}

/// How a session says that it reached its server, without the name of a client library.
pub fn route<S: Session>(session: &S) -> String {
    session.describe().replace(", mysql_async", "")
}

/// Runs a test the way sessions run: one thread, tasks that stay on it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    vufleet_agent::session::install_tls_provider();
    vufleet_agent::event_loop::block_on_tokio(Box::pin(test)).expect("a loop")
}

/// Runs a test on the loop that the sessions of this kind have in a run.
pub fn run_for<S: Session, T>(test: impl Future<Output = T>) -> T {
    vufleet_agent::session::install_tls_provider();
    vufleet_agent::event_loop::block_on_for::<S, _>(Box::pin(test)).expect("a loop")
}

/// The bench user of a test server over TCP, without TLS.
pub fn tcp(server: &MariaDb) -> Target {
    Target {
        kind: TargetKind::Mysql,
        host: Some("127.0.0.1".to_owned()),
        port: server.port(),
        database: Some(MariaDb::DATABASE.to_owned()),
        ..login(nowhere(), MariaDb::BENCH)
    }
}

/// A SQL Server that the environment names. Its certificate is whatever it made for itself.
pub fn mssql(server: &MssqlServer) -> Target {
    let tls = match server.tls.as_str() {
        "disabled" => Tls::Disabled,
        "login-only" => Tls::LoginOnly,
        "strict" => Tls::Strict,
        _ => Tls::Required,
    };
    Target {
        kind: TargetKind::Mssql,
        host: Some(server.host.clone()),
        port: server.port,
        database: Some(server.database.clone()),
        user: Some(server.user.clone()),
        password: Some(SecretString::from(server.password.as_str())),
        tls,
        mssql: Mssql { trust_server_certificate: tls != Tls::Disabled, ..Mssql::default() },
        ..nowhere()
    }
}

/// The same target for another user.
pub fn login(target: Target, login: Login) -> Target {
    Target { user: Some(login.user.to_owned()), password: Some(SecretString::from(login.password)), ..target }
}

pub fn file(path: PathBuf) -> Target {
    Target { kind: TargetKind::Sqlite, path: Some(path), ..nowhere() }
}

pub fn simulated(service_time: Duration) -> Target {
    let simulated = Simulated { service_time, distribution: ServiceDistribution::Constant, faults: vec![] };
    Target { kind: TargetKind::Simulated, simulated: simulated.into(), ..nowhere() }
}

/// A target with nothing set.
pub fn nowhere() -> Target {
    Target {
        kind: TargetKind::Mysql,
        host: None,
        port: 3306,
        socket: None,
        path: None,
        database: None,
        user: None,
        password_source: None,
        password: None,
        tls: Tls::Disabled,
        ca_file: None,
        server_name: None,
        client_cert: None,
        client_key: None,
        driver: MysqlDriver::default(),
        mssql: Mssql::default(),
        deadline: Duration::from_secs(30),
        simulated: Simulated {
            service_time: Duration::ZERO,
            distribution: ServiceDistribution::Constant,
            faults: vec![],
        }
        .into(),
    }
}

/// A value that outlives its row.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    Null,
    Int(i64),
    Float(f64),
    Decimal(i64, u8),
    Text(String),
    Bytes(Vec<u8>),
    Instant(i64),
}

impl From<Value<'_>> for Kept {
    fn from(value: Value<'_>) -> Kept {
        match value {
            Value::Null => Kept::Null,
            Value::Int(number) => Kept::Int(number),
            Value::Float(number) => Kept::Float(number),
            Value::Decimal(unscaled, digits) => Kept::Decimal(unscaled, digits),
            Value::Text(text) => Kept::Text(text.to_owned()),
            Value::Bytes(bytes) => Kept::Bytes(bytes.to_vec()),
            Value::Instant(micros) => Kept::Instant(micros),
        }
    }
}

/// Rows as they came: (set, values).
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    pub sets: Vec<usize>,
    pub rows: Vec<(usize, Vec<Kept>)>,
}

impl Seen {
    /// All values of all rows, one after the other.
    pub fn values(&self) -> Vec<Kept> {
        self.rows.iter().flat_map(|(_, row)| row.clone()).collect()
    }
}

impl Rows for Seen {
    fn set(&mut self, index: usize) {
        self.sets.push(index);
    }

    fn row(&mut self, row: &impl Row) {
        let set = *self.sets.last().expect("a set is announced before its rows");
        assert_eq!(row.get(row.len()), Value::Null, "beyond the last column");
        self.rows.push((set, (0..row.len()).map(|column| row.get(column).into()).collect()));
    }
}

/// The values that a query returns, one after the other.
pub async fn values<S: Session>(session: &mut S, sql: &str) -> Vec<Kept> {
    let mut seen = Seen::default();
    session.query(sql, &mut seen).await.expect("the query is right");
    seen.values()
}

/// The number that a query returns.
pub async fn number<S: Session>(session: &mut S, sql: &str) -> i64 {
    match values(session, sql).await.first() {
        Some(Kept::Int(number)) => *number,
        Some(Kept::Text(text)) => text.parse().expect("a number"),
        Some(Kept::Decimal(number, 0)) => *number,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Whether what was read is what was written, as far as the dialect can tell them apart.
pub fn same(dialect: Dialect, written: &Value<'_>, read: &Kept) -> bool {
    match (dialect, written, read) {
        (Dialect::Sqlite, Value::Decimal(unscaled, digits), read) => {
            let number = *unscaled as f64 / 10_f64.powi((*digits).into());
            matches!(read, Kept::Float(read) if *read == number)
                || matches!(read, Kept::Int(read) if *read as f64 == number)
        }
        (_, written, read) => Kept::from(*written) == *read,
    }
}
