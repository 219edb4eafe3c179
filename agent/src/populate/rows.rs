//! Rows on their way into the database, counted, and the few that come back.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vufleet_scenarios::session::{Row, Rows, Source, Value};

/// Counts rows as they are taken, and has none left when the job is to end.
pub(super) struct Counted<'a> {
    source: &'a mut dyn Source,
    total: &'a AtomicU64,
    over: &'a AtomicBool,
    /// Taken from this source.
    pub(super) rows: u64,
    /// Whether the job ended before the rows did.
    pub(super) cut: bool,
}

impl<'a> Counted<'a> {
    pub(super) fn new(source: &'a mut dyn Source, total: &'a AtomicU64, over: &'a AtomicBool) -> Self {
        Counted { source, total, over, rows: 0, cut: false }
    }
}

impl Source for Counted<'_> {
    fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
        if self.over.load(Ordering::Relaxed) {
            self.cut = true;
            return false;
        }
        if !self.source.next(put) {
            return false;
        }
        self.rows += 1;
        self.total.fetch_add(1, Ordering::Relaxed);
        true
    }
}

/// Looks for a part in the first column of a result.
pub(super) struct Search {
    part: u32,
    pub(super) found: bool,
}

impl Search {
    pub(super) fn of(part: u32) -> Self {
        Search { part, found: false }
    }
}

impl Rows for Search {
    fn row(&mut self, row: &impl Row) {
        self.found |= row.get(0) == Value::Int(self.part.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Three(u8);

    impl Source for Three {
        fn next(&mut self, put: &mut dyn FnMut(&[Value<'_>])) -> bool {
            self.0 += 1;
            if self.0 <= 3 {
                put(&[]);
            }
            self.0 <= 3
        }
    }

    #[test]
    fn what_ends_by_itself_is_told_from_what_is_cut() {
        let (total, over) = (AtomicU64::new(10), AtomicBool::new(false));
        let mut source = Three(0);
        let mut counted = Counted::new(&mut source, &total, &over);
        while counted.next(&mut |_| {}) {}
        assert_eq!((counted.rows, counted.cut, total.load(Ordering::Relaxed)), (3, false, 13));

        let mut source = Three(0);
        let mut counted = Counted::new(&mut source, &total, &over);
        assert!(counted.next(&mut |_| {}));
        over.store(true, Ordering::Relaxed);
        assert!(!counted.next(&mut |_| {}));
        assert_eq!((counted.rows, counted.cut, total.load(Ordering::Relaxed)), (1, true, 14));
    }
}
