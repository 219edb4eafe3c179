use super::*;
use crate::oltp::Script;

fn shape() -> Shape {
    Shape { tables: 2, ..Shape::new(Script::ReadWrite) }
}

fn value(expectation: &Expectation) -> &str {
    match &expectation.wanted {
        Wanted::Value(value) => value,
        Wanted::NoRow(_) => panic!("{expectation:?} compares no value"),
    }
}

fn squeezed(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn mysql_tables_are_those_of_sysbench() {
    let columns = "k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '',";
    let created = shape().create(Dialect::Mysql);
    assert_eq!(created.len(), 2);
    assert_eq!(
        squeezed(&created[0]),
        format!(
            "CREATE TABLE sbtest1 ( id INTEGER NOT NULL AUTO_INCREMENT, {columns} PRIMARY KEY (id) ) ENGINE = innodb"
        )
    );
    assert!(created[1].starts_with("CREATE TABLE sbtest2 ("));

    let plain = Shape { auto_inc: false, secondary: true, mysql_storage_engine: "rocksdb".to_owned(), ..shape() };
    assert_eq!(
        squeezed(&plain.create(Dialect::Mysql)[1]),
        format!("CREATE TABLE sbtest2 ( id INTEGER NOT NULL, {columns} KEY xid (id) ) ENGINE = rocksdb")
    );
    let numbered = Shape { secondary: true, ..shape() };
    assert!(squeezed(&numbered.create(Dialect::Mysql)[0]).contains("NOT NULL AUTO_INCREMENT, k"));
}

#[test]
fn sqlite_keeps_indexes_apart_from_tables() {
    let created = shape().create(Dialect::Sqlite);
    assert_eq!(created.len(), 2);
    assert!(created[0].contains("id INTEGER NOT NULL PRIMARY KEY,"), "{}", created[0]);

    let created = Shape { secondary: true, ..shape() }.create(Dialect::Sqlite);
    assert_eq!(created.len(), 4);
    assert!(created[0].contains("id INTEGER NOT NULL,"), "{}", created[0]);
    assert_eq!(created[1], "CREATE INDEX xid_1 ON sbtest1 (id)");
    assert_eq!(created[3], "CREATE INDEX xid_2 ON sbtest2 (id)");
}

#[test]
fn tables_of_sql_server_number_ids_from_a_sequence() {
    let created = |shape: Shape| shape.create(Dialect::Mssql).iter().map(|sql| squeezed(sql)).collect::<Vec<_>>();
    let columns = "k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '' )";
    let numbered = created(shape());
    assert_eq!(numbered.len(), 4);
    assert_eq!(numbered[2], "CREATE SEQUENCE sbtest2_id AS int START WITH 10001 INCREMENT BY 1 CACHE 1000");
    let id = "id int NOT NULL DEFAULT (NEXT VALUE FOR sbtest2_id) PRIMARY KEY";
    assert_eq!(numbered[3], format!("CREATE TABLE sbtest2 ( {id}, {columns}"));
    let plain = created(Shape { auto_inc: false, secondary: true, ..shape() });
    assert_eq!(plain.len(), 4);
    assert_eq!(plain[2], format!("CREATE TABLE sbtest2 ( id int NOT NULL, {columns}"));
    assert_eq!(plain[3], "CREATE INDEX xid_2 ON sbtest2 (id)");
    let full = created(Shape { table_size: Shape::MAX_TABLE_SIZE, ..shape() });
    assert!(full[0].contains("START WITH 2147483647 "), "{}", full[0]);
    assert_eq!(
        Shape { tables: 1, ..shape() }.drop(Dialect::Mssql),
        ["DROP TABLE IF EXISTS sbtest1", "DROP SEQUENCE IF EXISTS sbtest1_id"]
    );
}

#[test]
fn no_placeholder_of_a_template_is_left() {
    for dialect in [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql] {
        for secondary in [false, true] {
            let shape = Shape { secondary, ..shape() };
            let queries = [shape.inspection(dialect, None).expectations, shape.present(dialect)].concat();
            let indexes = shape.indexes(dialect).into_iter().map(|index| index.sql).collect();
            let texts = [shape.create(dialect), shape.drop(dialect), indexes].concat();
            for text in texts.into_iter().chain(queries.into_iter().map(|query| query.sql)) {
                assert!(!text.contains(['{', '}']), "{text}");
            }
        }
    }
}

#[test]
fn the_index_on_k_is_made_after_the_load_or_not_at_all() {
    for dialect in [Dialect::Mysql, Dialect::Sqlite, Dialect::Mssql] {
        let built: Vec<String> = shape().indexes(dialect).into_iter().map(|index| index.sql).collect();
        assert_eq!(built, ["CREATE INDEX k_1 ON sbtest1 (k)", "CREATE INDEX k_2 ON sbtest2 (k)"]);
        let named = if dialect == Dialect::Mssql { "sbtest2" } else { "k_2" };
        assert!(shape().indexes(dialect)[1].exists.contains(named));
        let bare = Shape { create_secondary: false, ..shape() };
        assert!(bare.indexes(dialect).is_empty());
        let wanted = |shape: &Shape| shape.inspection(dialect, None).expectations[3].wanted.clone();
        assert_eq!(wanted(&bare), Wanted::Value("0".to_owned()));
        assert_eq!(wanted(&shape()), Wanted::Value("1".to_owned()));
        assert_eq!(shape().drop(dialect)[..2], ["DROP TABLE IF EXISTS sbtest1", "DROP TABLE IF EXISTS sbtest2"]);
    }
}

#[test]
fn chunks_cover_every_row_once_and_in_order() {
    for (tables, table_size) in [(1, 1), (3, 50_000), (2, 50_001), (2, 499_999), (1, 10_000_000)] {
        let shape = Shape { tables, table_size, ..shape() };
        let chunks = shape.chunks();
        let mut due = (0, 0);
        for chunk in &chunks {
            assert_eq!((chunk.part, chunk.first), due, "{tables} tables of {table_size}");
            assert!((1..=CHUNK_ROWS).contains(&chunk.count));
            let end = chunk.first + chunk.count;
            due = if end == u64::from(table_size) { (chunk.part + 1, 0) } else { (chunk.part, end) };
        }
        assert_eq!(due, (tables, 0));
        assert_eq!(shape.rows(), chunks.iter().map(|chunk| chunk.count).sum::<u64>());
    }
}

#[test]
fn chunks_go_to_their_tables() {
    let chunk = Chunk { part: 1, first: 0, count: 1 };
    let loads = shape().loads(42, chunk);
    assert!(loads.seal.is_empty(), "nothing tells a complete chunk");
    assert_eq!((loads.batches.len(), loads.batches[0].table.as_str()), (1, "sbtest2"));
    assert_eq!(loads.batches[0].columns, ["id", "k", "c", "pad"]);
    assert_eq!(shape().describe(chunk), "sbtest2");
    assert_eq!(shape().clear(chunk, Dialect::Mysql), ["DELETE FROM sbtest2 WHERE id BETWEEN 1 AND 1"]);
    assert_eq!(shape().tables(), ["sbtest1", "sbtest2"]);
}

#[test]
fn a_build_is_checked_table_by_table() {
    let expected = Shape { table_size: 500, ..shape() }.inspection(Dialect::Mysql, None).expectations;
    assert_eq!(expected.len(), 8);
    let told: Vec<(&str, &str)> = expected[4..].iter().map(|e| (e.what.as_str(), value(e))).collect();
    assert_eq!(
        told,
        [
            ("sbtest2 has 500 rows", "500"),
            ("the smallest id of sbtest2 is 1", "1"),
            ("the largest id of sbtest2 is 500", "500"),
            ("sbtest2 has an index k_2", "1"),
        ]
    );
    assert_eq!(expected[4].sql, "SELECT COUNT(*) FROM sbtest2");
    assert!(expected.iter().all(|e| e.remedy.contains("--replace")));
}

#[test]
fn one_query_asks_for_all_tables() {
    for (dialect, source) in [
        (Dialect::Mysql, "information_schema.tables"),
        (Dialect::Sqlite, "sqlite_master"),
        (Dialect::Mssql, "sys.tables"),
    ] {
        let asked = shape().present(dialect);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].what, "all 2 tables sbtest1 to sbtest2 exist");
        assert_eq!(value(&asked[0]), "2");
        let sql = &asked[0].sql;
        assert!(sql.contains(source) && sql.contains("IN ('sbtest1', 'sbtest2')"), "{sql}");
        assert_eq!(asked[0].remedy, "run `vufleet schema build STUDY`");
    }
    assert_eq!(Shape::new(Script::Insert).present(Dialect::Mysql)[0].what, "table sbtest1 exists");
}
