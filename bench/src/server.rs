//! The one MariaDB under all loads, and its own count of what it answered.

use anyhow::{Context, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use vufleet_testbed::MariaDb;

use crate::load::{Target, Wire};

/// Everything fits into memory, and nothing waits for a disk: what differs is the client.
const SETTINGS: [(&str, &str); 6] = [
    ("innodb-buffer-pool-size", "2G"),
    ("innodb-log-file-size", "1G"),
    ("innodb-flush-log-at-trx-commit", "2"),
    ("max-connections", "10500"),
    ("max-prepared-stmt-count", "400000"),
    ("back-log", "4096"),
];

/// A running server and a connection of its own to ask it.
pub struct Server {
    database: MariaDb,
    connection: Conn,
}

impl Server {
    /// Starts it.
    pub async fn start() -> Result<Server> {
        let builder = SETTINGS.iter().fold(MariaDb::builder(), |builder, (name, value)| builder.option(name, value));
        let database = builder.start()?;
        let login = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(database.port())
            .user(Some(MariaDb::ADMIN.user))
            .pass(Some(MariaDb::ADMIN.password))
            .prefer_socket(false);
        let connection = Conn::new(login).await.context("cannot connect to the server just started")?;
        Ok(Server { database, connection })
    }

    /// Where a load finds it.
    pub fn target(&self, wire: Wire) -> Target {
        match wire {
            Wire::Tcp => Target::MariaDb(self.database.port()),
            Wire::Unix => Target::Socket(self.database.socket()),
        }
    }

    /// Process id.
    pub fn pid(&self) -> Result<i32> {
        let pid = self.database.pid().context("the server is not running")?;
        Ok(i32::try_from(pid)?)
    }

    /// Its version.
    pub async fn version(&mut self) -> Result<String> {
        self.connection.query_first("SELECT VERSION()").await?.context("the server does not tell its version")
    }

    /// Orders that TPROC-C's clients have committed so far, and those that were loaded.
    pub async fn orders(&mut self) -> Result<u64> {
        let sum: Option<u64> = self
            .connection
            .query_first(format!("SELECT CAST(SUM(d_next_o_id) AS UNSIGNED) FROM {}.district", MariaDb::DATABASE))
            .await?;
        sum.context("there is no district")
    }

    /// Statements that clients have sent so far. Preparing one is not counted.
    pub async fn questions(&mut self) -> Result<u64> {
        let row: Option<(String, u64)> = self.connection.query_first("SHOW GLOBAL STATUS LIKE 'Questions'").await?;
        Ok(row.context("the server does not count Questions")?.1)
    }
}
