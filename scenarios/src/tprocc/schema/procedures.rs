//! The stored procedures as a build makes them. Where the tables are driven by statements alone they do no harm, and
//! HammerDB finds them.

use crate::session::Dialect;
use crate::sql::Catalogue;

/// Names of the procedures; those of their texts are the same in small letters.
pub(super) const NAMES: [&str; 5] = ["NEWORD", "PAYMENT", "DELIVERY", "OSTAT", "SLEV"];

/// Statements that create all of them.
pub(super) fn create(dialect: Dialect) -> Vec<String> {
    texts(dialect, "")
}

/// Statements that drop whichever of them exist.
pub(super) fn drop(dialect: Dialect) -> Vec<String> {
    texts(dialect, "drop_")
}

fn texts(dialect: Dialect, prefix: &str) -> Vec<String> {
    let catalogue = match dialect {
        Dialect::Mysql => Catalogue::parse(include_str!("../../../sql/tprocc/procedures-mysql.sql")),
        // SQLite has no procedures.
        Dialect::Sqlite | Dialect::Mssql => return Vec::new(),
    };
    NAMES.iter().map(|name| catalogue.get(&format!("{prefix}{}", name.to_ascii_lowercase())).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_text() {
        for (name, (create, drop)) in NAMES.iter().zip(create(Dialect::Mysql).iter().zip(&drop(Dialect::Mysql))) {
            assert!(create.starts_with(&format!("CREATE PROCEDURE {name} (")), "{create}");
            assert_eq!(drop, &format!("DROP PROCEDURE IF EXISTS {name}"));
        }
        assert!(create(Dialect::Sqlite).is_empty() && drop(Dialect::Sqlite).is_empty());
    }
}
