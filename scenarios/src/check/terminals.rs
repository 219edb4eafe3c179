//! How many keyed sessions a TPROC-C database is made for.

use super::Finding;
use crate::study::{Pacing, Profile, Study, Workload};

/// Terminals of a warehouse, one a district [4.2.2].
const TERMINALS: u32 = 10;

pub(super) fn findings(study: &Study) -> Vec<Finding> {
    study.profiles.iter().filter_map(crowd).collect()
}

fn crowd(profile: &Profile) -> Option<Finding> {
    let (Workload::Tprocc(shape), Pacing::KeyingThinking { .. }) = (&profile.workload, profile.pacing) else {
        return None;
    };
    let (sessions, ceiling) = (profile.sessions(), shape.warehouses.saturating_mul(TERMINALS));
    (sessions > ceiling).then(|| {
        let what = format!(
            "profile {} has {sessions} sessions that key and think, but {} warehouses are made for {ceiling}: the \
             specification has {TERMINALS} terminals a warehouse, and more wait for each other's rows",
            profile.id, shape.warehouses
        );
        let enough = sessions.div_ceil(TERMINALS);
        Finding::warning(what, format!("build at least {enough} warehouses, or lower the profile's vus"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;
    use crate::study::{Edits, read};

    fn found(workload: &str, profile: &str) -> Vec<Finding> {
        let text = format!(
            "name = 'a'\nseed = 1\n[target]\nkind = 'simulated'\n[workload]\n{workload}\n[[profiles]]\n{profile}\n"
        );
        findings(&read(&text, &Edits::default()).unwrap())
    }

    #[test]
    fn more_than_ten_keyed_sessions_a_warehouse_are_warned_of() {
        let tprocc = "kind = 'tprocc'\nwarehouses = 4";
        let keyed =
            |sessions: u32| format!("vus = 8\nsessions_per_vu = {sessions}\npacing = {{ keying_thinking = {{}} }}");
        assert_eq!(found(tprocc, &keyed(5)), []);
        let findings = found(tprocc, &keyed(6));
        assert_eq!((findings.len(), findings[0].severity), (1, Severity::Warning));
        let words = findings[0].to_string();
        for part in ["8vu-x6", "48 sessions", "4 warehouses are made for 40", "at least 5 warehouses"] {
            assert!(words.contains(part), "{part} in {words}");
        }
        assert_eq!(found(tprocc, "vus = 1000"), [], "without keying and thinking the ceiling does not apply");
        assert_eq!(found("kind = 'oltp'\nscript = 'read_only'", "vus = 1000"), []);
    }
}
