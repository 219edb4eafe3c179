//! The rows of the tables as a load sends them.
//!
//! A row is a function of the study's seed, its table and its id alone: however the tables are cut into chunks and
//! whoever loads them, they come out the same.

use super::digits::{C_LENGTH, push_c, push_pad};
use super::{Ids, Shape};
use crate::random::row_stream;
use crate::session::{Source, Value};
use crate::workload::Chunk;

/// Columns in the order of the values.
pub(super) const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// The rows of one chunk.
pub(super) struct Rows {
    seed: u64,
    table: u32,
    /// Row, counted from 0; its id is one more.
    next: u64,
    end: u64,
    ids: Ids,
    /// c and pad of the row that is being lent.
    text: String,
}

impl Rows {
    pub(super) fn new(shape: &Shape, seed: u64, chunk: Chunk) -> Rows {
        Rows {
            seed,
            table: chunk.part,
            next: chunk.first,
            end: chunk.first + chunk.count,
            ids: shape.distribution.over(shape.table_size),
            text: String::new(),
        }
    }
}

impl Source for Rows {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.next == self.end {
            return false;
        }
        let mut stream = row_stream(self.seed, self.table, self.next);
        self.next += 1;
        let k = self.ids.draw(&mut stream);
        self.text.clear();
        push_c(&mut self.text, &mut stream);
        push_pad(&mut self.text, &mut stream);
        let (c, pad) = self.text.split_at(C_LENGTH);
        put(&[Value::Int(self.next as i64), Value::Int(k.into()), Value::Text(c), Value::Text(pad)]);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oltp::Script;
    use proptest::prelude::*;

    type Owned = (i64, i64, String, String);

    fn rows(shape: &Shape, seed: u64, chunk: Chunk) -> Vec<Owned> {
        let mut out = Vec::new();
        let mut source = Rows::new(shape, seed, chunk);
        while source.next(&mut |row| match row {
            [Value::Int(id), Value::Int(k), Value::Text(c), Value::Text(pad)] => {
                out.push((*id, *k, (*c).to_owned(), (*pad).to_owned()));
            }
            other => panic!("unexpected row {other:?}"),
        }) {}
        out
    }

    fn shape(table_size: u32) -> Shape {
        Shape { tables: 3, table_size, ..Shape::new(Script::ReadWrite) }
    }

    #[test]
    fn a_chunk_lends_its_rows_in_order_and_then_ends() {
        let shape = shape(1_000);
        let drawn = rows(&shape, 42, Chunk { part: 1, first: 10, count: 5 });
        assert_eq!(drawn.iter().map(|row| row.0).collect::<Vec<_>>(), [11, 12, 13, 14, 15]);
        assert!(drawn.iter().all(|(_, k, c, pad)| (1..=1_000).contains(k) && c.len() == 119 && pad.len() == 59));
        assert!(rows(&shape, 42, Chunk { part: 1, first: 10, count: 0 }).is_empty());
    }

    #[test]
    fn tables_seeds_and_ids_have_rows_of_their_own() {
        let shape = shape(1_000);
        let text = |seed, part, first| rows(&shape, seed, Chunk { part, first, count: 1 })[0].2.clone();
        assert_ne!(text(1, 0, 0), text(2, 0, 0));
        assert_ne!(text(1, 0, 0), text(1, 1, 0));
        assert_ne!(text(1, 0, 1), text(1, 1, 0));
        assert_eq!(text(1, 1, 1), text(1, 1, 1));
    }

    #[test]
    fn k_follows_the_distribution_of_the_study() {
        let shape = shape(10_000);
        let drawn = rows(&shape, 7, Chunk { part: 0, first: 0, count: 10_000 });
        let hot = drawn.iter().filter(|row| (4_951..=5_050).contains(&row.1)).count();
        assert!((7_450..7_800).contains(&hot), "{hot}");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_rows(seed: u64, part in 0..3_u32, cuts in prop::collection::vec(0..=60_u64, 0..6)) {
            let shape = shape(60);
            let whole = rows(&shape, seed, Chunk { part, first: 0, count: 60 });
            let mut edges = cuts;
            edges.extend([0, 60]);
            edges.sort_unstable();
            // From the last chunk to the first: the order must not matter either.
            let mut pieces: Vec<Owned> = edges
                .windows(2)
                .rev()
                .flat_map(|edge| rows(&shape, seed, Chunk { part, first: edge[0], count: edge[1] - edge[0] }))
                .collect();
            pieces.sort();
            prop_assert_eq!(pieces, whole);
        }
    }
}
