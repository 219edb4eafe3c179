//! sysbench 1.0's command line.

use std::process::Command;

use anyhow::{Result, bail};
use vufleet_testbed::MariaDb;

use crate::load::{Length, Load, TABLE_SIZE, Target, Work};

/// Statements are prepared and ids drawn as its defaults have it, which are vufleet's too.
pub(super) fn run(load: &Load) -> Result<Command> {
    let server = match &load.target {
        Target::MariaDb(port) => vec!["--mysql-host=127.0.0.1".to_owned(), format!("--mysql-port={port}")],
        Target::Socket(path) => vec!["--mysql-host=localhost".to_owned(), format!("--mysql-socket={}", path.display())],
        Target::Simulated(_) => bail!("sysbench needs a database"),
    };
    let length = match load.length {
        Length::Time(time) => vec![format!("--time={}", time.as_secs_f64().ceil())],
        Length::Transactions(each) => vec!["--time=0".to_owned(), format!("--events={}", each * load.sessions)],
    };
    let Work::Oltp { script, tables, .. } = load.work else { bail!("sysbench runs its own scripts") };
    let login = MariaDb::BENCH;
    let mut command = Command::new("sysbench");
    command.arg(format!("oltp_{script}")).arg("--report-interval=0").args(server).args(length).args([
        format!("--mysql-user={}", login.user),
        format!("--mysql-password={}", login.password),
        format!("--mysql-db={}", MariaDb::DATABASE),
        format!("--tables={tables}"),
        format!("--table-size={TABLE_SIZE}"),
        format!("--threads={}", load.sessions),
    ]);
    command.arg("run");
    Ok(command)
}
