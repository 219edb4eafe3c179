//! Scripted servers to log in to, each on a runtime of its own, so that it can be cut off like a host that loses power.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use mssql_mock_tds::{ConnectionStore, MockTdsServer, QueryRegistry, QueryResponse, TerminalError};
use secrecy::SecretString;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use vufleet_agent::session::MssqlSession;
use vufleet_scenarios::session::{Dialect, Fault, Session};
use vufleet_scenarios::sql::{Protocol, Statement};
use vufleet_scenarios::study::{self, Edits, Target};

pub const PASSWORD: &str = "s3cret";

/// A server that does what is registered.
pub struct Mock {
    pub port: u16,
    registry: Arc<Mutex<QueryRegistry>>,
    pub connections: Arc<Mutex<ConnectionStore>>,
    /// Until it is cut.
    runtime: Option<Runtime>,
}

impl Mock {
    /// A server without encryption.
    pub async fn start() -> Mock {
        Mock::make(MockTdsServer::new("127.0.0.1:0")).await
    }

    pub async fn make(server: impl Future<Output = std::io::Result<MockTdsServer>> + Send + 'static) -> Mock {
        let runtime = runtime();
        // Its listener belongs to its runtime.
        let server = runtime.spawn(server).await.expect("no panic").expect("a free port");
        let (port, registry) = (server.local_addr().port(), server.query_registry());
        let connections = server.connection_store();
        runtime.spawn(server.run());
        Mock { port, registry, connections, runtime: Some(runtime) }
    }

    pub async fn answer(&self, sql: &str, response: QueryResponse) {
        self.registry.lock().await.register(sql, response);
    }

    /// Answers with an error of that number.
    pub async fn fail(&self, sql: &str, number: u32, words: &str) {
        self.answer(sql, QueryResponse::error_only(TerminalError::new(number, 13, words))).await;
    }

    /// Everything is gone at once, connections included.
    pub fn cut(self) {
        drop(self);
    }
}

impl Drop for Mock {
    /// A runtime that waited for its tasks could not end inside of another.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// One worker thread of its own.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// A study's target at a port of this host.
pub fn target(port: u16, keys: &str) -> Target {
    target_with(&format!("port = {port}\n{keys}"))
}

/// A study's target.
pub fn target_with(keys: &str) -> Target {
    let study = format!(
        "name = 'mock'\nseed = 1\n[target]\nkind = 'mssql'\ndatabase = 'tpcc'\nuser = 'bench'\n{keys}\n\
         [workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n"
    );
    let target = study::read(&study, &Edits::default()).expect("a study").target;
    Target { password: Some(SecretString::from(PASSWORD)), ..target }
}

pub fn plain(port: u16) -> Target {
    target(port, "tls = 'disabled'")
}

/// A session that will send these statements.
pub async fn open(target: &Target, protocol: Protocol, statements: &[&str]) -> Result<MssqlSession, Fault> {
    let statements: Rc<[Statement]> =
        statements.iter().map(|sql| Statement::parse(sql, Dialect::Mssql, protocol)).collect();
    MssqlSession::connect(target, statements).await
}

/// Runs a test the way sessions run: one thread, tasks that stay on it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    vufleet_agent::session::install_tls_provider();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, Box::pin(test))
}
