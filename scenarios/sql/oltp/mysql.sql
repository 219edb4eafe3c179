-- The OLTP workload on MySQL, MariaDB and compatibles. {n} stands for the number of a table, counted from 1.

-- name: point_select
SELECT c FROM sbtest{n} WHERE id = :id

-- name: simple_range
SELECT c FROM sbtest{n} WHERE id BETWEEN :first AND :last

-- name: sum_range
SELECT SUM(k) FROM sbtest{n} WHERE id BETWEEN :first AND :last

-- name: order_range
SELECT c FROM sbtest{n} WHERE id BETWEEN :first AND :last ORDER BY c

-- name: distinct_range
SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN :first AND :last ORDER BY c

-- name: index_update
UPDATE sbtest{n} SET k = k + 1 WHERE id = :id

-- name: non_index_update
UPDATE sbtest{n} SET c = :c WHERE id = :id

-- name: delete
DELETE FROM sbtest{n} WHERE id = :id

-- name: insert
INSERT INTO sbtest{n} (id, k, c, pad) VALUES (:id, :k, :c, :pad)

-- name: insert_numbered
INSERT INTO sbtest{n} (k, c, pad) VALUES (:k, :c, :pad)

-- name: create_table
CREATE TABLE sbtest{n} (
  id {id},
  k INTEGER NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  {key}
) ENGINE = {engine}

-- name: create_index
CREATE INDEX k_{n} ON sbtest{n} (k)

-- name: drop_table
DROP TABLE IF EXISTS sbtest{n}

-- name: count_rows
SELECT COUNT(*) FROM sbtest{n}

-- name: smallest_id
SELECT MIN(id) FROM sbtest{n}

-- name: largest_id
SELECT MAX(id) FROM sbtest{n}

-- name: count_index
SELECT COUNT(*) FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = 'sbtest{n}' AND index_name = 'k_{n}'

-- name: count_tables
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({names})
