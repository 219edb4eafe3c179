//! Somebody else's open transaction.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};
use tokio::runtime::Runtime;
use vufleet_testbed::MariaDb;

/// Locks that are held until this is dropped or released; nothing of the transaction is kept.
pub struct Held {
    runtime: Runtime,
    conn: Option<Conn>,
}

impl Held {
    /// Begins a transaction and runs statements in it.
    pub fn by<S: AsRef<str>>(server: &MariaDb, statements: &[S]) -> Held {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(server.port())
            .user(Some(MariaDb::ADMIN.user))
            .pass(Some(MariaDb::ADMIN.password))
            .db_name(Some(MariaDb::DATABASE));
        let conn = runtime.block_on(async {
            let mut conn = Conn::new(options).await.unwrap();
            conn.query_drop("BEGIN").await.unwrap();
            for sql in statements {
                conn.query_drop(sql.as_ref()).await.unwrap();
            }
            conn
        });
        Held { runtime, conn: Some(conn) }
    }

    /// ROLLBACK.
    pub fn release(mut self) {
        if let Some(mut conn) = self.conn.take() {
            self.runtime.block_on(async {
                conn.query_drop("ROLLBACK").await.unwrap();
                conn.disconnect().await.unwrap();
            });
        }
    }
}
