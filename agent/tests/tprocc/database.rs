//! A small TPROC-C database on MariaDB, filled by SQL in seconds: every item and every stock, every customer under
//! their right names, no order yet. With as few new orders as a mix makes, deliveries often find nothing to deliver.

use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::tprocc::{Calls, Shape};
use vufleet_scenarios::workload::Schema;
use vufleet_testbed::MariaDb;

const TABLES: &str = "
CREATE TABLE warehouse (w_id INT NOT NULL PRIMARY KEY, w_ytd DECIMAL(12,2), w_tax DECIMAL(4,4), w_name VARCHAR(10),
  w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9));
CREATE TABLE district (d_id INT NOT NULL, d_w_id INT NOT NULL, d_ytd DECIMAL(12,2), d_next_o_id INT,
  d_tax DECIMAL(4,4), d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20),
  d_state CHAR(2), d_zip CHAR(9), PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_discount DECIMAL(4,4),
  c_last VARCHAR(16) BINARY, c_first VARCHAR(16) BINARY, c_credit CHAR(2) BINARY, c_balance DECIMAL(12,2),
  c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_street_1 VARCHAR(20), c_street_2 VARCHAR(20),
  c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_middle CHAR(2),
  c_data VARCHAR(500), c_credit_lim DECIMAL(12,2), PRIMARY KEY (c_w_id, c_d_id, c_id),
  KEY (c_w_id, c_d_id, c_last, c_first));
CREATE TABLE history (h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT, h_date DATETIME,
  h_amount DECIMAL(6,2), h_data VARCHAR(24));
CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50),
  i_im_id INT);
CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_carrier_id INT,
  o_ol_cnt INT, o_all_local INT, o_entry_d DATETIME, PRIMARY KEY (o_w_id, o_d_id, o_id),
  KEY (o_w_id, o_d_id, o_c_id, o_id));
CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL,
  ol_i_id INT, ol_delivery_d DATETIME, ol_amount INT, ol_supply_w_id INT, ol_quantity INT, ol_dist_info CHAR(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_ytd BIGINT, s_order_cnt INT,
  s_remote_cnt INT, s_data VARCHAR(50), s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24),
  s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24),
  s_dist_09 CHAR(24), s_dist_10 CHAR(24), PRIMARY KEY (s_w_id, s_i_id));
";

const SYLLABLES: &str = "'BAR','OUGHT','ABLE','PRI','PRES','ESE','ANTI','CALLY','ATION','EING'";

/// Fills `database` with so many warehouses and the procedures of this program.
pub fn fill(server: &MariaDb, database: &str, warehouses: u32) {
    let mut sql =
        format!("CREATE DATABASE {database}; GRANT ALL ON {database}.* TO bench@'%'; USE {database};{TABLES}");
    let dists = (1..=10).map(|d| format!("'district {d}'")).collect::<Vec<_>>().join(", ");
    let digit = |of: u32| format!("ELT((c.seq - 1) DIV {of} % 10 + 1, {SYLLABLES})");
    let last = format!("CONCAT({}, {}, {})", digit(100), digit(10), digit(1));
    sql.push_str(&format!(
        "INSERT INTO warehouse SELECT w.seq, 0, 0.1, CONCAT('house ', w.seq), 'a', 'b', 'c', 'de', '123411111'
           FROM seq_1_to_{warehouses} w;
         INSERT INTO district SELECT d.seq, w.seq, 0, 1, 0.1, CONCAT('part ', d.seq), 'a', 'b', 'c', 'de', '123411111'
           FROM seq_1_to_{warehouses} w JOIN seq_1_to_10 d;
         INSERT INTO customer SELECT c.seq, d.seq, w.seq, 0.1, {last}, CONCAT('first ', c.seq),
             IF(c.seq % 10 = 0, 'BC', 'GC'), 0, 0, 0, 0, 'a', 'b', 'c', 'de', '123411111', '0123456789012345', NOW(),
             'OE', REPEAT('x', 300), 50000 FROM seq_1_to_{warehouses} w JOIN seq_1_to_10 d JOIN seq_1_to_3000 c;
         INSERT INTO item SELECT i.seq, CONCAT('item ', i.seq), 1 + i.seq % 9900 / 100, 'data', 1
           FROM seq_1_to_100000 i;
         INSERT INTO stock SELECT i.seq, w.seq, 50, 0, 0, 0, 'data', {dists}
           FROM seq_1_to_{warehouses} w JOIN seq_1_to_100000 i;"
    ));
    server.sql(&sql).expect("a filled database");
    let shape = Shape::new(warehouses, Calls::Procedures);
    for routine in shape.routines(Dialect::Mysql).expect("MySQL has procedures").all {
        create_procedure(server, database, &routine.create);
    }
}

/// Makes a stored procedure.
pub fn create_procedure(server: &MariaDb, database: &str, procedure: &str) {
    let sql = format!("USE {database};\nDELIMITER $$\n{procedure}$$\n");
    server.sql(&sql).expect("a procedure that is accepted");
}

/// The consistency conditions of the specification [3.3.2] that hold while orders come and go, each as a query of the
/// rows that violate it. Balances start at nothing here.
const CONDITIONS: [(&str, &str); 9] = [
    ("1", "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)"),
    (
        "2",
        "SELECT d_id FROM district WHERE d_next_o_id - 1 <> (SELECT COALESCE(MAX(o_id), 0) FROM orders
           WHERE o_w_id = d_w_id AND o_d_id = d_id) OR d_next_o_id - 1 < (SELECT COALESCE(MAX(no_o_id), 0)
           FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    ("3", "SELECT no_d_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"),
    (
        "4, 6",
        "SELECT o_id FROM orders WHERE o_ol_cnt <> (SELECT COUNT(*) FROM order_line
           WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
    ),
    (
        "5",
        "SELECT o_id FROM orders WHERE (o_carrier_id IS NULL) <> EXISTS (SELECT 1 FROM new_order
           WHERE no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id)",
    ),
    (
        "7",
        "SELECT o_id FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)",
    ),
    (
        "8",
        "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT COALESCE(SUM(h_amount), 0) FROM history WHERE h_w_id = w_id)",
    ),
    (
        "9",
        "SELECT d_id FROM district WHERE d_ytd <> (SELECT COALESCE(SUM(h_amount), 0) FROM history
           WHERE h_w_id = d_w_id AND h_d_id = d_id)",
    ),
    (
        "10, 12",
        "SELECT c_id FROM customer LEFT JOIN (SELECT o_w_id w, o_d_id d, o_c_id c, SUM(ol_amount) total
             FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
             WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) delivered
           ON w = c_w_id AND d = c_d_id AND c = c_id
         LEFT JOIN (SELECT h_c_w_id pw, h_c_d_id pd, h_c_id pc, SUM(h_amount) paid FROM history
             GROUP BY h_c_w_id, h_c_d_id, h_c_id) payments ON pw = c_w_id AND pd = c_d_id AND pc = c_id
         WHERE c_balance <> COALESCE(total, 0) - COALESCE(paid, 0) OR c_ytd_payment <> COALESCE(paid, 0)",
    ),
];

/// Fails with the first rows that violate a condition.
pub fn assert_consistent(server: &MariaDb, database: &str) {
    for (number, sql) in CONDITIONS {
        let rows = server.sql(&format!("USE {database}; {sql} LIMIT 5")).expect("an answer");
        assert!(rows.trim().is_empty(), "condition {number} is violated by {rows}");
    }
    let torn = "SELECT COUNT(*) FROM stock WHERE s_ytd < s_order_cnt OR s_quantity NOT BETWEEN 10 AND 100";
    assert_eq!(number(server, database, torn), 0, "stock");
    let lines = "SELECT SUM(s_order_cnt) - (SELECT COUNT(*) FROM order_line) FROM stock";
    assert_eq!(number(server, database, lines), 0, "every line has taken its stock once");
}

/// The only value of a query, as a whole number.
pub fn number(server: &MariaDb, database: &str, sql: &str) -> i64 {
    let text = server.sql(&format!("USE {database}; {sql}")).expect("an answer");
    text.trim().parse().unwrap_or_else(|_| panic!("{sql}: {text:?} is no number"))
}

/// Orders taken since the database was filled.
pub fn orders(server: &MariaDb, database: &str) -> u64 {
    number(server, database, "SELECT SUM(d_next_o_id - 1) FROM district").unsigned_abs()
}
