-- What must hold of the rows of TPROC-C [1.2.1, 3.3.2], on SQL Server: queries of the rows of which it does not. A CASE
-- stands for the comparison that is not known to hold, NULL included. Money is exact, and so are its sums.
-- {warehouses} stands for the number of warehouses; {opening} for what a warehouse may have beyond the payments it has
-- received.

-- name: origin
SELECT
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id <= 100) AS early,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id <= 100 AND ol_amount <> 0)
    AS early_priced,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id BETWEEN 2901 AND 3000) AS late,
  (SELECT COUNT(*) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id BETWEEN 2901 AND 3000
    AND ol_amount <> 0) AS late_priced,
  (SELECT COUNT_BIG(*) FROM history) AS payments,
  (SELECT COUNT(*) FROM district WHERE d_next_o_id > 3001) AS ordering,
  (SELECT COUNT(*) FROM district JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id AND o_id = 2101
    WHERE o_carrier_id IS NOT NULL) AS delivering

-- name: count
SELECT COUNT_BIG(*) FROM {table}

-- name: districts
SELECT TOP (6) w_id, districts FROM (
  SELECT w_id, (SELECT COUNT(*) FROM district WHERE d_w_id = w_id AND d_id BETWEEN 1 AND 10) AS districts FROM warehouse
) AS counted WHERE districts <> 10 ORDER BY w_id

-- name: customers
SELECT TOP (6) d_w_id, d_id, customers FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM customer WHERE c_w_id = d_w_id AND c_d_id = d_id AND c_id BETWEEN 1 AND 3000) AS customers
  FROM district
) AS counted WHERE customers <> 3000 ORDER BY d_w_id, d_id

-- name: stocks
SELECT TOP (6) w_id, stocks FROM (
  SELECT w_id, (SELECT COUNT(*) FROM stock WHERE s_w_id = w_id AND s_i_id BETWEEN 1 AND 100000) AS stocks
  FROM warehouse
) AS counted WHERE stocks <> 100000 ORDER BY w_id

-- name: orders
SELECT TOP (6) d_w_id, d_id, d_next_o_id, entered FROM (
  SELECT d_w_id, d_id, d_next_o_id, (SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS entered
  FROM district
) AS counted WHERE entered < 3000 OR CASE WHEN d_next_o_id - 1 = entered THEN 0 ELSE 1 END = 1 ORDER BY d_w_id, d_id

-- name: new_orders
SELECT TOP (6) d_w_id, d_id, waiting FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id AND no_o_id BETWEEN 2101 AND 3000)
      AS waiting
  FROM district
) AS counted WHERE waiting <> 900 ORDER BY d_w_id, d_id

-- name: lines
SELECT TOP (6) o_w_id, o_d_id, o_id, o_ol_cnt FROM orders
WHERE CASE WHEN o_ol_cnt BETWEEN 5 AND 15 THEN 0 ELSE 1 END = 1 ORDER BY o_w_id, o_d_id, o_id

-- name: history
SELECT payments FROM (SELECT COUNT_BIG(*) AS payments FROM history) AS counted
WHERE payments < 30000 * CAST({warehouses} AS bigint)

-- name: orphans
SELECT TOP (6) no_w_id, no_d_id, no_o_id
FROM new_order LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE o_id IS NULL ORDER BY no_w_id, no_d_id, no_o_id

-- name: permutation
SELECT TOP (6) o_w_id, o_d_id, COUNT(DISTINCT o_c_id) AS customers FROM orders WHERE o_id <= 3000
GROUP BY o_w_id, o_d_id HAVING COUNT(DISTINCT o_c_id) <> 3000 ORDER BY o_w_id, o_d_id

-- name: condition_1
SELECT TOP (6) w_id, w_ytd, districts FROM (
  SELECT w_id, w_ytd, (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id) AS districts FROM warehouse
) AS compared
WHERE CASE WHEN w_ytd = districts OR w_ytd = districts + {opening} THEN 0 ELSE 1 END = 1 ORDER BY w_id

-- name: condition_2
SELECT TOP (6) d_w_id, d_id, d_next_o_id, last_order, last_new_order FROM (
  SELECT d_w_id, d_id, d_next_o_id,
    (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS last_order,
    (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS last_new_order
  FROM district
) AS compared
WHERE CASE WHEN d_next_o_id - 1 = last_order THEN 0 ELSE 1 END = 1 OR d_next_o_id - 1 <> last_new_order
ORDER BY d_w_id, d_id

-- name: condition_3
SELECT TOP (6) no_w_id, no_d_id, MIN(no_o_id) AS oldest, MAX(no_o_id) AS newest, COUNT(*) AS waiting
FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)
ORDER BY no_w_id, no_d_id

-- name: condition_4
SELECT TOP (6) d_w_id, d_id, ordered, there FROM (
  SELECT d_w_id, d_id,
    COALESCE((SELECT SUM(CAST(o_ol_cnt AS bigint)) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id), 0) AS ordered,
    (SELECT COUNT_BIG(*) FROM order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id) AS there
  FROM district
) AS compared WHERE ordered <> there ORDER BY d_w_id, d_id

-- name: condition_5
SELECT TOP (6) o_w_id, o_d_id, o_id, o_carrier_id, no_o_id
FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)
ORDER BY o_w_id, o_d_id, o_id

-- name: condition_6
SELECT TOP (6) o_w_id, o_d_id, o_id, o_ol_cnt, there FROM (
  SELECT o_w_id, o_d_id, o_id, o_ol_cnt,
    (SELECT COUNT(*) FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id) AS there
  FROM orders
) AS compared WHERE CASE WHEN o_ol_cnt = there THEN 0 ELSE 1 END = 1 ORDER BY o_w_id, o_d_id, o_id

-- name: condition_7
SELECT TOP (6) o_w_id, o_d_id, o_id, ol_number, ol_delivery_d, o_carrier_id
FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)
ORDER BY o_w_id, o_d_id, o_id, ol_number

-- name: condition_8
SELECT TOP (6) w_id, w_ytd, payments
FROM warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS payments FROM history GROUP BY h_w_id) AS paid ON h_w_id = w_id
WHERE CASE WHEN w_ytd = payments OR w_ytd = payments + {opening} THEN 0 ELSE 1 END = 1 ORDER BY w_id

-- name: condition_9
SELECT TOP (6) d_w_id, d_id, d_ytd, payments
FROM district LEFT JOIN (
  SELECT h_w_id, h_d_id, SUM(h_amount) AS payments FROM history GROUP BY h_w_id, h_d_id
) AS paid ON h_w_id = d_w_id AND h_d_id = d_id
WHERE CASE WHEN d_ytd = payments THEN 0 ELSE 1 END = 1 ORDER BY d_w_id, d_id

-- name: condition_10
SELECT TOP (6) c_w_id, c_d_id, c_id, c_balance, delivered, payments FROM (
  SELECT c_w_id, c_d_id, c_id, c_balance, COALESCE(received, 0) AS delivered, COALESCE(paid, 0) AS payments
  FROM customer LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS received
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id
  ) AS receivers ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
  LEFT JOIN (
    SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
  ) AS payers ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
) AS compared
WHERE CASE WHEN c_balance = delivered - payments THEN 0 ELSE 1 END = 1 ORDER BY c_w_id, c_d_id, c_id

-- name: condition_11
SELECT TOP (6) d_w_id, d_id, entered, waiting FROM (
  SELECT d_w_id, d_id,
    (SELECT COUNT(*) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS entered,
    (SELECT COUNT(*) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS waiting
  FROM district
) AS compared WHERE entered - waiting <> 2100 ORDER BY d_w_id, d_id

-- name: condition_12
SELECT TOP (6) c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered FROM (
  SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, COALESCE(received, 0) AS delivered
  FROM customer LEFT JOIN (
    SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS received
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id
  ) AS receivers ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
) AS compared
WHERE CASE WHEN c_balance + c_ytd_payment = delivered THEN 0 ELSE 1 END = 1 ORDER BY c_w_id, c_d_id, c_id
