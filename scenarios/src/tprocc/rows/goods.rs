//! Items, and what a warehouse has of each.

use super::texts::Texts;
use super::{Table, stream};
use crate::random::Stream;
use crate::session::{Source, Value};
use crate::tprocc::draw::{ITEMS, uniform};

pub(super) const ITEM: [&str; 5] = ["i_id", "i_name", "i_price", "i_data", "i_im_id"];

pub(super) const STOCK: [&str; 17] = [
    "s_i_id",
    "s_w_id",
    "s_quantity",
    "s_ytd",
    "s_order_cnt",
    "s_remote_cnt",
    "s_data",
    "s_dist_01",
    "s_dist_02",
    "s_dist_03",
    "s_dist_04",
    "s_dist_05",
    "s_dist_06",
    "s_dist_07",
    "s_dist_08",
    "s_dist_09",
    "s_dist_10",
];

/// All items.
pub(super) struct Items {
    stream: Stream,
    texts: Texts,
    /// The last one that was lent, counted from 1.
    last: u32,
}

impl Items {
    pub(super) fn new(seed: u64) -> Items {
        Items { stream: stream(seed, Table::Item, 0), texts: Texts::default(), last: 0 }
    }
}

impl Source for Items {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.last == ITEMS {
            return false;
        }
        self.last += 1;
        let Items { stream, texts, last } = self;
        texts.clear();
        texts.alphanumeric(stream, 14..=24);
        let price = Value::Decimal(uniform(stream, 100, 10_000).into(), 2);
        texts.data(stream);
        let image = Value::Int(uniform(stream, 1, 10_000).into());
        put(&[Value::Int((*last).into()), Value::Text(texts.get(0)), price, Value::Text(texts.get(1)), image]);
        true
    }
}

/// The stock of one warehouse.
pub(super) struct Stocks {
    warehouse: u32,
    stream: Stream,
    texts: Texts,
    /// The last item that was lent, counted from 1.
    last: u32,
}

impl Stocks {
    pub(super) fn new(seed: u64, warehouse: u32) -> Stocks {
        Stocks { warehouse, stream: stream(seed, Table::Stock, warehouse), texts: Texts::default(), last: 0 }
    }
}

impl Source for Stocks {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.last == ITEMS {
            return false;
        }
        self.last += 1;
        let Stocks { warehouse, stream, texts, last } = self;
        texts.clear();
        let quantity = uniform(stream, 10, 100);
        texts.data(stream);
        for _ in 0..10 {
            texts.info(stream);
        }
        let mut row = [Value::Int(0); STOCK.len()];
        row[0] = Value::Int((*last).into());
        row[1] = Value::Int((*warehouse).into());
        row[2] = Value::Int(quantity.into());
        for (index, value) in row[6..].iter_mut().enumerate() {
            *value = Value::Text(texts.get(index));
        }
        put(&row);
        true
    }
}
