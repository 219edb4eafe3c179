//! The SQL of the workload: texts per dialect with the number of a table written in, and the order of the list.
//!
//! Statements are listed table after table, and for each table in the order in which a transaction sends them. Only
//! those that the script can use are in the list, because each costs memory in every session that prepares it.

use super::Shape;
use super::script::Action;
use crate::session::Dialect;
use crate::sql::{Catalogue, Statement};

/// The texts of a dialect.
pub(super) fn catalogue(dialect: Dialect) -> Catalogue {
    Catalogue::parse(match dialect {
        Dialect::Mysql => include_str!("../../sql/oltp/mysql.sql"),
        Dialect::Mssql => include_str!("../../sql/oltp/mssql.sql"),
        Dialect::Sqlite => include_str!("../../sql/oltp/sqlite.sql"),
    })
}

/// A text of the catalogue for table `number`, counted from 1.
pub(super) fn text(catalogue: &Catalogue, name: &str, number: u32) -> String {
    catalogue.get(name).replace("{n}", &number.to_string())
}

/// Every statement of the script.
pub(super) fn list(shape: &Shape, dialect: Dialect) -> Vec<Statement> {
    let catalogue = catalogue(dialect);
    let names = names(shape, dialect);
    let statement = |number, name: &&str| Statement::parse(&text(&catalogue, name, number), dialect, shape.protocol);
    (1..=shape.tables).flat_map(|number| names.iter().map(move |name| statement(number, name))).collect()
}

/// Names of the statements of one table.
fn names(shape: &Shape, dialect: Dialect) -> Vec<&'static str> {
    shape.groups().iter().flat_map(|group| sent(group.action, shape.numbers_ids(dialect))).copied().collect()
}

/// What an action sends, in order.
fn sent(action: Action, numbered: bool) -> &'static [&'static str] {
    match action {
        Action::PointSelect => &["point_select"],
        Action::SimpleRange => &["simple_range"],
        Action::SumRange => &["sum_range"],
        Action::OrderRange => &["order_range"],
        Action::DistinctRange => &["distinct_range"],
        Action::IndexUpdate => &["index_update"],
        Action::NonIndexUpdate => &["non_index_update"],
        Action::Delete => &["delete"],
        Action::Insert if numbered => &["insert_numbered"],
        Action::Insert => &["insert"],
        Action::DeleteInsert => &["delete", "insert"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oltp::{Counts, Script};
    use crate::sql::Protocol;

    const DIALECTS: [Dialect; 3] = [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql];

    fn texts(shape: &Shape, dialect: Dialect) -> Vec<String> {
        list(shape, dialect).into_iter().map(|statement| statement.sql).collect()
    }

    #[test]
    fn read_write_lists_nine_statements_a_table() {
        let shape = Shape { tables: 2, ..Shape::new(Script::ReadWrite) };
        let texts = texts(&shape, Dialect::Mysql);
        assert_eq!(texts.len(), 18);
        assert_eq!(texts[0], "SELECT c FROM sbtest1 WHERE id = ?");
        assert_eq!(texts[1], "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?");
        assert_eq!(texts[2], "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?");
        assert_eq!(texts[3], "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c");
        assert_eq!(texts[4], "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c");
        assert_eq!(texts[5], "UPDATE sbtest1 SET k = k + 1 WHERE id = ?");
        assert_eq!(texts[6], "UPDATE sbtest1 SET c = ? WHERE id = ?");
        assert_eq!(texts[7], "DELETE FROM sbtest1 WHERE id = ?");
        assert_eq!(texts[8], "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)");
        assert_eq!(texts[17], texts[8].replace("sbtest1", "sbtest2"));
    }

    #[test]
    fn only_what_the_script_uses_is_listed() {
        for (shape, count) in [
            (Shape::new(Script::ReadOnly), 5),
            (Shape { range_selects: false, ..Shape::new(Script::ReadOnly) }, 1),
            (Shape::new(Script::WriteOnly), 4),
            (Shape::new(Script::PointSelect), 1),
            (Shape::new(Script::Insert), 1),
            (Shape::new(Script::Delete), 1),
            (
                Shape {
                    counts: Counts { sum_ranges: 0, delete_inserts: 0, ..Counts::default() },
                    ..Shape::new(Script::ReadWrite)
                },
                6,
            ),
        ] {
            assert_eq!(list(&shape, Dialect::Mysql).len(), count, "{shape:?}");
        }
    }

    #[test]
    fn slots_are_in_the_order_in_which_values_are_sent() {
        let slots = |script, auto_inc| {
            let shape = Shape { auto_inc, ..Shape::new(script) };
            DIALECTS.map(|dialect| list(&shape, dialect).into_iter().map(|s| s.slots.join(" ")).collect::<Vec<_>>())
        };
        let range = "first last";
        for listed in slots(Script::ReadWrite, true) {
            assert_eq!(listed, ["id", range, range, range, range, "id", "c id", "id", "id k c pad"]);
        }
        assert!(slots(Script::Insert, true).iter().all(|listed| listed == &["k c pad"]));
        assert!(slots(Script::Insert, false).iter().all(|listed| listed == &["id k c pad"]));
    }

    #[test]
    fn every_parameter_of_sql_server_has_its_columns_type() {
        for script in Script::ALL {
            for statement in list(&Shape::new(script), Dialect::Mssql) {
                let types = ["int", "char(120)", "char(60)"].map(|it| Some(it.to_owned()));
                assert!(statement.types.iter().all(|declared| types.contains(declared)), "{statement:?}");
            }
        }
    }

    #[test]
    fn statements_travel_as_the_study_says() {
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let shape = Shape { protocol, ..Shape::new(Script::ReadWrite) };
            let listed = list(&shape, Dialect::Sqlite);
            assert!(listed.iter().all(|statement| statement.protocol == protocol));
            assert_eq!(listed.iter().filter(|statement| statement.writes).count(), 4);
        }
    }

    #[test]
    fn no_placeholder_of_a_template_is_left() {
        for dialect in DIALECTS {
            for text in texts(&Shape::new(Script::ReadWrite), dialect) {
                assert!(!text.contains(['{', '}', ':']), "{text}");
            }
        }
    }

    #[test]
    fn as_many_tables_as_allowed_can_be_numbered() {
        let shape = Shape { tables: Shape::MAX_TABLES, ..Shape::new(Script::ReadWrite) };
        assert!(list(&shape, Dialect::Mysql).len() <= 1 << 16);
        let more = Shape { tables: Shape::MAX_TABLES + 1, ..shape };
        assert!(list(&more, Dialect::Mysql).len() > 1 << 16);
    }
}
