//! Looks for everything that speaks against a run.

use std::time::Duration;

use vufleet_scenarios::check::clock_bound;
use vufleet_scenarios::session::FaultKind;

use super::fold::Fold;
use super::footprint;
use super::host::Allowed;
use super::measure::Measured;
use super::missing::missing_samples;
use super::outage::outage;
use super::run::Start;
use super::sample::NEW_ORDER;
use super::steady::Steady;
use super::verdict::{Reason, Verdict};
use super::window::Window;
use super::witness::{Agreement, Witness};
use crate::ledger::{DrivingAgent, Fact, RunEnd, RunFacts};

/// Driving hosts busier than this may be what is being measured.
const BUSY_PERCENT: f64 = 90.0;
/// More hosts than these are told of together.
const FEW: usize = 4;
/// Faults per hundred transactions.
const ERRORS_PERCENT: f64 = 1.0;
/// Share of an open rate's arrivals that may queue up, and how many standard deviations of their number.
const BEHIND: f64 = 0.01;
const BEHIND_ERRORS: f64 = 3.0;
/// An agent that begins so much before or after the others is another load for as long.
const START_MS: f64 = 50.0;
/// Share of the arrivals that may not start: a few are on their way to a session when the load ends.
const NOT_STARTED: f64 = 0.001;

/// Everything found against a run, the worst first.
pub(super) fn reasons(fold: &Fold<'_>, measured: Option<&Measured>) -> Vec<Reason> {
    let mut reasons = endings(fold, measured);
    reasons.extend(fold.found.iter().filter(|reason| !is_told_as_loss(fold, measured, reason)).cloned());
    reasons.extend(fold.facts.iter().filter_map(|fact| from_fact(fact, measured)));
    if let (Some(measured), Some(facts)) = (measured, &fold.run.facts) {
        inside_the_window(fold, measured, facts, &mut reasons);
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.verdict()));
    reasons
}

fn endings(fold: &Fold<'_>, measured: Option<&Measured>) -> Vec<Reason> {
    let before_the_end = |at_ns: u64| measured.is_none_or(|it| it.by_transactions || at_ns < it.end_ns);
    let ending = match &fold.run.end {
        None => Some(Reason::Unfinished),
        // Whoever caused it is told of with more to say.
        Some((_, RunEnd::Failed(why))) => (!has_culprit(fold)).then(|| Reason::Failed(why.clone())),
        Some((at_ns, RunEnd::Stopped)) => before_the_end(*at_ns).then_some(Reason::Stopped),
        Some((at_ns, RunEnd::CoordinatorEnded)) => before_the_end(*at_ns).then_some(Reason::CoordinatorEnded),
        Some((_, RunEnd::Finished)) => measured.is_none().then_some(Reason::NeverStarted),
    };
    ending.into_iter().collect()
}

fn has_culprit(fold: &Fold<'_>) -> bool {
    fold.facts.iter().any(|fact| matches!(fact, Fact::AgentLost { .. } | Fact::WrongState { .. }))
        || fold.found.iter().any(|reason| matches!(reason, Reason::AgentFailed { .. }))
}

/// An agent whose lease ran out says so itself, and the coordinator has noted its loss, if inside the window.
fn is_told_as_loss(fold: &Fold<'_>, measured: Option<&Measured>, reason: &Reason) -> bool {
    let Reason::AgentFailed { agent: failed, .. } = reason else { return false };
    let mut told = fold.facts.iter().filter_map(|fact| from_fact(fact, measured));
    told.any(|reason| matches!(reason, Reason::AgentLost { agent, .. } if agent == *failed))
}

fn from_fact(fact: &Fact, measured: Option<&Measured>) -> Option<Reason> {
    match fact {
        // Lost after the window, an agent took nothing with it: what it owed by then is counted elsewhere.
        Fact::AgentLost { at_ns, .. } if measured.is_some_and(|it| !it.by_transactions && *at_ns > it.end_ns) => None,
        Fact::AgentLost { agent, at_ns, reason } => {
            let at_s = measured.map_or(0.0, |measured| measured.window.seconds(*at_ns));
            Some(Reason::AgentLost { agent: agent.clone(), at_s, reason: reason.clone() })
        }
        Fact::WrongState { variant, found, .. } => {
            Some(Reason::WrongState { variant: variant.clone(), found: found.clone() })
        }
        Fact::Applied { .. }
        | Fact::Reverted { .. }
        | Fact::Footprint { .. }
        | Fact::Reset { .. }
        | Fact::Switched { .. }
        | Fact::Settings { .. }
        | Fact::SettingsUnread { .. }
        | Fact::Thinned { .. }
        | Fact::Note { .. } => None,
    }
}

fn inside_the_window(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts, reasons: &mut Vec<Reason>) {
    let window = measured.window;
    if fold.inside(window).next().is_none() {
        reasons.push(Reason::NoInterval);
        return;
    }
    let connected = connected_at(fold, window);
    if connected < facts.sessions {
        reasons.push(Reason::TooFewSessions { connected, wanted: facts.sessions });
    }
    reasons.extend(outage(fold, measured, facts).map(Reason::Outage));
    if measured.work.transactions() == 0.0 {
        let words = first_words(fold, measured);
        reasons.push(Reason::NothingDone { failed: Some(measured.work.failed as u64), words });
    }
    reasons.extend(measured.witness.iter().filter_map(disagreement));
    // A run that was cut off owes no samples for the rest of its window.
    if matches!(fold.run.end, None | Some((_, RunEnd::Finished))) {
        missing_samples(fold, measured, facts, reasons);
    }
    if !facts.shared_host {
        reasons.extend(busy_drivers(fold, measured));
        reasons.extend(measured.hosts.iter().filter(|host| fold.drives(&host.key)).filter_map(|host| {
            let Allowed { cores, of, used_percent } = host.usage.allowed?;
            let used_percent = used_percent.filter(|percent| *percent > BUSY_PERCENT)?;
            Some(Reason::DriverHeld { agent: host.key.agent.clone(), used_percent, cores, of })
        }));
    }
    let percent = 100.0 * measured.work.faults / measured.work.ended().max(1.0);
    if percent > ERRORS_PERCENT {
        reasons.push(Reason::Errors { percent, words: first_words(fold, measured) });
    }
    reasons.extend(orders_astray(fold));
    reasons.extend(clock_doubt(fold, measured));
    reasons.extend(fold.farthest_start().filter(|start| start.late_ms.abs() > START_MS).map(started_apart));
    // A variant that goes live in mid-run is meant to be seen.
    let steady = measured.steady.filter(|_| !fold.run.planned.is_switched());
    reasons.extend(steady.filter(Steady::is_trend).map(|Steady { percent, p }| Reason::Unsteady { percent, p }));
    let sessions = ended_early(fold, measured, facts);
    if sessions > 0 {
        reasons.push(Reason::EndedEarly { sessions });
    }
    if measured.not_started as f64 > NOT_STARTED * measured.due as f64 {
        reasons.push(Reason::NotStarted { counts: Some((measured.not_started, measured.due)) });
    }
    reasons.extend(behind(measured, facts.sessions));
    reasons.extend(
        footprint::losses(&footprint::observer(&fold.facts))
            .map(|(what, count)| Reason::ObserverLost { what: what.replace('_', " "), count: Some(count) }),
    );
}

/// One by one, as long as that is readable.
fn busy_drivers(fold: &Fold<'_>, measured: &Measured) -> Vec<Reason> {
    let driving = measured.hosts.iter().filter(|host| fold.drives(&host.key));
    let mut busy: Vec<(&str, f64)> = driving
        .filter_map(|host| Some((host.key.agent.as_str(), host.usage.cpu_percent.filter(|it| *it > BUSY_PERCENT)?)))
        .collect();
    let others = if busy.len() > FEW { busy.len() - 1 } else { 0 };
    if others > 0 {
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        busy.truncate(1);
    }
    let reason =
        |(agent, cpu_percent): (&str, f64)| Reason::DriverBusy { agent: agent.to_owned(), cpu_percent, others };
    busy.into_iter().map(reason).collect()
}

/// What the database said to the first of the most frequent kind of fault inside the window.
fn first_words(fold: &Fold<'_>, measured: &Measured) -> Option<String> {
    let mut counts = [0_u64; FaultKind::ALL.len()];
    for kind in fold.inside(measured.window).flat_map(|sample| &sample.kinds) {
        kind.faults.each().for_each(|(fault, count)| counts[fault.index()] += count);
    }
    let (kind, _) =
        FaultKind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count)?;
    let kind = kind.name();
    fold.first_words.get(kind).map(|words| format!("{kind}: {words}"))
}

/// Whether open arrivals queued up inside the window by more than their own irregularity explains.
fn behind(measured: &Measured, sessions: u32) -> Option<Reason> {
    let (due, ended) = (measured.due_inside as f64, measured.work.ended());
    let queued = due - measured.not_started_inside as f64 - ended - f64::from(sessions);
    let is_noise = queued <= BEHIND * due || queued <= BEHIND_ERRORS * due.sqrt();
    (!is_noise).then_some(Reason::Behind { counts: Some((measured.due_inside, ended as u64)) })
}

/// Sessions connected when the window began: each agent's last word before that.
pub(super) fn connected_at(fold: &Fold<'_>, window: Window) -> u32 {
    let sessions_of = |agent: &String| {
        let mine = || fold.samples.iter().filter(|sample| *sample.agent == **agent);
        let before = mine().take_while(|sample| sample.middle_ns() < window.start_ns).last();
        before
            .map(|sample| sample.sessions)
            .or_else(|| fold.drivers[agent].connected)
            .or_else(|| mine().next().map(|sample| sample.sessions))
            .unwrap_or(0)
    };
    fold.drivers.keys().map(sessions_of).sum()
}

fn disagreement(witness: &Witness) -> Option<Reason> {
    let verdict = match witness.agreement() {
        Agreement::Agree => return None,
        Agreement::Disagree => Verdict::Degraded,
        Agreement::Apart => Verdict::Invalid,
    };
    Some(Reason::Witness {
        metric: witness.metric.into(),
        difference_percent: witness.difference_percent,
        counts: Some((witness.client_count, witness.database_count)),
        source: witness.source.into(),
        verdict,
    })
}

/// Rows do not forget: over a whole run the database has every order that was committed, and no other.
fn orders_astray(fold: &Fold<'_>) -> Option<Reason> {
    fold.profile.order_entry?;
    let whole = fold.whole_run().remove(NEW_ORDER)?;
    let (client, database) = (whole.client?, whole.database?);
    let is_told = (client..=client + whole.unknown).contains(&database);
    (!is_told).then_some(Reason::OrdersAstray { counts: Some((client, whole.unknown, database)) })
}

fn started_apart(start: Start) -> Reason {
    Reason::StartedApart { agent: start.agent, late_ms: start.late_ms }
}

fn clock_doubt(fold: &Fold<'_>, measured: &Measured) -> Option<Reason> {
    let worst_ns = fold.inside(measured.window).map(|sample| sample.uncertainty_ns).max()? as f64;
    let length = Duration::from_nanos(measured.end_ns.saturating_sub(measured.window.start_ns));
    let bound_ns = clock_bound((!measured.by_transactions).then_some(length)).as_nanos() as f64;
    (worst_ns > bound_ns).then_some(Reason::ClockUncertain { uncertainty_ms: worst_ns / 1e6, bound_ms: bound_ns / 1e6 })
}

/// Sessions that were gone for good: their users died, or had not come back when the window ended.
fn ended_early(fold: &Fold<'_>, measured: &Measured, facts: &RunFacts) -> u32 {
    let of = |agent: &DrivingAgent| {
        let mine = || fold.inside(measured.window).filter(|sample| *sample.agent == *agent.name);
        let died = mine().map(|sample| sample.ended).max().unwrap_or(0);
        let wanted = agent.vus * fold.profile.sessions_per_vu;
        // Those that have done their transactions are gone for a good reason, and so are those of a load that was ended.
        let was_cut_off = !matches!(fold.run.end, None | Some((_, RunEnd::Finished)));
        let last = mine().last().filter(|_| !measured.by_transactions && !was_cut_off);
        died.max(last.map_or(0, |sample| wanted.saturating_sub(sample.sessions)))
    };
    facts.driving.iter().map(of).sum()
}
