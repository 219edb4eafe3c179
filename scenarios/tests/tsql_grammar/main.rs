//! The T-SQL that presets make, held against a grammar written from Microsoft's syntax pages.
//!
//! No grammar at hand knows EVENT SESSION, SERVER AUDIT, DATABASE AUDIT SPECIFICATION and RESTORE, and there is no SQL Server to
//! ask. This one cites the page of each clause, reads every text that any parameters lead to, and refuses what is only
//! nearly right; without the last of these it would prove nothing.

mod audit_specification;
mod backups;
mod batch;
mod database;
mod event_session;
mod mutants;
mod parser;
mod presets;
mod restore;
mod select;
mod server_audit;
mod token;

use batch::batch;

const DOCUMENTATION: &str = include_str!("../../../docs/variants.md");

#[test]
fn statements_in_the_documentation_are_read() {
    let texts: Vec<_> = DOCUMENTATION.split("```tsql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(texts.iter().any(|text| text.contains("RESTORE DATABASE")), "{texts:?}");
    for text in texts {
        if let Err(error) = batch(text) {
            panic!("{error} in\n{text}");
        }
    }
}

#[test]
fn restores_are_read() {
    for text in [
        "RESTORE DATABASE tpcc FROM DATABASE_SNAPSHOT = 'tpcc_built';",
        "RESTORE DATABASE [tp]]cc] FROM DISK = N'/backup/a.bak', DISK = N'/backup/b.bak' WITH REPLACE, RECOVERY, STATS = 10;",
        "RESTORE DATABASE tpcc FROM nightly WITH FILE = 2, MOVE 'tpcc' TO 'D:\\x.mdf', MOVE 'log' TO 'D:\\x.ldf', NORECOVERY;",
    ] {
        assert!(batch(text).is_ok(), "{text}: {:?}", batch(text).err());
    }
}
