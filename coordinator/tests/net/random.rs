//! Faults in an order that nobody chose, over several studies: whatever happens, every event is in the ledger once, no load goes on
//! without a coordinator, every run has one verdict, and nothing is left behind.
//!
//! VUFLEET_NET_SEED makes the faults of a seed again, VUFLEET_NET_MINUTES lets it go on for longer.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::audit::{Audit, assert_agrees_but_for, assert_truthful};
use super::hosts::{COORD, DB, Net, OP, has_nft};
use super::lab::{Job, eventually, files};
use super::partitions::{SLACK, is_undone, with_variant};
use super::site::Site;

const LEASE: Duration = Duration::from_secs(4);
const AGENTS: [(&str, &str); 4] = [("load1", "drive"), ("load2", "drive"), ("load3", "drive"), (DB, "observe")];

/// What an agent that is killed may have had committed and not told of, and what a load that is ended by force may have had under way.
const UNTOLD: u64 = 300;

/// One thing that goes wrong, for a while.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Unplug(&'static str, Net),
    /// Two of three packets that a host hears are lost.
    Deaf(&'static str),
    Reset(&'static str),
    Freeze(&'static str),
    FreezeCoordinator,
    KillAgent(&'static str),
    EndAgent(&'static str),
    KillCoordinator,
}

impl Fault {
    fn drawn(random: &mut SmallRng) -> Fault {
        let (agent, _) = AGENTS[random.random_range(0..AGENTS.len())];
        let driving = AGENTS[random.random_range(0..3)].0;
        match random.random_range(0..12) {
            0 | 1 => Fault::Unplug(agent, Net::Control),
            2 => Fault::Unplug(driving, Net::Data),
            3 => Fault::Unplug(COORD, Net::Control),
            4 => Fault::Unplug(OP, Net::Control),
            5 if has_nft() => Fault::Deaf(if random.random_bool(0.3) { COORD } else { agent }),
            6 if has_nft() => Fault::Reset(agent),
            7 => Fault::Freeze(agent),
            8 => Fault::FreezeCoordinator,
            9 => Fault::KillAgent(agent),
            10 => Fault::EndAgent(agent),
            _ => Fault::KillCoordinator,
        }
    }
}

/// A lab whose programs may be killed and started again.
struct Fleet<'a> {
    site: &'a Site,
    coordinator: Option<Job>,
    agents: BTreeMap<&'static str, Job>,
    killed: u64,
}

impl<'a> Fleet<'a> {
    fn start(site: &'a Site) -> Fleet<'a> {
        let coordinator = Some(site.coordinator(&options()));
        let agents = AGENTS.iter().map(|(name, roles)| (*name, site.agent(name, roles))).collect();
        Fleet { site, coordinator, agents, killed: 0 }
    }

    fn agent_again(&mut self, name: &'static str) {
        let (_, roles) = AGENTS.iter().find(|(agent, _)| *agent == name).unwrap();
        self.agents.insert(name, self.site.lab.spawn(self.site.agent_command(name, roles)));
    }

    /// Does it for as long, and puts it right.
    fn suffer(&mut self, fault: Fault, time: Duration) {
        let hosts = &self.site.hosts;
        match fault {
            Fault::Unplug(host, net) => {
                hosts.unplug(host, net);
                sleep(time);
                hosts.plug(host, net);
            }
            Fault::Deaf(host) => {
                hosts.filter(host, "iifname ctl0 numgen random mod 3 < 2 drop", "");
                sleep(time);
                hosts.filter(host, "", "");
            }
            Fault::Reset(host) => {
                let words = format!("ip daddr {} ip protocol tcp reject with tcp reset", Net::Control.address(COORD));
                hosts.filter(host, "", &words);
                sleep(time);
                hosts.filter(host, "", "");
            }
            Fault::Freeze(name) => freeze(&self.agents[name], time),
            Fault::FreezeCoordinator => freeze(self.coordinator.as_ref().unwrap(), time),
            Fault::KillAgent(name) => {
                self.agents.remove(name).unwrap().kill();
                self.killed += 1;
                sleep(time);
                self.agent_again(name);
            }
            Fault::EndAgent(name) => {
                let job = self.agents.remove(name).unwrap();
                job.signal(Signal::SIGTERM);
                job.end().expect(0);
                sleep(time);
                self.agent_again(name);
            }
            Fault::KillCoordinator => {
                self.coordinator.take().unwrap().kill();
                sleep(time);
                self.coordinator = Some(self.site.coordinator(&options()));
            }
        }
    }

    fn is_whole(&self) -> bool {
        let lines = self.site.agents();
        AGENTS.iter().all(|(name, _)| lines.iter().any(|line| super::lab::fleet::is_here(line, name)))
    }
}

fn options() -> String {
    format!("--lease {}s", LEASE.as_secs())
}

fn freeze(job: &Job, time: Duration) {
    job.signal(Signal::SIGSTOP);
    sleep(time);
    job.signal(Signal::SIGCONT);
}

/// On the test's own output whether it passes or not: without it a seed is lost.
#[expect(clippy::explicit_write, reason = "the harness keeps what eprintln says")]
fn tell(words: &str) {
    writeln!(std::io::stderr(), "{words}").unwrap();
}

/// Whether an absence of the coordinator is one that ends the load of those agents too that had nothing else to suffer.
fn leaves_nobody(fault: Fault) -> bool {
    matches!(fault, Fault::Unplug(COORD, _) | Fault::FreezeCoordinator | Fault::KillCoordinator)
}

#[test]
fn whatever_happens_the_ledger_is_whole_and_no_load_is_left_alone() {
    let Some(site) = Site::with(with_variant) else { return };
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("VUFLEET_NET_SEED").unwrap_or_else(|| rand::random_range(0..1_000_000));
    let time =
        number("VUFLEET_NET_MINUTES").map_or(Duration::from_secs(75), |minutes| Duration::from_secs(60 * minutes));
    tell(&format!("faults of seed {seed}: again with VUFLEET_NET_SEED={seed}"));
    let mut random = SmallRng::seed_from_u64(seed);
    let mut fleet = Fleet::start(&site);
    let (begun, pulse) = (Instant::now(), site.pulse());
    let mut studies = 0;
    while begun.elapsed() < time {
        studies += 1;
        eventually("the fleet is whole", || fleet.is_whole());
        let mut job = site.run(
            "--wait-for-agents 4 --set schedule.repetitions=2 --set schedule.max_repeats=3 --set schedule.ramp_up=500ms \
             --set schedule.measure=4s --set monitor.interval=500ms",
        );
        let mut story = String::new();
        while !job.has_ended() && begun.elapsed() < time + Duration::from_secs(30) {
            sleep(Duration::from_millis(random.random_range(500..4000)));
            let (fault, time) = (Fault::drawn(&mut random), Duration::from_millis(random.random_range(300..9000)));
            let line = format!("study {studies}, {:6.1} s: {fault:?} for {time:?}", begun.elapsed().as_secs_f64());
            story.push_str(&format!("{line}\n"));
            tell(&line);
            let since = Instant::now();
            fleet.suffer(fault, time);
            if leaves_nobody(fault) {
                let alone = pulse.last_commit_before(Instant::now()).saturating_duration_since(since);
                assert!(alone < LEASE + SLACK, "seed {seed}: load {alone:?} after {fault:?}\n{story}");
            }
        }
        // Whatever it ended like: a study that nobody follows any more ends by itself, or is ended.
        job.end();
        site.stop_all();
        site.await_quiet();
        eventually("the variant is undone", || is_undone(&site));
    }
    // What they have not handed over yet is not lost with them.
    for agent in fleet.agents.values() {
        agent.signal(Signal::SIGTERM);
    }
    for (_, agent) in std::mem::take(&mut fleet.agents) {
        agent.end();
    }
    let commits = pulse.commits();
    let killed = fleet.killed;
    site.dismiss(fleet.coordinator.unwrap());
    let counted = Audit::of(&site.data()).assert_whole().counted();
    assert_agrees_but_for(counted, commits, UNTOLD * (killed + 1));
    let mut runs = 0;
    for id in site.studies() {
        site.lab.run(&format!("export {id} --out {id}")).expect(0);
        let results = assert_truthful(&site.lab, &id);
        runs += files::runs(&results).len();
        tell(&format!("{id} ({}):\n{}", results["state"], files::story(&results)));
    }
    tell(&format!(
        "seed {seed}: {studies} studies, {runs} runs, {commits} commits, {counted:?}, {killed} agents killed"
    ));
    site.lab.assert_deserted();
}
