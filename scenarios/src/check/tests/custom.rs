//! Whether statements of the user's own are looked at, and what is told of those that do not prepare.

use super::*;

const TRANSACTIONS: &str = r#"
[[workload.transactions]]
name = "look"
statements = ["SELECT 'it\\'s', a FROM t WHERE id = :id", "SELECT 2"]
parameters = { id = { uniform = [1, 2] } }
[[workload.transactions]]
name = "lock"
statements = ["LOCK TABLES t WRITE"]
"#;

fn own(kind: TargetKind) -> Study {
    let sound = study_on(kind, 4);
    let begin = sound.text.find("[workload]").unwrap();
    let end = sound.text.find("[[profiles]]").unwrap();
    // Backslashes escape in MySQL alone.
    let transactions = match kind {
        TargetKind::Sqlite => TRANSACTIONS.replace(r"it\\'s", "its"),
        TargetKind::Mssql => TRANSACTIONS.replace(r"it\\'s", "it''s"),
        TargetKind::Mysql | TargetKind::Simulated => TRANSACTIONS.to_owned(),
    };
    let text = format!("{}[workload]\nkind = 'sql'\n{transactions}{}", &sound.text[..begin], &sound.text[end..]);
    read(&text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn asked(study: &Study) -> Vec<Question> {
    questions(study).into_iter().filter(|question| question.id.starts_with("statement ")).collect()
}

fn with_answers(study: &Study, changes: &[(&str, Answer)]) -> Vec<(Severity, String)> {
    let mut answers = answers(&[]);
    answers.extend(["statement 1", "statement 2", "statement 3"].map(|id| (id.to_owned(), answer(&[]))));
    answers.extend(changes.iter().map(|(id, answer)| ((*id).to_owned(), answer.clone())));
    found(study, &answers, &[agent("a", 4), observer()])
}

#[test]
fn every_statement_is_prepared_and_none_is_executed() {
    let texts: Vec<String> = asked(&own(TargetKind::Mysql)).into_iter().map(|question| question.sql).collect();
    assert_eq!(
        texts,
        [
            r"PREPARE vufleet_check FROM 'SELECT ''it\\''s'', a FROM t WHERE id = ?'",
            "PREPARE vufleet_check FROM 'SELECT 2'",
            "PREPARE vufleet_check FROM 'LOCK TABLES t WRITE'",
        ]
    );
    let sqlite = asked(&own(TargetKind::Sqlite));
    assert!(sqlite.iter().all(|question| question.sql.starts_with("EXPLAIN ") && question.login == Login::Target));
    assert!(asked(&own(TargetKind::Simulated)).is_empty());
    assert!(asked(&study(1)).is_empty());
}

#[test]
fn sql_server_compiles_what_it_is_to_describe() {
    let study = own(TargetKind::Mssql);
    let texts: Vec<String> = asked(&study).into_iter().map(|question| question.sql).collect();
    let ask = "IF SERVERPROPERTY('babelfish') IS NULL BEGIN EXEC sys.sp_describe_undeclared_parameters @tsql = ";
    assert_eq!(
        texts,
        [
            format!("{ask}N'SELECT ''it''''s'', a FROM t WHERE id = @P1', @params = N'@P1 bigint' END"),
            format!("{ask}N'SELECT 2' END"),
            format!("{ask}N'LOCK TABLES t WRITE' END"),
        ]
    );
    for (error, fatal) in [
        ("Invalid object name 't'. (208)", true),
        ("The statement references a temporary table. (11525)", false),
        ("(11525) Invalid object name 't'. (208)", true),
        ("no code", true),
    ] {
        let found = with_answers(&study, &[("statement 1", Answer::Failed(error.to_owned()))]);
        assert_eq!(found.iter().any(|(severity, _)| *severity == Severity::Fatal), fatal, "{error}: {found:?}");
    }
}

#[test]
fn a_statement_that_does_not_prepare_is_fatal_unless_a_setup_may_help() {
    let mut study = own(TargetKind::Mysql);
    assert_eq!(with_answers(&study, &[]), []);
    let missing = [("statement 1", Answer::Failed("Table 'd.t' doesn't exist (1146)".to_owned()))];
    let words = ["statement 1 of transaction look does not prepare: Table 'd.t'", "[[workload.transactions]]"];
    assert_one(&with_answers(&study, &missing), Severity::Fatal, &words);
    study.profiles[0].setup = vec!["CREATE TABLE t (id INT)".to_owned()];
    assert_one(&with_answers(&study, &missing), Severity::Warning, &["once the setup of profile 4vu has run"]);
}

#[test]
fn what_can_only_be_sent_as_text_may_be_sent_as_text() {
    let study = own(TargetKind::Mysql);
    let code = "This command is not supported in the prepared statement protocol yet (1295)";
    let unprepared = [("statement 3", Answer::Failed(code.to_owned()))];
    assert_one(&with_answers(&study, &unprepared), Severity::Fatal, &["statement 1 of transaction lock"]);
    let text = study.text.replace("kind = 'sql'", "kind = 'sql'\nprotocol = 'text'");
    let text = read(&text, &Edits::default()).unwrap();
    assert_eq!(with_answers(&text, &unprepared), []);
    let missing = [("statement 3", Answer::Failed("Table 'd.t' doesn't exist (1146)".to_owned()))];
    assert_one(&with_answers(&text, &missing), Severity::Fatal, &["statement 1 of transaction lock"]);
}
