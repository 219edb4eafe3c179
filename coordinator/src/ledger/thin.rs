//! Replacing what was recorded by less of it. The only place that takes events out of a ledger; what is to stay of them is
//! decided by [`crate::rollup`].

use prost::Message;
use rusqlite::params;
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

use super::error::Doing;
use super::events::{COORDINATOR, COORDINATOR_BOOT};
use super::{Ledger, LedgerError, RunId, schema};

/// How the fact begins that a run was judged for the last time.
const THINNED: &[u8] = b"{\"fact\":\"thinned\"";

/// One agent process that sent events of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// Name of the agent.
    pub agent: String,
    /// Its process.
    pub boot: u64,
}

/// A run whose events are still as they were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Which.
    pub run: RunId,
    /// When it ended, nanoseconds since the Unix epoch. Where nobody saw its end: the last that was heard of it, or the end of its
    /// study where that came later.
    pub at_ns: u64,
}

impl Ledger {
    /// Runs of studies that are not under way and whose events are still as they were received, the oldest first.
    pub fn whole_runs(&self) -> Result<Vec<Whole>, LedgerError> {
        if schema::version(&self.connection, &self.path)? < schema::VERSION {
            return Ok(Vec::new()); // the next writer brings it up to date
        }
        let sql = "SELECT runs.id, runs.ended_ns,
                          max(coalesce(json_extract(runs.facts, '$.begun_ns'), studies.begun_ns), coalesce(studies.ended_ns, 0))
                   FROM runs JOIN studies ON studies.id = runs.study
                   WHERE runs.thinned_ns IS NULL AND studies.state <> 'running' ORDER BY runs.id";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)));
        let rows: Vec<(i64, Option<i64>, i64)> = rows.and_then(Iterator::collect).doing(&self.path, "read")?;
        let whole = |(run, ended_ns, at_least_ns): (i64, Option<i64>, i64)| {
            let run = RunId(run as u64);
            let at_ns = match ended_ns {
                Some(ended_ns) => ended_ns as u64,
                None => self.last_heard_ns(run)?.max(at_least_ns as u64),
            };
            Ok(Whole { run, at_ns })
        };
        rows.into_iter().map(whole).collect()
    }

    /// Of which instant the last is that agents told of a run, 0 when they told nothing.
    fn last_heard_ns(&self, run: RunId) -> Result<u64, LedgerError> {
        let sql = "SELECT payload FROM events WHERE run = ?1 AND agent = ?2 AND boot = ?3 ORDER BY seq DESC";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let mut last_ns = 0;
        for Sender { agent, boot } in self.senders(run)? {
            let mut rows = statement.query(params![run.0 as i64, agent, boot as i64]).doing(&self.path, "read")?;
            while let Some(row) = rows.next().doing(&self.path, "read")? {
                let payload = row.get_ref(0).and_then(|it| Ok(it.as_blob()?)).doing(&self.path, "read")?;
                // One that cannot be read is a matter of whoever judges the run.
                if let Some(at_ns) = v1::Event::decode(payload).ok().and_then(|event| instant_ns(&event)) {
                    last_ns = last_ns.max(at_ns);
                    break;
                }
            }
        }
        Ok(last_ns)
    }

    /// Whether a run has been judged for the last time.
    pub(super) fn is_judged(&self, run: RunId) -> Result<bool, LedgerError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND agent = ?2 AND boot = ?3
                   AND substr(payload, 1, length(?4)) = ?4)";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let wanted = params![run.0 as i64, COORDINATOR, COORDINATOR_BOOT, THINNED];
        statement.query_row(wanted, |row| row.get(0)).doing(&self.path, "read")
    }

    /// How many events a run has, those of the coordinator among them.
    pub fn event_count(&self, run: RunId) -> Result<u64, LedgerError> {
        let mut statement =
            self.connection.prepare_cached("SELECT count(*) FROM events WHERE run = ?1").doing(&self.path, "read")?;
        statement
            .query_row([run.0 as i64], |row| row.get::<_, i64>(0))
            .map(|count| count as u64)
            .doing(&self.path, "read")
    }

    /// Writes down that a run has been thinned out to its end.
    pub fn set_thinned(&mut self, run: RunId, at_ns: u64) -> Result<(), LedgerError> {
        self.connection
            .execute("UPDATE runs SET thinned_ns = ?2 WHERE id = ?1", params![run.0 as i64, at_ns as i64])
            .doing(&self.path, "write to")?;
        Ok(())
    }

    /// Whose events a run has, the coordinator's facts aside.
    pub fn senders(&self, run: RunId) -> Result<Vec<Sender>, LedgerError> {
        let sql = "SELECT DISTINCT agent, boot FROM events WHERE run = ?1 AND boot <> 0 ORDER BY agent, boot";
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let rows = statement
            .query_map([run.0 as i64], |row| Ok(Sender { agent: row.get(0)?, boot: row.get::<_, i64>(1)? as u64 }));
        rows.and_then(Iterator::collect).doing(&self.path, "read")
    }

    /// Events of one kind that one process sent for a run, from a sequence number on, at most so many.
    pub fn events_from(
        &self,
        run: RunId,
        sender: &Sender,
        kind: &'static str,
        seq: u64,
        most: usize,
    ) -> Result<Vec<v1::Event>, LedgerError> {
        let sql = "SELECT payload FROM events WHERE run = ?1 AND agent = ?2 AND boot = ?3 AND seq >= ?4 AND kind = ?5
                   ORDER BY seq LIMIT ?6";
        let wanted = params![run.0 as i64, sender.agent, sender.boot as i64, seq as i64, kind, most as i64];
        let mut statement = self.connection.prepare_cached(sql).doing(&self.path, "read")?;
        let mut rows = statement.query(wanted).doing(&self.path, "read")?;
        let mut events = Vec::new();
        while let Some(row) = rows.next().doing(&self.path, "read")? {
            let payload = row.get_ref(0).and_then(|it| Ok(it.as_blob()?)).doing(&self.path, "read")?;
            let what = || format!("an event of run {}", run.0);
            let damaged = |_| LedgerError::Damaged { path: self.path.clone(), what: what() };
            events.push(v1::Event::decode(payload).map_err(damaged)?);
        }
        Ok(events)
    }

    /// In one transaction, writes events of a process anew and takes others out. None of those written may be missing before.
    pub fn thin(&mut self, sender: &Sender, kept: &[v1::Event], gone: &[u64]) -> Result<(), LedgerError> {
        let transaction = self.connection.transaction().doing(&self.path, "write to")?;
        {
            let boot = sender.boot as i64;
            let mut update = transaction
                .prepare_cached("UPDATE events SET payload = ?3 WHERE boot = ?1 AND seq = ?2")
                .doing(&self.path, "write to")?;
            for event in kept {
                update.execute(params![boot, event.seq as i64, event.encode_to_vec()]).doing(&self.path, "write to")?;
            }
            let mut delete = transaction
                .prepare_cached("DELETE FROM events WHERE boot = ?1 AND seq = ?2")
                .doing(&self.path, "write to")?;
            for seq in gone {
                delete.execute(params![boot, *seq as i64]).doing(&self.path, "write to")?;
            }
        }
        transaction.commit().doing(&self.path, "write to")
    }

    /// Gives up to so many free pages at the end of the file back to the disk, and says how many are left. Ledgers that were
    /// made by the first vufleets keep theirs and use them again.
    pub fn give_back(&mut self, pages: u32) -> Result<u64, LedgerError> {
        let pragma = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if pragma("auto_vacuum").doing(&self.path, "read")? == 0 {
            return Ok(0);
        }
        let vacuum = self.connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"));
        let mut vacuum = vacuum.doing(&self.path, "write to")?;
        let mut rows = vacuum.query([]).doing(&self.path, "write to")?;
        while rows.next().doing(&self.path, "write to")?.is_some() {}
        drop(rows);
        drop(vacuum);
        let left = pragma("freelist_count").doing(&self.path, "read")?;
        if left == 0 {
            // The file itself shrinks when its log is written back.
            if !self.fold_log()? {
                tracing::warn!("somebody reads the ledger: its file shrinks when they have read it");
            }
        }
        Ok(left as u64)
    }
}

/// When something was that an agent told.
fn instant_ns(event: &v1::Event) -> Option<u64> {
    let at_ns = match event.body.as_ref()? {
        Body::Interval(interval) => interval.end_ns,
        Body::Host(sample) => sample.at_ns,
        Body::Counters(counters) => counters.after_ns,
        Body::Phase(phase) => phase.at_ns,
        Body::Notice(notice) => notice.at_ns,
        _ => 0,
    };
    Some(at_ns).filter(|at_ns| *at_ns > 0)
}

#[cfg(test)]
mod tests {
    use super::super::Fact;
    use super::*;

    #[test]
    fn a_judgement_is_known_by_how_it_begins() {
        let judged = serde_json::Value::Null;
        let fact =
            Fact::Thinned { at_ns: 1, interval_ns: 1, origin_ns: 1, edges_ns: vec![], vufleet: String::new(), judged };
        assert!(serde_json::to_vec(&fact).unwrap().starts_with(THINNED));
    }
}
