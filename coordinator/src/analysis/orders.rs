//! New orders as the database counts them: readings of the sum of its districts' next order numbers.
//!
//! Rows survive what counters of a server do not: the sum stays comparable across a restart.

use vufleet_proto::v1;
use vufleet_scenarios::tprocc::ORDERS;

use super::Metric;
use super::fold::Fold;
use super::sample::{NEW_ORDER, torn_at, work_between};
use super::witness::{Span, Witness};

/// Share of its calls that HammerDB's procedure for MySQL lets stand: it rolls one in 99 back without saying so. Its
/// procedure for SQL Server: one in 100.
const STANDING: f64 = 98.0 / 99.0;
const STANDING_MSSQL: f64 = 99.0 / 100.0;
/// So many orders without one rollback do not happen by chance where one in a hundred is rolled back.
const ENOUGH: u64 = 1_000;

/// One reading of the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrdersReading {
    before_ns: u64,
    after_ns: u64,
    orders: u64,
}

impl OrdersReading {
    /// None for a reading of something else.
    pub fn of(counters: &v1::Counters) -> Option<OrdersReading> {
        let orders = *counters.values.get(ORDERS)?;
        Some(OrdersReading { before_ns: counters.before_ns, after_ns: counters.after_ns, orders })
    }

    /// The instant that the sum is taken to be of.
    pub(super) fn at_ns(&self) -> u64 {
        self.before_ns + self.after_ns.saturating_sub(self.before_ns) / 2
    }

    /// Orders taken from here to a later reading; none if there are fewer, because somebody built the tables anew.
    fn until(&self, later: &OrdersReading) -> Option<u64> {
        later.orders.checked_sub(self.orders)
    }
}

impl Fold<'_> {
    /// NOPM, counted twice: between the readings nearest the window's edges, no further from them than `slack_ns`, or,
    /// without it, between those around the window.
    pub(super) fn nopm(&self, (start_ns, end_ns): (u64, u64), slack_ns: Option<u64>, clock_ns: u64) -> Option<Witness> {
        self.profile.order_entry?;
        let nearest = |instant: u64, slack_ns: u64| {
            let near = self.orders.iter().filter(|reading| reading.at_ns().abs_diff(instant) <= slack_ns);
            near.min_by_key(|reading| reading.at_ns().abs_diff(instant))
        };
        let (first, last) = match slack_ns {
            Some(slack_ns) => (nearest(start_ns, slack_ns)?, nearest(end_ns, slack_ns)?),
            None => (
                self.orders.iter().rev().find(|reading| reading.after_ns <= start_ns)?,
                self.orders.iter().find(|reading| reading.before_ns >= end_ns)?,
            ),
        };
        let database = first.until(last)? as f64;
        let span = Span::of([(first.before_ns, first.after_ns), (last.before_ns, last.after_ns)], clock_ns);
        let work = work_between(&self.samples, span.from_ns, span.to_ns);
        let torn = torn_at(&self.samples, span.from_ns).new_orders + torn_at(&self.samples, span.to_ns).new_orders;
        let sessions = f64::from(self.profile.vus * self.profile.sessions_per_vu);
        let allowance = sessions + torn + work.new_orders_unknown;
        let (client, chance) = match self.rollbacks_unseen() {
            true => standing(work.new_orders, self.standing_share()),
            false => (work.new_orders, 0.0),
        };
        Witness::over(&span, Metric::Nopm, ORDERS, [client, database], allowance + chance)
    }

    /// New orders that the database took from before the first session to after the last one.
    pub(super) fn orders_of_whole_run(&self) -> Option<u64> {
        let (first, last) = (self.orders.first()?, self.orders.last()?);
        let begun = self.samples.iter().map(|sample| sample.start_ns).min()?;
        let ended = self.samples.iter().map(|sample| sample.end_ns).max()?;
        (first.at_ns() <= begun && last.before_ns >= ended).then(|| first.until(last)).flatten()
    }

    /// Whether rolled-back orders were counted as taken: the procedures are somebody else's, and the server does not
    /// count what a whole call changed, as MariaDB does.
    pub(super) fn rollbacks_unseen(&self) -> bool {
        let facts = self.run.facts.as_ref();
        let version = facts.and_then(|facts| facts.target_version.as_deref());
        let silent = version.is_some_and(|version| !version.contains("MariaDB")) && self.outline.has_server_counters();
        let calls = self.profile.order_entry.is_some_and(|it| it.procedures);
        let Some(counted) = self.whole.get(NEW_ORDER).filter(|counted| silent && calls && counted.rollback == 0) else {
            return false;
        };
        match self.orders_of_whole_run() {
            Some(taken) => taken + counted.unknown < counted.ok,
            None => counted.ok >= ENOUGH,
        }
    }

    /// Share of the calls of somebody else's procedure that are not rolled back.
    pub(super) fn standing_share(&self) -> f64 {
        if self.outline.is_mssql() { STANDING_MSSQL } else { STANDING }
    }
}

/// How many of so many calls stand where that `share` of them does, and three standard deviations of that.
pub(super) fn standing(calls: f64, share: f64) -> (f64, f64) {
    (calls * share, 3.0 * f64::sqrt(calls * share * (1.0 - share)))
}
