//! As much of SELECT as the presets need to read catalogue views back.
//! <https://learn.microsoft.com/sql/t-sql/queries/select-transact-sql>,
//! <https://learn.microsoft.com/sql/t-sql/queries/from-transact-sql>

use super::parser::{Parser, Read};
use super::token::Token;

/// `SELECT select_list FROM table_source WHERE search_condition`
pub fn select(parser: &mut Parser) -> Read {
    parser.words("SELECT")?;
    if !parser.takes_sign("*") {
        parser.list(item)?;
    }
    if parser.takes("FROM") {
        source(parser)?;
        loop {
            if parser.takes("JOIN") {
                source(parser)?;
                parser.words("ON")?;
                condition(parser)?;
            } else if parser.takes("CROSS") {
                parser.words("APPLY")?;
                source(parser)?;
            } else {
                break;
            }
        }
    }
    if parser.takes("WHERE") { condition(parser) } else { Ok(()) }
}

/// `expression [ AS column_alias ]`
fn item(parser: &mut Parser) -> Read {
    value(parser)?;
    alias(parser)
}

/// `table_or_view_name [ AS table_alias ] | derived_table AS table_alias`
fn source(parser: &mut Parser) -> Read {
    if parser.takes_sign("(") {
        select(parser)?;
        parser.sign(")")?;
        parser.words("AS")?;
        return parser.name().map(drop);
    }
    let mut parts = vec![parser.name()?];
    while parser.takes_sign(".") {
        parts.push(parser.name()?);
    }
    match parts.as_slice() {
        [schema, _] | [_, schema, _] if schema == "sys" => alias(parser),
        _ => Err(format!("{} is not a catalogue view", parts.join("."))),
    }
}

fn alias(parser: &mut Parser) -> Read {
    if parser.takes("AS") { parser.name().map(drop) } else { Ok(()) }
}

/// Comparisons with AND between them.
fn condition(parser: &mut Parser) -> Read {
    loop {
        comparison(parser)?;
        if !parser.takes("AND") {
            return Ok(());
        }
    }
}

fn comparison(parser: &mut Parser) -> Read {
    value(parser)?;
    match ["=", ">="].iter().any(|sign| parser.takes_sign(sign)) {
        true => value(parser),
        false => parser.wrong("a comparison"),
    }
}

/// A number, a text, a column, `COUNT(*)`, `SUM(..)`, `CAST(NULL AS type)` or `CASE WHEN .. THEN .. ELSE .. END`.
fn value(parser: &mut Parser) -> Read {
    if parser.sees_number() {
        return parser.number(0, u64::MAX).map(drop);
    }
    if let Some(Token::Text { .. }) = parser.peek() {
        return parser.text().map(drop);
    }
    if parser.takes("COUNT") {
        return parser.enclosed(|parser| parser.sign("*"));
    }
    if parser.takes("SUM") {
        return parser.enclosed(value);
    }
    if parser.takes("CAST") {
        return parser.enclosed(|parser| {
            parser.words("NULL AS")?;
            parser.one_of(&["bigint", "int"]).map(drop)
        });
    }
    if parser.takes("CASE") {
        parser.words("WHEN")?;
        comparison(parser)?;
        parser.words("THEN")?;
        value(parser)?;
        parser.words("ELSE")?;
        value(parser)?;
        return parser.words("END");
    }
    parser.name()?;
    if parser.takes_sign(".") { parser.name().map(drop) } else { Ok(()) }
}
