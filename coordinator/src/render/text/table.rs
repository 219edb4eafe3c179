//! Tables that fit a terminal: where the width does not do, the least important columns are left out, and never is a
//! figure broken over two lines.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::render::column::{Align, Column};

/// Spaces between columns.
const GAP: usize = 2;

/// The table in at most `width` columns of a terminal, if the columns of rank 0 fit.
pub(super) fn fit(mut columns: Vec<Column>, width: usize) -> String {
    while columns.iter().map(|column| column.width() + GAP).sum::<usize>() > width + GAP {
        let dispensable = columns.iter().enumerate().filter(|(_, column)| column.rank > 0);
        let Some((least, _)) = dispensable.max_by_key(|(_, column)| column.rank) else { break };
        columns.remove(least);
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| column.title.as_str()));
    let rows = columns.first().map_or(0, |column| column.entries.len());
    for row in 0..rows {
        table.add_row(columns.iter().map(|column| column.entries[row].as_str()));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let gap = if index + 1 < columns.len() { GAP as u16 } else { 0 };
        column.set_padding((0, gap));
        column.set_cell_alignment(match columns[index].align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let column = |title: &str, align, rank, entries: [&str; 2]| {
            Column::new(title, align, rank, entries.into_iter().map(str::to_owned))
        };
        vec![
            column("profile", Align::Left, 0, ["4vu", "16vu"]),
            column("TPS", Align::Right, 0, ["99.1 \u{b1} 1.2", "400"]),
            column("p50", Align::Right, 9, ["1.00", "2.00"]),
            column("p99", Align::Right, 4, ["3.00", "11.00"]),
        ]
    }

    #[test]
    fn figures_are_flush_right_and_words_left() {
        assert_eq!(
            fit(columns(), 80),
            "profile         TPS   p50    p99\n4vu      99.1 \u{b1} 1.2  1.00   3.00\n16vu            400  2.00  11.00\n"
        );
    }

    #[test]
    fn narrow_terminals_lose_the_least_important_columns_first() {
        for (width, titles) in [(32, "profile TPS p50 p99"), (31, "profile TPS p99"), (20, "profile TPS")] {
            let text = fit(columns(), width);
            let first: Vec<_> = text.lines().next().unwrap().split_whitespace().collect();
            assert_eq!(first.join(" "), titles, "at {width}");
        }
    }
}
