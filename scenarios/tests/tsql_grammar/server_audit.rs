//! SERVER AUDIT.
//!
//! - CREATE: <https://learn.microsoft.com/sql/t-sql/statements/create-server-audit-transact-sql>
//! - ALTER: <https://learn.microsoft.com/sql/t-sql/statements/alter-server-audit-transact-sql>
//! - DROP: <https://learn.microsoft.com/sql/t-sql/statements/drop-server-audit-transact-sql>

use super::batch::{ALTER, CREATE};
use super::parser::{Parser, Read};

const INT: u64 = i32::MAX as u64;

/// CREATE, ALTER or DROP, up to the end of the statement.
pub fn statement(parser: &mut Parser, verb: usize) -> Read {
    let name = parser.name()?;
    if name.contains(' ') {
        return Err("an audit's name has no spaces before SQL Server 2022".to_owned());
    }
    match verb {
        CREATE => create(parser),
        ALTER => state(parser),
        _ => Ok(()),
    }
}

/// `TO { FILE ( <file_options> ) | APPLICATION_LOG | SECURITY_LOG } [ WITH ( <audit_options> ) ]`
fn create(parser: &mut Parser) -> Read {
    parser.words("TO")?;
    if parser.one_of(&["FILE", "APPLICATION_LOG", "SECURITY_LOG"])? == 0 {
        parser.enclosed(file_options)?;
    }
    if parser.takes("WITH") {
        parser.enclosed(audit_options)?;
    }
    Ok(())
}

/// `FILEPATH = 'os_file_path' [ , MAXSIZE = .. ] [ , { MAX_ROLLOVER_FILES = .. } | { MAX_FILES = .. } ] [ , RESERVE_DISK_SPACE ]`
fn file_options(parser: &mut Parser) -> Read {
    let known = ["FILEPATH", "MAXSIZE", "MAX_ROLLOVER_FILES", "MAX_FILES", "RESERVE_DISK_SPACE"];
    let mut seen = Vec::new();
    parser.options(&known, |parser, option| {
        seen.push(known[option]);
        match known[option] {
            "FILEPATH" => parser.text().map(drop),
            "MAXSIZE" if parser.takes("UNLIMITED") => Ok(()),
            // At least 2 MB; at most 2,147,483,647 TB, and 0 for UNLIMITED, which is not written here.
            "MAXSIZE" => {
                let size = parser.number(1, INT)?;
                match parser.one_of(&["MB", "GB", "TB"])? {
                    0 if size < 2 => Err("MAXSIZE below 2 MB".to_owned()),
                    _ => Ok(()),
                }
            }
            "MAX_ROLLOVER_FILES" if parser.takes("UNLIMITED") => Ok(()),
            "MAX_ROLLOVER_FILES" | "MAX_FILES" => parser.number(0, INT).map(drop),
            _ => parser.one_of(&["ON", "OFF"]).map(drop),
        }
    })?;
    match (seen.first(), seen.contains(&"MAX_ROLLOVER_FILES") && seen.contains(&"MAX_FILES")) {
        (_, true) => Err("MAX_ROLLOVER_FILES and MAX_FILES exclude each other".to_owned()),
        (Some(&"FILEPATH"), _) => Ok(()),
        _ => Err("FILEPATH comes first".to_owned()),
    }
}

/// `QUEUE_DELAY = integer | ON_FAILURE = { CONTINUE | SHUTDOWN | FAIL_OPERATION } | AUDIT_GUID = uniqueidentifier`
fn audit_options(parser: &mut Parser) -> Read {
    let known = ["QUEUE_DELAY", "ON_FAILURE", "AUDIT_GUID"];
    parser.options(&known, |parser, option| match known[option] {
        // "A value of 0 indicates synchronous delivery. The minimum settable query delay value is 1000".
        "QUEUE_DELAY" => match parser.number(0, INT)? {
            0 | 1000.. => Ok(()),
            delay => Err(format!("QUEUE_DELAY = {delay}")),
        },
        "ON_FAILURE" => parser.one_of(&["CONTINUE", "SHUTDOWN", "FAIL_OPERATION"]).map(drop),
        _ => parser.text().map(drop),
    })
}

/// `WITH ( STATE = { ON | OFF } )`, the only change of an audit that is made here; with it nothing else may be changed.
pub fn state(parser: &mut Parser) -> Read {
    parser.words("WITH")?;
    parser.enclosed(|parser| {
        parser.words("STATE")?;
        parser.sign("=")?;
        parser.one_of(&["ON", "OFF"]).map(drop)
    })
}
