use super::*;

const DIALECTS: [Dialect; 3] = [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql];

/// What is asked does not depend on the dialect.
fn inspection(warehouses: u32, answer: Option<&[String]>) -> Inspection {
    let [mysql, sqlite, mssql] = DIALECTS.map(|dialect| super::inspection(dialect, warehouses, answer));
    for other in [sqlite, mssql] {
        assert_eq!((whats(&other), &other.notes), (whats(&mysql), &mysql.notes));
    }
    mysql
}

fn answer(cells: [u64; 7]) -> Vec<String> {
    cells.map(|cell| cell.to_string()).to_vec()
}

fn asked(inspection: &Inspection) -> Vec<u32> {
    let number = |expectation: &Expectation| {
        let rest = expectation.what.strip_prefix("condition ")?;
        rest.split(',').next()?.parse().ok()
    };
    inspection.expectations.iter().filter_map(number).collect()
}

fn whats(inspection: &Inspection) -> Vec<&str> {
    inspection.expectations.iter().map(|expectation| expectation.what.as_str()).collect()
}

#[test]
fn after_a_build_everything_is_asked() {
    let fresh = answer([1_000, 0, 1_000, 998, 60_000, 0, 0]);
    for origin in [None, Some(fresh.as_slice())] {
        let inspection = inspection(2, origin);
        assert_eq!(asked(&inspection), (1..=12).collect::<Vec<_>>());
        assert!(inspection.notes.is_empty());
        for what in ["history has 60000 rows", "orders has 60000 rows", "stock has 200000 rows"] {
            assert!(whats(&inspection).contains(&what), "{what}");
        }
    }
}

#[test]
fn condition_11_ends_with_the_first_transaction_of_any_kind() {
    for used in [
        answer([1_000, 0, 1_000, 998, 60_001, 0, 0]),
        answer([1_000, 0, 1_000, 998, 60_000, 1, 0]),
        answer([1_000, 0, 1_000, 998, 60_000, 0, 1]),
    ] {
        let inspection = inspection(2, Some(&used));
        assert_eq!(asked(&inspection), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]);
        assert!(inspection.notes[0].contains("condition 11"), "{:?}", inspection.notes);
        assert!(whats(&inspection).contains(&"history has 60000 rows or more"));
        assert!(!whats(&inspection).contains(&"orders has 60000 rows"));
    }
}

#[test]
fn a_lost_payment_is_not_taken_for_a_run() {
    let inspection = inspection(2, Some(&answer([1_000, 0, 1_000, 998, 59_999, 0, 0])));
    assert_eq!(asked(&inspection).len(), 12);
}

#[test]
fn what_hammerdb_loads_is_judged_by_what_it_can_meet() {
    let inspection = inspection(2, Some(&answer([1_000, 990, 1_000, 0, 60_000, 0, 0])));
    assert_eq!(asked(&inspection), [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
    assert!(inspection.notes[0].contains("HammerDB") && inspection.notes[0].contains("10 and 12"));
    assert!(!whats(&inspection).iter().any(|what| what.contains("of 3000 customers")));
    assert!(inspection.expectations.iter().any(|it| it.sql.contains("- 2700000)")));
    let mssql = super::inspection(Dialect::Mssql, 2, Some(&answer([1_000, 990, 1_000, 0, 60_000, 0, 0])));
    assert_eq!(mssql.expectations.iter().filter(|it| it.sql.contains("+ 2700000 THEN")).count(), 2);
}

#[test]
fn a_changed_row_does_not_change_the_builder() {
    for cells in [[1_000, 1, 1_000, 998, 60_000, 0, 0], [1_000, 499, 1_000, 0, 60_000, 0, 0], [0, 0, 0, 0, 0, 0, 0]] {
        assert!(asked(&inspection(2, Some(&answer(cells)))).contains(&12), "{cells:?}");
    }
}

#[test]
fn queries_are_filled_in_and_bound_what_they_return() {
    let origins = || [None, Some(answer([1_000, 990, 1_000, 0, 60_001, 0, 0]))];
    for (dialect, origin) in DIALECTS.into_iter().flat_map(|dialect| origins().map(|origin| (dialect, origin))) {
        for expectation in super::inspection(dialect, 2, origin.as_deref()).expectations {
            assert!(!expectation.sql.contains(['{', '}']), "{}", expectation.sql);
            if let Wanted::NoRow(columns) = expectation.wanted {
                let bounded = match dialect {
                    Dialect::Mssql => expectation.sql.starts_with("SELECT TOP (6) "),
                    Dialect::Mysql | Dialect::Sqlite => expectation.sql.ends_with("LIMIT 6"),
                };
                assert!(columns.len() == 1 || bounded, "{}", expectation.sql);
                let list = expectation.sql.lines().next().unwrap_or_default();
                let list = list.split(" FROM").next().unwrap_or_default();
                assert_eq!(list.split(',').count(), columns.len(), "{list} beside {columns:?}");
            }
        }
    }
}
