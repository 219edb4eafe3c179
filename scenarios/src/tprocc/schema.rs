//! The tables' names, as far as running needs them.

use super::Shape;
use crate::session::{Dialect, Source, Value};
use crate::workload::{Chunk, Expectation, Schema};

struct Nothing;

impl Source for Nothing {
    fn next(&mut self, _put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        false
    }
}

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"]
            .map(str::to_owned)
            .to_vec()
    }

    fn create(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn drop(&self, _dialect: Dialect) -> Vec<String> {
        self.tables().iter().map(|table| format!("DROP TABLE IF EXISTS {table}")).collect()
    }

    fn chunks(&self) -> Vec<Chunk> {
        Vec::new()
    }

    fn destination(&self, _chunk: Chunk) -> (String, Vec<&'static str>) {
        (String::new(), Vec::new())
    }

    fn source(&self, _seed: u64, _chunk: Chunk) -> Box<dyn Source> {
        Box::new(Nothing)
    }

    fn clear(&self, _chunk: Chunk, _dialect: Dialect) -> String {
        String::new()
    }

    fn finish(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn expectations(&self, _dialect: Dialect) -> Vec<Expectation> {
        Vec::new()
    }

    fn present(&self, _dialect: Dialect) -> Vec<Expectation> {
        Vec::new()
    }
}
