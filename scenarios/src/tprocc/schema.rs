//! The tables: made, loaded warehouse by warehouse, indexed, given their procedures, checked and dropped.
//!
//! Until a build is complete a table of its own, `vufleet_build`, says which build it is. A warehouse's row is loaded
//! last, so that a warehouse that is there is complete.

mod procedures;
#[cfg(test)]
mod tests;

use super::draw::{CUSTOMERS, DISTRICTS, ITEMS};
use super::{Calls, Shape, consistency, rows};
use crate::census::{Headcount, Population};
use crate::session::Dialect;
use crate::sql::Catalogue;
use crate::workload::{Chunk, Expectation, Index, Inspection, Loads, Resume, Routines, Schema, Wanted};

/// In the order in which they are made and named.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"];

/// An index beside a table's key: the table, and the column at a place, counted from 1, by which it is known.
type Beside = (&'static str, &'static str, u32);

const INDEXED: [Beside; 3] = [("customer", "c_last", 3), ("orders", "o_c_id", 3), ("district", "d_id", 1)];

/// The table that says which build is under way.
const MARK: &str = "vufleet_build";

/// Orders of a district that are not delivered yet right after a build [4.3.3.1].
const NEW_ORDERS: u32 = 900;
/// Items or stocks that one DELETE removes at most, so that no transaction grows with the table.
const CLEARED_ITEMS: u32 = 10_000;

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        TABLES.map(str::to_owned).to_vec()
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        let catalogue = catalogue(dialect);
        let mut out: Vec<String> = TABLES.iter().map(|table| catalogue.get(table).to_owned()).collect();
        if dialect == Dialect::Mssql {
            out.push(catalogue.get("history_key").to_owned());
            out.extend(TABLES.map(|table| catalogue.get("keep_row_locks").replace("{table}", table)));
        }
        out
    }

    fn drop(&self, dialect: Dialect) -> Vec<String> {
        TABLES.iter().chain([&MARK]).map(|table| drop_table(dialect, table)).collect()
    }

    /// A warehouse is a part.
    fn chunks(&self) -> Vec<Chunk> {
        let rows = |part| rows::WAREHOUSE_ROWS + if part == 0 { u64::from(ITEMS) } else { 0 };
        (0..self.warehouses).map(|part| Chunk { part, first: 0, count: rows(part) }).collect()
    }

    fn describe(&self, chunk: Chunk) -> String {
        format!("warehouse {}", chunk.part + 1)
    }

    fn unit(&self) -> Option<&'static str> {
        Some(if self.warehouses == 1 { "warehouse" } else { "warehouses" })
    }

    fn loads(&self, seed: u64, chunk: Chunk) -> Loads {
        rows::loads(seed, chunk.part + 1)
    }

    /// The payments need no clearing: they come and go with the warehouse's own row.
    fn clear(&self, chunk: Chunk, _dialect: Dialect) -> Vec<String> {
        let w = chunk.part + 1;
        let districts = |table: &'static str, prefix: &'static str| {
            let district = move |d| format!("DELETE FROM {table} WHERE {prefix}_w_id = {w} AND {prefix}_d_id = {d}");
            (1..=DISTRICTS).map(district)
        };
        let ranges = || (1..=ITEMS).step_by(CLEARED_ITEMS as usize).map(|first| (first, first + CLEARED_ITEMS - 1));
        let stock =
            |(first, last)| format!("DELETE FROM stock WHERE s_w_id = {w} AND s_i_id BETWEEN {first} AND {last}");
        let mut out = vec![format!("DELETE FROM district WHERE d_w_id = {w}")];
        out.extend(ranges().map(stock));
        out.extend(districts("customer", "c"));
        out.extend(districts("orders", "o"));
        out.extend(districts("new_order", "no"));
        out.extend(districts("order_line", "ol"));
        if w == 1 {
            out.extend(ranges().map(|(first, last)| format!("DELETE FROM item WHERE i_id BETWEEN {first} AND {last}")));
        }
        out
    }

    fn indexes(&self, dialect: Dialect) -> Vec<Index> {
        let catalogue = catalogue(dialect);
        let index = |beside: &Beside| Index {
            sql: catalogue.get(&format!("{}_index", beside.0)).to_owned(),
            exists: count_index(&catalogue, beside),
        };
        indexed(dialect).iter().map(index).collect()
    }

    fn routines(&self, dialect: Dialect) -> Option<Routines> {
        let all = procedures::routines(dialect, &catalogue(dialect))?;
        let grant = match dialect {
            Dialect::Mssql => "GRANT CREATE PROCEDURE, and ALTER and EXECUTE ON SCHEMA::dbo, to the login's user",
            Dialect::Mysql | Dialect::Sqlite => {
                "GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE on the database to the login"
            }
        };
        let remedy = format!("{grant}, or write calls = \"statements\" in [workload]");
        Some(Routines { all, called: self.calls == Calls::Procedures, remedy })
    }

    fn resume(&self, seed: u64, dialect: Dialect) -> Option<Resume> {
        let build = format!("{}{seed}", self.mark_but_seed());
        let insert = format!("INSERT INTO vufleet_build (build) VALUES ('{build}')");
        Some(Resume {
            begin: vec![drop_table(dialect, MARK), catalogue(dialect).get("mark").to_owned(), insert],
            build,
            mark: "SELECT build FROM vufleet_build".to_owned(),
            complete: "SELECT w_id - 1 FROM warehouse".to_owned(),
            end: drop_table(dialect, MARK),
        })
    }

    fn seed_of(&self, mark: &str) -> Option<u64> {
        mark.strip_prefix(&self.mark_but_seed())?.parse().ok()
    }

    fn present(&self, dialect: Dialect) -> Vec<Expectation> {
        let names = TABLES.map(|table| format!("'{table}'")).join(", ");
        vec![Expectation {
            what: "all 9 tables exist".to_owned(),
            sql: catalogue(dialect).get("count_tables").replace("{names}", &names),
            wanted: Wanted::Value(TABLES.len().to_string()),
            remedy: "run `vufleet schema build STUDY`".to_owned(),
        }]
    }

    fn built(&self, dialect: Dialect) -> Vec<Expectation> {
        vec![
            Expectation {
                what: "the build of the tables is complete".to_owned(),
                sql: catalogue(dialect).get("count_tables").replace("{names}", "'vufleet_build'"),
                wanted: Wanted::Value("0".to_owned()),
                remedy: "run `vufleet schema build STUDY`, which goes on where it ended".to_owned(),
            },
            Expectation {
                what: format!("the size of the database is {} {}", self.warehouses, self.unit().unwrap_or_default()),
                sql: "SELECT COUNT(*) FROM warehouse".to_owned(),
                wanted: Wanted::Value(self.warehouses.to_string()),
                remedy: "write the number that is there into workload.warehouses, or run \
                         `vufleet schema build STUDY --replace`"
                    .to_owned(),
            },
        ]
    }

    fn ready(&self, dialect: Dialect) -> Vec<Expectation> {
        let mut out = self.built(dialect);
        if self.calls == Calls::Procedures && dialect != Dialect::Sqlite {
            out.push(all_procedures(dialect));
        }
        out
    }

    fn origin(&self, dialect: Dialect) -> Option<String> {
        Some(consistency::origin(dialect))
    }

    fn inspection(&self, dialect: Dialect, origin: Option<&[String]>) -> Inspection {
        let mut inspection = consistency::inspection(dialect, self.warehouses, origin);
        let catalogue = catalogue(dialect);
        inspection.expectations.extend(indexed(dialect).iter().map(|beside| Expectation {
            what: format!("{} has an index with {}", beside.0, beside.1),
            sql: count_index(&catalogue, beside),
            wanted: Wanted::Value("1".to_owned()),
            remedy:
                "run `vufleet schema build STUDY`, which makes what is missing and leaves the rows alone".to_owned(),
        }));
        inspection
    }

    fn census(&self) -> Vec<Headcount> {
        let districts = u64::from(self.warehouses) * u64::from(DISTRICTS);
        let customers = districts * u64::from(CUSTOMERS);
        let rows = |table: &str| match table {
            "warehouse" => Population::Fixed(self.warehouses.into()),
            "district" => Population::Fixed(districts),
            "customer" => Population::Fixed(customers),
            "item" => Population::Fixed(ITEMS.into()),
            "stock" => Population::Fixed(u64::from(self.warehouses) * u64::from(ITEMS)),
            "history" | "orders" => Population::Built(customers),
            "new_order" => Population::Built(districts * u64::from(NEW_ORDERS)),
            _ => Population::Drawn,
        };
        TABLES.iter().map(|table| Headcount { table: (*table).to_owned(), rows: rows(table) }).collect()
    }

    fn rows(&self) -> u64 {
        u64::from(self.warehouses) * rows::WAREHOUSE_ROWS + u64::from(ITEMS)
    }
}

impl Shape {
    /// What the mark of an unfinished build says before the seed.
    fn mark_but_seed(&self) -> String {
        format!("{} {} from seed ", self.warehouses, self.unit().unwrap_or_default())
    }
}

fn catalogue(dialect: Dialect) -> Catalogue {
    Catalogue::parse(match dialect {
        Dialect::Mysql => include_str!("../../sql/tprocc/schema-mysql.sql"),
        Dialect::Sqlite => include_str!("../../sql/tprocc/schema-sqlite.sql"),
        Dialect::Mssql => include_str!("../../sql/tprocc/schema-mssql.sql"),
    })
}

/// SQL Server's tables have one more, as HammerDB's do there.
fn indexed(dialect: Dialect) -> &'static [Beside] {
    match dialect {
        Dialect::Mssql => &INDEXED,
        Dialect::Mysql | Dialect::Sqlite => &INDEXED[..2],
    }
}

fn count_index(catalogue: &Catalogue, (table, column, place): &Beside) -> String {
    let sql = catalogue.get("count_index").replace("{table}", table).replace("{column}", column);
    sql.replace("{place}", &place.to_string())
}

fn drop_table(dialect: Dialect, table: &str) -> String {
    let schema = if dialect == Dialect::Mssql { "dbo." } else { "" };
    format!("DROP TABLE IF EXISTS {schema}{table}")
}

fn all_procedures(dialect: Dialect) -> Expectation {
    let wanted = procedures::NAMES.map(|name| format!("SELECT '{}' AS name", procedures::spelt(dialect, name)));
    Expectation {
        what: "all five stored procedures exist and this login may call them".to_owned(),
        sql: catalogue(dialect).get("missing_procedures").replace("{wanted}", &wanted.join(" UNION ALL ")),
        wanted: Wanted::NoRow(&["no procedure"]),
        remedy: "GRANT EXECUTE to the login, run `vufleet schema build STUDY`, which makes those that are missing and \
                 leaves the rows alone, or write calls = \"statements\" in [workload]"
            .to_owned(),
    }
}
