//! What is not the same in two studies beside their figures: what was asked, who asked, and what was asked.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Subject;
use crate::analysis::{Report, SettingsReport};
use crate::ledger::DATABASE;

/// Something that is otherwise in B.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Whose: "study", "target", "vufleet", "fleet", "database" or "host NAME".
    pub of: String,
    /// What.
    pub name: String,
    /// In A; absent: it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// In B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// In the order in which they matter.
pub(super) fn differences(a: &Subject, b: &Subject, withheld: bool) -> Vec<Difference> {
    if a.is(b) {
        return Vec::new();
    }
    let told = |subject: &Subject| {
        let keys = subject.keys.iter().filter(|(key, _)| key.as_str() != "name");
        keys.map(|(key, value)| (key.clone(), shown(key, value, withheld))).collect::<BTreeMap<_, _>>()
    };
    let mut found = between("target", &target(&a.report), &target(&b.report));
    found.extend(between("vufleet", &version(&a.report), &version(&b.report)));
    found.extend(between("study", &told(a), &told(b)));
    found.extend(between("fleet", &fleet(&a.report), &fleet(&b.report)));
    found.extend(of_settings(&a.report.settings, &b.report.settings));
    found
}

fn between(of: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let difference = |name: &String| Difference {
        of: of.to_owned(),
        name: name.clone(),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    };
    differ.map(difference).collect()
}

/// An open arrival rate is a throughput.
fn shown(key: &str, value: &str, withheld: bool) -> String {
    let is_rate = key.ends_with("pacing.rate") || (key.ends_with("pacing") && value.contains("rate"));
    if withheld && is_rate { "(withheld)".to_owned() } else { value.to_owned() }
}

fn target(report: &Report) -> BTreeMap<String, String> {
    let target = &report.target;
    let known = [
        ("kind", Some(target.kind.clone())),
        ("version", target.version.clone()),
        ("connection", target.connection.clone()),
        ("shares a machine with the load", Some(target.shared_host.to_string())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn version(report: &Report) -> BTreeMap<String, String> {
    BTreeMap::from([("version".to_owned(), report.vufleet.clone())])
}

/// Who drove, in any run that counts.
fn fleet(report: &Report) -> BTreeMap<String, String> {
    let driving: BTreeSet<&str> =
        report.runs.iter().filter(|run| run.counts()).flat_map(|run| &run.driving).map(|it| it.name.as_str()).collect();
    let names = driving.into_iter().collect::<Vec<_>>().join(", ");
    BTreeMap::from([("driving agents".to_owned(), names)])
}

/// Of the database, and of the hosts of agents that both have: as they were before the first run.
fn of_settings(a: &[SettingsReport], b: &[SettingsReport]) -> Vec<Difference> {
    let mut found = Vec::new();
    for of_a in a {
        let Some(of_b) = b.iter().find(|other| other.source == of_a.source) else { continue };
        let of = if of_a.source == DATABASE { DATABASE.to_owned() } else { format!("host {}", of_a.source) };
        found.extend(between(&of, &of_a.before, &of_b.before));
    }
    found
}
