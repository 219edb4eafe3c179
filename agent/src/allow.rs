//! What this agent does at a coordinator's word, by its own configuration and not by anything that the coordinator says.
//!
//! Without `allow_control` it sends statements that are vufleet's own (the load of a workload that comes with it, and the tables of that),
//! and questions. All else needs `allow_control = true`: what changes the database beside that, and whatever is done to the host.

use vufleet_proto::v1;
use vufleet_scenarios::permit::{Need, Permit, brief};
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::study::{Profile, Study, Workload};

use crate::config::{Config, Role};

/// What is to be done about it.
const REMEDY: &str = "write allow_control = true into its --config, or start it with --allow-control";

/// What an agent's configuration allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Whatever a study wants.
    pub control: bool,
    /// A workload's own statements.
    pub drive: bool,
}

/// What is sent ahead of a statement, so that the server sees to it that a question stays one; nothing where all is allowed, or the
/// server has no such thing.
pub type Guard = Option<&'static str>;

/// What goes ahead of the statements of a command, and what its connection is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guards {
    /// One a statement; none at all where everything is allowed.
    pub each: Vec<Guard>,
    /// All of them are questions, as is a command of none: nothing may change by connecting either.
    pub asks: bool,
}

impl Allowance {
    /// Everything.
    pub const ALL: Allowance = Allowance { control: true, drive: true };

    /// As configured.
    pub fn of(config: &Config) -> Allowance {
        Allowance { control: config.allow_control, drive: config.roles.contains(&Role::Drive) }
    }

    /// Whether statements of a study may be sent, and what goes ahead of each.
    ///
    /// # Errors
    /// Why not: the statement, the reason and the remedy.
    pub fn statements(self, study: &Study, order: &v1::Control) -> Result<Guards, String> {
        if self.control {
            return Ok(Guards::default());
        }
        if order.changes {
            return Err(refusal("what applies or undoes a variant, or resets data"));
        }
        let permit = Permit::of(study);
        let dialect = study.target.kind.dialect();
        let needs: Vec<Need> = order.statements.iter().map(|sql| permit.need(sql)).collect();
        let asks = needs.iter().all(|need| *need == Need::Nothing);
        let guards = needs.into_iter().zip(&order.statements).map(|(need, sql)| self.guard(need, sql, dialect));
        Ok(Guards { each: guards.collect::<Result<_, _>>()?, asks })
    }

    fn guard(self, need: Need, sql: &str, dialect: Option<Dialect>) -> Result<Guard, String> {
        match need {
            Need::Nothing => Ok(dialect.and_then(reading)),
            Need::Drive if self.drive => Ok(dialect.and_then(writing)),
            Need::Drive => Err(format!(
                "this agent does not make or drop a workload's tables without the role drive: {}",
                brief(sql)
            )),
            Need::Control(why) => Err(refusal(&format!("what is no question ({why}): {}", brief(sql)))),
        }
    }

    /// Whether the load of a study may be driven, and what goes ahead of it on each connection: a function that the study's own
    /// questions call could write.
    ///
    /// # Errors
    /// Its first statement that may not be sent.
    pub fn load(self, study: &Study, profile: &Profile) -> Result<Guard, String> {
        match Permit::of(study).load() {
            _ if self.control => Ok(None),
            Some((sql, why)) => {
                Err(refusal(&format!("a load of statements that are no questions ({why}): {}", brief(sql))))
            }
            None if matches!(profile.workload, Workload::Custom(_)) => {
                Ok(study.target.kind.dialect().and_then(reading))
            }
            None => Ok(None),
        }
    }

    /// Whether a part of a build may be done.
    ///
    /// # Errors
    /// An agent without the role drive; statements that are not of the workload's own tables.
    pub fn build(self, study: &Study, order: &v1::Populate) -> Result<(), String> {
        if !self.drive {
            return Err("this agent fills no tables; it has not got the role drive".to_owned());
        }
        let control = v1::Control { statements: order.statements.clone(), ..Default::default() };
        self.statements(study, &control).map(drop)
    }

    /// Whether something may be done that no question is, whatever it is.
    ///
    /// # Errors
    /// With what it is called.
    pub fn change(self, what: &str) -> Result<(), String> {
        if self.control { Ok(()) } else { Err(refusal(what)) }
    }
}

fn refusal(what: &str) -> String {
    let refusal = format!("this agent's configuration does not allow {what}; {REMEDY}");
    tracing::warn!("refused: {refusal}");
    refusal
}

fn reading(dialect: Dialect) -> Guard {
    match dialect {
        Dialect::Mysql => Some("SET SESSION TRANSACTION READ ONLY"),
        Dialect::Sqlite => Some("PRAGMA query_only = 1"),
        Dialect::Mssql => None,
    }
}

fn writing(dialect: Dialect) -> Guard {
    match dialect {
        Dialect::Mysql => Some("SET SESSION TRANSACTION READ WRITE"),
        Dialect::Sqlite => Some("PRAGMA query_only = 0"),
        Dialect::Mssql => None,
    }
}
