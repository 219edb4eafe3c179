//! The user's own SQL: weighted transactions of statements whose named parameters are drawn anew for each transaction.
//!
//! No control flow: what needs some belongs into a stored procedure. This module is what a study says about such a
//! workload; how it is read from TOML is the study's business, and the tables are the user's.

mod generator;
mod schema;
mod transaction;

pub use generator::{Bounds, Constant, Generator};
pub use transaction::Custom;

use crate::deck;
use crate::session::Dialect;
use crate::sql::{Protocol, Statement};

/// Everything that the study says about the workload, and what all its seats share.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What the statements are written in.
    pub dialect: Dialect,
    /// Kinds of transaction, 1 to [`Shape::MAX_TRANSACTIONS`].
    pub transactions: Vec<Transaction>,
}

/// One kind of transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Unique in the workload.
    pub name: String,
    /// How often it comes, beside the weights of the others; 1 to [`Shape::MAX_WEIGHT`].
    pub weight: u32,
    /// Enclosed in BEGIN and COMMIT. Where it is not, each statement commits itself.
    pub transactional: bool,
    /// In the order of sending, at least one.
    pub steps: Vec<Step>,
    /// In the order of drawing.
    pub parameters: Vec<Parameter>,
}

/// One statement of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What is sent.
    pub statement: Statement,
    /// For each of its slots the index of the parameter that fills it.
    slots: Box<[u16]>,
}

/// A name that statements use, and where its values come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The name, without its colon.
    pub name: String,
    /// Draws a value for each transaction.
    pub generator: Generator,
}

impl Shape {
    /// As many kinds as a deck has.
    pub const MAX_TRANSACTIONS: usize = deck::MOST_KINDS;
    /// Largest weight: decks of cards are dealt from it, one a session.
    pub const MAX_WEIGHT: u32 = 1_000;
    /// Statements of one transaction, at most: all together must fit [`crate::session::Stmt`].
    pub const MAX_STATEMENTS: usize = 255;

    /// The weights, in the order of the transactions.
    pub fn weights(&self) -> Vec<u32> {
        self.transactions.iter().map(|transaction| transaction.weight).collect()
    }

    /// Transactions of a session over which each kind comes as often as its weight says.
    pub fn deck_size(&self) -> u32 {
        deck::size(&self.weights())
    }

    /// How its statements travel.
    pub fn protocol(&self) -> Protocol {
        let first = self.transactions.iter().flat_map(|transaction| &transaction.steps).next();
        first.map_or(Protocol::Prepared, |step| step.statement.protocol)
    }

    /// The same workload with statements that travel so.
    pub fn sent_as(mut self, protocol: Protocol) -> Shape {
        let steps = self.transactions.iter_mut().flat_map(|transaction| &mut transaction.steps);
        steps.for_each(|step| step.statement.protocol = protocol);
        self
    }
}

impl Transaction {
    /// Statements that it sends when it meets no fault, BEGIN and COMMIT included.
    pub fn statements(&self) -> u32 {
        self.steps.len() as u32 + if self.transactional { 2 } else { 0 }
    }

    /// Its own statements that MySQL's counters of SELECT, INSERT, REPLACE, UPDATE and DELETE count. None where one is of
    /// another kind: what a called procedure does is counted too, and nobody knows how much that is.
    pub fn row_statements(&self, dialect: Dialect) -> Option<u32> {
        let counted = |step: &Step| {
            let first = crate::sql::first_word(&step.statement.sql, dialect);
            ROW_STATEMENTS.iter().any(|word| first.eq_ignore_ascii_case(word))
        };
        self.steps.iter().all(counted).then_some(self.steps.len() as u32)
    }
}

/// What statements that read or change rows start with.
const ROW_STATEMENTS: [&str; 6] = ["SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE"];

impl Step {
    /// Declarations of its parameters for SQL Server, as `@P1 int, @P2 char(16)`: as its text has them, or of the type that
    /// the driver takes for such values.
    pub fn declarations(&self, parameters: &[Parameter]) -> String {
        let declared = self.statement.types.iter().zip(&self.slots).enumerate().map(|(index, (declared, slot))| {
            let generator = || parameters.get(usize::from(*slot)).map_or("bigint", |it| it.generator.mssql_type());
            format!("@P{} {}", index + 1, declared.as_deref().unwrap_or_else(generator))
        });
        declared.collect::<Vec<_>>().join(", ")
    }

    /// A statement whose `:names` are all among the parameters.
    ///
    /// # Panics
    /// When one is not.
    pub fn new(sql: &str, dialect: Dialect, protocol: Protocol, parameters: &[Parameter]) -> Step {
        let of = |name: &str| parameters.iter().position(|parameter| parameter.name == name);
        let expression = |name: &str| parameters[of(name)?].generator.expression(dialect);
        let statement = Statement::parse_with(sql, dialect, protocol, expression);
        let slots = statement.slots.iter().map(|name| of(name).expect("a statement's parameters are known") as u16);
        Step { slots: slots.collect(), statement }
    }
}
