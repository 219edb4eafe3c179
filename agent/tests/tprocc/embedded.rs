//! TPROC-C by statements on SQLite: the same small database, and the same counts.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::study::{self, Edits, Study};
use vufleet_scenarios::tprocc::{Calls, Shape};
use vufleet_scenarios::workload::Schema;

use super::crew::Load;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// One syllable of the last name of customer `i`.
fn syllable(of: u32) -> String {
    let cases = SYLLABLES.iter().enumerate().map(|(digit, word)| format!("WHEN {digit} THEN '{word}'"));
    format!("CASE (i - 1) / {of} % 10 {} END", cases.collect::<Vec<_>>().join(" "))
}

fn numbers(last: u32) -> String {
    format!("n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {last})")
}

/// Two warehouses without an order.
fn fill(path: &Path) -> Connection {
    let file = Connection::open(path).unwrap();
    let shape = Shape::new(2, Calls::Statements);
    shape.create(Dialect::Sqlite).iter().for_each(|sql| file.execute_batch(sql).unwrap());
    let last = format!("{} || {} || {}", syllable(100), syllable(10), syllable(1));
    let dists = (1..=10).map(|d| format!("s_dist_{d:02}")).collect::<Vec<_>>().join(", ");
    let texts = ["'of the district'"; 10].join(", ");
    let (w, d) = ("(SELECT 1 w UNION SELECT 2)", "d(d) AS (SELECT 1 UNION ALL SELECT d + 1 FROM d WHERE d < 10)");
    file.execute_batch(&format!(
        "BEGIN;
         INSERT INTO warehouse (w_id, w_ytd, w_tax, w_name) SELECT w, 0, 0.1, 'house' FROM {w};
         WITH RECURSIVE {d} INSERT INTO district (d_id, d_w_id, d_ytd, d_next_o_id, d_tax, d_name)
           SELECT d, w, 0, 1, 0.1, 'part' FROM {w}, d;
         WITH RECURSIVE {d}, {} INSERT INTO customer (c_id, c_d_id, c_w_id, c_discount, c_last, c_first, c_credit,
             c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data)
           SELECT i, d, w, 0.1, {last}, 'first ' || i, CASE i % 10 WHEN 0 THEN 'BC' ELSE 'GC' END, 0, 0, 0, 0, 'x'
           FROM {w}, d, n;
         WITH RECURSIVE {} INSERT INTO item (i_id, i_name, i_price, i_data, i_im_id)
           SELECT i, 'item', 1 + i % 9900 / 100.0, 'data', 1 FROM n;
         WITH RECURSIVE {} INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data,
             {dists})
           SELECT i, w, 50, 0, 0, 0, 'data', {texts} FROM {w}, n;
         COMMIT;",
        numbers(3_000),
        numbers(100_000),
        numbers(100_000),
    ))
    .unwrap();
    file
}

fn study(path: &Path) -> Study {
    let text = format!(
        "name = 'embedded'\nseed = 1\n[target]\nkind = 'sqlite'\npath = '{}'\n[workload]\nkind = 'tprocc'\n\
         warehouses = 2\n[[profiles]]\nvus = 4\n[schedule]\nmeasure = '1s'\nconnect_rate = 1000\n",
        path.display()
    );
    study::read(&text, &Edits::default()).expect("a sound study")
}

fn number(file: &Connection, sql: &str) -> i64 {
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Each counts what violates it.
const CONDITIONS: [(&str, &str); 10] = [
    (
        "1",
        "SELECT COUNT(*) FROM warehouse
           WHERE ABS(w_ytd - (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)) > 0.001",
    ),
    (
        "6",
        "SELECT COUNT(*) FROM orders WHERE o_ol_cnt <> (SELECT COUNT(*) FROM order_line
           WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)",
    ),
    (
        "7",
        "SELECT COUNT(*) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)",
    ),
    (
        "12",
        "SELECT ABS(ROUND((SELECT SUM(c_balance + c_ytd_payment) FROM customer)
           - (SELECT SUM(ol_amount) FROM order_line WHERE ol_delivery_d IS NOT NULL))) > 0",
    ),
    (
        "payments",
        "SELECT ABS(ROUND((SELECT SUM(c_ytd_payment) FROM customer) - (SELECT SUM(h_amount) FROM history))) > 0",
    ),
    ("stock", "SELECT (SELECT SUM(s_order_cnt) FROM stock) <> (SELECT COUNT(*) FROM order_line)"),
    ("dates", "SELECT COUNT(*) FROM orders WHERE o_entry_d NOT LIKE '20__-__-__ __:__:__%'"),
    ("lines", "SELECT COUNT(*) FROM order_line WHERE ol_dist_info <> 'of the district' OR ol_amount <= 0"),
    ("history", "SELECT COUNT(*) FROM history WHERE h_data <> 'house    part'"),
    (
        "bad credit",
        "SELECT COUNT(*) FROM customer WHERE c_payment_cnt > 0 AND (c_credit = 'BC') <> (c_data LIKE '% | x')",
    ),
];

#[tokio::test]
async fn statements_on_sqlite_are_counted_to_the_transaction() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tprocc.db");
    let file = fill(&path);
    file.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut load = Load::start(study(&path), Some(115)).await;
    load.until(|told| told.finished).await;
    let told = load.stop().await;
    assert_eq!(told.sum(|kind| kind.faults.len() as u64 + kind.failed + kind.unknown), 0, "{told:?}");
    assert_eq!(told.sum(|kind| kind.ok + kind.rollback), 460);
    assert_eq!(number(&file, "SELECT SUM(d_next_o_id - 1) FROM district") as u64, told.new_orders().ok);
    assert_eq!(number(&file, "SELECT COUNT(*) FROM history") as u64, told.kinds["payment"].ok);
    assert!(number(&file, "SELECT COUNT(*) FROM orders WHERE o_carrier_id BETWEEN 1 AND 10") > 20);
    for (what, violated) in CONDITIONS {
        assert_eq!(number(&file, violated), 0, "{what}");
    }
}
