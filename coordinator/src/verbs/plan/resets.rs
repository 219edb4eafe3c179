//! How a study brings its data back between runs: what it touches, and its statements.

use vufleet_scenarios::study::{Backup, Reset, ResetMethod, Study, TargetKind};

use super::{place, spoken, variants};

/// What resets touch, a line each; none where there are none.
pub fn lines(study: &Study) -> Vec<String> {
    let Some(Reset { before, method, warm_up, .. }) = &study.reset else { return Vec::new() };
    let mut lines = match method {
        ResetMethod::Rebuild => vec![format!("DROPS the workload's tables and builds them again {before}")],
        ResetMethod::Actions(actions) => vec![format!("resets the data by {} {before}", variants::steps(actions))],
        ResetMethod::Snapshot => snapshot(study, &format!("{before}")),
        ResetMethod::Backup(backup) => {
            let database = study.target.database.as_deref().unwrap_or_default();
            vec![format!(
                "CLOSES all connections to database {database} and restores it from {} {before}; what it holds now is lost",
                backup.files.join(", ")
            )]
        }
    };
    if !warm_up.is_zero() {
        lines.push(format!("the ramp-up after a reset is {} longer", spoken(*warm_up)));
    }
    lines
}

fn snapshot(study: &Study, before: &str) -> Vec<String> {
    let what = match study.target.kind {
        TargetKind::Sqlite => format!("copies {} to a name beside it", place(&study.target)),
        _ => {
            format!("STOPS {} and starts it again, and copies its whole data directory beside it", place(&study.target))
        }
    };
    vec![
        format!("{what} before the first run, and puts it back {before}"),
        "puts it back after the last run too, and removes the copy".to_owned(),
    ]
}

/// Whether runs drop and make the workload's tables.
pub fn builds(study: &Study) -> bool {
    study.reset.as_ref().is_some_and(|reset| reset.method == ResetMethod::Rebuild)
}

/// The statements of resets, with a title.
pub fn statements(study: &Study) -> Option<(String, Vec<String>)> {
    let Reset { before, method, .. } = study.reset.as_ref()?;
    let statements = match method {
        // The statements of `schema` are told anyway.
        ResetMethod::Rebuild | ResetMethod::Snapshot => return None,
        ResetMethod::Actions(actions) => actions.iter().map(variants::text).collect(),
        ResetMethod::Backup(backup) => restored(backup, study.target.database.as_deref().unwrap_or_default()),
    };
    let place = if matches!(method, ResetMethod::Backup(_)) { ", in master" } else { "" };
    Some((format!("reset {before}{place}"), statements))
}

fn restored(backup: &Backup, database: &str) -> Vec<String> {
    backup.restore(database).iter().map(|sql| sql.trim_end_matches(';').to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::study::{Edits, read};

    use super::*;

    fn study(target: &str, method: &str) -> Study {
        let text = format!(
            "name = 'a'\nseed = 1\n[target]\n{target}\n[workload]\nkind = 'oltp'\nscript = 'read_write'\n[[profiles]]\nvus = \
             1\n[reset]\nbefore = 'run'\nmethod = {method}\n"
        );
        read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    const SQLITE: &str = "kind = 'sqlite'\npath = 'a.db'";
    const MYSQL: &str = "kind = 'mysql'\nhost = 'db'\ndatabase = 'd'\nuser = 'u'";
    const MSSQL: &str = "kind = 'mssql'\nhost = 'db'\ndatabase = 'd'\nuser = 'u'";

    #[test]
    fn a_plan_says_what_a_reset_takes_away() {
        for (target, method, words) in [
            (SQLITE, "'rebuild'", "DROPS the workload's tables and builds them again before each run"),
            (SQLITE, "'snapshot'", "copies sqlite file a.db to a name beside it before the first run"),
            (MYSQL, "'snapshot'", "STOPS mysql at db:3306, database d, as u and starts it again"),
            (MYSQL, "{ sql = ['DELETE FROM t', 'SELECT 1'] }", "resets the data by 2 statements before each run"),
            (MYSQL, "{ command = 'restore', agent = { host = 'db' } }", "by command restore of the agent with host=db"),
            (MSSQL, "{ backup = ['/a', '/b'] }", "CLOSES all connections to database d and restores it from /a, /b"),
        ] {
            let told = lines(&study(target, method)).join("\n");
            assert!(told.contains(words), "{told}");
        }
        let never = Study { reset: None, ..study(SQLITE, "'rebuild'") };
        assert_eq!(lines(&never), [""; 0]);
    }

    #[test]
    fn statements_are_told_with_the_place_where_they_are_sent() {
        let (title, sent) = statements(&study(MSSQL, "{ backup = '/a.bak' }")).unwrap();
        assert_eq!(title, "reset before each run, in master");
        assert_eq!(sent[1], "RESTORE DATABASE [d] FROM DISK = N'/a.bak' WITH REPLACE, RECOVERY");
        assert_eq!(statements(&study(SQLITE, "'snapshot'")), None);
    }
}
