//! What a virtual user asks of a workload: inputs drawn from a seeded stream, and transactions made of statements.

mod expectation;

use std::rc::Rc;
use std::time::Duration;

pub use expectation::{Expectation, Wanted};

use crate::census::Headcount;
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
    /// Sessions of each of them. Never part of the stream either.
    pub sessions_per_vu: u32,
    /// Which run of the study, as [`random::run_key`](crate::random::run_key) has it. Never part of the stream; only for
    /// keys that must not repeat between runs.
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
    /// Number of rows; the expected number where it is drawn.
    pub count: u64,
}

/// Rows for one table.
pub struct Load {
    /// The table.
    pub table: String,
    /// Columns in the order of the values.
    pub columns: &'static [&'static str],
    /// The rows: a pure function of the seed and the chunk.
    pub source: Box<dyn Source>,
}

/// What fills a chunk.
#[derive(Default)]
pub struct Loads {
    /// Loaded one after the other, in batches that commit by themselves.
    pub batches: Vec<Load>,
    /// Loaded after those in one transaction of its own, whose commit makes the chunk complete. Empty where nothing
    /// tells a complete chunk.
    pub seal: Vec<Load>,
}

/// An index that is built after the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The statement that builds it.
    pub sql: String,
    /// A query that returns 0 where it is not there.
    pub exists: String,
}

/// A stored procedure beside the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routine {
    /// The statement that drops it.
    pub drop: String,
    /// The statement that makes it.
    pub create: String,
    /// A query that returns 0 where it is not there.
    pub exists: String,
}

/// The stored procedures of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routines {
    /// Each of them.
    pub all: Vec<Routine>,
    /// Whether the workload's transactions call them.
    pub called: bool,
    /// What helps where the login may not make them.
    pub remedy: String,
}

/// How an interrupted build is recognised and taken up where it ended. A mark stands in the database from before the
/// first table is made until everything is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// Which build it is, for people and for comparison: what the mark says.
    pub build: String,
    /// Statements that set the mark.
    pub begin: Vec<String>,
    /// A query of what the mark says; it fails or returns no row where no build is under way.
    pub mark: String,
    /// A query of the parts that are complete, one a row.
    pub complete: String,
    /// Takes the mark away.
    pub end: String,
}

/// What `schema verify` asks, and what it has to say about what it does not ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inspection {
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// What is left out, and why.
    pub notes: Vec<String>,
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

    /// What a chunk is called: "sbtest3", "warehouse 7".
    fn describe(&self, chunk: Chunk) -> String;

    /// What all chunks are called where people count them rather than rows: "warehouses".
    fn unit(&self) -> Option<&'static str> {
        None
    }

    /// What fills a chunk.
    fn loads(&self, seed: u64, chunk: Chunk) -> Loads;

    /// Statements that remove whatever has been loaded of a chunk that is not complete, before it is loaded again.
    fn clear(&self, chunk: Chunk, dialect: Dialect) -> Vec<String>;

    /// Indexes, built after the load and beside each other.
    fn indexes(&self, dialect: Dialect) -> Vec<Index>;

    /// Stored procedures, made before anything else: a login that may not make them is to learn that before the load.
    fn routines(&self, _dialect: Dialect) -> Option<Routines> {
        None
    }

    /// How an interrupted build is taken up; none where it has to start anew.
    fn resume(&self, _seed: u64, _dialect: Dialect) -> Option<Resume> {
        None
    }

    /// The seed of an unfinished build that differs from this one in its seed alone, from what its mark says.
    fn seed_of(&self, _mark: &str) -> Option<u64> {
        None
    }

    /// What must hold before every run, cheap to ask: that the tables exist.
    fn present(&self, dialect: Dialect) -> Vec<Expectation>;

    /// What must hold of tables that a build has completed, cheap to ask.
    fn built(&self, _dialect: Dialect) -> Vec<Expectation> {
        Vec::new()
    }

    /// What else must hold before every run where the tables exist, cheap to ask.
    fn ready(&self, dialect: Dialect) -> Vec<Expectation> {
        self.built(dialect)
    }

    /// A query whose only row tells how the tables came to hold what they do, where that decides what may be expected.
    fn origin(&self, _dialect: Dialect) -> Option<String> {
        None
    }

    /// What must hold of the rows. `origin` is the answer to [`origin`](Schema::origin); without one, everything that
    /// holds right after a build.
    fn inspection(&self, dialect: Dialect, origin: Option<&[String]>) -> Inspection;

    /// How many rows each table holds; nothing of tables that nobody has named.
    fn census(&self) -> Vec<Headcount>;

    /// Total rows of all chunks.
    fn rows(&self) -> u64 {
        self.chunks().iter().map(|chunk| chunk.count).sum()
    }
}
