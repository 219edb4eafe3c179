-- The OLTP workload on SQL Server. {n} stands for the number of a table, counted from 1. Types are declared where the
-- server would otherwise convert a column to compare it, or make a plan for each length of a text.
--
-- Ids number themselves from a sequence, not as an IDENTITY: the workload deletes rows and inserts them anew with the
-- same ids, which an IDENTITY refuses unless each session allows it for one table at a time.

-- name: point_select
SELECT c FROM sbtest{n} WHERE id = :id::int

-- name: simple_range
SELECT c FROM sbtest{n} WHERE id BETWEEN :first::int AND :last::int

-- name: sum_range
SELECT SUM(CAST(k AS bigint)) FROM sbtest{n} WHERE id BETWEEN :first::int AND :last::int

-- name: order_range
SELECT c FROM sbtest{n} WHERE id BETWEEN :first::int AND :last::int ORDER BY c

-- name: distinct_range
SELECT DISTINCT c FROM sbtest{n} WHERE id BETWEEN :first::int AND :last::int ORDER BY c

-- name: index_update
UPDATE sbtest{n} SET k = k + 1 WHERE id = :id::int

-- name: non_index_update
UPDATE sbtest{n} SET c = :c::char(120) WHERE id = :id::int

-- name: delete
DELETE FROM sbtest{n} WHERE id = :id::int

-- name: insert
INSERT INTO sbtest{n} (id, k, c, pad) VALUES (:id::int, :k::int, :c::char(120), :pad::char(60))

-- name: insert_numbered
INSERT INTO sbtest{n} (k, c, pad) VALUES (:k::int, :c::char(120), :pad::char(60))

-- name: create_sequence
CREATE SEQUENCE sbtest{n}_id AS int START WITH {next_id} INCREMENT BY 1 CACHE 1000

-- name: create_table
CREATE TABLE sbtest{n} (
  id {id},
  k int NOT NULL DEFAULT 0,
  c char(120) NOT NULL DEFAULT '',
  pad char(60) NOT NULL DEFAULT ''
)

-- name: create_id_index
CREATE INDEX xid_{n} ON sbtest{n} (id)

-- name: create_index
CREATE INDEX k_{n} ON sbtest{n} (k)

-- name: drop_table
DROP TABLE IF EXISTS sbtest{n}

-- name: drop_sequence
DROP SEQUENCE IF EXISTS sbtest{n}_id

-- name: count_rows
SELECT COUNT_BIG(*) FROM sbtest{n}

-- name: smallest_id
SELECT MIN(id) FROM sbtest{n}

-- name: largest_id
SELECT MAX(id) FROM sbtest{n}

-- name: count_index
-- By its column: Babelfish tells other names than it was given.
SELECT CASE WHEN EXISTS (
  SELECT 1 FROM sys.index_columns
  WHERE object_id = OBJECT_ID('sbtest{n}') AND COL_NAME(object_id, column_id) = 'k' AND key_ordinal = 1
) THEN 1 ELSE 0 END

-- name: count_tables
SELECT COUNT(*) FROM sys.tables WHERE name IN ({names}) AND object_id = OBJECT_ID(name)
