//! The processor: what it is, how its speed is governed, and what is done against its leaks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{field, line, names};

const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn settings(root: &Path) -> BTreeMap<String, String> {
    let info = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let mut settings = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    put("cpu", field(&info, "model name"));
    put("cpu microcode", field(&info, "microcode"));
    put("cpus online", line(root, &format!("{CPUS}/online")));
    put("cpus of the agent", own_cpus(root));
    put("numa nodes", nodes(root));
    put("cpu governor", of_all(root, "scaling_governor"));
    put("cpu driver", of_all(root, "scaling_driver"));
    put("cpu energy preference", of_all(root, "energy_performance_preference"));
    put("cpu turbo", turbo(root));
    put("smt", line(root, &format!("{CPUS}/smt/control")));
    put("virtual machine", virtual_machine(&info));
    let leaks = format!("{CPUS}/vulnerabilities");
    for leak in names(root, &leaks) {
        let state = line(root, &format!("{leaks}/{leak}")).filter(|state| state != "Not affected");
        put(&format!("mitigation {leak}"), state);
    }
    settings
}

fn own_cpus(root: &Path) -> Option<String> {
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    field(&status, "Cpus_allowed_list")
}

fn nodes(root: &Path) -> Option<String> {
    let numbered = |name: &&String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let count = names(root, "sys/devices/system/node").iter().filter(numbered).count();
    (count > 0).then(|| count.to_string())
}

/// What all processors have in a file of their frequency scaling; several values where they differ.
fn of_all(root: &Path, file: &str) -> Option<String> {
    let numbered = |name: &String| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok());
    let cpus = names(root, CPUS).into_iter().filter(numbered);
    let values: BTreeSet<String> = cpus.filter_map(|cpu| line(root, &format!("{CPUS}/{cpu}/cpufreq/{file}"))).collect();
    (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
}

fn turbo(root: &Path) -> Option<String> {
    let switch = |path: &str, on: &str| {
        line(root, &format!("{CPUS}/{path}")).map(|value| if value == on { "on" } else { "off" }.to_owned())
    };
    switch("intel_pstate/no_turbo", "0").or_else(|| switch("cpufreq/boost", "1"))
}

/// Whether a hypervisor says that it is there; only processors with flags tell.
fn virtual_machine(info: &str) -> Option<String> {
    let flags = field(info, "flags")?;
    let is_guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    Some(if is_guest { "yes" } else { "no" }.to_owned())
}
