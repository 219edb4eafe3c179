//! Orders, those of them that wait for their delivery, and their lines.

use super::texts::Texts;
use super::{DELIVERED, Table, loaded_at, stream};
use crate::random::{Stream, below};
use crate::session::{Source, Value};
use crate::tprocc::draw::{CUSTOMERS, DISTRICTS, ITEMS, uniform};

pub(super) const ORDERS: [&str; 8] =
    ["o_id", "o_d_id", "o_w_id", "o_c_id", "o_carrier_id", "o_ol_cnt", "o_all_local", "o_entry_d"];

pub(super) const NEW_ORDER: [&str; 3] = ["no_o_id", "no_d_id", "no_w_id"];

pub(super) const ORDER_LINE: [&str; 10] = [
    "ol_o_id",
    "ol_d_id",
    "ol_w_id",
    "ol_number",
    "ol_i_id",
    "ol_delivery_d",
    "ol_amount",
    "ol_supply_w_id",
    "ol_quantity",
    "ol_dist_info",
];

/// An order of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    /// Counted from 1 in its district.
    pub id: u32,
    pub district: u32,
    pub customer: u32,
    /// None as long as it is not delivered.
    pub carrier: Option<u32>,
    pub lines: u32,
}

/// The orders of one warehouse, district after district. Three tables tell of them, so that each draws them anew.
struct Walk {
    stream: Stream,
    next: u32,
    /// Whose order it is: every customer of the district once.
    customers: Vec<u16>,
}

impl Walk {
    fn new(seed: u64, warehouse: u32) -> Walk {
        Walk { stream: stream(seed, Table::Orders, warehouse), next: 0, customers: (1..=CUSTOMERS as u16).collect() }
    }
}

impl Iterator for Walk {
    type Item = Order;

    fn next(&mut self) -> Option<Order> {
        if self.next == DISTRICTS * CUSTOMERS {
            return None;
        }
        let (district, index) = (self.next / CUSTOMERS + 1, self.next % CUSTOMERS);
        self.next += 1;
        if index == 0 {
            shuffle(&mut self.stream, &mut self.customers);
        }
        let carrier = uniform(&mut self.stream, 1, 10);
        let lines = uniform(&mut self.stream, 5, 15);
        Some(Order {
            id: index + 1,
            district,
            customer: self.customers[index as usize].into(),
            carrier: (index < DELIVERED).then_some(carrier),
            lines,
        })
    }
}

/// Fisher and Yates: any order as likely as any other.
fn shuffle(stream: &mut Stream, cards: &mut [u16]) {
    for last in (1..cards.len()).rev() {
        let other = below(stream, last as u32 + 1) as usize;
        cards.swap(last, other);
    }
}

/// The table of orders.
pub(super) struct Orders {
    warehouse: u32,
    walk: Walk,
    entered: Value<'static>,
}

impl Orders {
    pub(super) fn new(seed: u64, warehouse: u32) -> Orders {
        Orders { warehouse, walk: Walk::new(seed, warehouse), entered: Value::Instant(loaded_at(seed)) }
    }
}

impl Source for Orders {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some(order) = self.walk.next() else { return false };
        put(&[
            Value::Int(order.id.into()),
            Value::Int(order.district.into()),
            Value::Int(self.warehouse.into()),
            Value::Int(order.customer.into()),
            order.carrier.map_or(Value::Null, |carrier| Value::Int(carrier.into())),
            Value::Int(order.lines.into()),
            Value::Int(1),
            self.entered,
        ]);
        true
    }
}

/// The table of orders that wait for their delivery.
pub(super) struct NewOrders {
    warehouse: u32,
    walk: Walk,
}

impl NewOrders {
    pub(super) fn new(seed: u64, warehouse: u32) -> NewOrders {
        NewOrders { warehouse, walk: Walk::new(seed, warehouse) }
    }
}

impl Source for NewOrders {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some(order) = self.walk.find(|order| order.carrier.is_none()) else { return false };
        put(&[order.id, order.district, self.warehouse].map(|id| Value::Int(id.into())));
        true
    }
}

/// The table of lines.
pub(super) struct OrderLines {
    warehouse: u32,
    walk: Walk,
    order: Option<Order>,
    /// The last line of it that was lent, counted from 1.
    last: u32,
    stream: Stream,
    texts: Texts,
    delivered: Value<'static>,
}

impl OrderLines {
    pub(super) fn new(seed: u64, warehouse: u32) -> OrderLines {
        let mut walk = Walk::new(seed, warehouse);
        OrderLines {
            warehouse,
            order: walk.next(),
            walk,
            last: 0,
            stream: stream(seed, Table::OrderLine, warehouse),
            texts: Texts::default(),
            delivered: Value::Instant(loaded_at(seed)),
        }
    }

    /// The next line's order and number.
    fn advance(&mut self) -> Option<(Order, u32)> {
        if self.order?.lines == self.last {
            self.order = self.walk.next();
            self.last = 0;
        }
        self.last += 1;
        Some((self.order?, self.last))
    }
}

impl Source for OrderLines {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        let Some((order, number)) = self.advance() else { return false };
        let OrderLines { warehouse, stream, texts, .. } = self;
        texts.clear();
        let item = uniform(stream, 1, ITEMS);
        let amount = whole_amount(uniform(stream, 1, 999_999));
        texts.info(stream);
        let (delivered, amount) = if order.carrier.is_some() { (self.delivered, 0) } else { (Value::Null, amount) };
        put(&[
            Value::Int(order.id.into()),
            Value::Int(order.district.into()),
            Value::Int((*warehouse).into()),
            Value::Int(number.into()),
            Value::Int(item.into()),
            delivered,
            Value::Int(amount.into()),
            Value::Int((*warehouse).into()),
            Value::Int(5),
            Value::Text(texts.get(0)),
        ]);
        true
    }
}

/// An amount in hundredths as the column holds it: a whole number, halves rounded up.
fn whole_amount(hundredths: u32) -> u32 {
    (hundredths + 50) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_as_the_column_would() {
        for (hundredths, whole) in [(1, 0), (49, 0), (50, 1), (149, 1), (150, 2), (999_949, 9_999), (999_999, 10_000)] {
            assert_eq!(whole_amount(hundredths), whole, "{hundredths}");
        }
    }

    #[test]
    fn a_shuffle_loses_nobody_and_favours_nobody() {
        let mut stream = crate::random::stream(5, &[]);
        let mut first = [0_u32; 5];
        for _ in 0..10_000 {
            let mut cards = [0, 1, 2, 3, 4];
            shuffle(&mut stream, &mut cards);
            first[usize::from(cards[0])] += 1;
            cards.sort_unstable();
            assert_eq!(cards, [0, 1, 2, 3, 4]);
        }
        assert!(first.iter().all(|count| (1_850..2_150).contains(count)), "{first:?}");
    }
}
