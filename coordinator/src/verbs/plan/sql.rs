//! The statements of a study, as a server would see them: placeholders where virtual users put what they draw.

use vufleet_scenarios::custom::{self, Custom};
use vufleet_scenarios::oltp::Oltp;
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{Profile, Study, Target, Workload};
use vufleet_scenarios::tprocc::TprocC;
use vufleet_scenarios::workload::Workload as _;

use super::{resets, variants};

/// All statements, grouped by when they are sent.
pub fn describe(study: &Study) -> String {
    let Some(dialect) = study.target.kind.dialect() else {
        return "-- simulated: no statement reaches a database\n".to_owned();
    };
    let mut out = String::new();
    for require in &study.require {
        let title = format!("required before each run, must return {}", require.equals);
        section(&mut out, &title, std::slice::from_ref(&require.sql));
    }
    for variant in &study.variants {
        for (title, statements) in variants::statements(variant) {
            section(&mut out, &title, &statements);
        }
    }
    if let Some((title, statements)) = resets::statements(study) {
        section(&mut out, &title, &statements);
    }
    schema(&mut out, &study.workload, dialect);
    let mut seen: Vec<&Workload> = Vec::new();
    for profile in &study.profiles {
        section(&mut out, &format!("setup of profile {}", profile.id), &profile.setup);
        if !seen.contains(&&profile.workload) {
            seen.push(&profile.workload);
            match &profile.workload {
                Workload::Custom(shape) => transactions(&mut out, shape, &profile.id),
                _ => load(&mut out, profile, dialect),
            }
        }
    }
    out
}

/// What virtual users send.
fn load(out: &mut String, profile: &Profile, dialect: Dialect) {
    let statements = statements(&profile.workload, dialect);
    let protocol = statements.first().map_or("", |statement| statement.protocol.name());
    let texts: Vec<_> = statements.into_iter().map(|statement| statement.sql).collect();
    let name = workload_name(&profile.workload);
    section(out, &format!("{name}, in the transactions of profile {} ({protocol})", profile.id), &texts);
}

/// What virtual users send of the user's own SQL, transaction by transaction.
fn transactions(out: &mut String, shape: &custom::Shape, profile: &str) {
    let (protocol, all) = (shape.protocol().name(), shape.deck_size());
    for transaction in &shape.transactions {
        let own = transaction.steps.iter().map(|step| step.statement.sql.clone());
        let texts: Vec<String> = if transaction.transactional {
            let begin = if shape.dialect == Dialect::Mssql { "BEGIN TRANSACTION" } else { "BEGIN" };
            [begin.to_owned()].into_iter().chain(own).chain([String::from("COMMIT")]).collect()
        } else {
            own.collect()
        };
        let (name, weight) = (&transaction.name, transaction.weight);
        let often = format!("weight {weight} in decks of {all}");
        section(out, &format!("transaction {name} of profile {profile} ({protocol}, {often})"), &texts);
    }
}

/// What the verbs of `schema` send.
fn schema(out: &mut String, workload: &Workload, dialect: Dialect) {
    let schema = workload.schema();
    let routines = schema.routines(dialect).map_or_else(Vec::new, |routines| routines.all);
    let (dropped, made): (Vec<_>, Vec<_>) = routines.into_iter().map(|it| (it.drop, it.create)).unzip();
    section(out, "schema build, before the rows", &[made, schema.create(dialect)].concat());
    let indexes: Vec<_> = schema.indexes(dialect).into_iter().map(|index| index.sql).collect();
    section(out, "schema build, after the rows", &indexes);
    section(out, "schema drop, and schema build --replace", &[schema.drop(dialect), dropped].concat());
    let asked: Vec<_> = schema.inspection(dialect, None).expectations.into_iter().map(|it| it.sql).collect();
    section(out, "schema verify", &asked);
}

/// Nothing under a title is not worth the title.
fn section(out: &mut String, title: &str, statements: &[String]) {
    if statements.is_empty() {
        return;
    }
    out.push_str(&format!("-- {title}\n"));
    for statement in statements {
        out.push_str(statement);
        out.push_str(";\n");
    }
    out.push('\n');
}

/// What a workload is called in a line.
pub fn workload_name(workload: &Workload) -> String {
    match workload {
        Workload::Oltp(shape) => format!("{} {}", workload.kind(), shape.script.name()),
        Workload::Tprocc(shape) => format!("{} {}", workload.kind(), shape.calls.name()),
        Workload::Custom(shape) => match shape.transactions.as_slice() {
            [one] => format!("{} {}", workload.kind(), one.name),
            many => format!("{}, {} transactions", workload.kind(), many.len()),
        },
    }
}

/// Whether virtual users change data.
pub fn writes(target: &Target, workload: &Workload) -> bool {
    target.kind.dialect().is_some_and(|dialect| statements(workload, dialect).iter().any(|statement| statement.writes))
}

fn statements(workload: &Workload, dialect: Dialect) -> Vec<Statement> {
    match workload {
        Workload::Oltp(shape) => Oltp::statements(shape, dialect),
        Workload::Tprocc(shape) => TprocC::statements(shape, dialect),
        Workload::Custom(shape) => Custom::statements(shape, dialect),
    }
}
