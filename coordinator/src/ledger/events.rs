//! Events as received, each once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use prost::Message;
use rusqlite::{Row, params};
use vufleet_proto::v1;
use vufleet_proto::v1::event::Body;

use super::error::Doing;
use super::{Fact, Ledger, LedgerError, RunId};

/// Under what name the coordinator's own facts are kept.
pub(super) const COORDINATOR: &str = "coordinator";
/// What they are called in the `kind` column.
pub(super) const FACT: &str = "fact";
/// The boot of the coordinator's own facts. An agent never draws it.
pub(super) const COORDINATOR_BOOT: i64 = 0;

const INSERT: &str = "INSERT INTO events (run, agent, boot, seq, kind, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (boot, seq) DO NOTHING";

/// An event and who sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Name of the agent.
    pub agent: String,
    /// Its process.
    pub boot: u64,
    /// What it sent.
    pub event: v1::Event,
}

impl Ledger {
    /// Writes the events of one agent process in one transaction and returns the highest sequence number kept for it.
    ///
    /// What is there already is left as it is. Events without a sequence number are about a moment that has passed and
    /// are not kept. Of what was measured in a run that has been rolled up meanwhile only the number is kept: its verdict
    /// is given, and figures that it does not know would contradict it.
    pub fn record(&mut self, agent: &str, boot: u64, events: &[v1::Event]) -> Result<u64, LedgerError> {
        let late = self.come_too_late(events)?;
        for (run, count) in late.iter().filter(|(_, count)| **count > 0) {
            tracing::warn!(
                agent,
                run,
                events = count,
                "events of a run that has been rolled up are not counted any more"
            );
        }
        let transaction = self.connection.transaction().doing(&self.path, "write to")?;
        {
            let mut insert = transaction.prepare_cached(INSERT).doing(&self.path, "write to")?;
            for event in events.iter().filter(|event| event.seq > 0) {
                let is_late = late.contains_key(&event.run) && is_measured(event);
                let event = if is_late { &v1::Event { body: None, ..*event } } else { event };
                let row =
                    params![event.run as i64, agent, boot as i64, event.seq as i64, kind(event), event.encode_to_vec()];
                insert.execute(row).doing(&self.path, "write to")?;
            }
        }
        transaction.commit().doing(&self.path, "write to")?;
        self.last_seq(boot)
    }

    /// Runs among those of some events that have been rolled up, with the number of events that come too late for them.
    fn come_too_late(&self, events: &[v1::Event]) -> Result<BTreeMap<u64, usize>, LedgerError> {
        let mut measured: BTreeMap<u64, usize> = BTreeMap::new();
        for event in events.iter().filter(|event| is_measured(event)) {
            *measured.entry(event.run).or_default() += 1;
        }
        let mut late = BTreeMap::new();
        for (run, count) in measured {
            if self.is_judged(RunId(run))? {
                late.insert(run, count);
            }
        }
        Ok(late)
    }

    /// The highest sequence number kept for an agent process, 0 for none.
    pub fn last_seq(&self, boot: u64) -> Result<u64, LedgerError> {
        self.connection
            .query_row("SELECT coalesce(max(seq), 0) FROM events WHERE boot = ?1", [boot as i64], |row| {
                row.get::<_, i64>(0)
            })
            .map(|seq| seq as u64)
            .doing(&self.path, "read")
    }

    /// Writes down what the coordinator itself saw of a run.
    pub fn note(&mut self, run: RunId, fact: &Fact) -> Result<(), LedgerError> {
        let seq = self.last_seq(COORDINATOR_BOOT as u64)? + 1;
        let payload = serde_json::to_vec(fact).expect("facts have text keys only");
        self.connection
            .execute(INSERT, params![run.0 as i64, COORDINATOR, COORDINATOR_BOOT, seq as i64, FACT, payload])
            .doing(&self.path, "write to")?;
        Ok(())
    }

    /// Hands over the events of a run, agent by agent in the order they were sent.
    pub fn each_event(&self, run: RunId, visit: &mut dyn FnMut(Recorded)) -> Result<(), LedgerError> {
        self.each_event_of(run, "kind <> 'fact'", visit)
    }

    /// The same for as long as the visitor wants more.
    pub fn each_event_while(
        &self,
        run: RunId,
        visit: &mut dyn FnMut(Recorded) -> ControlFlow<()>,
    ) -> Result<(), LedgerError> {
        self.each_row(run, "kind <> 'fact'", &mut |row| Ok(recorded(row)?.map(&mut *visit)))
    }

    /// The same for some kinds of events.
    pub(super) fn each_event_of(
        &self,
        run: RunId,
        which: &'static str,
        visit: &mut dyn FnMut(Recorded),
    ) -> Result<(), LedgerError> {
        self.each_row(run, which, &mut |row| {
            Ok(recorded(row)?.map(|recorded| {
                visit(recorded);
                ControlFlow::Continue(())
            }))
        })
    }

    /// The events of a run.
    pub fn events(&self, run: RunId) -> Result<Vec<Recorded>, LedgerError> {
        let mut events = Vec::new();
        self.each_event(run, &mut |recorded| events.push(recorded))?;
        Ok(events)
    }

    /// What the coordinator itself saw of a run, in that order.
    pub fn facts(&self, run: RunId) -> Result<Vec<Fact>, LedgerError> {
        let mut facts = Vec::new();
        self.each_row(run, "kind = 'fact'", &mut |row| {
            let payload = row.get_ref(2)?.as_blob()?;
            Ok(serde_json::from_slice(payload).ok().map(|fact| {
                facts.push(fact);
                ControlFlow::Continue(())
            }))
        })?;
        Ok(facts)
    }

    /// Visits the rows (agent, boot, payload) of a run; `None` from the visitor means that a payload makes no sense.
    fn each_row(
        &self,
        run: RunId,
        which: &'static str,
        visit: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<Option<ControlFlow<()>>>,
    ) -> Result<(), LedgerError> {
        let sql =
            format!("SELECT agent, boot, payload FROM events WHERE run = ?1 AND {which} ORDER BY agent, boot, seq");
        let mut statement = self.connection.prepare_cached(&sql).doing(&self.path, "read")?;
        let mut rows = statement.query([run.0 as i64]).doing(&self.path, "read")?;
        while let Some(row) = rows.next().doing(&self.path, "read")? {
            match visit(row).doing(&self.path, "read")? {
                Some(ControlFlow::Continue(())) => {}
                Some(ControlFlow::Break(())) => break,
                None => {
                    let what = format!("an event of run {}", run.0);
                    return Err(LedgerError::Damaged { path: self.path.clone(), what });
                }
            }
        }
        Ok(())
    }
}

/// A row (agent, boot, payload); none when its payload makes no sense.
fn recorded(row: &Row<'_>) -> rusqlite::Result<Option<Recorded>> {
    let payload = row.get_ref(2)?.as_blob()?;
    let (agent, boot) = (row.get(0)?, row.get::<_, i64>(1)? as u64);
    Ok(v1::Event::decode(payload).ok().map(|event| Recorded { agent, boot, event }))
}

/// Whether it is of what a run's figures and verdict are made of. That a variant was undone, for one, is true at any time.
fn is_measured(event: &v1::Event) -> bool {
    matches!(
        &event.body,
        Some(Body::Interval(_) | Body::Host(_) | Body::Counters(_) | Body::Phase(_) | Body::Notice(_))
    )
}

fn kind(event: &v1::Event) -> &'static str {
    match &event.body {
        None => "none",
        Some(Body::Hello(_)) => "hello",
        Some(Body::Heartbeat(_)) => "heartbeat",
        Some(Body::ClockProbe(_)) => "clock_probe",
        Some(Body::Phase(_)) => "phase",
        Some(Body::Interval(_)) => "interval",
        Some(Body::Host(_)) => "host",
        Some(Body::Counters(_)) => "counters",
        Some(Body::Notice(_)) => "notice",
        Some(Body::Populate(_)) => "populate",
        Some(Body::Control(_)) => "control",
        Some(Body::Command(_)) => "command",
        Some(Body::Undone(_)) => "undone",
        Some(Body::Snapshot(_)) => "snapshot",
        Some(Body::HostSettings(_)) => "host_settings",
        Some(Body::Goodbye(_)) => "goodbye",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, bytes: usize) -> v1::Event {
        let notice = v1::Notice { level: 0, text: "x".repeat(bytes), at_ns: seq };
        v1::Event { seq, run: 1, body: Some(Body::Notice(notice)) }
    }

    #[test]
    fn a_full_disk_is_told_apart_and_keeps_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open_with_pages(dir.path(), 40).unwrap();
        assert_eq!(ledger.record("a", 7, &[event(1, 100)]).unwrap(), 1);
        let batch: Vec<_> = (2..100).map(|seq| event(seq, 10_000)).collect();
        let error = ledger.record("a", 7, &batch).unwrap_err();
        assert!(matches!(&error, LedgerError::Full { path } if path.ends_with("ledger.sqlite3")), "{error:?}");
        assert!(error.to_string().contains("free some space"), "{error}");
        assert_eq!(ledger.last_seq(7).unwrap(), 1, "the refused batch left nothing behind");
        assert_eq!(ledger.record("a", 7, &[event(2, 100)]).unwrap(), 2, "a small one still fits");
    }

    #[test]
    fn a_payload_that_makes_no_sense_is_damage_not_silence() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(dir.path()).unwrap();
        ledger.record("a", 7, &[event(1, 10)]).unwrap();
        ledger.connection.execute("UPDATE events SET payload = x'ffff'", []).unwrap();
        assert!(matches!(ledger.events(RunId(1)).unwrap_err(), LedgerError::Damaged { .. }));
    }
}
