//! Warehouses and their districts.

use super::texts::Texts;
use super::{Table, stream};
use crate::random::Stream;
use crate::session::{Source, Value};
use crate::tprocc::draw::{CUSTOMERS, DISTRICTS, uniform};

pub(super) const WAREHOUSE: [&str; 9] =
    ["w_id", "w_ytd", "w_tax", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"];

pub(super) const DISTRICT: [&str; 11] = [
    "d_id",
    "d_w_id",
    "d_ytd",
    "d_next_o_id",
    "d_tax",
    "d_name",
    "d_street_1",
    "d_street_2",
    "d_city",
    "d_state",
    "d_zip",
];

/// What the history of a district comes to, in hundredths: each customer has paid 10.00.
const DISTRICT_YTD: i64 = CUSTOMERS as i64 * 1_000;

/// The row of one warehouse.
pub(super) struct Warehouse {
    id: u32,
    stream: Stream,
    texts: Texts,
    lent: bool,
}

impl Warehouse {
    pub(super) fn new(seed: u64, warehouse: u32) -> Warehouse {
        let stream = stream(seed, Table::Warehouse, warehouse);
        Warehouse { id: warehouse, stream, texts: Texts::default(), lent: false }
    }
}

impl Source for Warehouse {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.lent {
            return false;
        }
        self.lent = true;
        let Warehouse { id, stream, texts, .. } = self;
        let tax = tax(stream);
        texts.alphanumeric(stream, 6..=10);
        texts.address(stream);
        let text = |index| Value::Text(texts.get(index));
        let ytd = Value::Decimal(i64::from(DISTRICTS) * DISTRICT_YTD, 2);
        put(&[Value::Int((*id).into()), ytd, tax, text(0), text(1), text(2), text(3), text(4), text(5)]);
        true
    }
}

/// The districts of one warehouse.
pub(super) struct Districts {
    warehouse: u32,
    stream: Stream,
    texts: Texts,
    /// The last one that was lent, counted from 1.
    last: u32,
}

impl Districts {
    pub(super) fn new(seed: u64, warehouse: u32) -> Districts {
        Districts { warehouse, stream: stream(seed, Table::District, warehouse), texts: Texts::default(), last: 0 }
    }
}

impl Source for Districts {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.last == DISTRICTS {
            return false;
        }
        self.last += 1;
        let Districts { warehouse, stream, texts, last } = self;
        texts.clear();
        let tax = tax(stream);
        texts.alphanumeric(stream, 6..=10);
        texts.address(stream);
        let text = |index| Value::Text(texts.get(index));
        put(&[
            Value::Int((*last).into()),
            Value::Int((*warehouse).into()),
            Value::Decimal(DISTRICT_YTD, 2),
            Value::Int((CUSTOMERS + 1).into()),
            tax,
            text(0),
            text(1),
            text(2),
            text(3),
            text(4),
            text(5),
        ]);
        true
    }
}

/// 0 to 0.2.
fn tax(stream: &mut Stream) -> Value<'static> {
    Value::Decimal(uniform(stream, 0, 2_000).into(), 4)
}
