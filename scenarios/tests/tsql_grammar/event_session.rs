//! EVENT SESSION.
//!
//! - CREATE: <https://learn.microsoft.com/sql/t-sql/statements/create-event-session-transact-sql>
//! - ALTER: <https://learn.microsoft.com/sql/t-sql/statements/alter-event-session-transact-sql>
//! - DROP: <https://learn.microsoft.com/sql/t-sql/statements/drop-event-session-transact-sql>
//! - targets and their parameters:
//!   <https://learn.microsoft.com/sql/relational-databases/extended-events/targets-for-extended-events-in-sql-server>
//!
//! The page makes the commas between options optional; here they must be there.

use super::batch::{ALTER, CREATE};
use super::parser::{Parser, Read};
use super::token::Token;

/// "Predicate expressions are limited to 3000 characters".
const LONGEST_PREDICATE: usize = 3000;

/// CREATE, ALTER or DROP, up to the end of the statement.
pub fn statement(parser: &mut Parser, verb: usize) -> Read {
    parser.name()?;
    parser.words("ON")?;
    // `ON { SERVER | DATABASE }`
    parser.one_of(&["SERVER", "DATABASE"])?;
    match verb {
        CREATE => create(parser),
        // `STATE = { START | STOP }`, the only change of a session that is made here.
        ALTER => {
            parser.words("STATE")?;
            parser.sign("=")?;
            parser.one_of(&["START", "STOP"]).map(drop)
        }
        _ => Ok(()),
    }
}

/// `<event_definition> [ , ...n ] [ <event_target_definition> [ , ...n ] ] [ WITH ( <event_session_options> [ , ...n ] ) ]`
fn create(parser: &mut Parser) -> Read {
    parser.list(event)?;
    if parser.sees("ADD") {
        parser.list(target)?;
    }
    if parser.takes("WITH") {
        parser.enclosed(options)?;
    }
    Ok(())
}

/// `ADD EVENT package.event [ ( { [ SET ..] [ ACTION ( ..) ] [ WHERE ..] } ) ]`
fn event(parser: &mut Parser) -> Read {
    parser.words("ADD EVENT")?;
    qualified(parser)?;
    if !parser.takes_sign("(") {
        return Ok(());
    }
    if parser.sees_sign(")") {
        return parser.wrong("SET, ACTION or WHERE");
    }
    if parser.takes("SET") {
        parser.list(setting)?;
    }
    if parser.takes("ACTION") {
        parser.enclosed(|parser| parser.list(qualified))?;
    }
    if parser.takes("WHERE") {
        let predicate = parser.length_of(predicate)?;
        if predicate.len() > LONGEST_PREDICATE {
            return Err(format!("a predicate of {} characters", predicate.len()));
        }
    }
    parser.sign(")")
}

/// `event_customizable_attribute = <value>`
fn setting(parser: &mut Parser) -> Read {
    let name = parser.name()?;
    if !["collect_batch_text", "collect_statement"].contains(&name.as_str()) {
        return Err(format!("no event is known to have {name}"));
    }
    parser.sign("=")?;
    value(parser)
}

/// `ADD TARGET package.target [ ( SET { target_parameter_name = <value> [ , ...n ] } ) ]`
fn target(parser: &mut Parser) -> Read {
    parser.words("ADD TARGET package0")?;
    parser.sign(".")?;
    let known: &[&str] = match parser.one_of(&["event_file", "ring_buffer"])? {
        0 => &["filename", "max_file_size", "max_rollover_files", "increment", "metadatafile"],
        _ => &["max_memory", "max_events_limit", "occurrence_number"],
    };
    if parser.takes_sign("(") {
        parser.words("SET")?;
        parser.options(known, |parser, option| {
            // filename and metadatafile are texts, all others numbers.
            if ["filename", "metadatafile"].contains(&known[option]) {
                let name = parser.text()?;
                return if name.chars().count() <= 260 { Ok(()) } else { Err("a file's name is too long".to_owned()) };
            }
            number(parser)
        })?;
        parser.sign(")")?;
    }
    Ok(())
}

/// `<event_session_options>`
fn options(parser: &mut Parser) -> Read {
    let known = [
        "MAX_MEMORY",
        "EVENT_RETENTION_MODE",
        "MAX_DISPATCH_LATENCY",
        "MAX_EVENT_SIZE",
        "MEMORY_PARTITION_MODE",
        "TRACK_CAUSALITY",
        "STARTUP_STATE",
    ];
    parser.options(&known, |parser, option| match known[option] {
        // `size [ KB | MB ]`, below 2 GB.
        "MAX_MEMORY" | "MAX_EVENT_SIZE" => {
            let size = parser.number(1, u64::MAX >> 10)?;
            let kilobytes = match parser.takes("KB") {
                true => size,
                false => {
                    parser.takes("MB");
                    size << 10
                }
            };
            if kilobytes < 2 << 20 { Ok(()) } else { Err(format!("{kilobytes} KB are too many")) }
        }
        "EVENT_RETENTION_MODE" => {
            parser.one_of(&["ALLOW_SINGLE_EVENT_LOSS", "ALLOW_MULTIPLE_EVENT_LOSS", "NO_EVENT_LOSS"]).map(drop)
        }
        // `{ seconds SECONDS | INFINITE }`
        "MAX_DISPATCH_LATENCY" if parser.takes("INFINITE") => Ok(()),
        "MAX_DISPATCH_LATENCY" => {
            parser.number(0, i32::MAX as u64)?;
            parser.words("SECONDS")
        }
        "MEMORY_PARTITION_MODE" => parser.one_of(&["NONE", "PER_NODE", "PER_CPU"]).map(drop),
        _ => parser.one_of(&["ON", "OFF"]).map(drop),
    })
}

/// `[ NOT ] <predicate_factor> [ { AND | OR } [ NOT ] { <predicate_factor> | ( <predicate_expression> ) } ]`
fn predicate(parser: &mut Parser) -> Read {
    loop {
        parser.takes("NOT");
        if parser.takes_sign("(") {
            predicate(parser)?;
            parser.sign(")")?;
        } else {
            leaf(parser)?;
        }
        if !parser.takes("AND") && !parser.takes("OR") {
            return Ok(());
        }
    }
}

/// `<predicate_source_declaration> { = | <> | != | > | >= | < | <= } <value>`, the source being a field of the event or
/// `package.source`.
fn leaf(parser: &mut Parser) -> Read {
    parser.name()?;
    if parser.takes_sign(".") {
        parser.name()?;
    }
    match ["=", "<>", "!=", ">=", ">", "<=", "<"].iter().any(|sign| parser.takes_sign(sign)) {
        true => value(parser),
        false => parser.wrong("a comparison"),
    }
}

/// `number | 'string'`, in parentheses or not.
fn value(parser: &mut Parser) -> Read {
    if let Some(Token::Text { .. }) = parser.peek() {
        return parser.text().map(drop);
    }
    number(parser)
}

fn number(parser: &mut Parser) -> Read {
    match parser.takes_sign("(") {
        true => {
            parser.number(0, u64::MAX)?;
            parser.sign(")")
        }
        false => parser.number(0, u64::MAX).map(drop),
    }
}

/// `package.name`, both as Microsoft's packages are named.
fn qualified(parser: &mut Parser) -> Read {
    let package = parser.name()?;
    if !["package0", "sqlserver", "sqlos"].contains(&package.as_str()) {
        return Err(format!("no package {package}"));
    }
    parser.sign(".")?;
    parser.name().map(drop)
}
