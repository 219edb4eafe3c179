//! Whether the commands that variants and resets name are there to be run.

use std::collections::BTreeMap;

use super::{AgentFacts, Finding};
use crate::study::{Action, ResetMethod, Study};

/// One finding a command that no agent has.
pub(super) fn findings(study: &Study, agents: &[AgentFacts]) -> Vec<Finding> {
    let mut missing: Vec<(&str, &BTreeMap<String, String>)> = Vec::new();
    let mut findings = Vec::new();
    for (whose, action) in actions(study) {
        let Action::Command { name, agent: labels } = action else { continue };
        if missing.contains(&(name, labels)) || agents.iter().any(|agent| has(agent, name, labels)) {
            continue;
        }
        missing.push((name, labels));
        findings.push(finding(&whose, name, labels, agents));
    }
    findings
}

/// Everything that is done to the database or its host, and whose it is.
fn actions(study: &Study) -> impl Iterator<Item = (String, &Action)> {
    let variants = study.variants.iter().flat_map(|variant| {
        let whose = format!("variant {}", variant.name);
        variant.change.apply.iter().chain(&variant.change.revert).map(move |action| (whose.clone(), action))
    });
    let reset = match study.reset.as_ref().map(|reset| &reset.method) {
        Some(ResetMethod::Actions(actions)) => actions.as_slice(),
        _ => &[],
    };
    variants.chain(reset.iter().map(|action| ("the reset".to_owned(), action)))
}

fn has(agent: &AgentFacts, command: &str, labels: &BTreeMap<String, String>) -> bool {
    is_labelled(agent, labels) && agent.commands.iter().any(|name| name == command)
}

fn is_labelled(agent: &AgentFacts, labels: &BTreeMap<String, String>) -> bool {
    labels.iter().all(|(key, value)| agent.labels.get(key) == Some(value))
}

fn finding(whose: &str, command: &str, labels: &BTreeMap<String, String>, agents: &[AgentFacts]) -> Finding {
    let told: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let who = if told.is_empty() { String::new() } else { format!(" with the labels {}", told.join(", ")) };
    let names: Vec<&str> =
        agents.iter().filter(|agent| is_labelled(agent, labels)).map(|agent| agent.name.as_str()).collect();
    if names.is_empty() {
        let what = format!("{whose} runs command {command}, but no agent{who} is here");
        return Finding::fatal(what, "start one with these labels, or correct the labels in the study");
    }
    let what = format!("{whose} runs command {command}, but no agent{who} runs it ({})", names.join(", "));
    let remedy = format!(
        "write allow_control = true and {command} = [\"/path/to/program\"] under [commands] into that agent's --config"
    );
    Finding::fatal(what, remedy)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agent, study};
    use super::*;
    use crate::study::{Change, Reset, ResetBefore};

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn restoring(labels: &BTreeMap<String, String>) -> Study {
        let mut study = study(4);
        let action = Action::Command { name: "restore".to_owned(), agent: labels.clone() };
        study.variants[0].change = Change { apply: vec![action.clone()], revert: vec![action], ..Change::default() };
        study
    }

    fn on(host: &str, commands: &[&str]) -> AgentFacts {
        let commands = commands.iter().map(|name| (*name).to_owned()).collect();
        AgentFacts { labels: labels(&[("host", host)]), commands, ..agent(host, 4) }
    }

    #[test]
    fn a_command_needs_an_agent_that_has_it_and_the_labels() {
        let study = restoring(&labels(&[("host", "db")]));
        assert_eq!(findings(&study, &[on("db", &["restore"]), on("load", &[])]), []);
        for (agents, words) in [
            (vec![on("load", &["restore"])], "no agent with the labels host=db is here"),
            (vec![on("db", &["back-up"]), on("load", &["restore"])], "runs it (db); write allow_control = true"),
        ] {
            let found = findings(&study, &agents);
            assert_eq!(found.len(), 1, "once, though it applies and reverts: {found:?}");
            assert!(found[0].to_string().contains(words), "{}", found[0]);
        }
        assert_eq!(findings(&restoring(&labels(&[])), &[on("anywhere", &["restore"])]), []);
        let action = Action::Command { name: "restore".to_owned(), agent: labels(&[("host", "db")]) };
        let reset = Reset::new(ResetBefore::Run, ResetMethod::Actions(vec![action]));
        let found = findings(&Study { reset: Some(reset), ..self::study(4) }, &[on("db", &[])]);
        assert!(found[0].to_string().starts_with("the reset runs command restore, but no agent"), "{found:?}");
    }
}
