//! DATABASE AUDIT SPECIFICATION.
//!
//! - CREATE: <https://learn.microsoft.com/sql/t-sql/statements/create-database-audit-specification-transact-sql>
//! - ALTER: <https://learn.microsoft.com/sql/t-sql/statements/alter-database-audit-specification-transact-sql>
//! - DROP: <https://learn.microsoft.com/sql/t-sql/statements/drop-database-audit-specification-transact-sql>
//! - actions and groups:
//!   <https://learn.microsoft.com/sql/relational-databases/security/auditing/sql-server-audit-action-groups-and-actions>

use super::batch::{ALTER, CREATE};
use super::parser::{Parser, Read};
use super::server_audit::state;
use super::token::Token;

const ACTIONS: [&str; 7] = ["SELECT", "UPDATE", "INSERT", "DELETE", "EXECUTE", "RECEIVE", "REFERENCES"];

/// CREATE, ALTER or DROP, up to the end of the statement.
pub fn statement(parser: &mut Parser, verb: usize) -> Read {
    parser.name()?;
    match verb {
        CREATE => create(parser),
        ALTER => state(parser),
        _ => Ok(()),
    }
}

/// `FOR SERVER AUDIT audit_name [ { ADD ( { <audit_action_specification> | audit_action_group_name } ) } [, ...n] ]
/// [ WITH ( STATE = { ON | OFF } ) ]`
fn create(parser: &mut Parser) -> Read {
    parser.words("FOR SERVER AUDIT")?;
    parser.name()?;
    if parser.sees("ADD") {
        parser.list(|parser| {
            parser.words("ADD")?;
            parser.enclosed(addition)
        })?;
    }
    if parser.sees("WITH") { state(parser) } else { Ok(()) }
}

/// A group's name, or `action [ ,...n ] ON [ class :: ] securable BY principal [ ,...n ]`.
fn addition(parser: &mut Parser) -> Read {
    if let Some(Token::Word(word)) = parser.peek()
        && word.ends_with("_GROUP")
    {
        return parser.name().map(drop);
    }
    parser.list(|parser| parser.one_of(&ACTIONS).map(drop))?;
    parser.words("ON")?;
    securable(parser)?;
    parser.words("BY")?;
    parser.list(|parser| parser.name().map(drop))
}

/// `DATABASE::name`, `SCHEMA::name`, `OBJECT::schema.name` or `schema.name`.
fn securable(parser: &mut Parser) -> Read {
    for class in ["DATABASE", "SCHEMA", "OBJECT"] {
        if parser.takes(class) {
            parser.sign("::")?;
            parser.name()?;
            return if class == "OBJECT" { second_part(parser) } else { Ok(()) };
        }
    }
    parser.name()?;
    second_part(parser)
}

/// A schema is always written here.
fn second_part(parser: &mut Parser) -> Read {
    parser.sign(".")?;
    parser.name().map(drop)
}
