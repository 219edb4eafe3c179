//! What resets of a study have brought back so far.

use rusqlite::params;

use super::error::Doing;
use super::events::{COORDINATOR_BOOT, FACT};
use super::{Fact, Ledger, LedgerError, StudyId};

impl Ledger {
    /// Rows of all tables after the first reset of a study; none before it, or where nobody counted them.
    pub fn rows_after_reset(&self, study: &StudyId) -> Result<Option<u64>, LedgerError> {
        let sql = "SELECT payload FROM events JOIN runs ON runs.id = events.run WHERE runs.study = ?1 AND boot = ?2 AND kind = ?3 \
                   ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let mut rows = statement.query(params![study.0, COORDINATOR_BOOT, FACT]).doing(&self.path, "read")?;
        while let Some(row) = rows.next().doing(&self.path, "read")? {
            let payload = row.get_ref(0).doing(&self.path, "read")?;
            let fact = payload.as_blob().ok().and_then(|bytes| serde_json::from_slice(bytes).ok());
            if let Some(Fact::Reset { rows: Some(rows), .. }) = fact {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}
