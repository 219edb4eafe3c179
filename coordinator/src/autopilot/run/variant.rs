//! The variant of a run: remembered, applied, verified before the load and after it, and undone whatever happened.
//!
//! What undoes it is in the ledger and with the agents before the first statement of it is sent, so that neither the loss of
//! an agent nor that of the coordinator leaves it on in silence.

use std::collections::{BTreeMap, BTreeSet};

use vufleet_proto::v1::{self, command, step};
use vufleet_scenarios::study::{Action, Change, When};

use super::{Flight, Trouble};
use crate::autopilot::actions::{self, OnFailure, brief, single};
use crate::autopilot::pilot::{Ask, Pilot};
use crate::autopilot::preflight::answer;
use crate::autopilot::{Halt, undo};
use crate::ledger::{Fact, Undo};

/// A variant that is on, or may be.
#[derive(Debug)]
pub(super) struct On {
    /// Its name.
    pub(super) variant: String,
    change: Change,
    /// How it is undone; none where there is nothing to undo.
    pub(super) undo: Option<Undo>,
    /// Of each footprint, in their order.
    before: Vec<Option<u64>>,
}

impl Flight<'_> {
    /// Brings the database into the variant's state, if this is the time for it.
    pub(super) async fn apply(&mut self, pilot: &mut Pilot, now: When) -> Result<(), Trouble> {
        let name = &self.order.planned.variant;
        match change_of(pilot, name).filter(|change| change.when == now) {
            Some(change) => self.turn_on(pilot, name, change, "before the load").await,
            None => Ok(()),
        }
    }

    /// Applies a change, and makes sure that it holds; `moment` says when for people.
    pub(super) async fn turn_on(
        &mut self,
        pilot: &mut Pilot,
        name: &str,
        change: Change,
        moment: &str,
    ) -> Result<(), Trouble> {
        pilot.show(v1::Live { phase: "apply".to_owned(), ..self.live() });
        let change = self.with_sessions(change)?;
        let change = self.with_memory(pilot, change).await?;
        let undo = self.write_down(pilot, name, &change).await?;
        self.on = Some(On { variant: name.to_owned(), change: change.clone(), undo, before: Vec::new() });
        if let Some(failure) = actions::perform(pilot, &change.apply, OnFailure::Stop).await? {
            let message = format!("variant {name} could not be applied: {}", failure.message);
            return Err(Trouble::Failed { agent: failure.agent, message, refused: failure.refused });
        }
        self.verify(pilot, &change, moment).await?;
        let before = self.read_footprints(pilot, &change).await?;
        if let Some(on) = &mut self.on {
            on.before = before;
        }
        Ok(())
    }

    /// The ids of this run's sessions in the places that the study has for them.
    fn with_sessions(&self, change: Change) -> Result<Change, Trouble> {
        let ids: Vec<String> = self.session_ids.iter().map(u64::to_string).collect();
        let filled = change.for_sessions(&ids);
        if ids.is_empty() && filled != change {
            let found = format!(
                "its statements name the sessions' ids, but they are known of servers that have such ids and for few \
                 sessions only (this run has {})",
                self.facts.sessions
            );
            return Err(Trouble::WrongState { found });
        }
        Ok(filled)
    }

    /// What was there before, in the places that the study has for it.
    async fn with_memory(&self, pilot: &mut Pilot, change: Change) -> Result<Change, Trouble> {
        if change.remember.is_empty() {
            return Ok(change);
        }
        let statements = change.remember.iter().map(|remember| remember.sql.clone()).collect();
        let (agent, result) = self.ask(pilot, Ask::control(statements).keep_going()).await?;
        if result.tables.is_empty() {
            return Err(Trouble::Failed { agent, message: result.error, refused: false });
        }
        let mut answers = BTreeMap::new();
        for (remember, table) in change.remember.iter().zip(&result.tables) {
            let answer = answer(table);
            let Some(value) = single(&answer) else {
                let why = table.columns.first().map_or("it returned nothing", String::as_str);
                let found = format!("what was there before cannot be remembered: {}: {why}", brief(&remember.sql));
                return Err(Trouble::WrongState { found });
            };
            answers.insert(remember.name.clone(), value.to_owned());
        }
        Ok(change.remembering(&answers))
    }

    /// Writes down what undoes a change and hands it to the agents that will do it, should they be left alone.
    async fn write_down(&self, pilot: &mut Pilot, name: &str, change: &Change) -> Result<Option<Undo>, Trouble> {
        if change.apply.is_empty() && change.revert.is_empty() {
            return Ok(None);
        }
        let undo = Undo::of(change);
        let holds = holds(pilot, &change.revert).map_err(|message| Trouble::Failed {
            agent: String::new(),
            message,
            refused: false,
        })?;
        let holders: BTreeSet<String> = holds.keys().cloned().collect();
        let (run, variant, at_ns) = (self.run, name.to_owned(), pilot.core.clock.now());
        let fact = Fact::Applied { variant, at_ns, undo: undo.clone(), holders };
        pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await.map_err(Halt::from)?;
        pilot.core.registry.hold(run.0);
        for (agent, steps) in holds {
            let study = pilot.study.text.clone();
            let hold = v1::Hold { run: run.0, study, secrets: pilot.job.secrets.clone(), steps };
            pilot.command(&agent, command::Body::Hold(hold));
        }
        Ok(Some(undo))
    }

    async fn verify(&self, pilot: &mut Pilot, change: &Change, when: &str) -> Result<(), Trouble> {
        match actions::unmet(pilot, &change.verify).await {
            Ok(unmet) if unmet.is_empty() => Ok(()),
            Ok(unmet) => Err(Trouble::WrongState { found: format!("{when}, {}", unmet.join("; ")) }),
            Err(Halt::Refused(message)) => Err(Trouble::Failed { agent: String::new(), message, refused: false }),
            Err(halt) => Err(halt.into()),
        }
    }

    /// A number of each footprint, where there is one.
    async fn read_footprints(&self, pilot: &mut Pilot, change: &Change) -> Result<Vec<Option<u64>>, Halt> {
        if change.footprint.is_empty() {
            return Ok(Vec::new());
        }
        let statements: Vec<String> = change.footprint.iter().map(|footprint| footprint.sql.clone()).collect();
        let agent = pilot.spokesman_for(&statements)?;
        match pilot.ask(&agent, Ask::control(statements).keep_going()).await {
            Ok(result) => Ok(result.tables.iter().map(|table| single(&answer(table)).and_then(whole)).collect()),
            Err(Halt::Stopped) => Err(Halt::Stopped),
            Err(halt) => {
                tracing::warn!("what the observer did is not known: {}", halt.message());
                Ok(Vec::new())
            }
        }
    }

    /// After the load, while the variant is on: what it did, and whether it is on at all. Nothing where there was no load.
    pub(super) async fn look_again(&self, pilot: &mut Pilot) -> Result<(), Trouble> {
        let Some(on) = self.on.as_ref().filter(|_| self.facts.start_at_ns.is_some()) else { return Ok(()) };
        let after = self.read_footprints(pilot, &on.change).await?;
        for (index, footprint) in on.change.footprint.iter().enumerate() {
            let of = |readings: &[Option<u64>]| readings.get(index).copied().flatten();
            let (name, cumulative) = (footprint.name.clone(), footprint.cumulative);
            let fact = Fact::Footprint { name, cumulative, before: of(&on.before), after: of(&after) };
            let run = self.run;
            pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await?;
        }
        self.verify(pilot, &on.change, "after the load").await
    }

    /// Undoes the variant, however far it had come, and tells what to do by hand where that does not work.
    pub(super) async fn revert(&mut self, pilot: &mut Pilot) -> Result<(), Halt> {
        let Some(On { variant, undo: Some(undo), .. }) = self.on.take() else { return Ok(()) };
        pilot.show(v1::Live { phase: "revert".to_owned(), ..self.live() });
        match undo::undo(pilot, self.run, &undo).await {
            Ok(()) => Ok(()),
            Err(halt) => {
                let why = halt.message();
                pilot
                    .teller
                    .warn(format!(
                        "variant {variant} could not be undone after run {}: {why}\nwhat undoes it, with the control \
                         login:{undo}",
                        self.run
                    ))
                    .await;
                let at_ns = pilot.core.clock.now();
                let fact = Fact::Note { at_ns, text: format!("variant {variant} could not be undone: {why}") };
                let run = self.run;
                Ok(pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await?)
            }
        }
    }
}

/// What a variant changes; none where it changes nothing.
pub(super) fn change_of(pilot: &Pilot, name: &str) -> Option<Change> {
    let variant = pilot.study.variants.iter().find(|variant| variant.name == name)?;
    Some(variant.change.clone()).filter(|change| *change != Change::default())
}

/// Whose part each step of a revert is: statements are the one's who speaks to the database, commands their agents'.
fn holds(pilot: &Pilot, revert: &[Action]) -> Result<BTreeMap<String, Vec<v1::Step>>, String> {
    let mut holds: BTreeMap<String, Vec<v1::Step>> = BTreeMap::new();
    for action in revert {
        let (agent, body) = match action {
            Action::Sql(sql) => {
                let agent = pilot.changer().map_err(|halt| halt.message())?;
                (agent, step::Body::Sql(sql.clone()))
            }
            Action::Command { name, agent } => {
                let agent = pilot.who_has(name, agent).ok_or_else(|| actions::nobody_has(name, agent))?;
                (agent, step::Body::Command(name.clone()))
            }
        };
        holds.entry(agent).or_default().push(v1::Step { body: Some(body) });
    }
    Ok(holds)
}

/// A count as a database writes it, whatever type it has there.
fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite())?;
    text.parse().ok().or(Some(number as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_whatever_their_type() {
        for (text, count) in [
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("12.00", Some(12)),
            (" 7 ", Some(7)),
            ("-1", None),
            ("", None),
            ("NaN", None),
            ("lots", None),
        ] {
            assert_eq!(whole(text), count, "{text:?}");
        }
    }
}
