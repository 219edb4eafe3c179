//! Prints every T-SQL text that the workloads, the checks and the observers of counters send, for `make grammar` to hold against grammars that are not
//! ours: name, NUL, text, NUL, and so on.

use std::collections::BTreeSet;
use std::io::Write;

use vufleet_scenarios::custom::Custom;
use vufleet_scenarios::oltp::{self, Oltp};
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::sql::Statement;
use vufleet_scenarios::study::{self, Edits, READY, Study, TargetKind};
use vufleet_scenarios::tprocc::{self, Calls, TprocC};
use vufleet_scenarios::workload::{Schema, Workload};
use vufleet_scenarios::{backup, census, counters};
use vufleet_scenarios::{check, settings, study::Workload as Chosen};

const DIALECT: Dialect = Dialect::Mssql;

/// What the queries of where the rows come from answer: just built, used, HammerDB's.
const ORIGINS: [[&str; 7]; 3] = [
    ["1000", "0", "1000", "998", "60000", "0", "0"],
    ["1000", "0", "1000", "998", "60001", "1", "1"],
    ["1000", "990", "1000", "0", "60000", "0", "0"],
];

/// One workload of each kind; every other key at its default.
const WORKLOADS: [&str; 3] = [
    "kind = 'oltp'\nscript = 'read_write'",
    "kind = 'tprocc'\nwarehouses = 2",
    "kind = 'sql'\n[[workload.transactions]]\nname = 'a'\nstatements = ['SELECT :a::int, :b', 'SELECT :now', 'EXEC dbo.p @a = :a']\n\
     [workload.transactions.parameters]\na = { uniform = [1, 2] }\nb = { text = 9 }\nnow = 'now'",
];

/// Each text once, under the name that it came up with first.
#[derive(Default)]
struct Texts {
    seen: BTreeSet<String>,
    listed: Vec<(String, String)>,
}

impl Texts {
    fn add(&mut self, name: &str, sql: impl Into<String>) {
        let sql = sql.into();
        if self.seen.insert(sql.clone()) {
            self.listed.push((name.to_owned(), sql));
        }
    }

    fn all(&mut self, name: &str, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|sql| self.add(name, sql));
    }

    fn statements(&mut self, name: &str, statements: Vec<Statement>) {
        self.all(name, statements.into_iter().map(|statement| statement.sql));
    }

    fn schema(&mut self, name: &str, schema: &dyn Schema) {
        self.all(&format!("{name}: create"), schema.create(DIALECT));
        self.all(&format!("{name}: drop"), schema.drop(DIALECT));
        self.all(&format!("{name}: index"), schema.indexes(DIALECT).into_iter().flat_map(|it| [it.sql, it.exists]));
        if let Some(chunk) = schema.chunks().first() {
            self.all(&format!("{name}: clear"), schema.clear(*chunk, DIALECT));
        }
        let routines = schema.routines(DIALECT).map_or_else(Vec::new, |routines| routines.all);
        self.all(&format!("{name}: routine"), routines.into_iter().flat_map(|it| [it.drop, it.create, it.exists]));
        if let Some(resume) = schema.resume(1, DIALECT) {
            let texts = resume.begin.into_iter().chain([resume.mark, resume.complete, resume.end]);
            self.all(&format!("{name}: resume"), texts);
        }
        let expected = [schema.present(DIALECT), schema.built(DIALECT), schema.ready(DIALECT)].concat();
        self.all(&format!("{name}: expect"), expected.into_iter().map(|it| it.sql));
        self.all(&format!("{name}: origin"), schema.origin(DIALECT));
        let origins = ORIGINS.map(|origin| origin.map(str::to_owned));
        for origin in [None].into_iter().chain(origins.iter().map(|origin| Some(&origin[..]))) {
            let inspection = schema.inspection(DIALECT, origin);
            self.all(&format!("{name}: verify"), inspection.expectations.into_iter().map(|it| it.sql));
        }
    }

    fn study(&mut self, name: &str, study: &Study) {
        let settings = settings::questions(&study.target);
        self.all(&format!("{name}: settings"), settings.into_iter().map(|question| question.sql));
        self.all(&format!("{name}: check"), check::questions(study).into_iter().map(|question| question.sql));
        for profile in &study.profiles {
            self.all(&format!("{name}: setup"), profile.setup.iter().cloned());
            if let Chosen::Custom(shape) = &profile.workload {
                self.statements(&format!("{name}: transactions"), Custom::statements(shape, DIALECT));
            }
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut texts = Texts::default();
    for script in oltp::Script::ALL {
        for (auto_inc, secondary) in [(true, false), (true, true), (false, false), (false, true)] {
            let shape = oltp::Shape { auto_inc, secondary, tables: 2, ..oltp::Shape::new(script) };
            texts.schema("oltp", &shape);
            texts.statements("oltp: statement", Oltp::statements(&shape, DIALECT));
        }
    }
    for calls in [Calls::Procedures, Calls::Statements] {
        let shape = tprocc::Shape::new(2, calls);
        texts.schema("tprocc", &shape);
        texts.statements("tprocc: statement", TprocC::statements(&shape, DIALECT));
    }
    for database in [None, Some("tpcc"), Some("my tpcc-1")] {
        texts.add("tprocc: orders", tprocc::orders_query(DIALECT, database));
    }
    for database in [None, Some("tpcc"), Some("it's")] {
        texts.all("counters", counters::mssql::parts(database, true).into_iter().map(|part| part.sql));
    }
    // What restores a backup is beyond both grammars; scenarios/tests/tsql_grammar has one for it.
    texts.add("reset: state", backup::state("it's"));
    texts.add("reset: tables", census::listing(DIALECT));
    texts.add("reset: rows", census::count(DIALECT, &census::named(DIALECT, &["dbo", "my table"])));
    for (index, workload) in WORKLOADS.iter().enumerate() {
        texts.study(&format!("study {}", index + 1), &read(&study_of(workload)));
    }
    let ready = READY.iter().map(|ready| (ready.name, read(ready.text)));
    for (name, study) in ready.filter(|(_, study)| study.target.kind == TargetKind::Mssql) {
        texts.study(name, &study);
    }
    let mut out = std::io::stdout().lock();
    texts.listed.iter().try_for_each(|(name, sql)| write!(out, "{name}\0{sql}\0"))
}

fn study_of(workload: &str) -> String {
    format!(
        "name = 'a'\nseed = 1\n[target]\nkind = 'mssql'\nhost = 'db'\ndatabase = 'd'\nuser = 'u'\npassword = {{ env = 'P' }}\n\
         [workload]\n{workload}\n[[profiles]]\nvus = 4\n"
    )
}

fn read(text: &str) -> Study {
    study::read(text, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}
