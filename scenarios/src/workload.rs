//! What a virtual user asks of a workload: inputs drawn from a seeded stream, and transactions made of statements.

use std::rc::Rc;
use std::time::Duration;

use crate::session::{Dialect, Fault, Session, Source};
use crate::sql::Statement;

/// Who draws: all that a session's random stream may depend on, plus its place among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The study's seed.
    pub seed: u64,
    /// Virtual user, counted from 0 over the whole fleet.
    pub vu: u32,
    /// Session of that virtual user, counted from 0.
    pub session: u32,
    /// Virtual users of the whole fleet. Never part of the stream; only for sharing out what they work on.
    pub vus: u32,
    /// Number of the run. Never part of the stream; only for keys that must not repeat between runs.
    pub run: u64,
}

/// A drawn transaction: which of the workload's kinds it is. Its inputs stay inside the workload, so that a retry
/// sends the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Txn {
    /// Index into [`Workload::kinds`].
    pub kind: usize,
}

/// How a transaction that met no fault ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Committed, or autocommitted.
    Committed,
    /// Rolled back on purpose.
    RolledBack,
}

/// What a person at a terminal does around a transaction of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Types this long before it is sent.
    pub keying: Duration,
    /// Thinks this long after its answer, on average.
    pub think_mean: Duration,
}

impl Times {
    /// Thinking times are cut at this many times their mean [5.2.5.4].
    pub const LONGEST_THOUGHT: u32 = 10;

    /// The longest that a session is idle around a transaction of this kind.
    pub fn longest(&self) -> Duration {
        self.keying + self.think_mean * Times::LONGEST_THOUGHT
    }
}

/// Keying and thinking times of a workload that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// By [`Txn::kind`].
    pub kinds: Vec<Times>,
    /// Keying and thinking time of an average transaction.
    pub mean_cycle: Duration,
}

/// One session's stream of transactions.
#[allow(async_fn_in_trait)] // workloads never leave the thread they were seated on
pub trait Workload: Sized + 'static {
    /// What all seats share.
    type Shape: 'static;

    /// Names of the transaction kinds, in the order of [`Txn::kind`].
    fn kinds(shape: &Self::Shape) -> Vec<String>;

    /// Every statement that a seat may send, in the order of [`crate::session::Stmt`].
    fn statements(shape: &Self::Shape, dialect: Dialect) -> Vec<Statement>;

    /// Whether the statements are prepared at connect, or each on first use.
    fn eager(shape: &Self::Shape) -> bool;

    /// Keying and thinking times, where transactions are entered by people.
    fn terminal(_shape: &Self::Shape) -> Option<Terminal> {
        None
    }

    /// Takes a seat: seeds the generator. Survives reconnects.
    fn seat(shape: Rc<Self::Shape>, seat: Seat) -> Self;

    /// Draws the next transaction and its inputs.
    fn draw(&mut self) -> Txn;

    /// Runs the drawn transaction once. On a fault it returns at once; the caller rolls back.
    async fn run<S: Session>(&mut self, session: &mut S) -> Result<Outcome, Fault>;
}

/// Rows `first .. first + count` of one part of a schema, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Part (a table, a warehouse, ...), counted from 0.
    pub part: u32,
    /// First row.
    pub first: u64,
    /// Number of rows.
    pub count: u64,
}

/// A query whose answer `schema verify` and the checks before a run compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// What is being checked, for people: "sbtest3 has 10000 rows".
    pub what: String,
    /// A query that returns one value.
    pub sql: String,
    /// The value that it must return, as text.
    pub equals: String,
    /// What to do when it does not.
    pub remedy: String,
}

/// The tables behind a workload: how to make them, fill them beside each other, check and drop them.
pub trait Schema: Sync {
    /// Names of all tables.
    fn tables(&self) -> Vec<String>;

    /// Statements that make empty tables, one after the other.
    fn create(&self, dialect: Dialect) -> Vec<String>;

    /// Statements that drop whatever of the tables exists.
    fn drop(&self, dialect: Dialect) -> Vec<String>;

    /// All rows, cut into disjoint chunks of bounded size.
    fn chunks(&self) -> Vec<Chunk>;

    /// Table and columns of a chunk's rows.
    fn destination(&self, chunk: Chunk) -> (String, Vec<&'static str>);

    /// The rows of a chunk: a pure function of the seed and the chunk.
    fn source(&self, seed: u64, chunk: Chunk) -> Box<dyn Source>;

    /// A statement that removes whatever of a chunk has been loaded, before it is loaded again.
    fn clear(&self, chunk: Chunk, dialect: Dialect) -> String;

    /// Statements after the load (indexes), which may run beside each other.
    fn finish(&self, dialect: Dialect) -> Vec<String>;

    /// What must hold right after a build.
    fn expectations(&self, dialect: Dialect) -> Vec<Expectation>;

    /// What must hold before every run, cheap to ask: that the tables exist.
    fn present(&self, dialect: Dialect) -> Vec<Expectation>;

    /// Total rows of all chunks.
    fn rows(&self) -> u64 {
        self.chunks().iter().map(|chunk| chunk.count).sum()
    }
}
