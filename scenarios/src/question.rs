//! Whether a statement is a question: one that reads and changes nothing, by its text alone.
//!
//! An agent whose configuration does not allow control sends no others that a coordinator thinks of, so this is strict where it cannot
//! be sure: comments, odd characters and what servers of one dialect read differently are refused. Functions that somebody has
//! made on the server are beyond it; agents ask in transactions that only read, where the server has them.

mod lexer;

use crate::session::Dialect;
use lexer::Token;

/// Why a statement is no question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoQuestion(pub String);

impl std::fmt::Display for NoQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What takes locks, writes or reaches beyond the database from within a SELECT.
const REACHING: [&str; 16] = [
    "INTO",
    "UPDATE",
    "LOCK",
    "SHARE",
    "LOAD_FILE",
    "LOAD_EXTENSION",
    "READFILE",
    "WRITEFILE",
    "EDIT",
    "FTS3_TOKENIZER",
    "NEXTVAL",
    "SETVAL",
    "NEXT",
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
];

/// T-SQL needs nothing between two statements: none of the words that begin one may stand anywhere. Those that reach another
/// server, draw from a sequence or hold locks are among them.
/// <https://learn.microsoft.com/sql/t-sql/language-elements/reserved-keywords-transact-sql>
const BEGINNING: [&str; 84] = [
    "ADD",
    "ALTER",
    "BACKUP",
    "BEGIN",
    "BREAK",
    "BULK",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "CONTINUE",
    "CONVERSATION",
    "CREATE",
    "DBCC",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DENY",
    "DIALOG",
    "DISABLE",
    "DROP",
    "DUMP",
    "ENABLE",
    "ERRLVL",
    "EXEC",
    "EXECUTE",
    "EXIT",
    "FETCH",
    "GET",
    "GO",
    "GOTO",
    "GRANT",
    "HOLDLOCK",
    "IF",
    "INSERT",
    "KILL",
    "LINENO",
    "LOAD",
    "MERGE",
    "MOVE",
    "NEXT",
    "OPEN",
    "OPENDATASOURCE",
    "OPENQUERY",
    "OPENROWSET",
    "PAGLOCK",
    "PRINT",
    "PROC",
    "PROCEDURE",
    "RAISERROR",
    "READTEXT",
    "RECEIVE",
    "RECONFIGURE",
    "RENAME",
    "REPEATABLEREAD",
    "REPLICATION",
    "RESTORE",
    "RETURN",
    "REVERT",
    "REVOKE",
    "ROLLBACK",
    "ROWLOCK",
    "SAVE",
    "SECURITYAUDIT",
    "SEND",
    "SERIALIZABLE",
    "SET",
    "SETUSER",
    "SHUTDOWN",
    "SIGNATURE",
    "TABLOCK",
    "TABLOCKX",
    "THROW",
    "TRAN",
    "TRANSACTION",
    "TRIGGER",
    "TRUNCATE",
    "UPDATETEXT",
    "UPDLOCK",
    "USE",
    "WAITFOR",
    "WHILE",
    "WRITETEXT",
    "XLOCK",
    "BINARYXML",
];

/// Of SQLite, those that only tell when nothing stands behind them.
const TELLING: [&str; 22] = [
    "APPLICATION_ID",
    "AUTO_VACUUM",
    "BUSY_TIMEOUT",
    "CACHE_SIZE",
    "COLLATION_LIST",
    "COMPILE_OPTIONS",
    "DATABASE_LIST",
    "ENCODING",
    "FOREIGN_KEYS",
    "FREELIST_COUNT",
    "JOURNAL_MODE",
    "JOURNAL_SIZE_LIMIT",
    "LOCKING_MODE",
    "MMAP_SIZE",
    "PAGE_COUNT",
    "PAGE_SIZE",
    "SYNCHRONOUS",
    "TABLE_LIST",
    "TEMP_STORE",
    "USER_VERSION",
    "WAL_AUTOCHECKPOINT",
    "QUERY_ONLY",
];

/// Those that tell of the table or index that stands behind them.
const OF_A_TABLE: [&str; 5] = ["TABLE_INFO", "TABLE_XINFO", "INDEX_INFO", "INDEX_LIST", "FOREIGN_KEY_LIST"];

/// Whether it is one.
///
/// # Errors
/// Why not, in words that fit behind "because".
pub fn check(sql: &str, dialect: Dialect) -> Result<(), NoQuestion> {
    let mut tokens = lexer::tokens(sql, dialect)?;
    if tokens.last() == Some(&Token::Symbol(';')) {
        tokens.pop();
    }
    if tokens.contains(&Token::Symbol(';')) {
        return refused("it is more than one statement");
    }
    let (first, rest) = match tokens.split_first() {
        Some((Token::Word(first), rest)) => (first.as_str(), rest),
        Some(_) => return refused("it begins with no word"),
        None => return refused("it is empty"),
    };
    match (first, dialect) {
        ("SELECT", _) => select(rest, dialect),
        ("WITH", _) => with(rest, dialect),
        ("SHOW", Dialect::Mysql) => select(rest, dialect),
        ("EXPLAIN", Dialect::Mysql | Dialect::Sqlite) => explained(rest, dialect),
        ("PRAGMA", Dialect::Sqlite) => pragma(rest),
        _ => refused(&format!("{first} begins no question")),
    }
}

fn refused(why: &str) -> Result<(), NoQuestion> {
    Err(NoQuestion(why.to_owned()))
}

fn select(tokens: &[Token], dialect: Dialect) -> Result<(), NoQuestion> {
    if dialect == Dialect::Sqlite {
        tables_of_pragmas(tokens)?;
    }
    let reaching = |word: &&str| REACHING.contains(word) || dialect == Dialect::Mssql && BEGINNING.contains(word);
    match words(tokens).find(reaching) {
        Some(word) => refused(&format!("it says {word}")),
        None => Ok(()),
    }
}

/// A PRAGMA is a table, too, by its name in quotes as well, and some of those do what they are called.
fn tables_of_pragmas(tokens: &[Token]) -> Result<(), NoQuestion> {
    let names = tokens.iter().filter_map(|token| match token {
        Token::Word(name) | Token::Quoted(name) => name.strip_prefix("PRAGMA_"),
        _ => None,
    });
    match names.into_iter().find(|name| !TELLING.contains(name) && !OF_A_TABLE.contains(name)) {
        Some(name) => refused(&format!("PRAGMA_{name} does more than tell")),
        None => Ok(()),
    }
}

fn words(tokens: &[Token]) -> impl Iterator<Item = &str> {
    tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        _ => None,
    })
}

/// What a WITH belongs to stands behind its queries, which stand in parentheses.
fn with(tokens: &[Token], dialect: Dialect) -> Result<(), NoQuestion> {
    const MAIN: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "VALUES", "TABLE"];
    let mut depth = 0_u32;
    for token in tokens {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && MAIN.contains(&word.as_str()) => {
                return if word == "SELECT" {
                    select(tokens, dialect)
                } else {
                    refused(&format!("its WITH is of {word}"))
                };
            }
            _ => {}
        }
    }
    refused("its WITH is of no SELECT")
}

/// Only plans, and only of questions: EXPLAIN ANALYZE does what it explains.
fn explained(tokens: &[Token], dialect: Dialect) -> Result<(), NoQuestion> {
    let mut rest = tokens;
    loop {
        rest = match rest {
            [Token::Word(word), Token::Symbol('='), Token::Word(_), rest @ ..] if word == "FORMAT" => rest,
            [Token::Word(word), rest @ ..] if ["QUERY", "PLAN", "EXTENDED", "PARTITIONS"].contains(&word.as_str()) => {
                rest
            }
            [Token::Word(word), rest @ ..] if word == "SELECT" => return select(rest, dialect),
            [Token::Word(word), rest @ ..] if word == "WITH" => return with(rest, dialect),
            _ => return refused("it explains no SELECT"),
        };
    }
}

fn pragma(tokens: &[Token]) -> Result<(), NoQuestion> {
    match tokens {
        [Token::Word(name)] if TELLING.contains(&name.as_str()) => Ok(()),
        [Token::Word(name), Token::Symbol('('), Token::Word(_) | Token::Quoted(_), Token::Symbol(')')]
            if OF_A_TABLE.contains(&name.as_str()) =>
        {
            Ok(())
        }
        _ => refused("this PRAGMA does more than tell"),
    }
}

#[cfg(test)]
mod tests;
