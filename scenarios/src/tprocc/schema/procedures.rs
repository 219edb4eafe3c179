//! The stored procedures as a build makes them. Where the tables are driven by statements alone they do no harm, and
//! HammerDB finds them.

use crate::session::Dialect;
use crate::sql::Catalogue;
use crate::workload::Routine;

/// Names of the procedures; those of their texts are the same in small letters.
pub(super) const NAMES: [&str; 5] = ["NEWORD", "PAYMENT", "DELIVERY", "OSTAT", "SLEV"];

/// All of them; none where the dialect has no procedures. `schema` counts them.
pub(super) fn routines(dialect: Dialect, schema: &Catalogue) -> Option<Vec<Routine>> {
    let texts = match dialect {
        Dialect::Mysql => Catalogue::parse(include_str!("../../../sql/tprocc/procedures-mysql.sql")),
        Dialect::Sqlite | Dialect::Mssql => return None,
    };
    let routine = |name: &str| {
        let entry = name.to_ascii_lowercase();
        Routine {
            drop: texts.get(&format!("drop_{entry}")).to_owned(),
            create: texts.get(&entry).to_owned(),
            exists: schema.get("count_procedure").replace("{name}", name),
        }
    };
    Some(NAMES.map(routine).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tprocc::schema::catalogue;

    #[test]
    fn every_name_has_its_text() {
        let routines = routines(Dialect::Mysql, &catalogue(Dialect::Mysql)).unwrap();
        for (name, routine) in NAMES.iter().zip(routines) {
            assert!(routine.create.starts_with(&format!("CREATE PROCEDURE {name} (")), "{}", routine.create);
            assert_eq!(routine.drop, format!("DROP PROCEDURE IF EXISTS {name}"));
            assert!(routine.exists.ends_with(&format!("routine_name = '{name}'")), "{}", routine.exists);
        }
        assert_eq!(super::routines(Dialect::Sqlite, &catalogue(Dialect::Sqlite)), None);
    }
}
