//! The steps of a variant's life on a real server, as a run does them, and the server's state to compare.

use std::collections::BTreeMap;

use vufleet_agent::allow::Allowance;
use vufleet_agent::observe::control;
use vufleet_agent::session::install_tls_provider;
use vufleet_proto::v1;
use vufleet_scenarios::study::{self, Action, Change, Edits, Require};
use vufleet_testbed::MariaDb;

/// A study on a server whose only variant is an observer.
pub struct Lab {
    study: String,
    /// What switches the observer on and off.
    pub change: Change,
}

/// A revert with what was remembered, as an agent would hold it.
pub struct Applied(Change);

impl Lab {
    pub fn new(db: &MariaDb, observer: &str) -> Lab {
        install_tls_provider();
        let study = format!(
            "name = 'observers'\nseed = 1\n[target]\nkind = 'mysql'\nhost = '127.0.0.1'\nport = {}\ndatabase = 'sbtest'\n\
             user = 'bench'\ntls = 'disabled'\npassword = {{ env = 'UNUSED' }}\n[control]\nuser = 'admin'\ndatabase = \
             'mysql'\npassword = {{ env = 'UNUSED' }}\n[workload]\nkind = 'oltp'\nscript = 'read_write'\n[[profiles]]\n\
             vus = 4\n[[variants]]\nname = 'on'\nobserver = {{ {observer} }}\n",
            db.port()
        );
        let mut read = study::read(&study, &Edits::default()).unwrap_or_else(|refusal| panic!("{refusal}"));
        Lab { study, change: read.variants.remove(0).change }
    }

    /// Last columns of first rows on one connection of the control login, up to the first failure.
    pub fn ask<'s>(&self, statements: impl IntoIterator<Item = &'s str>) -> Result<Vec<Option<String>>, String> {
        self.run(statements, false).0
    }

    fn run<'s>(
        &self,
        statements: impl IntoIterator<Item = &'s str>,
        keep_going: bool,
    ) -> (Result<Vec<Option<String>>, String>, u32) {
        let result = control::run(
            &v1::Control {
                study: self.study.clone(),
                secrets: Some(v1::Secrets {
                    password: Some(MariaDb::BENCH.password.to_owned()),
                    control_password: Some(MariaDb::ADMIN.password.to_owned()),
                }),
                as_control: true,
                statements: statements.into_iter().map(str::to_owned).collect(),
                keep_going,
                ..Default::default()
            },
            Allowance::ALL,
        );
        let last =
            |table: v1::Table| table.rows.first()?.cells.last().filter(|cell| !cell.null).map(|cell| cell.text.clone());
        match result.error.is_empty() {
            true => (Ok(result.tables.into_iter().map(last).collect()), result.failed),
            false => (Err(result.error), result.failed),
        }
    }

    /// What undoes it, with what is remembered now.
    pub fn remember(&self) -> Applied {
        let answers = self.ask(self.change.remember.iter().map(|remember| remember.sql.as_str())).unwrap();
        let named = self.change.remember.iter().zip(answers);
        let answers: BTreeMap<String, String> = named
            .map(|(remember, answer)| (remember.name.clone(), answer.unwrap_or_else(|| panic!("{}", remember.sql))))
            .collect();
        Applied(self.change.remembering(&answers))
    }

    /// The first so many actions.
    pub fn apply(&self, actions: usize) -> Result<(), String> {
        self.ask(sql(&self.change.apply).into_iter().take(actions)).map(drop)
    }

    pub fn apply_all(&self) -> Applied {
        let applied = self.remember();
        self.apply(usize::MAX).unwrap_or_else(|error| panic!("{error}"));
        applied
    }

    /// What differs from what must hold.
    pub fn differences(&self, requires: &[Require]) -> Vec<String> {
        let mut differences = Vec::new();
        for require in requires {
            match self.ask([require.sql.as_str()]) {
                Ok(answers) if answers == [Some(require.equals.clone())] => {}
                other => differences.push(format!("{other:?} instead of {} from {}", require.equals, require.sql)),
            }
        }
        differences
    }

    pub fn assert_on(&self) {
        assert_eq!(self.differences(&self.change.verify), Vec::<String>::new());
    }

    /// Undoes it; every statement must be harmless.
    pub fn revert(&self, applied: &Applied) {
        let (result, failed) = self.run(sql(&applied.0.revert), true);
        if let Err(error) = result {
            panic!("{error} from {:?}", applied.0.revert[failed as usize]);
        }
        assert_eq!(self.differences(&applied.0.undone), Vec::<String>::new());
    }

    pub fn footprint(&self) -> BTreeMap<&str, u64> {
        let number = |sql: &str| self.ask([sql]).unwrap()[0].as_ref().unwrap().parse::<f64>().unwrap() as u64;
        self.change.footprint.iter().map(|figure| (figure.name.as_str(), number(&figure.sql))).collect()
    }
}

fn sql(actions: &[Action]) -> Vec<&str> {
    let mut texts = Vec::new();
    for action in actions {
        match action {
            Action::Sql(sql) => texts.push(sql.as_str()),
            command @ Action::Command { .. } => panic!("{command:?}"),
        }
    }
    texts
}

/// Everything that a preset could leave changed: all settings, plugins, instruments and consumers.
pub fn state(db: &MariaDb) -> Vec<String> {
    let queries = [
        "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES ORDER BY VARIABLE_NAME",
        "SELECT PLUGIN_NAME, PLUGIN_STATUS FROM information_schema.PLUGINS ORDER BY PLUGIN_NAME",
        "SELECT * FROM mysql.plugin",
        // Loading a plugin adds its own instruments, switched off; they stay when it is gone.
        "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments WHERE NAME NOT LIKE '%server\\_audit%' AND NAME \
         NOT LIKE '%logger\\_service%'",
        "SELECT NAME, ENABLED FROM performance_schema.setup_consumers",
    ];
    queries.iter().flat_map(|query| db.sql(query).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub fn assert_same(before: &[String], after: &[String], when: &str) {
    let differing: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(differing.is_empty() && before.len() == after.len(), "{when}: {differing:?}");
}
