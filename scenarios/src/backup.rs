//! Restoring a database of SQL Server from a backup: <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-transact-sql>.
//!
//! Sent on a connection in `master`, one after the other, none left out because one before it failed: what closes the
//! database to others has to be followed by what opens it again.

use crate::sql::{bracketed, national};
use crate::study::Backup;

/// The database whose connections restore another.
pub const FROM: &str = "master";

impl Backup {
    /// Closes the connections of others, restores, and lets everybody in again. A database that an earlier restore has left half
    /// there cannot be closed and need not be.
    pub fn restore(&self, database: &str) -> [String; 3] {
        let name = bracketed(database);
        let online = format!("SELECT name FROM sys.databases WHERE name = {} AND state = 0", national(database));
        [
            format!("IF EXISTS ({online}) ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE;"),
            self.statement(database),
            format!("ALTER DATABASE {name} SET MULTI_USER;"),
        ]
    }

    /// The restore alone.
    pub fn statement(&self, database: &str) -> String {
        let disks: Vec<String> = self.files.iter().map(|file| disk(file)).collect();
        let moves = self.moves.iter();
        let moves: String =
            moves.map(|(name, place)| format!(", MOVE {} TO {}", national(name), national(place))).collect();
        format!("RESTORE DATABASE {} FROM {} WITH REPLACE, RECOVERY{moves};", bracketed(database), disks.join(", "))
    }

    /// Whether the server sees the files, and whether they are a backup: one question for each, which reads no more than its
    /// beginning.
    pub fn look(&self) -> Vec<String> {
        self.files.iter().map(|file| format!("RESTORE LABELONLY FROM {};", disk(file))).collect()
    }
}

/// Whether a database is online and open to everybody: a row of two zeros. No row where it is not there.
pub fn state(database: &str) -> String {
    format!("SELECT state, user_access FROM sys.databases WHERE name = {};", national(database))
}

fn disk(file: &str) -> String {
    format!("DISK = {}", national(file))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_restore_is_closed_in_by_what_keeps_others_out() {
        let backup = Backup { files: vec!["/b/it's.bak".to_owned(), "/b/2.bak".to_owned()], moves: BTreeMap::new() };
        assert_eq!(
            backup.restore("tp]cc"),
            [
                "IF EXISTS (SELECT name FROM sys.databases WHERE name = N'tp]cc' AND state = 0) ALTER DATABASE [tp]]cc] SET \
                 SINGLE_USER WITH ROLLBACK IMMEDIATE;",
                "RESTORE DATABASE [tp]]cc] FROM DISK = N'/b/it''s.bak', DISK = N'/b/2.bak' WITH REPLACE, RECOVERY;",
                "ALTER DATABASE [tp]]cc] SET MULTI_USER;",
            ]
        );
        assert_eq!(backup.look()[1], "RESTORE LABELONLY FROM DISK = N'/b/2.bak';");
        let moves = [("log".to_owned(), "D:\\l.ldf".to_owned()), ("tpcc".to_owned(), "D:\\t.mdf".to_owned())].into();
        let moved = Backup { files: vec!["a".to_owned()], moves }.statement("tpcc");
        assert!(moved.ends_with("RECOVERY, MOVE N'log' TO N'D:\\l.ldf', MOVE N'tpcc' TO N'D:\\t.mdf';"), "{moved}");
    }
}
