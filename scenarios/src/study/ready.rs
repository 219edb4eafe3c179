//! Studies that come with vufleet, to run as they are or to start from.

/// A ready-made study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The file's name without its ending.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every ready-made study.
pub const READY: [Ready; 6] = [
    Ready { name: "cpu-loop-mariadb", text: include_str!("../../studies/cpu-loop-mariadb.toml") },
    Ready { name: "cpu-loop-mssql", text: include_str!("../../studies/cpu-loop-mssql.toml") },
    Ready { name: "demo", text: include_str!("../../studies/demo.toml") },
    Ready { name: "oltp-levels", text: include_str!("../../studies/oltp-levels.toml") },
    Ready { name: "rehearsal", text: include_str!("../../studies/rehearsal.toml") },
    Ready { name: "tprocc-levels", text: include_str!("../../studies/tprocc-levels.toml") },
];

/// The text of the ready-made study of that name.
pub fn ready(name: &str) -> Option<&'static str> {
    READY.iter().find(|study| study.name == name).map(|study| study.text)
}

#[cfg(test)]
mod tests {
    use super::super::{Edits, Pacing, TargetKind, read};
    use super::*;

    #[test]
    fn every_ready_made_study_is_read() {
        for study in READY {
            match read(study.text, &Edits::default()) {
                Ok(_) => {}
                Err(refusal) => panic!("{}: {refusal}", study.name),
            }
        }
    }

    #[test]
    fn every_file_beside_them_is_among_them() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/studies");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, READY.map(|study| format!("{}.toml", study.name)));
    }

    #[test]
    fn the_demo_needs_no_server_and_the_rehearsal_no_database() {
        let demo = read(ready("demo").unwrap(), &Edits::default()).unwrap();
        assert_eq!(demo.target.kind, TargetKind::Sqlite);
        assert_eq!(demo.profiles.iter().map(|profile| profile.vus).collect::<Vec<_>>(), [1, 4]);
        let rehearsal = read(ready("rehearsal").unwrap(), &Edits::default()).unwrap();
        assert_eq!(rehearsal.target.kind, TargetKind::Simulated);
        assert!(rehearsal.profiles.iter().any(|profile| matches!(profile.pacing, Pacing::Rate(_))));
        assert_eq!(ready("nothing"), None);
    }
}
