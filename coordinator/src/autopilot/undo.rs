//! Undoing variants: after the run that they were applied for, or later, where that did not work or its coordinator was
//! killed. What cannot be undone is told, statement by statement, and no run is made on that database before it is.

use std::time::Duration;

use tokio::time::Instant;
use vufleet_scenarios::study::{self, Edits, Target};

use super::Halt;
use super::actions::{self, Failure, OnFailure};
use super::pilot::Pilot;
use crate::ledger::{Fact, RunId, Standing, Undo};

/// How long a database or an agent that is away is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// Attempts at what is refused: it will be refused again.
const ATTEMPTS: u32 = 3;

/// Undoes the variant of a run and writes that down.
///
/// # Errors
/// `Refused` with the reason why it is not undone.
pub(super) async fn undo(pilot: &mut Pilot, run: RunId, undo: &Undo) -> Result<(), Halt> {
    let deadline = Instant::now() + PATIENCE;
    let mut refusals = 0;
    loop {
        let failure = match attempt(pilot, undo).await? {
            None => return note_undone(pilot, run).await,
            Some(failure) => failure,
        };
        // An agent that had no coordinator for too long has done it, and is back to say so. Its word counts where nobody can be asked.
        if undo.must_hold.is_empty() && is_told_undone(pilot, run).await? {
            return note_undone(pilot, run).await;
        }
        refusals += u32::from(failure.refused);
        if refusals >= ATTEMPTS || Instant::now() >= deadline {
            return Err(Halt::Refused(failure.message));
        }
        pilot.rest(Duration::from_secs(1)).await?;
    }
}

async fn is_told_undone(pilot: &Pilot, run: RunId) -> Result<bool, Halt> {
    let standing = pilot.core.record.with(|ledger| ledger.standing()).await?;
    Ok(standing.iter().all(|standing| standing.run != run))
}

/// Every step once. Steps may fail where what they undo was never there: what must hold afterwards has the last word.
async fn attempt(pilot: &mut Pilot, undo: &Undo) -> Result<Option<Failure>, Halt> {
    let failure = actions::perform(pilot, &undo.actions(), OnFailure::GoOn).await?;
    let requirements = undo.requirements();
    if requirements.is_empty() {
        return Ok(failure);
    }
    match actions::unmet(pilot, &requirements).await {
        Ok(unmet) if unmet.is_empty() => Ok(None),
        Ok(unmet) => {
            let message = unmet.join("; ");
            Ok(Some(failure.unwrap_or(Failure::new(String::new(), message, true))))
        }
        Err(Halt::Stopped) => Err(Halt::Stopped),
        Err(halt) => {
            let message = halt.message();
            Ok(Some(failure.unwrap_or(Failure::new(String::new(), message, false))))
        }
    }
}

async fn note_undone(pilot: &Pilot, run: RunId) -> Result<(), Halt> {
    let at_ns = pilot.core.clock.now();
    pilot.core.record.with(move |ledger| ledger.note(run, &Fact::Reverted { at_ns })).await?;
    pilot.core.registry.release(run.0);
    Ok(())
}

/// Undoes every variant that was left on at this study's target. Those at other targets are left alone: their logins are
/// not at hand.
///
/// # Errors
/// When one of them is still on: nothing may be measured on that database.
pub(super) async fn settle(pilot: &mut Pilot) -> Result<(), Halt> {
    let (mut standing, mut unconfirmed) =
        pilot.core.record.with(|ledger| Ok((ledger.standing()?, ledger.unconfirmed()?))).await?;
    standing.retain(|standing| is_here(pilot, standing));
    unconfirmed.retain(|told| is_here(pilot, told));
    for told in unconfirmed {
        match actions::unmet(pilot, &told.undo.requirements()).await {
            Ok(unmet) if unmet.is_empty() => note_undone(pilot, told.run).await?,
            Err(Halt::Stopped) => return Err(Halt::Stopped),
            Ok(_) | Err(_) => standing.push(told),
        }
    }
    for standing in standing {
        match undo(pilot, standing.run, &standing.undo).await {
            Ok(()) => {
                let Standing { variant, study, run, .. } = &standing;
                pilot
                    .teller
                    .warn(format!("variant {variant} of study {study} (run {run}) was still on; it is undone"))
                    .await;
            }
            Err(Halt::Refused(why)) => {
                let sentence = standing.sentence();
                return Err(Halt::Refused(format!("{sentence}\nit could not be undone from here: {why}")));
            }
            Err(halt) => return Err(halt),
        }
    }
    Ok(())
}

/// Whose variants are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// At other targets than this study's.
    Elsewhere,
    /// Anywhere.
    Anywhere,
}

/// Tells of variants that may still be on.
pub(super) async fn tell(pilot: &Pilot, place: Where) -> Result<(), Halt> {
    for standing in pilot.core.record.with(|ledger| ledger.standing()).await? {
        let here = is_here(pilot, &standing);
        if here && place == Where::Elsewhere {
            continue;
        }
        let remedy = if here { "\n`vufleet run` of this study undoes it before anything else" } else { "" };
        pilot.teller.warn(format!("{}{remedy}", standing.sentence())).await;
    }
    Ok(())
}

fn is_here(pilot: &Pilot, standing: &Standing) -> bool {
    // A study that this version does not read any more is somewhere else as far as anybody can tell.
    study::read(&standing.text, &Edits::default()).is_ok_and(|it| is_same(&it.target, &pilot.study.target))
}

/// Whether two targets are one server, or one file.
fn is_same(one: &Target, other: &Target) -> bool {
    let place = |target: &Target| {
        let host = target.host.as_deref().map(|host| match host {
            "localhost" | "::1" => "127.0.0.1".to_owned(),
            host => host.to_ascii_lowercase(),
        });
        (target.kind, host, target.port, target.socket.clone(), target.path.clone(), target.mssql.instance.clone())
    };
    place(one) == place(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(keys: &str) -> Target {
        let text = format!(
            "name = 'a'\nseed = 1\n[target]\n{keys}\n[workload]\nkind = 'oltp'\nscript = 'read_only'\n[[profiles]]\nvus = 1\n"
        );
        study::read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}")).target
    }

    #[test]
    fn a_server_is_the_same_whoever_logs_in_to_whichever_database() {
        let mysql = |keys: &str| target(&format!("kind = 'mysql'\nuser = 'u'\ndatabase = 'd'\n{keys}"));
        let here = mysql("host = 'DB1'");
        assert!(is_same(&here, &target("kind = 'mysql'\nuser = 'other'\ndatabase = 'e'\nhost = 'db1'")));
        assert!(is_same(&mysql("host = 'localhost'"), &mysql("host = '127.0.0.1'")));
        assert!(!is_same(&here, &mysql("host = 'db2'")));
        assert!(!is_same(&here, &mysql("host = 'db1'\nport = 3307")));
        assert!(!is_same(&here, &mysql("socket = '/run/mysqld.sock'")));
        let file = |path: &str| target(&format!("kind = 'sqlite'\npath = '{path}'"));
        assert!(is_same(&file("a.db"), &file("a.db")));
        assert!(!is_same(&file("a.db"), &file("b.db")));
        assert!(!is_same(&file("a.db"), &here));
    }
}
