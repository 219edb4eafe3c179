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
pub const READY: [Ready; 15] = [
    Ready { name: "cpu-loop-mariadb", text: include_str!("../../studies/cpu-loop-mariadb.toml") },
    Ready { name: "cpu-loop-mssql", text: include_str!("../../studies/cpu-loop-mssql.toml") },
    Ready { name: "demo", text: include_str!("../../studies/demo.toml") },
    Ready { name: "mariadb-audit-cpu-loop", text: include_str!("../../studies/mariadb-audit-cpu-loop.toml") },
    Ready { name: "mariadb-audit-levels", text: include_str!("../../studies/mariadb-audit-levels.toml") },
    Ready { name: "mariadb-oltp-audit", text: include_str!("../../studies/mariadb-oltp-audit.toml") },
    Ready { name: "mariadb-slow-log-levels", text: include_str!("../../studies/mariadb-slow-log-levels.toml") },
    Ready { name: "mssql-audit-queue-delay", text: include_str!("../../studies/mssql-audit-queue-delay.toml") },
    Ready { name: "mssql-oltp-audit", text: include_str!("../../studies/mssql-oltp-audit.toml") },
    Ready { name: "mssql-xe-cpu-loop", text: include_str!("../../studies/mssql-xe-cpu-loop.toml") },
    Ready { name: "mssql-xe-levels", text: include_str!("../../studies/mssql-xe-levels.toml") },
    Ready { name: "oltp-levels", text: include_str!("../../studies/oltp-levels.toml") },
    Ready { name: "rehearsal", text: include_str!("../../studies/rehearsal.toml") },
    Ready { name: "tprocc-levels-mssql", text: include_str!("../../studies/tprocc-levels-mssql.toml") },
    Ready { name: "tprocc-levels", text: include_str!("../../studies/tprocc-levels.toml") },
];

/// The text of the ready-made study of that name.
pub fn ready(name: &str) -> Option<&'static str> {
    READY.iter().find(|study| study.name == name).map(|study| study.text)
}

#[cfg(test)]
mod tests {
    use super::super::{Edits, Measure, Pacing, TargetKind, When, Workload, read};
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

    /// The three experiments on SQL Server, against the figures in which they were published.
    #[test]
    fn the_published_experiments_are_what_they_were() {
        let study = |name| read(ready(name).unwrap(), &Edits::default()).unwrap();
        let levels = study("mssql-xe-levels");
        let sessions: Vec<_> = levels.profiles.iter().map(|profile| (profile.vus, profile.sessions())).collect();
        assert_eq!(sessions, [(1, 1), (4, 4), (8, 8), (16, 16), (32, 32), (2048, 10_240)]);
        assert_eq!(levels.profiles[5].pacing, Pacing::KeyingThinking { scale: 1.0 });
        assert!(levels.report.relative_only && levels.schedule.checkpoint && levels.require.len() == 4);
        let applied = format!("{:?}", levels.variants[1].change.apply);
        for words in
            ["rpc_completed", "sql_batch_completed", "sql_statement_completed", "5000000", "MAX_MEMORY = 2048 KB"]
        {
            assert!(applied.contains(words), "{words}: {applied}");
        }
        let audit = study("mssql-audit-queue-delay");
        let delays = |variant: usize| format!("{:?}", audit.variants[variant].change.apply);
        assert!(audit.variants[0].change.apply.is_empty() && audit.profiles.len() == 3);
        assert!(delays(1).contains("QUEUE_DELAY = 1000") && delays(2).contains("QUEUE_DELAY = 0,"));
        assert!(delays(3).contains("DELETE ON OBJECT::[dbo].[stock]") && !delays(3).contains("SELECT ON"));
        let traced = study("mssql-xe-cpu-loop");
        assert_eq!(traced.schedule.measure, Measure::Transactions(3));
        assert!(traced.variants[1..].iter().all(|variant| variant.change.when == When::Connected));
        let followed = format!("{:?}", traced.variants[1].change.for_sessions(&["57".to_owned()]).apply);
        assert!(
            followed.contains("SET collect_batch_text = (1) WHERE (([sqlserver].[session_id] = (57)))"),
            "{followed}"
        );
        assert!(format!("{:?}", traced.variants[2].change.apply).contains("sqlserver.logout"));
    }

    /// The fourth, on both databases: sessions, scripts, the flags that were quoted and those that were in effect.
    #[test]
    fn the_audits_of_sysbench_have_all_loads_with_and_without_the_quoted_flags() {
        for name in ["mariadb-oltp-audit", "mssql-oltp-audit"] {
            let audit = read(ready(name).unwrap(), &Edits::default()).unwrap();
            let loads: Vec<_> = audit.profiles.chunk_by(|one, other| one.label == other.label).collect();
            assert_eq!(loads.len(), 4, "{name}");
            for load in loads {
                assert_eq!(load.iter().map(|it| it.vus).collect::<Vec<_>>(), [4, 8, 16, 32, 64, 128], "{name}");
            }
            let shape = |label: &str| match &audit
                .profiles
                .iter()
                .find(|it| it.label.as_deref() == Some(label))
                .unwrap()
                .workload
            {
                Workload::Oltp(shape) => shape.clone(),
                other => panic!("{other:?}"),
            };
            let statements = ["read-only", "point-selects-only"].map(|label| shape(label).statements_per_transaction());
            assert_eq!(
                statements,
                [Some(16), Some(10)],
                "{name}: as the published table shows, and as its flags would give"
            );
            assert!(
                audit
                    .profiles
                    .iter()
                    .all(|_| (shape("read-write").tables, shape("read-write").table_size) == (250, 25_000))
            );
            let again = &audit.variants[2];
            assert!(again.name == "off again" && again.change == audit.variants[0].change, "{name}: A/A");
        }
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
