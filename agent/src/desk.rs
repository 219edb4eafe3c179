//! Where commands become work: one run at a time, jobs and control statements beside it.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use secrecy::SecretString;
use vufleet_proto::v1::{self, command, event::Body, phase};
use vufleet_scenarios::random::run_key;
use vufleet_scenarios::study::{self, Edits, Measure, Profile, Study};

use crate::allow::Allowance;
use crate::clock::CommonClock;
use crate::config::{Config, Role};
use crate::crew::{Crew, CrewPlan};
use crate::hold::{Holds, Means, OneAtATime};
use crate::observe::host::HostRole;
use crate::outbox::Outlet;
use crate::watch::{Watch, WatchPlan};
use crate::{command as host_command, observe, populate, snapshot};

/// Runs of which it is remembered that their figures are not to be told: those whose last intervals may still be on their way.
const REMEMBERED: usize = 16;

/// The run at hand.
struct Run {
    number: u64,
    crew: Option<Crew>,
    watch: Watch,
}

/// What the agent is doing.
pub struct Desk {
    config: Config,
    clock: CommonClock,
    outlet: Outlet,
    run: Option<Run>,
    /// Jobs under way, with the flag that ends each.
    jobs: HashMap<u64, Arc<AtomicBool>>,
    /// Variants that would stay on without a coordinator.
    holds: Holds,
    one_at_a_time: OneAtATime,
    /// Snapshots that are not done, or not given up, yet.
    snapshots: Arc<AtomicUsize>,
    /// Runs of studies that are `relative_only`.
    withheld: BTreeSet<u64>,
    /// The last one, once the agent is to end.
    ending: Option<Crew>,
}

impl Desk {
    /// An idle desk.
    pub fn new(config: Config, clock: CommonClock, outlet: Outlet) -> Self {
        let (holds, one_at_a_time) = (Holds::default(), OneAtATime::default());
        let (jobs, snapshots) = (HashMap::new(), Arc::default());
        let (withheld, ending) = (BTreeSet::new(), None);
        Desk { config, clock, outlet, run: None, jobs, holds, one_at_a_time, snapshots, withheld, ending }
    }

    /// Number of the run at hand, 0 when idle.
    pub fn run(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.number)
    }

    /// Numbers of the jobs that are not over.
    pub fn jobs(&self) -> Vec<u64> {
        self.jobs.iter().filter(|(_, over)| !over.load(Ordering::Relaxed)).map(|(number, _)| *number).collect()
    }

    /// Runs whose variants this agent would undo, or is undoing.
    pub fn holds(&self) -> Vec<u64> {
        self.holds.runs()
    }

    /// Whether a variant is being undone, or a server is stopped because of its snapshot.
    pub fn is_undoing(&self) -> bool {
        self.holds.are_undoing() || self.snapshots.load(Ordering::Relaxed) > 0
    }

    /// Sessions connected now.
    pub fn sessions(&self) -> u32 {
        self.run.as_ref().and_then(|run| run.crew.as_ref()).map_or(0, Crew::sessions)
    }

    /// Virtual users of the run at hand.
    pub fn vus(&self) -> u32 {
        self.run.as_ref().and_then(|run| run.crew.as_ref()).map_or(0, Crew::vus)
    }

    /// Whether nobody is to see the figures of a run: its study is `relative_only`.
    pub fn withholds(&self, run: u64) -> bool {
        self.withheld.contains(&run)
    }

    /// Whether there is anything that a silent coordinator would leave behind.
    pub fn is_busy(&self) -> bool {
        self.run.is_some() || !self.jobs().is_empty() || !self.holds.is_empty()
    }

    /// Does what a command says. Failures become events; nothing is returned.
    pub fn obey(&mut self, command: command::Body) {
        match command {
            command::Body::Prepare(prepare) => self.prepare(&prepare),
            command::Body::Connect(connect) => {
                if let Some(crew) = self.crew(connect.run) {
                    crew.connect();
                }
            }
            command::Body::Start(start) => self.start(&start),
            command::Body::Stop(stop) => {
                if let Some(crew) = self.crew(stop.run) {
                    crew.stop(Duration::from_nanos(stop.grace_ns));
                }
            }
            command::Body::Cancel(cancel) => self.cancel(cancel.run),
            command::Body::ReadCounters(read) => {
                if let Some(run) = self.run.as_ref().filter(|run| run.number == read.run) {
                    run.watch.read_counters();
                }
            }
            command::Body::Populate(job) => self.populate(job),
            command::Body::Control(control) => self.control(control),
            command::Body::Hold(hold) => self.hold(hold),
            command::Body::Release(release) => self.holds.release(release.run),
            command::Body::RunCommand(order) => self.run_command(order),
            command::Body::Snapshot(order) => self.snapshot(order),
            command::Body::DescribeHost(ask) => self.describe_host(ask.id),
            command::Body::Welcome(_) | command::Body::Ack(_) | command::Body::ClockEcho(_) => {}
        }
    }

    /// From now on whatever is begun reports to `outlet`; what was begun before has nobody to report to.
    pub fn report_to(&mut self, outlet: Outlet) {
        self.outlet = outlet;
        self.withheld.clear();
        self.holds.forget();
    }

    /// Ends everything: another coordinator, or the end of this process. Variants that are on begin to be undone.
    pub fn abandon(&mut self) {
        self.run = None;
        for (_, over) in self.jobs.drain() {
            over.store(true, Ordering::Relaxed);
        }
        let (clock, one_at_a_time) = (self.clock.clone(), Arc::clone(&self.one_at_a_time));
        let means = Means { commands: self.config.commands.clone(), clock, one_at_a_time };
        self.holds.undo(&means, &self.outlet);
    }

    /// Ends everything because this process is to end: transactions under way have `grace` to end by themselves.
    pub fn wind_up(&mut self, grace: Duration) {
        if let Some(crew) = self.run.take().and_then(|run| run.crew) {
            crew.stop(grace);
            self.ending = Some(crew);
        }
        self.abandon();
    }

    /// Whether there still is load after [`wind_up`](Desk::wind_up), or something of it to tell.
    pub fn has_load(&self) -> bool {
        self.ending.as_ref().is_some_and(|crew| !crew.is_over())
    }

    /// Ends the run at hand for a reason of this agent's own.
    pub fn give_up(&mut self, message: String) {
        if let Some(run) = self.run.take() {
            self.phase(run.number, v1::Phase { kind: phase::Kind::Failed as i32, message, ..Default::default() });
        }
    }

    /// Ends everything because nobody is there to answer for it, and leaves word of that.
    pub fn lease_lost(&mut self) {
        if let Some(run) = &self.run {
            let message = "the coordinator was silent for longer than the lease; the load was stopped".to_owned();
            self.phase(run.number, v1::Phase { kind: phase::Kind::LeaseLost as i32, message, ..Default::default() });
        }
        self.abandon();
    }

    fn allowance(&self) -> Allowance {
        Allowance::of(&self.config)
    }

    fn crew(&self, run: u64) -> Option<&Crew> {
        self.run.as_ref().filter(|current| current.number == run)?.crew.as_ref()
    }

    fn phase(&self, run: u64, phase: v1::Phase) {
        self.outlet.send(run, Body::Phase(phase));
    }

    fn prepare(&mut self, prepare: &v1::Prepare) {
        self.run = None;
        match self.try_prepare(prepare) {
            Ok(run) => {
                self.run = Some(run);
                self.phase(prepare.run, v1::Phase { kind: phase::Kind::Prepared as i32, ..Default::default() });
            }
            Err(error) => self.phase(
                prepare.run,
                v1::Phase { kind: phase::Kind::Failed as i32, message: format!("{error:#}"), ..Default::default() },
            ),
        }
    }

    fn withhold(&mut self, run: u64) {
        self.withheld.insert(run);
        while self.withheld.len() > REMEMBERED {
            self.withheld.pop_first();
        }
    }

    fn try_prepare(&mut self, prepare: &v1::Prepare) -> anyhow::Result<Run> {
        let study = Arc::new(read_study(&prepare.study, prepare.secrets.as_ref())?);
        ensure!(
            study.digest == prepare.digest,
            "this agent reads another study than the coordinator sent; agent and coordinator must be of one version"
        );
        if study.report.relative_only {
            self.withhold(prepare.run);
        }
        let profile = study
            .profile(&prepare.profile)
            .with_context(|| format!("the study has no profile {:?}", prepare.profile))?
            .clone();
        let interval = Duration::from_nanos(prepare.interval_ns);
        let crew = match &prepare.drive {
            Some(drive) => {
                ensure!(self.config.roles.contains(&Role::Drive), "this agent does not drive; check its --roles");
                let opening = self.allowance().load(&study, &profile).map_err(anyhow::Error::msg)?;
                let plan =
                    CrewPlan { opening, ..self.crew_plan(prepare, drive, Arc::clone(&study), profile, interval) };
                Some(Crew::muster(&plan, self.clock.clone(), self.outlet.clone())?)
            }
            None => None,
        };
        let watch = Watch::launch(WatchPlan {
            study,
            run: prepare.run,
            interval,
            counters: prepare.observe.is_some_and(|observe| observe.counters),
            role: if prepare.observe.is_some() { HostRole::Observe } else { HostRole::Drive },
            clock: self.clock.clone(),
            outlet: self.outlet.clone(),
        })?;
        Ok(Run { number: prepare.run, crew, watch })
    }

    fn crew_plan(
        &self,
        prepare: &v1::Prepare,
        drive: &v1::Drive,
        study: Arc<Study>,
        mut profile: Profile,
        interval: Duration,
    ) -> CrewPlan {
        let mut limit = match study.schedule.measure {
            Measure::Transactions(count) => Some(count),
            Measure::Duration(_) => None,
        };
        if prepare.smoke {
            profile.sessions_per_vu = 1;
            profile.pacing = study::Pacing::None;
            limit = Some(profile.workload.transactions_of_every_kind());
        }
        CrewPlan {
            study,
            profile,
            first_vu: drive.first_vu,
            vus: drive.vus,
            total_vus: drive.total_vus,
            run: prepare.run,
            run_key: run_key(&prepare.variant, &prepare.profile, prepare.repetition, prepare.attempt),
            interval,
            limit,
            threads: self.config.threads,
            opening: None,
        }
    }

    fn start(&self, start: &v1::StartAt) {
        let Some(run) = self.run.as_ref().filter(|run| run.number == start.run) else { return };
        let at = self.clock.instant(start.at_ns);
        if at < Instant::now() {
            tracing::warn!(late = ?at.elapsed(), "the start was ordered for a time that had passed");
        }
        run.watch.align(at);
        if let Some(crew) = &run.crew {
            crew.start(at);
        }
    }

    fn cancel(&mut self, number: u64) {
        if self.run.as_ref().is_some_and(|run| run.number == number) {
            self.run = None;
        }
        if let Some(over) = self.jobs.remove(&number) {
            over.store(true, Ordering::Relaxed);
        }
    }

    fn populate(&mut self, job: v1::Populate) {
        self.jobs.retain(|_, over| !over.load(Ordering::Relaxed));
        let over = Arc::new(AtomicBool::new(false));
        self.jobs.insert(job.job, Arc::clone(&over));
        let number = job.job;
        let allowance = self.allowance();
        let started = read_study(&job.study, job.secrets.as_ref()).and_then(|study| {
            allowance.build(&study, &job).map_err(anyhow::Error::msg)?;
            populate::start(Arc::new(study), job, self.config.threads, over, self.outlet.clone())
        });
        if let Err(error) = started {
            self.jobs.remove(&number);
            let error = format!("{error:#}");
            self.outlet
                .send(number, Body::Populate(v1::PopulateProgress { finished: true, error, ..Default::default() }));
        }
    }

    fn hold(&mut self, hold: v1::Hold) {
        let run = hold.run;
        let kept = self
            .allowance()
            .change("what applies and undoes a variant")
            .and_then(|()| self.holds.keep(hold).map_err(|fault| fault.to_string()));
        if let Err(why) = kept {
            let message = format!("it cannot keep what undoes the variant: {why}");
            self.phase(run, v1::Phase { kind: phase::Kind::Failed as i32, message, ..Default::default() });
        }
    }

    fn run_command(&self, order: v1::RunCommand) {
        if let Err(error) = self.allowance().change("commands of its host") {
            return self.outlet.send(0, Body::Command(v1::CommandResult { id: order.id, error, ..Default::default() }));
        }
        let (outlet, commands) = (self.outlet.clone(), self.config.commands.clone());
        let (id, one_at_a_time) = (order.id, Arc::clone(&self.one_at_a_time));
        let work = move || {
            let _alone = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
            let ending = host_command::run(&commands, &order.name, Duration::from_nanos(order.limit_ns));
            let error = ending.error.unwrap_or_default();
            let result = v1::CommandResult { id, exit_code: ending.exit_code, output: ending.output, error };
            outlet.send(0, Body::Command(result));
        };
        if let Err(error) = std::thread::Builder::new().name("command".to_owned()).spawn(work) {
            let error = format!("cannot start a thread for a command: {error}; raise the limit of threads (ulimit -u)");
            self.outlet.send(0, Body::Command(v1::CommandResult { id, error, ..Default::default() }));
        }
    }

    /// A job, so that it can be cancelled; it gives up where the data is whole, and with its server running.
    fn snapshot(&mut self, order: v1::Snapshot) {
        if let Err(error) = self.allowance().change("copies of a server's files") {
            return self
                .outlet
                .send(0, Body::Snapshot(v1::SnapshotResult { id: order.id, error, ..Default::default() }));
        }
        self.jobs.retain(|_, over| !over.load(Ordering::Relaxed));
        let over = Arc::new(AtomicBool::new(false));
        self.jobs.insert(order.id, Arc::clone(&over));
        let (outlet, server) = (self.outlet.clone(), self.config.snapshot.clone());
        let (id, one_at_a_time) = (order.id, Arc::clone(&self.one_at_a_time));
        let snapshots = Arc::clone(&self.snapshots);
        snapshots.fetch_add(1, Ordering::Relaxed);
        let work = move || {
            // Whatever happens: somebody waits for the answer, and an agent that is to end for this.
            let done = catch_unwind(AssertUnwindSafe(|| {
                let _alone = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
                snapshot::run(&order, server.as_ref(), &over)
            }));
            let result = done.unwrap_or_else(|_| {
                let error = "it broke off, by a mistake in vufleet-agent; look at this agent's log, and whether the server of the \
                             data runs"
                    .to_owned();
                v1::SnapshotResult { id, error, ..Default::default() }
            });
            over.store(true, Ordering::Relaxed);
            outlet.send(0, Body::Snapshot(result));
            snapshots.fetch_sub(1, Ordering::Relaxed);
        };
        if let Err(error) = std::thread::Builder::new().name("snapshot".to_owned()).spawn(work) {
            self.snapshots.fetch_sub(1, Ordering::Relaxed);
            self.jobs.remove(&id);
            let error =
                format!("cannot start a thread for a snapshot: {error}; raise the limit of threads (ulimit -u)");
            self.outlet.send(0, Body::Snapshot(v1::SnapshotResult { id, error, ..Default::default() }));
        }
    }

    /// On a thread of its own: some of these files take the kernel a while on a machine with many cores.
    fn describe_host(&self, id: u64) {
        let outlet = self.outlet.clone();
        let work = move || {
            let values = observe::description::describe(Path::new("/")).into_iter().collect();
            outlet.send(0, Body::HostSettings(v1::HostSettings { id, values }));
        };
        if let Err(error) = std::thread::Builder::new().name("describe".to_owned()).spawn(work) {
            tracing::warn!(
                "cannot start a thread to describe the host: {error}; raise the limit of threads (ulimit -u)"
            );
            self.outlet.send(0, Body::HostSettings(v1::HostSettings { id, ..Default::default() }));
        }
    }

    fn control(&self, control: v1::Control) {
        let outlet = self.outlet.clone();
        let (id, one_at_a_time) = (control.id, Arc::clone(&self.one_at_a_time));
        let allowance = self.allowance();
        let work = move || {
            let _alone = control.changes.then(|| one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner));
            outlet.send(0, Body::Control(observe::control::run(&control, allowance)));
        };
        if let Err(error) = std::thread::Builder::new().name("control".to_owned()).spawn(work) {
            let error = format!(
                "cannot start a thread for control statements: {error}; raise the limit of threads (ulimit -u)"
            );
            self.outlet.send(0, Body::Control(v1::ControlResult { id, error, ..Default::default() }));
        }
    }
}

/// Reads a study that the coordinator sent, with the passwords that came beside it.
pub fn read_study(text: &str, secrets: Option<&v1::Secrets>) -> anyhow::Result<Study> {
    let mut study = study::read(text, &Edits::default()).context("the study that the coordinator sent is refused")?;
    if let Some(secrets) = secrets {
        study.target.password = secrets.password.as_deref().map(SecretString::from);
        if let Some(control) = &mut study.control {
            control.password = secrets.control_password.as_deref().map(SecretString::from);
        }
    }
    Ok(study)
}
