//! sysbench 1.0's command line.

use std::process::Command;

use anyhow::{Result, bail};
use vufleet_testbed::MariaDb;

use crate::load::{Load, TABLE_SIZE, Target, Work};

/// Statements are prepared and ids drawn as its defaults have it, which are vufleet's too.
pub(super) fn run(load: &Load) -> Result<Command> {
    let Target::MariaDb(port) = load.target else { bail!("sysbench needs a database") };
    let Work::Oltp { script, tables, .. } = load.work else { bail!("sysbench runs its own scripts") };
    let login = MariaDb::BENCH;
    let mut command = Command::new("sysbench");
    command.arg(format!("oltp_{script}")).args(["--mysql-host=127.0.0.1", "--report-interval=0"]).args([
        format!("--mysql-port={port}"),
        format!("--mysql-user={}", login.user),
        format!("--mysql-password={}", login.password),
        format!("--mysql-db={}", MariaDb::DATABASE),
        format!("--tables={tables}"),
        format!("--table-size={TABLE_SIZE}"),
        format!("--threads={}", load.sessions),
        format!("--time={}", load.length.as_secs_f64().ceil()),
    ]);
    command.arg("run");
    Ok(command)
}
