-- TPROC-C by statements on SQL Server, at the isolation level that the database is set to, READ COMMITTED unless somebody
-- has changed it: a plain read holds no lock when it is done. What is to be changed is therefore changed first, from what the
-- row holds by then, and read afterwards. (An OUTPUT clause would tell in one statement, but Babelfish fills it with the row as
-- it was when the statement began: sessions that wait for each other then take the same number.) Types are those of the
-- columns, so that no index is passed over for a conversion.

-- name: customer_terms
SELECT c.c_discount, c.c_last, c.c_credit, w.w_tax FROM customer AS c JOIN warehouse AS w ON w.w_id = c.c_w_id
WHERE c.c_w_id = :warehouse::int AND c.c_d_id = :district::tinyint AND c.c_id = :customer::int;

-- name: next_order
-- Sent after the number was taken.
SELECT d_next_o_id - 1 AS o_id, d_tax FROM district WHERE d_w_id = :warehouse::int AND d_id = :district::tinyint;

-- name: take_order_number
UPDATE district SET d_next_o_id = d_next_o_id + 1
WHERE d_w_id = :warehouse::int AND d_id = :district::tinyint;

-- name: insert_order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
VALUES (:order::int, :district::tinyint, :warehouse::int, :customer::int, NULL, :lines::tinyint, :all_local::tinyint,
  GETUTCDATE());

-- name: insert_new_order
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:order::int, :district::tinyint, :warehouse::int);

-- name: item
SELECT i_price, i_name, i_data FROM item WHERE i_id = :item::int;

-- name: stock
SELECT s_quantity, s_data, CASE :district::tinyint WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
  WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
  WHEN 9 THEN s_dist_09 ELSE s_dist_10 END AS dist_info FROM stock WHERE s_w_id = :supplier::int AND s_i_id = :item::int;

-- name: take_stock
UPDATE stock SET
  s_quantity = s_quantity - :quantity::smallint + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
  s_ytd = s_ytd + :quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote::smallint
WHERE s_w_id = :supplier::int AND s_i_id = :item::int;

-- name: insert_line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_delivery_d, ol_amount, ol_supply_w_id,
  ol_quantity, ol_dist_info) VALUES (:order::int, :district::tinyint, :warehouse::int, :number::tinyint, :item::int,
  NULL, :amount::smallmoney, :supplier::int, :quantity::smallint, :dist_info::char(24));

-- name: pay_warehouse
UPDATE warehouse SET w_ytd = w_ytd + :amount::money WHERE w_id = :warehouse::int;

-- name: warehouse
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = :warehouse::int;

-- name: pay_district
UPDATE district SET d_ytd = d_ytd + :amount::money WHERE d_w_id = :warehouse::int AND d_id = :district::tinyint;

-- name: district
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district
WHERE d_w_id = :warehouse::int AND d_id = :district::tinyint;

-- name: customers_by_name
SELECT c_id FROM customer
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_last = :last::char(16) ORDER BY c_first;

-- name: customer
SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
  c_credit_lim, c_discount, c_balance FROM customer
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_id = :customer::int;

-- name: pay
UPDATE customer SET c_balance = c_balance - :amount::money, c_ytd_payment = c_ytd_payment + :amount,
  c_payment_cnt = c_payment_cnt + 1
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_id = :customer::int;

-- name: pay_with_bad_credit
UPDATE customer SET c_balance = c_balance - :amount::money, c_ytd_payment = c_ytd_payment + :amount,
  c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(:entry::varchar(100), c_data), 500)
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_id = :customer::int;

-- name: insert_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (:customer::int, :customer_district::tinyint, :customer_warehouse::int, :district::tinyint, :warehouse::int,
  GETUTCDATE(), :amount::smallmoney, :data::char(24));

-- name: customer_balance
SELECT c_balance, c_first, c_middle, c_last FROM customer
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_id = :customer::int;

-- name: last_order
SELECT TOP (1) o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = :warehouse::int AND o_d_id = :district::tinyint AND o_c_id = :customer::int ORDER BY o_id DESC;

-- name: order_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = :warehouse::int AND ol_d_id = :district::tinyint AND ol_o_id = :order::int;

-- name: oldest_new_order
SELECT TOP (1) no_o_id FROM new_order WHERE no_w_id = :warehouse::int AND no_d_id = :district::tinyint
ORDER BY no_o_id;

-- name: delete_new_order
DELETE FROM new_order WHERE no_w_id = :warehouse::int AND no_d_id = :district::tinyint AND no_o_id = :order::int;

-- name: order_customer
SELECT o_c_id FROM orders WHERE o_w_id = :warehouse::int AND o_d_id = :district::tinyint AND o_id = :order::int;

-- name: set_carrier
UPDATE orders SET o_carrier_id = :carrier::tinyint
WHERE o_w_id = :warehouse::int AND o_d_id = :district::tinyint AND o_id = :order::int;

-- name: deliver_lines
UPDATE order_line SET ol_delivery_d = GETUTCDATE()
WHERE ol_w_id = :warehouse::int AND ol_d_id = :district::tinyint AND ol_o_id = :order::int;

-- name: order_total
SELECT SUM(ol_amount) FROM order_line
WHERE ol_w_id = :warehouse::int AND ol_d_id = :district::tinyint AND ol_o_id = :order::int;

-- name: credit_customer
UPDATE customer SET c_balance = c_balance + :total::money, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = :warehouse::int AND c_d_id = :district::tinyint AND c_id = :customer::int;

-- name: orders_so_far
SELECT d_next_o_id FROM district WHERE d_w_id = :warehouse::int AND d_id = :district::tinyint;

-- name: low_stock
SELECT COUNT(DISTINCT s.s_i_id) FROM order_line AS l JOIN stock AS s ON s.s_w_id = l.ol_w_id AND s.s_i_id = l.ol_i_id
WHERE l.ol_w_id = :warehouse::int AND l.ol_d_id = :district::tinyint AND l.ol_o_id >= :first::int
  AND l.ol_o_id < :next::int AND s.s_quantity < :threshold::smallint;
