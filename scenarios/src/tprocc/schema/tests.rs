use super::*;

fn shape(warehouses: u32) -> Shape {
    Shape::new(warehouses, Calls::Procedures)
}

const DIALECTS: [Dialect; 3] = [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql];

#[test]
fn a_warehouse_is_a_chunk_and_the_items_come_with_the_first() {
    let shape = shape(3);
    let chunks = shape.chunks();
    assert_eq!(
        chunks.iter().map(|chunk| shape.describe(*chunk)).collect::<Vec<_>>(),
        ["warehouse 1", "warehouse 2", "warehouse 3"]
    );
    assert_eq!(shape.rows(), chunks.iter().map(|chunk| chunk.count).sum::<u64>());
    assert_eq!(chunks[1].count, 499_011);
    let tables = |chunk| {
        let loads = shape.loads(1, chunk);
        loads.batches.into_iter().chain(loads.seal).map(|load| load.table).collect::<Vec<_>>()
    };
    let usual = ["stock", "district", "customer", "orders", "new_order", "order_line", "history", "warehouse"];
    assert_eq!(tables(chunks[1]), usual);
    assert_eq!(tables(chunks[0])[0], "item");
    assert_eq!(tables(chunks[0])[1..], usual);
}

#[test]
fn every_column_of_a_load_is_one_of_its_table() {
    for dialect in DIALECTS {
        let created = shape(1).create(dialect);
        let loads = shape(1).loads(1, shape(1).chunks()[0]);
        for load in loads.batches.iter().chain(&loads.seal) {
            let start = match dialect {
                Dialect::Mssql => format!("CREATE TABLE dbo.{} (", load.table),
                Dialect::Mysql | Dialect::Sqlite => format!("CREATE TABLE IF NOT EXISTS {} (", load.table),
            };
            let table = created.iter().find(|sql| sql.contains(&start)).unwrap();
            let defined: Vec<&str> = table
                .lines()
                .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
                .filter(|word| !["PRIMARY", "CONSTRAINT", "padding"].contains(word))
                .collect();
            assert_eq!(defined, load.columns, "{}", load.table);
        }
    }
}

#[test]
fn clearing_spares_what_the_seal_brings() {
    let shape = shape(2);
    let tables = |part| {
        let cleared = shape.clear(shape.chunks()[part], Dialect::Mysql);
        assert!(cleared.iter().all(|sql| sql.contains(&format!("w_id = {}", part + 1)) || sql.contains("FROM item")));
        let mut tables: Vec<String> = cleared
            .iter()
            .filter_map(|sql| sql.strip_prefix("DELETE FROM ")?.split(' ').next().map(str::to_owned))
            .collect();
        tables.sort();
        tables.dedup();
        tables
    };
    assert_eq!(tables(1), ["customer", "district", "new_order", "order_line", "orders", "stock"]);
    assert_eq!(tables(0), ["customer", "district", "item", "new_order", "order_line", "orders", "stock"]);
    let ranges = shape.clear(shape.chunks()[1], Dialect::Mysql);
    assert!(ranges.iter().any(|sql| sql.ends_with("s_i_id BETWEEN 90001 AND 100000")), "{ranges:?}");
}

#[test]
fn the_mark_says_which_build_it_is() {
    let resume = |warehouses, seed| shape(warehouses).resume(seed, Dialect::Mysql).unwrap();
    assert_eq!(resume(1, 7).build, "1 warehouse from seed 7");
    assert_eq!(resume(4, 42).build, "4 warehouses from seed 42");
    assert!(resume(4, 42).begin.last().unwrap().contains("('4 warehouses from seed 42')"));
    assert_eq!(shape(4).seed_of("4 warehouses from seed 42"), Some(42));
    for other in ["8 warehouses from seed 42", "4 warehouses", "4 warehouses from seed x", ""] {
        assert_eq!(shape(4).seed_of(other), None, "{other:?}");
    }
    for (dialect, schema) in [(Dialect::Mysql, ""), (Dialect::Sqlite, ""), (Dialect::Mssql, "dbo.")] {
        let dropped = shape(1).drop(dialect);
        assert_eq!(dropped.len(), 10);
        assert_eq!(dropped[9], format!("DROP TABLE IF EXISTS {schema}vufleet_build"));
    }
}

#[test]
fn tables_of_sql_server_have_hammerdbs_types_and_indexes() {
    let created = shape(1).create(Dialect::Mssql).join("\n");
    for part in [
        "d_id tinyint NOT NULL",
        "w_ytd money",
        "w_tax smallmoney",
        "padding char(4000) NULL DEFAULT REPLICATE('x', 4000)",
        "padding char(6000) NULL DEFAULT REPLICATE('X', 6000)",
        "c_payment_cnt smallint",
        "c_data char(500)",
        "CONSTRAINT customer_i1 PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id)",
        "CONSTRAINT new_order_i1 PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id)",
        "CONSTRAINT orders_i1 PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id)",
        "CONSTRAINT order_line_i1 PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number)",
        "CREATE CLUSTERED INDEX history_i1 ON dbo.history (h_c_w_id, h_date, h_c_d_id, h_c_id, h_amount)",
        "s_ytd int NOT NULL",
        "ol_amount smallmoney",
        "ol_quantity smallint",
    ] {
        assert!(created.contains(part), "{part}");
    }
    assert_eq!(created.matches("SET (LOCK_ESCALATION = DISABLE)").count(), 9);
    let indexes: Vec<String> = shape(1).indexes(Dialect::Mssql).into_iter().map(|index| index.sql).collect();
    assert_eq!(
        indexes,
        [
            "CREATE INDEX customer_c_last ON dbo.customer (c_w_id, c_d_id, c_last, c_first, c_id)",
            "CREATE INDEX orders_i2 ON dbo.orders (o_w_id, o_d_id, o_c_id, o_id)",
            "CREATE INDEX district_d_id ON dbo.district (d_id)",
        ]
    );
}

#[test]
fn procedures_are_wanted_where_they_are_called() {
    let statements = Shape { calls: Calls::Statements, ..shape(1) };
    assert_eq!(shape(1).ready(Dialect::Mysql).len(), 3);
    assert_eq!(statements.ready(Dialect::Mysql).len(), 2);
    let asked = &shape(1).ready(Dialect::Mysql)[2];
    assert!(asked.what.contains("procedures") && asked.sql.contains("'NEWORD'") && asked.sql.contains("'SLEV'"));
    let routines = statements.routines(Dialect::Mysql).expect("HammerDB may want to drive it");
    assert_eq!((routines.all.len(), routines.called), (5, false));
    assert!(shape(1).routines(Dialect::Mysql).unwrap().called);
    assert_eq!(statements.routines(Dialect::Sqlite), None);
    let asked = &shape(1).ready(Dialect::Mssql)[2];
    assert!(asked.sql.contains("'neword'") && asked.sql.contains("'slev'"), "{}", asked.sql);
    assert!(shape(1).routines(Dialect::Mssql).unwrap().remedy.contains("ON SCHEMA::dbo"));
}

#[test]
fn no_placeholder_of_a_template_is_left() {
    for dialect in DIALECTS {
        let shape = shape(2);
        let queries =
            [shape.inspection(dialect, None).expectations, shape.present(dialect), shape.ready(dialect)].concat();
        let indexes = shape.indexes(dialect).into_iter().flat_map(|index| [index.sql, index.exists]);
        let counted = shape.routines(dialect).into_iter().flat_map(|routines| routines.all).map(|it| it.exists);
        let made = shape.create(dialect).into_iter().chain(indexes).chain(counted);
        let texts = queries.into_iter().map(|query| query.sql).chain(made);
        for text in texts {
            assert!(!text.contains(['{', '}']), "{text}");
        }
    }
}
