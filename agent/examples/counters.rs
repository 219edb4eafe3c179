//! Prints the T-SQL that reads SQL Server's counters, for `make grammar`: name, NUL, text, NUL, and so on.

use std::io::Write;

use vufleet_agent::observe::database::mssql;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for database in [None, Some("tpcc"), Some("it's")] {
        for part in mssql::parts(database, true) {
            write!(out, "{}\0{}\0", part.what, part.sql)?;
        }
    }
    Ok(())
}
