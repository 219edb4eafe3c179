//! The tables: how they are made, cut into chunks for a parallel load, indexed, checked and dropped.

use super::rows::{COLUMNS, Rows};
use super::{Script, Shape, statements};
use crate::census::{Headcount, Population};
use crate::session::Dialect;
use crate::workload::{Chunk, Expectation, Index, Inspection, Load, Loads, Schema, Wanted};

/// Rows of a chunk at most: small enough that several agents share one large table evenly, large enough that handing
/// out chunks costs nothing.
const CHUNK_ROWS: u64 = 50_000;

impl Schema for Shape {
    fn tables(&self) -> Vec<String> {
        (1..=self.tables).map(table).collect()
    }

    fn create(&self, dialect: Dialect) -> Vec<String> {
        let catalogue = statements::catalogue(dialect);
        let (id, key) = self.id_column(dialect);
        let mut out = Vec::new();
        for number in 1..=self.tables {
            let of_table = |name: &str| statements::text(&catalogue, name, number);
            if self.auto_inc && dialect == Dialect::Mssql {
                out.push(of_table("create_sequence").replace("{next_id}", &self.next_id().to_string()));
            }
            let text = of_table("create_table").replace("{key}", key).replace("{engine}", &self.mysql_storage_engine);
            out.push(text.replace("{id}", &id.replace("{n}", &number.to_string())));
            if self.secondary && dialect != Dialect::Mysql {
                out.push(of_table("create_id_index"));
            }
        }
        out
    }

    fn drop(&self, dialect: Dialect) -> Vec<String> {
        let mut out = self.for_each_table(dialect, "drop_table");
        if dialect == Dialect::Mssql {
            out.extend(self.for_each_table(dialect, "drop_sequence"));
        }
        out
    }

    fn chunks(&self) -> Vec<Chunk> {
        let rows = u64::from(self.table_size);
        let firsts = || (0..rows).step_by(CHUNK_ROWS as usize);
        (0..self.tables)
            .flat_map(|part| firsts().map(move |first| Chunk { part, first, count: CHUNK_ROWS.min(rows - first) }))
            .collect()
    }

    fn describe(&self, chunk: Chunk) -> String {
        table(chunk.part + 1)
    }

    fn loads(&self, seed: u64, chunk: Chunk) -> Loads {
        let source = Box::new(Rows::new(self, seed, chunk));
        Loads { batches: vec![Load { table: table(chunk.part + 1), columns: &COLUMNS, source }], seal: Vec::new() }
    }

    fn clear(&self, chunk: Chunk, _dialect: Dialect) -> Vec<String> {
        let (first, last) = (chunk.first + 1, chunk.first + chunk.count);
        vec![format!("DELETE FROM {} WHERE id BETWEEN {first} AND {last}", table(chunk.part + 1))]
    }

    fn indexes(&self, dialect: Dialect) -> Vec<Index> {
        if !self.create_secondary {
            return Vec::new();
        }
        let builders = self.for_each_table(dialect, "create_index").into_iter();
        let probes = self.for_each_table(dialect, "count_index");
        builders.zip(probes).map(|(sql, exists)| Index { sql, exists }).collect()
    }

    /// Ids are drawn up to the size that the study says: tables that end before it would answer a part of them with nothing.
    fn ready(&self, _dialect: Dialect) -> Vec<Expectation> {
        if matches!(self.script, Script::Insert | Script::Delete) {
            return Vec::new();
        }
        let size = self.table_size;
        let last = |number: u32| format!("SELECT COALESCE(MAX(id), 0) AS id FROM {}", table(number));
        let every = (1..=self.tables).map(last).collect::<Vec<_>>().join(" UNION ALL ");
        vec![Expectation {
            what: format!("every table has ids up to {size}"),
            sql: format!("SELECT CASE WHEN MIN(id) >= {size} THEN {size} ELSE MIN(id) END FROM ({every}) AS ends"),
            wanted: Wanted::Value(size.to_string()),
            remedy: "set workload.table_size to the rows that the tables have, or run `vufleet schema build STUDY --replace`"
                .to_owned(),
        }]
    }

    fn inspection(&self, dialect: Dialect, _origin: Option<&[String]>) -> Inspection {
        let catalogue = statements::catalogue(dialect);
        let size = self.table_size;
        let index = if self.create_secondary { "an" } else { "no" };
        let mut expectations = Vec::new();
        for number in 1..=self.tables {
            let name = table(number);
            let mut expect = |query: &str, value: u32, what: String| {
                let remedy = "run `vufleet schema build STUDY --replace`".to_owned();
                let sql = statements::text(&catalogue, query, number);
                expectations.push(Expectation { what, sql, wanted: Wanted::Value(value.to_string()), remedy });
            };
            expect("count_rows", size, format!("{name} has {size} rows"));
            expect("smallest_id", 1, format!("the smallest id of {name} is 1"));
            expect("largest_id", size, format!("the largest id of {name} is {size}"));
            expect("count_index", self.create_secondary.into(), format!("{name} has {index} index k_{number}"));
        }
        Inspection { expectations, notes: Vec::new() }
    }

    fn present(&self, dialect: Dialect) -> Vec<Expectation> {
        let names: Vec<String> = self.tables().iter().map(|name| format!("'{name}'")).collect();
        let what = match self.tables {
            1 => "table sbtest1 exists".to_owned(),
            tables => format!("all {tables} tables sbtest1 to sbtest{tables} exist"),
        };
        vec![Expectation {
            what,
            sql: statements::catalogue(dialect).get("count_tables").replace("{names}", &names.join(", ")),
            wanted: Wanted::Value(self.tables.to_string()),
            remedy: "run `vufleet schema build STUDY`".to_owned(),
        }]
    }

    fn census(&self) -> Vec<Headcount> {
        // These two have the tables grow and shrink; what the others delete they insert again.
        let rows = match self.script {
            Script::Insert | Script::Delete => Population::Built(self.table_size.into()),
            _ => Population::Fixed(self.table_size.into()),
        };
        self.tables().into_iter().map(|table| Headcount { table, rows }).collect()
    }

    fn rows(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.table_size)
    }
}

impl Shape {
    fn for_each_table(&self, dialect: Dialect, name: &str) -> Vec<String> {
        let catalogue = statements::catalogue(dialect);
        (1..=self.tables).map(|number| statements::text(&catalogue, name, number)).collect()
    }

    /// Definition of the id column, and of the key on it where that is a clause of its own.
    fn id_column(&self, dialect: Dialect) -> (&'static str, &'static str) {
        match dialect {
            Dialect::Mysql => {
                let id = if self.auto_inc { "INTEGER NOT NULL AUTO_INCREMENT" } else { "INTEGER NOT NULL" };
                (id, if self.secondary { "KEY xid (id)" } else { "PRIMARY KEY (id)" })
            }
            // An INTEGER PRIMARY KEY is the rowid and numbers itself, whatever auto_inc says.
            Dialect::Sqlite => (if self.secondary { "INTEGER NOT NULL" } else { "INTEGER NOT NULL PRIMARY KEY" }, ""),
            Dialect::Mssql => (
                match (self.auto_inc, self.secondary) {
                    (true, true) => "int NOT NULL DEFAULT (NEXT VALUE FOR sbtest{n}_id)",
                    (true, false) => "int NOT NULL DEFAULT (NEXT VALUE FOR sbtest{n}_id) PRIMARY KEY",
                    (false, true) => "int NOT NULL",
                    (false, false) => "int NOT NULL PRIMARY KEY",
                },
                "",
            ),
        }
    }

    /// The first id that rows get by themselves after the load.
    fn next_id(&self) -> u32 {
        (self.table_size + 1).min(Shape::MAX_TABLE_SIZE)
    }
}

fn table(number: u32) -> String {
    format!("sbtest{number}")
}

#[cfg(test)]
mod tests;
