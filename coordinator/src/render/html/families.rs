//! Profiles that differ in nothing but their load: one curve.

use crate::analysis::{ProfileReport, Report};
use crate::render::chart::Axis;
use crate::render::workload;

/// Levels of one workload.
pub(super) struct Family<'r> {
    /// What its profiles' ids share; empty where nothing does.
    pub(super) name: String,
    pub(super) profiles: Vec<&'r ProfileReport>,
}

/// In the order of the study.
pub(super) fn families(report: &Report) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for profile in &report.profiles {
        let name = profile.id.replacen(&format!("{}vu", profile.vus), "", 1).trim_matches('-').replace("--", "-");
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.profiles.push(profile),
            None => families.push(Family { name, profiles: vec![profile] }),
        }
    }
    families
}

impl Family<'_> {
    /// By its name, else by what its workload is.
    pub(super) fn called(&self) -> String {
        match (self.name.as_str(), self.profiles.first()) {
            ("", Some(first)) if !first.workload.is_empty() => workload::words(&first.workload),
            ("", _) => "without a label".to_owned(),
            (name, _) => name.to_owned(),
        }
    }

    /// ", read-only" after what a chart shows.
    pub(super) fn suffix(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!(", {}", self.name) }
    }

    /// Virtual users by doublings where their number tells all levels apart; else the profiles by name.
    pub(super) fn axis(&self, px: (f64, f64)) -> (Axis, &'static str) {
        if self.by_users() {
            let users: Vec<f64> = self.profiles.iter().map(|profile| f64::from(profile.vus)).collect();
            return (Axis::doubling(&users, px), "virtual users");
        }
        let names: Vec<String> = self.profiles.iter().map(|profile| profile.id.clone()).collect();
        (Axis::places(&names, px), "profile")
    }

    /// Where a level is on that axis.
    pub(super) fn place(&self, index: usize) -> f64 {
        if self.by_users() { f64::from(self.profiles[index].vus) } else { index as f64 }
    }

    fn by_users(&self) -> bool {
        self.profiles.len() > 1 && self.profiles.windows(2).all(|pair| pair[0].vus < pair[1].vus)
    }
}
