-- TPROC-C by statements on MySQL, MariaDB and compatibles. What is read in order to be changed, or has to be the last
-- committed state, is read FOR UPDATE: a plain read sees the state of the transaction's first one.

-- name: customer_terms
SELECT c.c_discount, c.c_last, c.c_credit, w.w_tax FROM customer c JOIN warehouse w ON w.w_id = c.c_w_id
WHERE c.c_w_id = :warehouse AND c.c_d_id = :district AND c.c_id = :customer;

-- name: next_order
SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = :warehouse AND d_id = :district FOR UPDATE;

-- name: take_order_number
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :warehouse AND d_id = :district;

-- name: insert_order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
VALUES (:order, :district, :warehouse, :customer, NULL, :lines, :all_local, NOW());

-- name: insert_new_order
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:order, :district, :warehouse);

-- name: item
SELECT i_price, i_name, i_data FROM item WHERE i_id = :item;

-- name: stock
SELECT s_quantity, s_data, ELT(:district, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
  s_dist_08, s_dist_09, s_dist_10) FROM stock WHERE s_w_id = :supplier AND s_i_id = :item FOR UPDATE;

-- name: take_stock
UPDATE stock SET s_quantity = s_quantity - :quantity + CASE WHEN s_quantity >= :quantity + 10 THEN 0 ELSE 91 END,
  s_ytd = s_ytd + :quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote
WHERE s_w_id = :supplier AND s_i_id = :item;

-- name: insert_line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_delivery_d, ol_amount, ol_supply_w_id,
  ol_quantity, ol_dist_info) VALUES (:order, :district, :warehouse, :number, :item, NULL, :amount, :supplier, :quantity,
  :dist_info);

-- name: pay_warehouse
UPDATE warehouse SET w_ytd = w_ytd + :amount WHERE w_id = :warehouse;

-- name: warehouse
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = :warehouse;

-- name: pay_district
UPDATE district SET d_ytd = d_ytd + :amount WHERE d_w_id = :warehouse AND d_id = :district;

-- name: district
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district
WHERE d_w_id = :warehouse AND d_id = :district;

-- name: customers_by_name
SELECT c_id FROM customer WHERE c_w_id = :warehouse AND c_d_id = :district AND c_last = :last ORDER BY c_first;

-- name: customer
SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
  c_credit_lim, c_discount, c_balance FROM customer
WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer FOR UPDATE;

-- name: pay
UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount,
  c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;

-- name: pay_with_bad_credit
UPDATE customer SET c_balance = c_balance - :amount, c_ytd_payment = c_ytd_payment + :amount,
  c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(:entry, c_data), 500)
WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;

-- name: insert_history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (:customer, :customer_district, :customer_warehouse, :district, :warehouse, NOW(), :amount, :data);

-- name: customer_balance
SELECT c_balance, c_first, c_middle, c_last FROM customer
WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;

-- name: last_order
SELECT o_id, o_entry_d, o_carrier_id FROM orders
WHERE o_w_id = :warehouse AND o_d_id = :district AND o_c_id = :customer ORDER BY o_id DESC LIMIT 1;

-- name: order_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
WHERE ol_w_id = :warehouse AND ol_d_id = :district AND ol_o_id = :order;

-- name: oldest_new_order
SELECT no_o_id FROM new_order WHERE no_w_id = :warehouse AND no_d_id = :district
ORDER BY no_o_id LIMIT 1 FOR UPDATE;

-- name: delete_new_order
DELETE FROM new_order WHERE no_w_id = :warehouse AND no_d_id = :district AND no_o_id = :order;

-- name: order_customer
SELECT o_c_id FROM orders WHERE o_w_id = :warehouse AND o_d_id = :district AND o_id = :order FOR UPDATE;

-- name: set_carrier
UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :warehouse AND o_d_id = :district AND o_id = :order;

-- name: deliver_lines
UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = :warehouse AND ol_d_id = :district AND ol_o_id = :order;

-- name: order_total
SELECT SUM(ol_amount) FROM order_line
WHERE ol_w_id = :warehouse AND ol_d_id = :district AND ol_o_id = :order FOR UPDATE;

-- name: credit_customer
UPDATE customer SET c_balance = c_balance + :total, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = :warehouse AND c_d_id = :district AND c_id = :customer;

-- name: orders_so_far
SELECT d_next_o_id FROM district WHERE d_w_id = :warehouse AND d_id = :district;

-- name: low_stock
SELECT COUNT(DISTINCT s.s_i_id) FROM order_line l JOIN stock s ON s.s_w_id = l.ol_w_id AND s.s_i_id = l.ol_i_id
WHERE l.ol_w_id = :warehouse AND l.ol_d_id = :district AND l.ol_o_id >= :first AND l.ol_o_id < :next
  AND s.s_quantity < :threshold;
