//! Customers, and the one payment of each that a history begins with.

use super::texts::Texts;
use super::{Table, loaded_at, stream};
use crate::random::{Stream, below};
use crate::session::{Source, Value};
use crate::tprocc::draw::{C_OF_LOAD, CUSTOMERS, DISTRICTS, name_number};
use crate::tprocc::names::LastName;

pub(super) const CUSTOMER: [&str; 21] = [
    "c_id",
    "c_d_id",
    "c_w_id",
    "c_discount",
    "c_credit_lim",
    "c_last",
    "c_first",
    "c_credit",
    "c_balance",
    "c_ytd_payment",
    "c_payment_cnt",
    "c_delivery_cnt",
    "c_street_1",
    "c_street_2",
    "c_city",
    "c_state",
    "c_zip",
    "c_phone",
    "c_since",
    "c_middle",
    "c_data",
];

pub(super) const HISTORY: [&str; 8] =
    ["h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_amount", "h_data"];

/// The first of a district have the last names 0 to 999, so that every name has somebody.
const NAMED_IN_ORDER: u32 = 1_000;

/// What each customer has paid and owes, in hundredths.
const PAID: Value<'static> = Value::Decimal(1_000, 2);
const BALANCE: Value<'static> = Value::Decimal(-1_000, 2);
const CREDIT_LIMIT: Value<'static> = Value::Decimal(5_000_000, 2);

/// Runs over the customers of one warehouse: district after district.
struct Walk {
    warehouse: u32,
    next: u32,
}

impl Walk {
    /// The next customer and its district, both counted from 1.
    fn next(&mut self) -> Option<(u32, u32)> {
        let at = self.next;
        self.next += 1;
        (at < DISTRICTS * CUSTOMERS).then_some((at % CUSTOMERS + 1, at / CUSTOMERS + 1))
    }
}

/// The customers of one warehouse.
pub(super) struct Customers {
    walk: Walk,
    stream: Stream,
    texts: Texts,
    since: Value<'static>,
}

impl Customers {
    pub(super) fn new(seed: u64, warehouse: u32) -> Customers {
        Customers {
            walk: Walk { warehouse, next: 0 },
            stream: stream(seed, Table::Customer, warehouse),
            texts: Texts::default(),
            since: Value::Instant(loaded_at(seed)),
        }
    }
}

impl Source for Customers {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some((customer, district)) = self.walk.next() else { return false };
        let Customers { walk, stream, texts, since } = self;
        texts.clear();
        let discount = Value::Decimal(below(stream, 5_001).into(), 4);
        let name = if customer <= NAMED_IN_ORDER { customer - 1 } else { name_number(stream, C_OF_LOAD) };
        texts.written(|out| out.push_str(LastName::of(name).as_str()));
        texts.alphanumeric(stream, 8..=16);
        let credit = if below(stream, 10) == 0 { "BC" } else { "GC" };
        texts.address(stream);
        texts.digits(stream, 16);
        texts.alphanumeric(stream, 300..=500);
        let text = |index| Value::Text(texts.get(index));
        put(&[
            Value::Int(customer.into()),
            Value::Int(district.into()),
            Value::Int(walk.warehouse.into()),
            discount,
            CREDIT_LIMIT,
            text(0),
            text(1),
            Value::Text(credit),
            BALANCE,
            PAID,
            Value::Int(1),
            Value::Int(0),
            text(2),
            text(3),
            text(4),
            text(5),
            text(6),
            text(7),
            *since,
            Value::Text("OE"),
            text(8),
        ]);
        true
    }
}

/// The payments of one warehouse's customers.
pub(super) struct Payments {
    walk: Walk,
    stream: Stream,
    texts: Texts,
    date: Value<'static>,
}

impl Payments {
    pub(super) fn new(seed: u64, warehouse: u32) -> Payments {
        Payments {
            walk: Walk { warehouse, next: 0 },
            stream: stream(seed, Table::History, warehouse),
            texts: Texts::default(),
            date: Value::Instant(loaded_at(seed)),
        }
    }
}

impl Source for Payments {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some((customer, district)) = self.walk.next() else { return false };
        let Payments { walk, stream, texts, date } = self;
        texts.clear();
        texts.alphanumeric(stream, 12..=24);
        let (district, warehouse) = (Value::Int(district.into()), Value::Int(walk.warehouse.into()));
        let data = Value::Text(texts.get(0));
        put(&[Value::Int(customer.into()), district, warehouse, district, warehouse, *date, PAID, data]);
        true
    }
}
