//! A table column by column, whatever the form: the terminal and the page write the same entries.

/// Side on which a column's entries are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A column with its title and one entry a row.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) align: Align,
    /// 0: always there. The higher, the sooner it is left out.
    pub(super) rank: u8,
    pub(super) entries: Vec<String>,
}

impl Column {
    pub(super) fn new(title: &str, align: Align, rank: u8, entries: impl Iterator<Item = String>) -> Column {
        Column { title: title.to_owned(), align, rank, entries: entries.collect() }
    }

    /// Whether no row has an entry.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.iter().all(String::is_empty)
    }

    pub(super) fn width(&self) -> usize {
        self.entries.iter().chain([&self.title]).map(|entry| entry.chars().count()).max().unwrap_or(0)
    }
}
