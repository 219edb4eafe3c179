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
        Dialect::Mssql => Catalogue::parse(include_str!("../../../sql/tprocc/procedures-mssql.sql")),
        Dialect::Sqlite => return None,
    };
    let routine = |name: &str| {
        let entry = name.to_ascii_lowercase();
        Routine {
            drop: texts.get(&format!("drop_{entry}")).to_owned(),
            create: texts.get(&entry).to_owned(),
            exists: schema.get("count_procedure").replace("{name}", &spelt(dialect, name)),
        }
    };
    Some(NAMES.map(routine).to_vec())
}

/// A procedure's name as HammerDB spells it on the database: it matters where a collation tells letters by their case.
pub(super) fn spelt(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Mssql => name.to_ascii_lowercase(),
        Dialect::Mysql | Dialect::Sqlite => name.to_owned(),
    }
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

    #[test]
    fn procedures_of_sql_server_have_hammerdbs_names_and_parameters() {
        let routines = routines(Dialect::Mssql, &catalogue(Dialect::Mssql)).unwrap();
        let heads = [
            "neword @no_w_id int, @no_max_w_id int, @no_d_id int, @no_c_id int, @no_o_ol_cnt int, @TIMESTAMP datetime2(0)",
            "payment @p_w_id int, @p_d_id int, @p_c_w_id int, @p_c_d_id int, @p_c_id int, @byname int, \
             @p_h_amount numeric(6,2), @p_c_last char(16), @TIMESTAMP datetime2(0)",
            "delivery @d_w_id int, @d_o_carrier_id int, @timestamp datetime2(0)",
            "ostat @os_w_id int, @os_d_id int, @os_c_id int, @byname int, @os_c_last char(20)",
            "slev @st_w_id int, @st_d_id int, @threshold int",
        ];
        for (head, routine) in heads.iter().zip(routines) {
            let name = head.split(' ').next().unwrap();
            let text = routine.create.split_whitespace().collect::<Vec<_>>().join(" ");
            let begin = format!("CREATE PROCEDURE dbo.{head} AS BEGIN SET NOCOUNT ON; SET XACT_ABORT ON;");
            assert!(text.starts_with(&begin), "{text}");
            assert_eq!(text.matches("BEGIN TRANSACTION;").count(), 1);
            assert!(text.contains("COMMIT TRANSACTION;") && text.ends_with("END"), "{text}");
            assert_eq!(routine.drop, format!("DROP PROCEDURE IF EXISTS dbo.{name}"));
            assert!(routine.exists.ends_with(&format!("name = '{name}'")), "{}", routine.exists);
        }
    }
}
