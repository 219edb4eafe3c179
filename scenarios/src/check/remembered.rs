//! Whether what variants change can be remembered: a variant whose old state nobody knows is not applied.

use super::{Answer, Answers, Finding, Login, Question};
use crate::study::{Remember, Study, Variant};

/// The queries of every variant, with the login that will ask them.
pub(super) fn questions(study: &Study) -> Vec<Question> {
    let question = |(variant, remember): (&Variant, &Remember)| Question {
        id: id(variant, remember),
        sql: remember.sql.clone(),
        login: Login::Control,
    };
    askable(study).map(question).collect()
}

/// Whether a failed answer to the question is found here.
pub(super) fn is_own(question: &Question) -> bool {
    question.id.starts_with("memory ")
}

/// One finding a query that has no answer.
pub(super) fn findings(study: &Study, answers: &Answers) -> Vec<Finding> {
    let finding = |(variant, remember): (&Variant, &Remember)| {
        let why = match answers.get(&id(variant, remember))? {
            Answer::Failed(error) => error.as_str(),
            Answer::Rows(rows) => match rows.first().and_then(|row| row.last()) {
                Some(Some(_)) => return None,
                Some(None) => "it returns NULL",
                None => "it returns no row",
            },
        };
        let sql = remember.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = format!(
            "variant {} cannot be applied, because what is there before cannot be remembered: {sql}: {why}",
            variant.name
        );
        Some(Finding::fatal(what, "correct the query, or let the control login read this"))
    };
    askable(study).filter_map(finding).collect()
}

/// Those that do not depend on sessions that are not there yet.
fn askable(study: &Study) -> impl Iterator<Item = (&Variant, &Remember)> {
    let all = study.variants.iter().flat_map(|variant| variant.change.remember.iter().map(move |it| (variant, it)));
    all.filter(|(_, remember)| !remember.sql.contains("{session_ids"))
}

fn id(variant: &Variant, remember: &Remember) -> String {
    format!("memory of {} for variant {}", remember.name, variant.name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::study;
    use super::*;
    use crate::study::Change;

    fn remembering(sql: &str) -> Study {
        let mut study = study(4);
        let remember = vec![Remember { name: "old".to_owned(), sql: sql.to_owned() }];
        study.variants[0].change = Change { remember, ..Change::default() };
        study
    }

    #[test]
    fn an_old_state_that_nobody_knows_is_fatal_before_there_is_any_load() {
        let study = remembering("SHOW GLOBAL VARIABLES\n LIKE 'general_log'");
        let questions = questions(&study);
        assert_eq!((questions.len(), questions[0].login), (1, Login::Control));
        assert!(is_own(&questions[0]));
        let found = |answer: Answer| findings(&study, &Answers::from([(questions[0].id.clone(), answer)]));
        let rows = |rows: &[&[Option<&str>]]| {
            let cell = |cell: &Option<&str>| cell.map(str::to_owned);
            Answer::Rows(rows.iter().map(|row| row.iter().map(cell).collect()).collect())
        };
        assert_eq!(found(rows(&[&[Some("general_log"), Some("OFF")]])), []);
        for (answer, words) in [
            (rows(&[&[Some("general_log"), None]]), "LIKE 'general_log': it returns NULL"),
            (rows(&[]), "SHOW GLOBAL VARIABLES LIKE 'general_log': it returns no row"),
            (Answer::Failed("access denied".to_owned()), "access denied; correct the query"),
        ] {
            let found = found(answer);
            assert_eq!(found.len(), 1, "{words}");
            assert!(found[0].to_string().contains(words), "{}", found[0]);
        }
    }

    #[test]
    fn what_is_about_sessions_cannot_be_asked_before_there_are_any() {
        assert_eq!(questions(&remembering("SELECT count(*) FROM x WHERE id IN ({session_ids})")), []);
    }
}
