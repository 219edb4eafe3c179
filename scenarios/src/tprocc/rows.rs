//! The rows that a build loads, after clause 4.3.3.1 of the specification.
//!
//! A warehouse's rows of a table are a function of the study's seed, the table and the warehouse alone: whoever loads
//! them, they come out the same. Dates are constants of the seed for the same reason. The items travel with the first
//! warehouse.

mod customers;
mod goods;
mod orders;
mod places;
#[cfg(test)]
mod tests;
mod texts;

use super::draw::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::random::{Stream, mix, row_stream};
use crate::session::Source;
use crate::workload::{Load, Loads};

/// Orders of a district that the load brings in as delivered; they are the oldest.
pub(super) const DELIVERED: u32 = 2_100;

/// Rows of a warehouse without the items. Each customer has one payment and one order. The lines of an order are drawn, ten on the average.
pub(super) const WAREHOUSE_ROWS: u64 = {
    let customers = (DISTRICTS * CUSTOMERS) as u64;
    let undelivered = (DISTRICTS * (CUSTOMERS - DELIVERED)) as u64;
    1 + DISTRICTS as u64 + 3 * customers + undelivered + 10 * customers + ITEMS as u64
};

/// Tables by the number of their streams. The numbers are part of what a seed means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Item = 1,
    Warehouse = 2,
    District = 3,
    Customer = 4,
    History = 5,
    Orders = 6,
    OrderLine = 7,
    Stock = 8,
}

/// The loads of a warehouse. Its row comes last, together with the only rows that no key keeps apart: a warehouse that
/// is there is complete, and none of its rows can be there twice.
pub(super) fn loads(seed: u64, warehouse: u32) -> Loads {
    let mut batches = Vec::new();
    if warehouse == 1 {
        batches.push(load("item", &goods::ITEM, goods::Items::new(seed)));
    }
    batches.extend([
        load("stock", &goods::STOCK, goods::Stocks::new(seed, warehouse)),
        load("district", &places::DISTRICT, places::Districts::new(seed, warehouse)),
        load("customer", &customers::CUSTOMER, customers::Customers::new(seed, warehouse)),
        load("orders", &orders::ORDERS, orders::Orders::new(seed, warehouse)),
        load("new_order", &orders::NEW_ORDER, orders::NewOrders::new(seed, warehouse)),
        load("order_line", &orders::ORDER_LINE, orders::OrderLines::new(seed, warehouse)),
    ]);
    let seal = vec![
        load("history", &customers::HISTORY, customers::Payments::new(seed, warehouse)),
        load("warehouse", &places::WAREHOUSE, places::Warehouse::new(seed, warehouse)),
    ];
    Loads { batches, seal }
}

fn load(table: &str, columns: &'static [&'static str], source: impl Source + 'static) -> Load {
    Load { table: table.to_owned(), columns, source: Box::new(source) }
}

fn stream(seed: u64, table: Table, warehouse: u32) -> Stream {
    row_stream(seed, table as u32, warehouse.into())
}

/// When everything was loaded, as far as the rows tell: a whole second of the year 2024, microseconds since the epoch.
fn loaded_at(seed: u64) -> i64 {
    const START_OF_2024_S: i64 = 1_704_067_200;
    const YEAR_S: u64 = 366 * 86_400;
    (START_OF_2024_S + (mix(seed) % YEAR_S) as i64) * 1_000_000
}
