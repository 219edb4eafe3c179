-- What must hold of the rows of TPROC-C [1.2.1, 3.3.2], on any database: queries of the rows of which it does not.
-- {warehouses} stands for their number; {opening} for what a warehouse may have beyond the payments it has received.
-- A CROSS JOIN is an ordinary one that SQLite does not turn round.

-- name: origin
SELECT
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id <= 100) AS early,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id <= 100 AND ol_amount <> 0)
    AS early_priced,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id BETWEEN 2901 AND 3000) AS late,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id BETWEEN 2901 AND 3000
    AND ol_amount <> 0) AS late_priced,
  (SELECT COUNT(*) FROM history) AS payments,
  (SELECT COUNT(*) FROM district WHERE d_next_o_id > 3001) AS ordering,
  (SELECT COUNT(*) FROM district JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id AND o_id = 2101
    WHERE o_carrier_id IS NOT NULL) AS delivering

-- name: count
SELECT COUNT(*) FROM {table}

-- name: districts
SELECT w_id, districts FROM (
  SELECT w_id, (SELECT COUNT(*) FROM district WHERE d_w_id = w_id AND d_id BETWEEN 1 AND 10) AS districts FROM warehouse
) AS counted WHERE districts <> 10 ORDER BY w_id LIMIT 6

-- name: customers
SELECT d_w_id, d_id, customers FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM customer WHERE c_w_id = d_w_id AND c_d_id = d_id AND c_id BETWEEN 1 AND 3000) AS customers
  FROM district
) AS counted WHERE customers <> 3000 ORDER BY d_w_id, d_id LIMIT 6

-- name: stocks
SELECT w_id, stocks FROM (
  SELECT w_id, (SELECT COUNT(*) FROM stock WHERE s_w_id = w_id AND s_i_id BETWEEN 1 AND 100000) AS stocks
  FROM warehouse
) AS counted WHERE stocks <> 100000 ORDER BY w_id LIMIT 6

-- name: orders
SELECT d_w_id, d_id, d_next_o_id, entered FROM (
  SELECT d_w_id, d_id, d_next_o_id, (SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS entered
  FROM district
) AS counted WHERE entered < 3000 OR COALESCE(d_next_o_id - 1 <> entered, 1) ORDER BY d_w_id, d_id LIMIT 6

-- name: new_orders
SELECT d_w_id, d_id, waiting FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id AND no_o_id BETWEEN 2101 AND 3000)
      AS waiting
  FROM district
) AS counted WHERE waiting <> 900 ORDER BY d_w_id, d_id LIMIT 6

-- name: lines
SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM orders
WHERE COALESCE(o_ol_cnt NOT BETWEEN 5 AND 15, 1) ORDER BY o_w_id, o_d_id, o_id LIMIT 6

-- name: history
SELECT payments FROM (SELECT COUNT(*) AS payments FROM history) AS counted WHERE payments < 30000 * {warehouses}

-- name: orphans
SELECT no_w_id, no_d_id, no_o_id
FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE o_id IS NULL ORDER BY no_w_id, no_d_id, no_o_id LIMIT 6

-- name: permutation
SELECT o_w_id, o_d_id, COUNT(DISTINCT o_c_id) AS customers FROM orders WHERE o_id <= 3000
GROUP BY o_w_id, o_d_id HAVING COUNT(DISTINCT o_c_id) <> 3000 ORDER BY o_w_id, o_d_id LIMIT 6

-- name: condition_1
SELECT w_id, w_ytd, districts FROM (
  SELECT w_id, w_ytd, (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id) AS districts FROM warehouse
) AS compared
WHERE COALESCE(ABS(w_ytd - districts) >= 0.005 AND ABS(w_ytd - districts - {opening}) >= 0.005, 1)
ORDER BY w_id LIMIT 6

-- name: condition_2
SELECT d_w_id, d_id, d_next_o_id, last_order, last_new_order FROM (
  SELECT d_w_id, d_id, d_next_o_id,
    (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS last_order,
    (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS last_new_order
  FROM district
) AS compared
WHERE COALESCE(d_next_o_id - 1 <> last_order, 1) OR COALESCE(d_next_o_id - 1 <> last_new_order, 0)
ORDER BY d_w_id, d_id LIMIT 6

-- name: condition_3
SELECT no_w_id, no_d_id, MIN(no_o_id) AS oldest, MAX(no_o_id) AS newest, COUNT(*) AS waiting
FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)
ORDER BY no_w_id, no_d_id LIMIT 6

-- name: condition_4
SELECT d_w_id, d_id, ordered, there FROM (
  SELECT d_w_id, d_id,
    COALESCE((SELECT SUM(o_ol_cnt) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id), 0) AS ordered,
    (SELECT COUNT(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id) AS there
  FROM district
) AS compared WHERE ordered <> there ORDER BY d_w_id, d_id LIMIT 6

-- name: condition_5
SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) ORDER BY o_w_id, o_d_id, o_id LIMIT 6

-- name: condition_6
SELECT o_w_id, o_d_id, o_id, o_ol_cnt, there FROM (
  SELECT o_w_id, o_d_id, o_id, o_ol_cnt,
    (SELECT COUNT(*) FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id) AS there
  FROM orders
) AS compared WHERE COALESCE(o_ol_cnt <> there, 1) ORDER BY o_w_id, o_d_id, o_id LIMIT 6

-- name: condition_7
SELECT o_w_id, o_d_id, o_id, ol_number, ol_delivery_d, o_carrier_id
FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL) ORDER BY o_w_id, o_d_id, o_id, ol_number LIMIT 6

-- name: condition_8
SELECT w_id, w_ytd, payments
FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS payments FROM history GROUP BY h_w_id) AS paid ON h_w_id = w_id
WHERE COALESCE(ABS(w_ytd - payments) >= 0.005 AND ABS(w_ytd - payments - {opening}) >= 0.005, 1)
ORDER BY w_id LIMIT 6

-- name: condition_9
SELECT d_w_id, d_id, d_ytd, payments
FROM district LEFT JOIN (
  SELECT h_w_id, h_d_id, SUM(h_amount) AS payments FROM history GROUP BY h_w_id, h_d_id
) AS paid ON h_w_id = d_w_id AND h_d_id = d_id
WHERE COALESCE(ABS(d_ytd - payments) >= 0.005, 1) ORDER BY d_w_id, d_id LIMIT 6

-- name: condition_10
SELECT c_w_id, c_d_id, c_id, c_balance, delivered, payments FROM (
  SELECT c_w_id, c_d_id, c_id, c_balance,
    COALESCE((SELECT SUM(ol_amount)
      FROM orders CROSS JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL), 0) AS delivered,
    COALESCE(paid, 0) AS payments
  FROM customer LEFT JOIN (
    SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
  ) AS payers ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
) AS compared
WHERE COALESCE(ABS(c_balance - delivered + payments) >= 0.005, 1) ORDER BY c_w_id, c_d_id, c_id LIMIT 6

-- name: condition_11
SELECT d_w_id, d_id, entered, waiting FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS entered,
    (SELECT COUNT(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS waiting
  FROM district
) AS compared WHERE entered - waiting <> 2100 ORDER BY d_w_id, d_id LIMIT 6

-- name: condition_12
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered FROM (
  SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment,
    COALESCE((SELECT SUM(ol_amount)
      FROM orders CROSS JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id AND ol_delivery_d IS NOT NULL), 0) AS delivered
  FROM customer
) AS compared
WHERE COALESCE(ABS(c_balance + c_ytd_payment - delivered) >= 0.005, 1) ORDER BY c_w_id, c_d_id, c_id LIMIT 6
