//! The tables: made, loaded warehouse by warehouse, indexed, given their procedures, checked and dropped.
//!
//! Until a build is complete a table of its own, `vufleet_build`, says which build it is. A warehouse's row is loaded
//! last, so that a warehouse that is there is complete.

mod procedures;
#[cfg(test)]
mod tests;

use super::draw::{DISTRICTS, ITEMS};
use super::{Calls, Shape, consistency, rows};
use crate::session::Dialect;
use crate::sql::Catalogue;
use crate::workload::{Chunk, Expectation, Index, Inspection, Loads, Resume, Routines, Schema, Wanted};

/// In the order in which they are made and named.
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "item", "new_order", "orders", "order_line", "stock"];

/// The tables with an index beside their key, and the column by which it is known: its third.
const INDEXED: [(&str, &str); 2] = [("customer", "c_last"), ("orders", "o_c_id")];

/// Items or stocks that one DELETE removes at most, so that no transaction grows with the table.
const CLEARED_ITEMS: u32 = 10_000;

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        TABLES.map(str::to_owned).to_vec()
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        let catalogue = catalogue(dialect);
        TABLES.iter().map(|table| catalogue.get(table).to_owned()).collect()
    }

    fn drop(&self, _dialect: Dialect) -> Vec<String> {
        let tables = TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {table}"));
        let mark = "DROP TABLE IF EXISTS vufleet_build".to_owned();
        tables.chain([mark]).collect()
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
        let index = |(table, column)| Index {
            sql: catalogue.get(&format!("{table}_index")).to_owned(),
            exists: count_index(&catalogue, table, column),
        };
        INDEXED.map(index).to_vec()
    }

    fn routines(&self, dialect: Dialect) -> Option<Routines> {
        let all = procedures::routines(dialect, &catalogue(dialect))?;
        let remedy = "GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE on the database to the login, or write \
                      calls = \"statements\" in [workload]";
        Some(Routines { all, called: self.calls == Calls::Procedures, remedy: remedy.to_owned() })
    }

    fn resume(&self, seed: u64, dialect: Dialect) -> Option<Resume> {
        let build = format!("{}{seed}", self.mark_but_seed());
        let insert = format!("INSERT INTO vufleet_build (build) VALUES ('{build}')");
        Some(Resume {
            begin: vec![
                "DROP TABLE IF EXISTS vufleet_build".to_owned(),
                catalogue(dialect).get("mark").to_owned(),
                insert,
            ],
            build,
            mark: "SELECT build FROM vufleet_build".to_owned(),
            complete: "SELECT w_id - 1 FROM warehouse".to_owned(),
            end: "DROP TABLE IF EXISTS vufleet_build".to_owned(),
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
        if self.calls == Calls::Procedures && dialect == Dialect::Mysql {
            out.push(all_procedures(&catalogue(dialect)));
        }
        out
    }

    fn origin(&self, _dialect: Dialect) -> Option<String> {
        Some(consistency::origin())
    }

    fn inspection(&self, dialect: Dialect, origin: Option<&[String]>) -> Inspection {
        let mut inspection = consistency::inspection(self.warehouses, origin);
        let catalogue = catalogue(dialect);
        inspection.expectations.extend(INDEXED.map(|(table, column)| Expectation {
            what: format!("{table} has an index with {column}"),
            sql: count_index(&catalogue, table, column),
            wanted: Wanted::Value("1".to_owned()),
            remedy:
                "run `vufleet schema build STUDY`, which makes what is missing and leaves the rows alone".to_owned(),
        }));
        inspection
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
        Dialect::Mssql => unreachable!("a study cannot name SQL Server as the target of this workload"),
    })
}

fn count_index(catalogue: &Catalogue, table: &str, column: &str) -> String {
    catalogue.get("count_index").replace("{table}", table).replace("{column}", column)
}

fn all_procedures(catalogue: &Catalogue) -> Expectation {
    let wanted: Vec<String> = procedures::NAMES.iter().map(|name| format!("SELECT '{name}' AS name")).collect();
    Expectation {
        what: "all five stored procedures exist and this login may call them".to_owned(),
        sql: catalogue.get("missing_procedures").replace("{wanted}", &wanted.join(" UNION ALL ")),
        wanted: Wanted::NoRow(&["no procedure"]),
        remedy: "GRANT EXECUTE to the login, run `vufleet schema build STUDY`, which makes those that are missing and \
                 leaves the rows alone, or write calls = \"statements\" in [workload]"
            .to_owned(),
    }
}
