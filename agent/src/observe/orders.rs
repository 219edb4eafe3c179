//! How many orders a TPROC-C database has taken: the sum of its districts' next order numbers, the witness of NOPM.
//!
//! It has a connection and readings of its own, because `SHOW GLOBAL STATUS` may take half a second beside a busy server
//! and the two would blur each other's instants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use vufleet_proto::v1;
use vufleet_scenarios::session::{Fault, FaultKind, Row, Rows, Session, Value};
use vufleet_scenarios::study::{Measure, Study, Workload};
use vufleet_scenarios::tprocc::{ORDERS, orders_query};

use crate::clock::CommonClock;

/// How long a reading may take, its connection included.
const PATIENCE: Duration = Duration::from_secs(5);

/// Up to so many warehouses the sum is cheap enough to be read at every tick.
const CHEAP_WAREHOUSES: u32 = 100;

/// When the sum is read, apart from when somebody orders it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasions {
    every_tick: bool,
    /// Since the load's start: the window's edges.
    edges: [Option<Duration>; 2],
    interval: Duration,
}

impl Occasions {
    /// None for a workload that has no orders.
    pub fn of(study: &Study, interval: Duration) -> Option<Occasions> {
        let Workload::Tprocc(shape) = &study.workload else { return None };
        let ramp_up = study.schedule.ramp_up;
        let end = match study.schedule.measure {
            Measure::Duration(window) => Some(ramp_up + window),
            Measure::Transactions(_) => None,
        };
        Some(Occasions { every_tick: shape.warehouses <= CHEAP_WAREHOUSES, edges: [Some(ramp_up), end], interval })
    }

    /// Whether the sum is read at a tick so long after the load's start. Of a large database only around the window's
    /// edges, which may lie an interval later than the study says.
    pub fn is_one(&self, since_start: Duration) -> bool {
        let near = |edge: Duration| since_start.abs_diff(edge) <= 2 * self.interval;
        self.every_tick || self.edges.into_iter().flatten().any(near)
    }
}

/// Reads the sum, and opens its connection again after the database was away.
pub struct OrdersObserver<S> {
    study: Arc<Study>,
    session: Option<S>,
    sent: u64,
}

impl<S: Session> OrdersObserver<S> {
    /// Observes the study's database with the control login. Nothing is opened before the first reading.
    pub fn new(study: Arc<Study>) -> Self {
        OrdersObserver { study, session: None, sent: 0 }
    }

    /// Statements sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Reads the sum now. A failed reading drops the connection.
    pub async fn read(&mut self, clock: &CommonClock) -> v1::Counters {
        let asked = Instant::now();
        let answer = timeout(PATIENCE, self.ask()).await.unwrap_or_else(|_| Err(silent()));
        let time = clock.translation();
        let after_ns = time.at(Instant::now());
        match answer {
            Ok((before, orders)) => v1::Counters {
                before_ns: time.at(before),
                after_ns,
                values: [(ORDERS.to_owned(), orders)].into(),
                ..Default::default()
            },
            Err(fault) => {
                if let Some(session) = self.session.take() {
                    session.discard();
                }
                let error = format!("{ORDERS}: {}: {fault}", fault.kind.name());
                v1::Counters { before_ns: time.at(asked), after_ns, error, ..Default::default() }
            }
        }
    }

    async fn ask(&mut self) -> Result<(Instant, u64), Fault> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(Box::pin(S::connect_to_ask(&self.study.control_target())).await?),
        };
        let mut sum = Sum(None);
        let before = Instant::now();
        self.sent += 1;
        let named = self.study.target.database.as_deref();
        session.query(&orders_query(S::DIALECT, named), &mut sum).await?;
        let nothing = || Fault::new(FaultKind::Statement, "no district has an order number; build the schema first");
        Ok((before, sum.0.ok_or_else(nothing)?))
    }

    /// Ends the connection in an orderly way.
    pub async fn close(self) {
        if let Some(session) = self.session {
            session.close().await;
        }
    }
}

fn silent() -> Fault {
    Fault::new(FaultKind::ConnectionLost, format!("the database gave no answer within {PATIENCE:?}"))
}

/// A sum of integers, however the database puts it.
struct Sum(Option<u64>);

impl Rows for Sum {
    fn row(&mut self, row: &impl Row) {
        self.0 = match row.get(0) {
            Value::Int(sum) | Value::Decimal(sum, 0) => u64::try_from(sum).ok(),
            Value::Text(sum) => sum.parse().ok(),
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::scripted::{Scripted, Step, script, take_sent};

    const STUDY: &str = "name = 'a'\nseed = 1\n[target]\nkind = 'mysql'\nhost = 'db'\nuser = 'u'\ndatabase = 'tpcc'\n\
                         [control]\nuser = 'root'\ndatabase = 'mysql'\n[workload]\nkind = 'tprocc'\nwarehouses = 100\n\
                         [[profiles]]\nvus = 1\n[schedule]\nramp_up = '10s'\nmeasure = '20s'\n";

    fn study(text: &str) -> Study {
        vufleet_scenarios::study::read(text, &Default::default()).unwrap()
    }

    #[tokio::test]
    async fn sums_are_read_where_the_tables_are_and_again_after_an_outage() {
        let gone = || Step::Fail(Fault::new(FaultKind::ConnectionLost, "gone"));
        let sum = |value| Step::Answer(vec![vec![value]]);
        script([
            Step::Answer(vec![]),
            sum(Value::Decimal(30_010, 0)),
            gone(),
            Step::Answer(vec![]),
            sum(Value::Int(30_012)),
            sum(Value::Null),
        ]);
        let mut observer = OrdersObserver::<Scripted>::new(Arc::new(study(STUDY)));
        let clock = CommonClock::default();
        let first = observer.read(&clock).await;
        assert_eq!((first.values[ORDERS], first.error.as_str()), (30_010, ""));
        assert!(first.before_ns <= first.after_ns);
        assert!(observer.read(&clock).await.error.contains("connection_lost: gone"));
        assert_eq!(observer.read(&clock).await.values[ORDERS], 30_012);
        assert!(observer.read(&clock).await.error.contains("build the schema"));
        assert_eq!(observer.sent(), 4);
        let sent = take_sent();
        assert_eq!(sent[1], "SELECT SUM(d_next_o_id) FROM `tpcc`.district");
        assert_eq!(sent.iter().filter(|sent| *sent == "connect").count(), 2);
    }

    #[test]
    fn a_large_database_is_read_around_the_edges_alone() {
        let second = Duration::from_secs(1);
        let small = Occasions::of(&study(STUDY), second).unwrap();
        let large = Occasions::of(&study(&STUDY.replace("= 100\n", "= 101\n")), second).unwrap();
        for (since_s, expected) in [(0, false), (7, false), (8, true), (12, true), (13, false), (28, true), (33, false)]
        {
            assert_eq!(large.is_one(second * since_s), expected, "{since_s}");
            assert!(small.is_one(second * since_s));
        }
        let oltp = STUDY.replace("kind = 'tprocc'\nwarehouses = 100", "kind = 'oltp'\nscript = 'read_only'");
        assert_eq!(Occasions::of(&study(&oltp), second), None);
    }
}
