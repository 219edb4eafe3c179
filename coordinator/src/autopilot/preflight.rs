//! Before anything is touched: every agent reaches the database, the database allows what the study wants, and so do
//! the hosts.

use std::time::Duration;

use vufleet_proto::v1;
use vufleet_scenarios::check::{self, AgentFacts, Answer, Answers, Finding, Login, Question, Severity};
use vufleet_scenarios::plan;
use vufleet_scenarios::study::TargetKind;

use super::pilot::{Ask, Pilot};
use super::{Halt, grid, reset, undo};
use crate::allocation::{self, Candidate};

/// `vufleet check`: prints every finding, refuses when one is fatal.
pub(super) async fn check(pilot: &mut Pilot) -> Result<(), Halt> {
    undo::tell(pilot, undo::Where::Anywhere).await?;
    let findings = findings(pilot, plan::duration(&pilot.study).at_least).await?;
    for finding in &findings {
        match finding.severity {
            Severity::Fatal => {}
            Severity::Warning => pilot.teller.warn(finding.to_string()).await,
            Severity::Note => pilot.teller.note(format!("note: {finding}")).await,
        }
    }
    refuse_fatal(&findings)?;
    pilot.teller.line(format!("{} can run", pilot.study.name)).await;
    Ok(())
}

/// The same before runs that take so long: warnings are told, notes are not. Variants that were left on here are undone first.
pub(super) async fn clear(pilot: &mut Pilot, time: Duration) -> Result<(), Halt> {
    undo::tell(pilot, undo::Where::Elsewhere).await?;
    undo::settle(pilot).await?;
    reset::mend(pilot).await?;
    let findings = findings(pilot, time).await?;
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Warning) {
        pilot.teller.warn(finding.to_string()).await;
    }
    refuse_fatal(&findings)
}

fn refuse_fatal(findings: &[Finding]) -> Result<(), Halt> {
    let fatal = findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    let sentences: Vec<String> = fatal.map(ToString::to_string).collect();
    if sentences.is_empty() { Ok(()) } else { Err(Halt::Refused(sentences.join("\n"))) }
}

async fn findings(pilot: &mut Pilot, time: Duration) -> Result<Vec<Finding>, Halt> {
    room(pilot, time).await?;
    refuse_fatal(&check::not_allowed(&pilot.study, &agent_facts(pilot)))?;
    reach_from_everywhere(pilot).await?;
    let questions = check::questions(&pilot.study);
    let mut answers = Answers::new();
    for login in [Login::Target, Login::Control] {
        let asked: Vec<_> = questions.iter().filter(|question| question.login == login).collect();
        if asked.is_empty() {
            continue;
        }
        let statements: Vec<String> = asked.iter().map(|question| question.sql.clone()).collect();
        let agent = pilot.spokesman_for(&statements)?;
        let ask = match login {
            Login::Target => Ask::target(statements),
            Login::Control => Ask::control(statements),
        };
        let result = pilot.ask(&agent, ask.keep_going()).await?;
        refuse_unreachable(&agent, &result)?;
        answers.extend(self::answers(asked, &result));
    }
    let agents = agent_facts(pilot);
    let mut findings = check::findings(&pilot.study, &answers, &agents);
    findings.extend(reset::look(pilot, &answers, &agents).await?);
    findings.sort_by_key(|finding| finding.severity);
    Ok(findings)
}

/// Whether there is room for everything that the agents will send in that time.
pub(super) async fn room(pilot: &Pilot, time: Duration) -> Result<(), Halt> {
    let agents = pilot.core.registry.agents().iter().filter(|agent| agent.is_here()).count();
    let interval = grid::interval(pilot.study.monitor.interval, pilot.study.schedule.measure);
    Ok(pilot.core.record.with(move |ledger| ledger.make_sure_of_room(agents, time, interval)).await?)
}

/// One connection from every agent that will need one.
async fn reach_from_everywhere(pilot: &mut Pilot) -> Result<(), Halt> {
    if pilot.study.target.kind == TargetKind::Simulated {
        return Ok(());
    }
    for agent in pilot.drivers() {
        let name = agent.hello.name;
        let result = pilot.ask(&name, Ask::target(vec!["SELECT 1".to_owned()])).await?;
        refuse_unreachable(&name, &result)?;
    }
    Ok(())
}

/// A result without tables is of a connection that could not be opened at all.
fn refuse_unreachable(agent: &str, result: &v1::ControlResult) -> Result<(), Halt> {
    if result.tables.is_empty() && !result.error.is_empty() {
        return Err(Halt::Refused(format!("agent {agent}: {}", result.error)));
    }
    Ok(())
}

/// What came back, by the question.
pub(super) fn answers<'a>(asked: impl IntoIterator<Item = &'a Question>, result: &v1::ControlResult) -> Answers {
    asked.into_iter().map(|question| question.id.clone()).zip(result.tables.iter().map(answer)).collect()
}

/// Answers carry no column names unless they failed.
pub(super) fn answer(table: &v1::Table) -> Answer {
    match table.columns.first() {
        Some(reason) if table.rows.is_empty() => Answer::Failed(reason.clone()),
        _ => Answer::Rows(
            table
                .rows
                .iter()
                .map(|row| row.cells.iter().map(|cell| (!cell.null).then(|| cell.text.clone())).collect())
                .collect(),
        ),
    }
}

fn agent_facts(pilot: &Pilot) -> Vec<AgentFacts> {
    let drivers = pilot.drivers();
    let candidates: Vec<Candidate> = drivers.iter().map(Candidate::from).collect();
    let largest = pilot.study.profiles.iter().max_by_key(|profile| profile.sessions());
    let allotments = largest.map_or_else(Vec::new, |profile| {
        let neighbourhoods = profile.workload.neighbourhoods(profile.vus);
        let shares = allocation::virtual_users(profile.vus, &neighbourhoods, &candidates, pilot.study.fleet.share);
        shares.into_iter().map(|share| (share.name, u64::from(share.count * profile.sessions_per_vu))).collect()
    });
    let observers = pilot.observers();
    let mut agents = drivers;
    agents.extend(observers.iter().filter(|agent| !agent.has_role("drive")).cloned());
    let facts = agents.into_iter().map(|agent| {
        let limits = agent.hello.limits.unwrap_or_default();
        let sessions = allotments.iter().find(|(name, _)| *name == agent.hello.name);
        AgentFacts {
            observes: observers.iter().any(|observer| observer.hello.name == agent.hello.name),
            name: agent.hello.name,
            version: agent.hello.version,
            labels: agent.hello.labels.into_iter().collect(),
            allow_control: agent.hello.allow_control,
            commands: agent.hello.commands,
            machine: agent.hello.machine,
            hostname: agent.hello.hostname,
            snapshot: Some(agent.hello.snapshot).filter(|directory| !directory.is_empty()),
            open_files: limits.open_files,
            somaxconn: limits.somaxconn,
            ports: (limits.port_low, limits.port_high),
            tw_reuse: limits.tw_reuse,
            syn_backlog: Some(limits.syn_backlog).filter(|most| *most > 0),
            tasks: Some(limits.tasks).filter(|most| *most > 0),
            memory_bytes: agent.hello.memory_bytes,
            memory_limit_bytes: Some(limits.memory_bytes).filter(|most| *most > 0),
            host_cores: limits.host_cores,
            affinity_cores: limits.affinity_cores,
            quota_cores: Some(limits.quota_millicores).filter(|most| *most > 0).map(|most| f64::from(most) / 1e3),
            sessions_wanted: sessions.map_or(0, |(_, sessions)| *sessions),
            clock_uncertainty: known(agent.heartbeat.uncertainty_ns),
        }
    });
    facts.collect()
}

/// An agent that has just joined has said nothing of its clock yet, or that it does not know.
fn known(uncertainty_ns: u64) -> Option<Duration> {
    (1..u64::MAX).contains(&uncertainty_ns).then(|| Duration::from_nanos(uncertainty_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, null: bool) -> v1::Cell {
        v1::Cell { text: text.to_owned(), null }
    }

    #[test]
    fn answers_tell_failure_null_and_nothing_apart() {
        let failed = v1::Table { columns: vec!["no such table".to_owned()], rows: vec![] };
        assert_eq!(answer(&failed), Answer::Failed("no such table".to_owned()));
        assert_eq!(answer(&v1::Table::default()), Answer::Rows(vec![]));
        let row = v1::TableRow { cells: vec![cell("", true), cell("", false), cell("7", false)] };
        let rows = Answer::Rows(vec![vec![None, Some(String::new()), Some("7".to_owned())]]);
        assert_eq!(answer(&v1::Table { columns: vec![], rows: vec![row] }), rows);
    }

    #[test]
    fn only_fatal_findings_refuse() {
        let finding = |severity| Finding { severity, what: "a".to_owned(), remedy: "b".to_owned() };
        assert_eq!(refuse_fatal(&[finding(Severity::Warning), finding(Severity::Note)]), Ok(()));
        let both = [finding(Severity::Fatal), finding(Severity::Fatal)];
        assert_eq!(refuse_fatal(&both), Err(Halt::Refused("a; b\na; b".to_owned())));
    }
}
