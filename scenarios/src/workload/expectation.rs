//! What a query must answer, and the sentence about an answer that it must not.

/// A query whose answer `schema verify` and the checks before a run compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// What is being checked, for people: "sbtest3 has 10000 rows".
    pub what: String,
    /// The query.
    pub sql: String,
    /// What it must return.
    pub wanted: Wanted,
    /// What to do when it does not.
    pub remedy: String,
}

/// What a query must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// One value, as text.
    Value(String),
    /// No row: each is a violation. The names of its columns; the query itself bounds the number of rows.
    NoRow(&'static [&'static str]),
}

/// Violations that are named; queries ask for one more.
const NAMED: usize = 5;

impl Expectation {
    /// What is wrong with the rows that came, or with the error that came instead; none when nothing is. The remedy is
    /// left to whoever tells it.
    pub fn unmet(&self, answer: Result<&[Vec<Option<String>>], &str>) -> Option<String> {
        let found = match (answer, &self.wanted) {
            (Err(error), _) => error.to_owned(),
            (Ok(rows), Wanted::Value(value)) => match rows.first().and_then(|row| row.first()) {
                Some(Some(cell)) if cell == value => return None,
                Some(Some(cell)) => format!("{cell} instead of {value}"),
                Some(None) | None => format!("nothing instead of {value}"),
            },
            (Ok([]), Wanted::NoRow(_)) => return None,
            (Ok(rows), Wanted::NoRow(columns)) => violations(rows, columns),
        };
        Some(format!("expected: {}; found {found}", self.what))
    }
}

fn violations(rows: &[Vec<Option<String>>], columns: &[&str]) -> String {
    let named: Vec<String> = rows.iter().take(NAMED).map(|row| violation(row, columns)).collect();
    let more = if rows.len() > NAMED { " and more" } else { "" };
    format!("{}{more}", named.join(", "))
}

fn violation(row: &[Option<String>], columns: &[&str]) -> String {
    let cell = |(value, name): (&Option<String>, &&str)| format!("{name} {}", value.as_deref().unwrap_or("NULL"));
    format!("({})", row.iter().zip(columns).map(cell).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(wanted: Wanted) -> Expectation {
        Expectation { what: "all is well".to_owned(), sql: String::new(), wanted, remedy: "build it".to_owned() }
    }

    fn rows(rows: &[&[&str]]) -> Vec<Vec<Option<String>>> {
        let cell = |cell: &&str| (*cell != "NULL").then(|| (*cell).to_owned());
        rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    #[test]
    fn one_value_is_compared() {
        let expectation = expectation(Wanted::Value("10".to_owned()));
        assert_eq!(expectation.unmet(Ok(&rows(&[&["10"]]))), None);
        for (answer, found) in [
            (rows(&[&["9"]]), "found 9 instead of 10"),
            (rows(&[&[""]]), "found  instead of 10"),
            (rows(&[&["NULL"]]), "found nothing instead of 10"),
            (rows(&[]), "found nothing instead of 10"),
        ] {
            assert_eq!(expectation.unmet(Ok(&answer)), Some(format!("expected: all is well; {found}")));
        }
        let failed = expectation.unmet(Err("no such table"));
        assert_eq!(failed.as_deref(), Some("expected: all is well; found no such table"));
    }

    #[test]
    fn rows_that_should_not_be_are_named() {
        let expectation = expectation(Wanted::NoRow(&["w_id", "w_ytd"]));
        assert_eq!(expectation.unmet(Ok(&[])), None);
        let two = expectation.unmet(Ok(&rows(&[&["1", "NULL"], &["2", "7.50"]]))).unwrap();
        assert_eq!(two, "expected: all is well; found (w_id 1, w_ytd NULL), (w_id 2, w_ytd 7.50)");
        let many = expectation.unmet(Ok(&rows(&[&["1", "0"][..]; NAMED + 1]))).unwrap();
        assert_eq!(many.matches("w_id").count(), NAMED);
        assert!(many.ends_with(" and more"), "{many}");
        assert!(expectation.unmet(Err("no such column")).is_some());
    }
}
