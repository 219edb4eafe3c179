//! Calls as HammerDB makes them: on a session with autocommit off, results into user variables, parameters in its
//! order; and a procedure that answers as its own does. Only what goes over the wire is imitated.

use vufleet_testbed::MariaDb;

use super::database::{create_procedure, number, orders};

/// One session that sends `calls` and then the query, whose only row comes back as its columns.
fn hammerdb(server: &MariaDb, calls: &str) -> Vec<String> {
    let text = server.sql(&format!("USE tpcc; SET autocommit = 0; {calls}")).expect("calls that are understood");
    text.lines().last().unwrap_or_default().split('\t').map(str::to_owned).collect()
}

const NOW: &str = "STR_TO_DATE('20260703123456', '%Y%m%d%H%i%s')";

pub fn calls_are_understood(server: &MariaDb) {
    new_order(server);
    payment(server);
    let first = hammerdb(
        server,
        "SET @id = 0, @last = 'BAROUGHTPRES'; CALL OSTAT(1, 1, @id, 1, @last, @first, @middle, @balance, @order,
           @entered, @carrier); SELECT @id, @last, @first, @middle;",
    );
    // Customers 15, 1015 and 2015 have that name; by first name, as text, 1015 comes first and 15 second.
    assert_eq!(first, ["15", "BAROUGHTPRES", "first 15", "OE"]);
    let waiting = "SELECT COUNT(DISTINCT no_d_id) FROM new_order WHERE no_w_id = 2";
    let (districts, queue) = (number(server, "tpcc", waiting), "SELECT COUNT(*) FROM new_order");
    let before = number(server, "tpcc", queue);
    hammerdb(server, &format!("CALL DELIVERY(2, 7, {NOW}); SELECT 1;"));
    assert_eq!(number(server, "tpcc", queue), before - districts, "one order of every district");
    assert!(number(server, "tpcc", "SELECT COUNT(*) FROM orders WHERE o_carrier_id = 7 AND o_w_id = 2") >= districts);
    let low = hammerdb(server, "CALL SLEV(1, 1, 20, @low); SELECT @low;");
    assert!(low[0].parse::<u32>().is_ok(), "{low:?}");
}

fn new_order(server: &MariaDb) {
    let mut rolled_back = 0;
    for _ in 0..20 {
        let next = number(server, "tpcc", "SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 3");
        let result = hammerdb(
            server,
            &format!(
                "SET @next_o_id = 0;
                 CALL NEWORD(1, 2, 3, 42, 10, @disc, @last, @credit, @dtax, @wtax, @next_o_id, {NOW});
                 SELECT @next_o_id, @disc, @last, @credit, @dtax, @wtax;"
            ),
        );
        if result[0] == "NULL" {
            rolled_back += 1;
            continue;
        }
        assert_eq!(result, [&next.to_string(), "0.1000", "BARPRESOUGHT", "GC", "0.1000", "0.1000"]);
        let order = format!(
            "SELECT o_ol_cnt FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = {next} AND o_c_id = 42
               AND o_entry_d = '2026-07-03 12:34:56'"
        );
        assert_eq!(number(server, "tpcc", &order), 10, "it is committed when its session is gone");
    }
    assert!(rolled_back <= 3, "{rolled_back} of 20 rolled back");
}

fn payment(server: &MariaDb) {
    let values = "SET @p_c_id = 30, @p_c_last = '', @p_c_credit = '0', @p_c_balance = 0;";
    let outs = "@w1, @w2, @wc, @ws, @wz, @d1, @d2, @dc, @ds, @dz, @first, @middle, @c1, @c2, @cc, @cs, @cz, @phone, \
                @since, @p_c_credit, @lim, @discount, @p_c_balance, @data";
    let balance = "SELECT c_balance * 100 FROM customer WHERE c_w_id = 2 AND c_d_id = 5 AND c_id = 30";
    let before: f64 = server.sql(&format!("USE tpcc; {balance}")).unwrap().trim().parse().unwrap();
    let result = hammerdb(
        server,
        &format!(
            "{values} CALL PAYMENT(1, 4, 2, 5, @p_c_id, 0, 12.34, @p_c_last, {outs}, {NOW});
             SELECT @p_c_last, @p_c_credit, @p_c_balance * 100, LEFT(@data, 22);"
        ),
    );
    assert_eq!((result[0].as_str(), result[1].as_str()), ("BARABLEEING", "BC"));
    assert_eq!(result[2].parse::<f64>().unwrap(), before - 1234.0);
    assert_eq!(result[3], "30 5 2 4 1 12.34 | xxx");
    let after: f64 = server.sql(&format!("USE tpcc; {balance}")).unwrap().trim().parse().unwrap();
    assert_eq!(after, before - 1234.0, "it is committed when its session is gone");
    let history = "SELECT COUNT(*) FROM history WHERE h_w_id = 1 AND h_d_id = 4 AND h_c_w_id = 2 AND h_c_d_id = 5
                     AND h_c_id = 30 AND h_data = 'house 1    part 4' AND h_date = '2026-07-03 12:34:56'";
    assert_eq!(number(server, "tpcc", history), 1);
}

/// A caller has to see what failed, and must not find a transaction open.
pub fn failures_reach_the_caller(server: &MariaDb) {
    let before = orders(server, "tpcc");
    for (call, words) in [
        ("CALL NEWORD(1, 2, 3, 9999, 10, @a, @b, @c, @d, @e, @f, NOW())", "NEWORD: no such district or customer"),
        ("CALL NEWORD(9, 9, 3, 1, 10, @a, @b, @c, @d, @e, @f, NOW())", "NEWORD: no such district or customer"),
        ("CALL OSTAT(1, 1, @nobody, 0, @a, @b, @c, @d, @e, @f, @g)", "OSTAT: no such customer"),
        ("CALL SLEV(9, 1, 15, @a)", "SLEV: no such district"),
    ] {
        let error = format!("{:#}", server.sql(&format!("USE tpcc; SET autocommit = 0; {call}")).unwrap_err());
        assert!(error.contains("45000") && error.contains(words), "{call}: {error}");
    }
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX";
    assert_eq!((orders(server, "tpcc"), number(server, "tpcc", open)), (before, 0));
}

/// A procedure of ours that behaves as HammerDB's: it always gives back a number, and writes the order after its lines,
/// so that MariaDB counts 4n + 5 rows of a call that stays and 4n - 1 of one that is rolled back. That is one in five
/// here.
const UNTOLD: &str = "
CREATE PROCEDURE NEWORD (
  IN no_w_id INT, IN no_max_w_id INT, IN no_d_id INT, IN no_c_id INT, IN no_o_ol_cnt INT,
  OUT no_c_discount DECIMAL(4,4), OUT no_c_last VARCHAR(16), OUT no_c_credit VARCHAR(2),
  OUT no_d_tax DECIMAL(4,4), OUT no_w_tax DECIMAL(4,4), INOUT no_d_next_o_id INT, IN `timestamp` DATETIME)
BEGIN
  DECLARE absent INT DEFAULT 0;
  DECLARE line INT DEFAULT 1;
  DECLARE item_no, in_stock INT;
  DECLARE price DECIMAL(5,2);
  DECLARE rolls_back INT DEFAULT RAND() < 0.2;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  START TRANSACTION;
  SELECT d_next_o_id, d_tax INTO no_d_next_o_id, no_d_tax FROM district
    WHERE d_w_id = no_w_id AND d_id = no_d_id FOR UPDATE;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = no_w_id AND d_id = no_d_id;
  SELECT c_discount, c_last, c_credit, w_tax INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = no_w_id AND c_d_id = no_d_id AND c_id = no_c_id;
  WHILE line <= no_o_ol_cnt AND NOT absent DO
    SET item_no = IF(rolls_back AND line = no_o_ol_cnt, 100001, 1 + FLOOR(RAND() * 100000));
    SELECT i_price INTO price FROM item WHERE i_id = item_no;
    IF NOT absent THEN
      SELECT s_quantity INTO in_stock FROM stock WHERE s_w_id = no_w_id AND s_i_id = item_no FOR UPDATE;
      UPDATE stock SET s_quantity = IF(in_stock > 11, in_stock - 1, in_stock + 80), s_ytd = s_ytd + 1,
        s_order_cnt = s_order_cnt + 1 WHERE s_w_id = no_w_id AND s_i_id = item_no;
      INSERT INTO order_line VALUES (no_d_next_o_id, no_d_id, no_w_id, line, item_no, NULL, price, no_w_id, 1, 'x');
      SET line = line + 1;
    END IF;
  END WHILE;
  IF absent THEN
    ROLLBACK;
  ELSE
    INSERT INTO orders VALUES (no_d_next_o_id, no_d_id, no_w_id, no_c_id, NULL, no_o_ol_cnt, 1, `timestamp`);
    INSERT INTO new_order VALUES (no_d_next_o_id, no_d_id, no_w_id);
    COMMIT;
  END IF;
END;
";

/// Puts that procedure where this program's own was.
pub fn take_the_place_of_neword(server: &MariaDb, database: &str) {
    server.sql(&format!("DROP PROCEDURE {database}.NEWORD")).expect("a procedure that is there");
    create_procedure(server, database, UNTOLD);
}
