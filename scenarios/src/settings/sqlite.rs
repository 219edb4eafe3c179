//! SQLite: the pragmas that the agents' connections have, and how the library was compiled.

use super::{Form, Question};

const PRAGMAS: [(&str, &str); 12] = [
    ("auto_vacuum", "PRAGMA auto_vacuum"),
    ("cache_size", "PRAGMA cache_size"),
    ("compile_options", "PRAGMA compile_options"),
    ("foreign_keys", "PRAGMA foreign_keys"),
    ("journal_mode", "PRAGMA journal_mode"),
    ("journal_size_limit", "PRAGMA journal_size_limit"),
    ("locking_mode", "PRAGMA locking_mode"),
    ("mmap_size", "PRAGMA mmap_size"),
    ("page_size", "PRAGMA page_size"),
    ("synchronous", "PRAGMA synchronous"),
    ("temp_store", "PRAGMA temp_store"),
    ("wal_autocheckpoint", "PRAGMA wal_autocheckpoint"),
];

pub(super) fn questions() -> Vec<Question> {
    PRAGMAS.map(|(name, sql)| Question { what: sql, sql: sql.to_owned(), rows: Form::Of(name) }).to_vec()
}
