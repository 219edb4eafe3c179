//! What tells one ledger from another: a number drawn when it is first written to. Runs are numbered from 1 in each.

use rusqlite::params;

use super::error::Doing;
use super::{Ledger, LedgerError};

impl Ledger {
    /// The ledger's own number, never 0.
    pub fn identity(&self) -> Result<u64, LedgerError> {
        self.connection
            .query_row("SELECT id FROM identity", [], |row| row.get::<_, i64>(0))
            .map(|id| id as u64)
            .doing(&self.path, "read")
    }

    /// Gives a ledger that has no number one. Those of the first vufleets had none.
    pub(super) fn draw_identity(&mut self) -> Result<(), LedgerError> {
        let drawn = rand::random_range(1..u64::MAX);
        let transaction = self.connection.transaction().doing(&self.path, "set up")?;
        transaction
            .execute("CREATE TABLE IF NOT EXISTS identity (id INTEGER NOT NULL)", [])
            .doing(&self.path, "set up")?;
        transaction
            .execute(
                "INSERT INTO identity (id) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM identity)",
                params![drawn as i64],
            )
            .doing(&self.path, "set up")?;
        transaction.commit().doing(&self.path, "set up")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_keeps_its_number_and_has_it_for_itself() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let identity = Ledger::open(dir.path()).unwrap().identity().unwrap();
        assert_ne!(identity, 0);
        assert_eq!(Ledger::open(dir.path()).unwrap().identity().unwrap(), identity);
        assert_ne!(Ledger::open(other.path()).unwrap().identity().unwrap(), identity);
    }

    #[test]
    fn a_ledger_from_before_there_were_numbers_gets_one() {
        let dir = tempfile::tempdir().unwrap();
        Ledger::open(dir.path()).unwrap().connection.execute("DROP TABLE identity", []).unwrap();
        assert_ne!(Ledger::open(dir.path()).unwrap().identity().unwrap(), 0);
    }
}
