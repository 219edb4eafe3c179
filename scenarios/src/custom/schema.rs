//! The tables behind the user's own SQL are the user's: none of them is ours to make, fill, check or drop.

use super::Shape;
use crate::census::Headcount;
use crate::session::Dialect;
use crate::workload::{Chunk, Expectation, Index, Inspection, Loads, Schema};

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    fn create(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn drop(&self, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn chunks(&self) -> Vec<Chunk> {
        Vec::new()
    }

    fn describe(&self, chunk: Chunk) -> String {
        format!("part {}", chunk.part)
    }

    fn loads(&self, _seed: u64, _chunk: Chunk) -> Loads {
        Loads::default()
    }

    fn clear(&self, _chunk: Chunk, _dialect: Dialect) -> Vec<String> {
        Vec::new()
    }

    fn indexes(&self, _dialect: Dialect) -> Vec<Index> {
        Vec::new()
    }

    fn present(&self, _dialect: Dialect) -> Vec<Expectation> {
        Vec::new()
    }

    fn census(&self) -> Vec<Headcount> {
        Vec::new()
    }

    fn inspection(&self, _dialect: Dialect, _origin: Option<&[String]>) -> Inspection {
        Inspection::default()
    }
}
