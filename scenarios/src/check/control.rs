//! Whether the agents let the study do what only their own configuration can allow.

use super::{AgentFacts, Finding};
use crate::permit::{Permit, brief};
use crate::study::Study;

const REMEDY: &str = "write allow_control = true into the --config of that agent, or start it with --allow-control";

/// One finding for the load and one for what is done beside it.
pub(super) fn findings(study: &Study, agents: &[AgentFacts]) -> Vec<Finding> {
    let permit = Permit::of(study);
    let mut findings = Vec::new();
    let unwilling: Vec<&str> = agents
        .iter()
        .filter(|agent| agent.sessions_wanted > 0 && !agent.allow_control)
        .map(|agent| agent.name.as_str())
        .collect();
    if let Some((sql, why)) = permit.load().filter(|_| !unwilling.is_empty()) {
        let what = format!(
            "the load is of statements of the study's own that are no questions ({}: {why}), and these agents do not allow them: {}",
            brief(sql),
            unwilling.join(", ")
        );
        findings.push(Finding::fatal(what, REMEDY));
    }
    let controls = permit.controls(study);
    if !controls.is_empty() && agents.iter().all(|agent| !agent.allow_control) {
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let what = format!("{}, and none of the agents here allows it ({})", controls.join("; "), names.join(", "));
        let remedy = "write allow_control = true into the --config of one of them, best of the one beside the database, or start \
                      it with --allow-control";
        findings.push(Finding::fatal(what, remedy));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agent, study};
    use super::*;
    use crate::study::{Action, Change};

    fn words(study: &Study, agents: &[AgentFacts]) -> Vec<String> {
        findings(study, agents).iter().map(Finding::to_string).collect()
    }

    fn unwilling(name: &str) -> AgentFacts {
        AgentFacts { allow_control: false, ..agent(name, 4) }
    }

    #[test]
    fn a_study_that_changes_nothing_needs_nothing_allowed() {
        assert_eq!(words(&study(4), &[unwilling("load-1")]), [""; 0]);
    }

    #[test]
    fn a_change_needs_one_agent_that_allows_it() {
        let mut study = study(4);
        study.variants[0].change =
            Change { apply: vec![Action::Sql("SET GLOBAL general_log = 1".to_owned())], ..Change::default() };
        assert_eq!(words(&study, &[unwilling("load-1"), agent("db", 0)]), [""; 0]);
        let refusal = words(&study, &[unwilling("load-1"), unwilling("load-2")]).join("\n");
        for word in ["changes the database", "load-1, load-2", "allow_control = true", "--allow-control"] {
            assert!(refusal.contains(word), "{word} in {refusal}");
        }
    }
}
