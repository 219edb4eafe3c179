//! A batch: statements with a semicolon behind each, the guards around some of them, and `USE`.
//!
//! Microsoft asks for the semicolon behind every statement, and this grammar does not let one go:
//! <https://learn.microsoft.com/sql/t-sql/language-elements/transact-sql-syntax-conventions-transact-sql>.

use super::parser::{Parser, Read};
use super::{audit_specification, database, event_session, restore, select, server_audit};

/// Reads a whole batch.
pub fn batch(text: &str) -> Read<Parser> {
    let mut parser = Parser::new(text)?;
    statement(&mut parser)?;
    while !parser.done() {
        statement(&mut parser)?;
    }
    Ok(parser)
}

/// Reads a single query.
pub fn query(text: &str) -> Read<Parser> {
    let mut parser = Parser::new(text)?;
    select::select(&mut parser)?;
    if parser.done() { Ok(parser) } else { parser.wrong("the end") }
}

fn statement(parser: &mut Parser) -> Read {
    guarded(parser)?;
    parser.sign(";")
}

/// `IF Boolean_expression { sql_statement | statement_block }`:
/// <https://learn.microsoft.com/sql/t-sql/language-elements/if-else-transact-sql>. The condition is an EXISTS, whose subquery is a
/// restricted SELECT: <https://learn.microsoft.com/sql/t-sql/language-elements/exists-transact-sql>.
fn guarded(parser: &mut Parser) -> Read {
    if !parser.takes("IF") {
        return plain(parser);
    }
    parser.words("EXISTS")?;
    parser.enclosed(select::select)?;
    // `BEGIN { sql_statement | statement_block } END`:
    // <https://learn.microsoft.com/sql/t-sql/language-elements/begin-end-transact-sql>.
    if parser.takes("BEGIN") {
        statement(parser)?;
        while !parser.takes("END") {
            statement(parser)?;
        }
        return Ok(());
    }
    plain(parser)
}

fn plain(parser: &mut Parser) -> Read {
    // `USE { database_name }`: <https://learn.microsoft.com/sql/t-sql/language-elements/use-transact-sql>.
    if parser.takes("USE") {
        return parser.name().map(drop);
    }
    for (words, read) in [
        ("EVENT SESSION", event_session::statement as fn(&mut Parser, usize) -> Read),
        ("SERVER AUDIT", server_audit::statement),
        ("DATABASE AUDIT SPECIFICATION", audit_specification::statement),
    ] {
        for (verb, name) in ["CREATE", "ALTER", "DROP"].into_iter().enumerate() {
            let whole = format!("{name} {words}");
            if parser.sees_all(&whole) {
                parser.words(&whole)?;
                return read(parser, verb);
            }
        }
    }
    if parser.sees_all("ALTER DATABASE") {
        return database::alter(parser);
    }
    if parser.sees_all("RESTORE LABELONLY") {
        return restore::label_only(parser);
    }
    if parser.sees("RESTORE") {
        return restore::statement(parser);
    }
    parser.wrong("a statement")
}

/// Verbs of the statements that `plain` hands on.
pub const CREATE: usize = 0;
pub const ALTER: usize = 1;
