//! ALTER DATABASE .. SET, as much of it as decides who may be in a database:
//! <https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options>.

use super::parser::{Parser, Read};

/// `ALTER DATABASE database_name SET { SINGLE_USER | RESTRICTED_USER | MULTI_USER } [ WITH <termination> ]`
pub fn alter(parser: &mut Parser) -> Read {
    parser.words("ALTER DATABASE")?;
    parser.name()?;
    parser.words("SET")?;
    parser.one_of(&["SINGLE_USER", "RESTRICTED_USER", "MULTI_USER"])?;
    if parser.takes("WITH") { termination(parser) } else { Ok(()) }
}

/// `ROLLBACK AFTER integer [ SECONDS ] | ROLLBACK IMMEDIATE | NO_WAIT`
fn termination(parser: &mut Parser) -> Read {
    if parser.takes("NO_WAIT") {
        return Ok(());
    }
    parser.words("ROLLBACK")?;
    if parser.takes("IMMEDIATE") {
        return Ok(());
    }
    parser.words("AFTER")?;
    parser.number(0, u64::MAX)?;
    parser.takes("SECONDS");
    Ok(())
}
