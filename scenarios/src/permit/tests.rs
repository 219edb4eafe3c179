use super::*;
use crate::study::{self, Edits};

/// Every ready-made study, and what a build of its tables has a server do.
fn studies() -> Vec<Study> {
    study::READY
        .iter()
        .map(|ready| {
            study::read(ready.text, &Edits::default()).unwrap_or_else(|refusal| panic!("{}: {refusal}", ready.name))
        })
        .collect()
}

/// How questions begin that are none by their form: a wait until a plugin is gone, a look at a backup.
const BLOCKS: [&str; 2] = ["BEGIN NOT ATOMIC", "RESTORE LABELONLY"];

#[test]
fn what_vufleet_asks_by_itself_needs_nothing() {
    for study in studies() {
        let permit = Permit::of(&study);
        let Some(dialect) = study.target.kind.dialect() else { continue };
        let schema = study.workload.schema();
        let expected = schema.present(dialect).into_iter().chain(schema.built(dialect)).chain(schema.ready(dialect));
        let inspected = schema.inspection(dialect, None).expectations;
        let mut questions: Vec<String> = expected.chain(inspected).map(|expectation| expectation.sql).collect();
        questions.extend(schema.indexes(dialect).into_iter().map(|index| index.exists));
        questions.extend(schema.routines(dialect).into_iter().flat_map(|it| it.all).map(|routine| routine.exists));
        questions
            .extend(schema.resume(study.seed, dialect).into_iter().flat_map(|resume| [resume.mark, resume.complete]));
        questions.extend(crate::settings::questions(&study.target).into_iter().map(|question| question.sql));
        questions.push(crate::census::listing(dialect).to_owned());
        let of_statements = check::of_statements(&study);
        let others = check::questions(&study).into_iter().filter(|question| !of_statements.contains(question));
        // Some look after what a variant or a reset needs, and such a study needs an agent that allows control in any case.
        let free = permit.controls(&study).is_empty();
        questions.extend(
            others.map(|question| question.sql).filter(|sql| free || !BLOCKS.iter().any(|it| sql.starts_with(it))),
        );
        for sql in questions {
            assert_eq!(permit.need(&sql), Need::Nothing, "{}: {sql}", study.name);
        }
    }
}

#[test]
fn tables_are_the_driving_agents_to_make_and_of_this_study_alone() {
    for study in studies() {
        let permit = Permit::of(&study);
        let Some(dialect) = study.target.kind.dialect() else { continue };
        for sql in of_schema(study.workload.schema(), study.seed, dialect) {
            assert_ne!(permit.need(&sql), Need::Nothing, "{sql}");
            assert_eq!(permit.need(&sql), Need::Drive, "{sql}");
            let other = format!("{sql} ");
            assert!(matches!(permit.need(&other), Need::Control(_)), "{other}");
        }
    }
}
