//! Settings of the database and of the hosts, read before each load and around the whole study. What could not be read is
//! written down as such; no run fails for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use vufleet_proto::v1::{self, command, event};
use vufleet_scenarios::settings;

use super::Flight;
use crate::autopilot::Halt;
use crate::autopilot::pilot::{Ask, Pilot};
use crate::autopilot::preflight::answer;
use crate::fleet::registry::FleetEvent;
use crate::ledger::{DATABASE, Fact, Moment, RunId, Settings, StudyId, difference};

/// The sessions are connected and wait: neither a database nor a host that takes longer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// By source: what it has, or why that is not known.
type Readings = BTreeMap<String, Result<Settings, String>>;

impl Flight<'_> {
    /// The database's own state, before anything of the first run since the study began or went on.
    pub(super) async fn read_first_settings(&self, pilot: &mut Pilot) -> Result<(), Halt> {
        if self.order.smoke || pilot.settings.is_some() {
            return Ok(());
        }
        let study = self.order.study_id.clone();
        pilot.settings = Some(pilot.core.record.with(move |ledger| ledger.settings(&study)).await?);
        self.read_settings_at(pilot, Moment::First).await
    }

    /// The variant's state, with all sessions connected and none at work.
    pub(super) async fn read_settings(&self, pilot: &mut Pilot) -> Result<(), Halt> {
        if self.order.smoke {
            return Ok(());
        }
        self.read_settings_at(pilot, Moment::Load).await
    }

    async fn read_settings_at(&self, pilot: &mut Pilot, moment: Moment) -> Result<(), Halt> {
        let members = self.everybody().into_iter().map(|member| member.name).collect();
        take(pilot, self.run, members, moment).await
    }
}

/// The database's own state once more, after the last run of a study.
pub(in crate::autopilot) async fn read_last(pilot: &mut Pilot, study: &StudyId) -> Result<(), Halt> {
    let id = study.clone();
    let runs = pilot.core.record.with(move |ledger| ledger.runs(&id)).await?;
    let Some(run) = runs.last().filter(|_| pilot.settings.is_some()) else { return Ok(()) };
    let members = pilot.drivers().into_iter().chain(pilot.observers()).map(|agent| agent.hello.name).collect();
    take(pilot, run.id, members, Moment::Last).await
}

async fn take(pilot: &mut Pilot, run: RunId, members: BTreeSet<String>, moment: Moment) -> Result<(), Halt> {
    let mut readings = hosts(pilot, members).await?;
    if let Some(reading) = database(pilot, moment).await? {
        readings.insert(DATABASE.to_owned(), reading);
    }
    for (source, reading) in readings {
        write_down(pilot, run, source, reading, moment).await?;
    }
    Ok(())
}

/// None where there is no database to ask.
async fn database(pilot: &mut Pilot, moment: Moment) -> Result<Option<Result<Settings, String>>, Halt> {
    let questions = settings::questions(&pilot.study.target);
    if questions.is_empty() {
        return Ok(None);
    }
    let statements = questions.iter().map(|question| question.sql.clone()).collect();
    let agent = match pilot.spokesman() {
        Ok(agent) => agent,
        Err(halt) => return Ok(Some(Err(halt.message()))),
    };
    let result = match pilot.ask(&agent, Ask::control(statements).keep_going().patience(PATIENCE)).await {
        Ok(result) => result,
        Err(Halt::Stopped) => return Err(Halt::Stopped),
        Err(halt) => return Ok(Some(Err(halt.message()))),
    };
    let answers: Vec<_> = result.tables.iter().map(answer).collect();
    let reading = settings::read(&questions, &answers);
    if reading.values.is_empty() {
        return Ok(Some(Err(result.error)));
    }
    if moment == Moment::First && !reading.refused.is_empty() {
        let refused = reading.refused.join("; ");
        pilot
            .teller
            .note(format!(
                "some settings of the database are not recorded, as its control login may not read them: {refused}"
            ))
            .await;
    }
    Ok(Some(Ok(reading.values)))
}

async fn hosts(pilot: &mut Pilot, members: BTreeSet<String>) -> Result<Readings, Halt> {
    let id = pilot.question();
    for name in &members {
        pilot.command(name, command::Body::DescribeHost(v1::DescribeHost { id }));
    }
    let mut readings = Readings::new();
    let mut missing = members;
    let deadline = Instant::now() + PATIENCE;
    while !missing.is_empty() && Instant::now() < deadline {
        let heard = match pilot.next(deadline).await {
            Ok(heard) => heard,
            Err(Halt::Stopped) => return Err(Halt::Stopped),
            // The run will meet it again and say so.
            Err(halt) => return Ok(missing.into_iter().map(|name| (name, Err(halt.message()))).collect()),
        };
        let Some(FleetEvent::Event { name, event }) = heard else { continue };
        if let Some(event::Body::HostSettings(told)) = event.body.filter(|_| missing.contains(&name))
            && told.id == id
        {
            missing.remove(&name);
            let nothing = || Err("it could not look at its host; its log says why".to_owned());
            let reading = if told.values.is_empty() { nothing() } else { Ok(told.values.into_iter().collect()) };
            readings.insert(name, reading);
        }
    }
    let silent = |name| (name, Err(format!("no answer within {} s", PATIENCE.as_secs())));
    readings.extend(missing.into_iter().map(silent));
    Ok(readings)
}

/// What is new, or that there is nothing to be known.
async fn write_down(
    pilot: &mut Pilot,
    run: RunId,
    source: String,
    reading: Result<Settings, String>,
    moment: Moment,
) -> Result<(), Halt> {
    let at_ns = pilot.core.clock.now();
    let known = pilot.settings.get_or_insert_default();
    let fact = match reading {
        Err(reason) => Fact::SettingsUnread { source, at_ns, moment, reason },
        Ok(now) => {
            let values = difference(known.get(&source).unwrap_or(&Settings::new()), &now);
            known.insert(source.clone(), now);
            if values.is_empty() && moment == Moment::Load {
                return Ok(());
            }
            Fact::Settings { source, at_ns, moment, values }
        }
    };
    Ok(pilot.core.record.with(move |ledger| ledger.note(run, &fact)).await?)
}
