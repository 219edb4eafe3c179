//! What each transaction is entered with [2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1].
//!
//! Stored procedures draw the lines of an order themselves; the rest of what they are called with follows HammerDB:
//! customers uniform, last names with the C of the load.

use super::{C_OF_LOAD, CUSTOMERS, Constants, DISTRICTS, Home, UNUSED_ITEM, chance, name_number, uniform};
use crate::random::Stream;
use crate::tprocc::{Calls, Shape};

/// The inputs of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) enum Input {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery { warehouse: u32, carrier: u32 },
    StockLevel { warehouse: u32, district: u32, threshold: u32 },
}

/// Its lines, where the client draws them, lie beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) struct NewOrder {
    pub warehouse: u32,
    pub district: u32,
    pub customer: u32,
    pub lines: u32,
    /// Ends with an item that nobody has, and is rolled back.
    pub unused_item: bool,
}

/// One line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) struct Line {
    pub item: u32,
    pub supplier: u32,
    pub quantity: u32,
}

/// How a customer is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) enum Customer {
    Id(u32),
    /// The number of a last name.
    Name(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) struct Payment {
    pub warehouse: u32,
    pub district: u32,
    pub customer_warehouse: u32,
    pub customer_district: u32,
    pub customer: Customer,
    /// In hundredths.
    pub amount: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) struct OrderStatus {
    pub warehouse: u32,
    pub district: u32,
    pub customer: Customer,
}

/// All that inputs are drawn from but the stream.
#[derive(Debug, Clone, Copy)]
pub(in crate::tprocc) struct Draw {
    calls: Calls,
    warehouses: u32,
    home: Home,
    constants: Constants,
}

impl Draw {
    pub(in crate::tprocc) fn new(shape: &Shape, home: Home, seed: u64) -> Draw {
        Draw { calls: shape.calls, warehouses: shape.warehouses, home, constants: Constants::of(seed) }
    }

    /// Draws a transaction of that kind; the lines of a new order go into `lines`.
    pub(in crate::tprocc) fn inputs(&self, kind: usize, stream: &mut Stream, lines: &mut Vec<Line>) -> Input {
        let warehouse = self.home.warehouse(stream);
        match kind {
            0 => Input::NewOrder(self.new_order(warehouse, stream, lines)),
            1 => Input::Payment(self.payment(warehouse, stream)),
            2 => Input::OrderStatus(OrderStatus {
                warehouse,
                district: uniform(stream, 1, DISTRICTS),
                customer: self.customer(stream),
            }),
            3 => Input::Delivery { warehouse, carrier: uniform(stream, 1, 10) },
            _ => {
                let threshold = uniform(stream, 10, 20);
                Input::StockLevel { warehouse, district: self.home.district, threshold }
            }
        }
    }

    fn new_order(&self, warehouse: u32, stream: &mut Stream, lines: &mut Vec<Line>) -> NewOrder {
        let district = uniform(stream, 1, DISTRICTS);
        let customer = self.customer_id(stream);
        let count = uniform(stream, 5, 15);
        lines.clear();
        if self.calls == Calls::Procedures {
            return NewOrder { warehouse, district, customer, lines: count, unused_item: false };
        }
        for _ in 0..count {
            let item = self.constants.item(stream);
            let remote = chance(stream, 1);
            let supplier = if remote { self.other_warehouse(warehouse, stream) } else { warehouse };
            lines.push(Line { item, supplier, quantity: uniform(stream, 1, 10) });
        }
        let unused_item = chance(stream, 1);
        if let Some(last) = lines.last_mut().filter(|_| unused_item) {
            last.item = UNUSED_ITEM;
        }
        // Sessions that take the same stock in the same order wait for each other, but never in a circle. The unused
        // item is the largest, and stays the last.
        lines.sort_unstable_by_key(|line| (line.item, line.supplier));
        NewOrder { warehouse, district, customer, lines: count, unused_item }
    }

    fn payment(&self, warehouse: u32, stream: &mut Stream) -> Payment {
        let district = uniform(stream, 1, DISTRICTS);
        let remote = chance(stream, 15) && self.warehouses > 1;
        let (customer_warehouse, customer_district) = match remote {
            true => (self.other_warehouse(warehouse, stream), uniform(stream, 1, DISTRICTS)),
            false => (warehouse, district),
        };
        let customer = self.customer(stream);
        let amount = uniform(stream, 100, 500_000);
        Payment { warehouse, district, customer_warehouse, customer_district, customer, amount }
    }

    /// Six of ten are known by their name only.
    fn customer(&self, stream: &mut Stream) -> Customer {
        let c = if self.calls == Calls::Procedures { C_OF_LOAD } else { self.constants.names };
        match chance(stream, 60) {
            true => Customer::Name(name_number(stream, c)),
            false => Customer::Id(self.customer_id(stream)),
        }
    }

    fn customer_id(&self, stream: &mut Stream) -> u32 {
        match self.calls {
            Calls::Procedures => uniform(stream, 1, CUSTOMERS),
            Calls::Statements => self.constants.customer(stream),
        }
    }

    /// Any warehouse but this one; this one where there is no other.
    fn other_warehouse(&self, warehouse: u32, stream: &mut Stream) -> u32 {
        if self.warehouses == 1 {
            return warehouse;
        }
        let other = uniform(stream, 1, self.warehouses - 1);
        if other >= warehouse { other + 1 } else { other }
    }
}

#[cfg(test)]
mod tests;
