//! Whether what brings the data back is there: the files of a backup, or an agent that copies the server's own.

use super::{AgentFacts, Answer, Answers, Finding, Login, Question};
use crate::study::{Reset, ResetMethod, Study, TargetKind};

const DIRECTORY: &str = "data directory";
/// Where a server keeps what belongs together: the data directory first, and everything else inside it.
const DIRECTORIES: [&str; 6] = [
    "datadir",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "aria_log_dir_path",
    "rocksdb_datadir",
];
/// The files of InnoDB's system tablespace, with sizes:
/// <https://mariadb.com/kb/en/innodb-system-variables/#innodb_data_file_path>.
const DATA_FILES: &str = "innodb_data_file_path";

pub(super) fn questions(study: &Study) -> Vec<Question> {
    match (method(study), study.target.kind) {
        (Some(ResetMethod::Backup(backup)), _) => {
            let look = backup.look().into_iter().enumerate();
            look.map(|(index, sql)| Question { id: file(index), sql, login: Login::Control }).collect()
        }
        (Some(ResetMethod::Snapshot), TargetKind::Mysql) => {
            let names = super::quoted_list(DIRECTORIES.into_iter().chain([DATA_FILES, "hostname"]));
            let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})");
            vec![Question { id: DIRECTORY.to_owned(), sql, login: Login::Control }]
        }
        _ => Vec::new(),
    }
}

/// Whether a failed answer to the question is found here.
pub(super) fn is_own(question: &Question) -> bool {
    question.id == DIRECTORY || question.id.starts_with("backup ")
}

/// Whether the data is brought back before the first run in a way that needs nothing of what is there.
pub(super) fn makes_anew(study: &Study) -> bool {
    method(study).is_some_and(|method| *method != ResetMethod::Snapshot)
}

pub(super) fn findings(study: &Study, answers: &Answers, agents: &[AgentFacts]) -> Vec<Finding> {
    match (method(study), study.target.kind) {
        (Some(ResetMethod::Backup(backup)), _) => {
            let files = backup.files.iter().enumerate();
            files.filter_map(|(index, path)| unseen(path, answers.get(&file(index))?)).collect()
        }
        (Some(ResetMethod::Snapshot), TargetKind::Mysql) => {
            snapshot_agent(answers, agents).err().into_iter().chain(scattered(answers)).collect()
        }
        _ => Vec::new(),
    }
}

/// The agent whose own configuration names the directory of the study's server.
///
/// # Errors
/// When there is none, or more than one.
pub fn snapshot_agent<'a>(answers: &Answers, agents: &'a [AgentFacts]) -> Result<&'a AgentFacts, Finding> {
    if let Some(Answer::Failed(error)) = answers.get(DIRECTORY) {
        let what = format!("the server does not tell its data directory, so that nobody can copy it: {error}");
        return Err(Finding::fatal(
            what,
            "give [control] a login that may SHOW GLOBAL VARIABLES, or reset by another method",
        ));
    }
    let (directory, hostname) = (variable(answers, DIRECTORIES[0]), variable(answers, "hostname"));
    let able: Vec<&AgentFacts> = agents.iter().filter(|agent| agent.snapshot.is_some()).collect();
    let fits: Vec<&AgentFacts> = able.iter().copied().filter(|agent| is_at(agent, directory)).collect();
    let there: Vec<&AgentFacts> = fits.iter().copied().filter(|agent| agent.hostname == hostname).collect();
    let configure = format!(
        "write allow_control = true and [snapshot] datadir = \"{directory}\", stop = [..], start = [..] into the --config of \
         the agent on the database's host"
    );
    match (fits.as_slice(), there.as_slice()) {
        ([one], _) | (_, [one]) => Ok(one),
        ([], _) if able.is_empty() => Err(Finding::fatal(
            "the reset copies the files of the server, but no agent here is configured for that",
            configure,
        )),
        ([], _) => {
            let others =
                able.iter().map(|agent| format!("{} {}", agent.name, agent.snapshot.as_deref().unwrap_or_default()));
            let what = format!(
                "the server's data directory is {directory}, but agents are configured to copy others ({})",
                others.collect::<Vec<_>>().join(", ")
            );
            Err(Finding::fatal(what, configure))
        }
        (many, _) => {
            let names: Vec<&str> = many.iter().map(|agent| agent.name.as_str()).collect();
            let what = format!(
                "agents {} are all configured to copy a data directory {directory}, and none or several of them run on the \
                 server's host {hostname}",
                names.join(", ")
            );
            Err(Finding::fatal(what, "leave [snapshot] in the configuration of one of them only"))
        }
    }
}

/// What lies outside of the data directory would not be copied with it.
fn scattered(answers: &Answers) -> Option<Finding> {
    let directory = resolved("/", variable(answers, DIRECTORIES[0]));
    let is_outside = |base: &str, path: &str| {
        let path = resolved(base, path);
        path != directory && !path.starts_with(&format!("{directory}/"))
    };
    let outside = |name: &&str| is_outside(&directory, variable(answers, name));
    // Files are named from InnoDB's home, which is the data directory where it is not said.
    let home = resolved(&directory, variable(answers, DIRECTORIES[1]));
    let file_outside = || variable(answers, DATA_FILES).split(';').any(|file| is_outside(&home, path_of(file)));
    let name = DIRECTORIES.into_iter().find(outside).or_else(|| file_outside().then_some(DATA_FILES))?;
    let what = format!(
        "the server keeps a part of its data outside of its data directory {directory}: {name} is {}",
        variable(answers, name)
    );
    Some(Finding::fatal(
        what,
        "reset by another method, for example { command = \"name\", agent = { .. } } that restores all of it",
    ))
}

/// The path of `ibdata1:12M:autoextend`.
fn path_of(file: &str) -> &str {
    file.split(':').next().unwrap_or_default().trim()
}

/// A path as it is from a directory, without `.`, `..` and what does nothing.
fn resolved(base: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{base}/{path}") };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

fn variable<'a>(answers: &'a Answers, name: &str) -> &'a str {
    let rows = super::rows(answers, DIRECTORY);
    let row = rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name));
    row.and_then(|row| row.get(1)).and_then(Option::as_deref).unwrap_or_default()
}

fn is_at(agent: &AgentFacts, directory: &str) -> bool {
    let trimmed = |path: &str| path.trim_end_matches('/').to_owned();
    agent.snapshot.as_deref().map(trimmed) == Some(trimmed(directory))
}

fn unseen(path: &str, answer: &Answer) -> Option<Finding> {
    let Answer::Failed(error) = answer else { return None };
    Some(Finding::fatal(
        format!("the server cannot read the backup {path}: {error}"),
        "write the path as the server's own host has it, let the server's account read it, and GRANT CREATE ANY DATABASE to \
         the control login",
    ))
}

fn file(index: usize) -> String {
    format!("backup {}", index + 1)
}

fn method(study: &Study) -> Option<&ResetMethod> {
    study.reset.as_ref().map(|Reset { method, .. }| method)
}

#[cfg(test)]
mod tests {
    use super::super::tests::agent;
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Answers {
        let row = |(name, value): &(&str, &str)| vec![Some((*name).to_owned()), Some((*value).to_owned())];
        Answers::from([(DIRECTORY.to_owned(), Answer::Rows(pairs.iter().map(row).collect()))])
    }

    fn told(directory: &str) -> Answers {
        variables(&[("datadir", directory), ("hostname", "db-host")])
    }

    #[test]
    fn data_that_lies_elsewhere_is_no_part_of_a_copy() {
        const LOGS: &str = "innodb_log_group_home_dir";
        for (name, place, outside) in [
            (LOGS, "", false),
            (LOGS, "./", false),
            (LOGS, "/data/", false),
            (LOGS, "/data/innodb", false),
            (LOGS, "sub/../log", false),
            (LOGS, "/data2", true),
            (LOGS, "../log", true),
            (LOGS, "./a/../../log", true),
            (LOGS, "/data/../log", true),
            ("rocksdb_datadir", "./.rocksdb", false),
            ("rocksdb_datadir", "/fast/rocks", true),
            (DATA_FILES, "ibdata1:12M:autoextend", false),
            (DATA_FILES, "/data/ibdata1:12M;ibdata2:12M:autoextend", false),
            (DATA_FILES, "ibdata1:12M;/disk/ibdata2:12M:autoextend", true),
            (DATA_FILES, "ibdata1:12M; ../ibdata2:12M:autoextend", true),
        ] {
            let found = scattered(&variables(&[("datadir", "/data/"), (name, place)]));
            assert_eq!(found.is_some(), outside, "{name} {place}: {found:?}");
            assert!(found.is_none_or(|found| found.to_string().contains(name)), "{name}");
        }
        let below =
            variables(&[("datadir", "/data/"), ("innodb_data_home_dir", "/data/sub"), (DATA_FILES, "../ibdata1:1M")]);
        assert_eq!(scattered(&below), None, "it is still inside");
        let home =
            variables(&[("datadir", "/data/"), ("innodb_data_home_dir", "/data"), (DATA_FILES, "../ibdata1:1M")]);
        assert!(scattered(&home).is_some());
    }

    fn copies(name: &str, directory: Option<&str>, hostname: &str) -> AgentFacts {
        let snapshot = directory.map(str::to_owned);
        AgentFacts { snapshot, hostname: hostname.to_owned(), ..agent(name, 0) }
    }

    #[test]
    fn the_agent_is_the_one_that_is_configured_for_the_servers_directory() {
        let db = copies("db", Some("/var/lib/mysql"), "db-host");
        let twin = copies("twin", Some("/var/lib/mysql"), "other");
        let plain = copies("load", None, "load");
        let answers = told("/var/lib/mysql/");
        let chosen = |agents: &[AgentFacts]| match snapshot_agent(&answers, agents) {
            Ok(agent) => agent.name.clone(),
            Err(finding) => finding.to_string(),
        };
        assert_eq!(chosen(&[plain.clone(), db.clone()]), "db");
        assert_eq!(chosen(&[copies("alone", Some("/var/lib/mysql"), "container")]), "alone");
        assert_eq!(chosen(&[twin.clone(), db.clone()]), "db", "the one on the server's own host");
        for (agents, words) in [
            (vec![plain], "no agent here is configured for that; write allow_control = true and [snapshot] datadir"),
            (vec![copies("a", Some("/other"), "db-host")], "configured to copy others (a /other)"),
            (vec![twin.clone(), AgentFacts { name: "triplet".to_owned(), ..twin }], "agents twin, triplet are all"),
        ] {
            assert!(chosen(&agents).contains(words), "{}", chosen(&agents));
        }
        let silent = Answers::from([(DIRECTORY.to_owned(), Answer::Failed("denied".to_owned()))]);
        assert!(snapshot_agent(&silent, &[db]).unwrap_err().to_string().contains("denied"));
    }

    #[test]
    fn a_backup_that_the_server_does_not_see_is_named() {
        let failed = Answer::Failed("Cannot open backup device. Operating system error 2".to_owned());
        let found = unseen("/b.bak", &failed).unwrap().to_string();
        assert!(found.contains("/b.bak") && found.contains("system error 2"), "{found}");
        assert_eq!(unseen("/b.bak", &Answer::Rows(vec![])), None);
    }
}
