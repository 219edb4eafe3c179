//! The place of a table in a page that is otherwise written by hand, and the table of intervals.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::coverage::{Repeats, Row};
use crate::rows::thousands;

/// Puts a part's table where that of the last time is.
pub fn update(path: &Path, part: &str, table: &str) -> Result<()> {
    let shown = path.display();
    let page = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {shown}; run this from the repository's root or name it with --page"))?;
    let Some(page) = replace(&page, part, table) else {
        let (begin, end) = (begin(part), end(part));
        bail!("{shown} has no place for {part}; put these two lines into it:\n{begin}\n{end}");
    };
    std::fs::write(path, page).with_context(|| format!("cannot write {shown}"))
}

fn begin(part: &str) -> String {
    format!("<!-- {part}, written by `make bench` -->")
}

fn end(part: &str) -> String {
    format!("<!-- end of {part} -->")
}

fn replace(page: &str, part: &str, table: &str) -> Option<String> {
    let (begin, end) = (begin(part), end(part));
    let (head, rest) = page.split_once(&begin)?;
    let (_, tail) = rest.split_once(&end)?;
    Some(format!("{head}{begin}\n\n{}\n\n{end}{tail}", table.trim()))
}

/// The table of intervals against a known truth.
pub fn coverage(rows: &[Row]) -> String {
    let mut out = String::from(
        "| order | repetitions | seed | ledgers | interval holds 0, -2, -10 % | interval holds the drift | p < 0.05 without an effect | \
         studies with a false conclusion | took |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let tally = &row.tally;
        let repeats = match row.repeats {
            Repeats::Fixed(count) => count.to_string(),
            Repeats::Until { min, max, percent } => {
                format!("{min} to {max}, until {percent} %: {:.1} on average", tally.mean_blocks())
            }
            Repeats::Peeking { min, max, percent } => {
                format!("{min} to {max}, looking until {percent} %: {:.1} on average", tally.mean_blocks())
            }
        };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        writeln!(
            out,
            "| {} | {repeats} | {} | {} | {} | {} | {} | {} | {} s |",
            row.order,
            row.seed,
            thousands(tally.studies),
            tally.coverage().map(percent).join(", "),
            percent(tally.drift_held()),
            percent(tally.false_p()),
            percent(tally.false_studies()),
            row.took.as_secs(),
        )
        .expect("a string takes every line");
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::coverage::Tally;

    #[test]
    fn a_rerun_replaces_its_table_and_nothing_else() {
        let places: String = ["one", "two"].map(|part| format!("{}\nold\n{}\n", begin(part), end(part))).concat();
        let page = format!("# Title\n{places}method\n");
        let once = replace(&page, "two", "| new |\n").unwrap();
        assert_eq!(
            once,
            page.replace(&format!("{}\nold\n", begin("two")), &format!("{}\n\n| new |\n\n", begin("two")))
        );
        assert_eq!(replace(&once, "two", "| new |\n").unwrap(), once);
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        let (begin, end) = (begin("one"), end("one"));
        for page in ["", "# Title", &begin, &end, &format!("{end}\n{begin}")] {
            assert_eq!(replace(page, "one", "x"), None, "{page:?}");
        }
    }

    #[test]
    fn a_row_of_intervals_says_what_they_are_of() {
        let row = Row {
            order: "blocks",
            repeats: Repeats::UNTIL,
            seed: 20_261_201,
            tally: Tally::default(),
            took: Duration::from_millis(61_400),
        };
        let start =
            "| blocks | 5 to 60, until 2 %: 0.0 on average | 20261201 | 0 | 0.0 %, 0.0 %, 0.0 % | 0.0 % | 0.0 % |";
        let text = coverage(&[row]);
        let line = text.lines().nth(2).unwrap();
        assert!(line.starts_with(start) && line.ends_with("| 61 s |"), "{line}");
        let columns = |line: &str| line.matches('|').count();
        assert!(text.lines().all(|other| columns(other) == columns(line)), "{text}");
    }
}
