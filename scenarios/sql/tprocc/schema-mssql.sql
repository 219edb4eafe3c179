-- The tables of TPROC-C on SQL Server, in the schema dbo: names, columns and types as HammerDB has them. The padding
-- keeps rows that are updated all the time on pages of their own, NULL or not; Babelfish's bulk load leaves it NULL. Rows
-- are loaded in the order of the clustered indexes, which are there from the beginning; the others are built afterwards.

-- name: warehouse
IF OBJECT_ID('dbo.warehouse', 'U') IS NULL
CREATE TABLE dbo.warehouse (
  w_id int NOT NULL,
  w_ytd money NULL,
  w_tax smallmoney NULL,
  w_name char(10) NULL,
  w_street_1 char(20) NULL,
  w_street_2 char(20) NULL,
  w_city char(20) NULL,
  w_state char(2) NULL,
  w_zip char(9) NULL,
  padding char(4000) NULL DEFAULT REPLICATE('x', 4000),
  CONSTRAINT pk_warehouse PRIMARY KEY CLUSTERED (w_id)
)

-- name: district
IF OBJECT_ID('dbo.district', 'U') IS NULL
CREATE TABLE dbo.district (
  d_id tinyint NOT NULL,
  d_w_id int NOT NULL,
  d_ytd money NOT NULL,
  d_next_o_id int NULL,
  d_tax smallmoney NULL,
  d_name char(10) NULL,
  d_street_1 char(20) NULL,
  d_street_2 char(20) NULL,
  d_city char(20) NULL,
  d_state char(2) NULL,
  d_zip char(9) NULL,
  padding char(6000) NULL DEFAULT REPLICATE('X', 6000),
  CONSTRAINT pk_district PRIMARY KEY CLUSTERED (d_w_id, d_id)
)

-- name: customer
IF OBJECT_ID('dbo.customer', 'U') IS NULL
CREATE TABLE dbo.customer (
  c_id int NOT NULL,
  c_d_id tinyint NOT NULL,
  c_w_id int NOT NULL,
  c_discount smallmoney NULL,
  c_credit_lim money NULL,
  c_last char(16) NULL,
  c_first char(16) NULL,
  c_credit char(2) NULL,
  c_balance money NULL,
  c_ytd_payment money NULL,
  c_payment_cnt smallint NULL,
  c_delivery_cnt smallint NULL,
  c_street_1 char(20) NULL,
  c_street_2 char(20) NULL,
  c_city char(20) NULL,
  c_state char(2) NULL,
  c_zip char(9) NULL,
  c_phone char(16) NULL,
  c_since datetime NULL,
  c_middle char(2) NULL,
  c_data char(500) NULL,
  CONSTRAINT customer_i1 PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id)
)

-- name: history
IF OBJECT_ID('dbo.history', 'U') IS NULL
CREATE TABLE dbo.history (
  h_c_id int NULL,
  h_c_d_id tinyint NULL,
  h_c_w_id int NULL,
  h_d_id tinyint NULL,
  h_w_id int NULL,
  h_date datetime NULL,
  h_amount smallmoney NULL,
  h_data char(24) NULL
)

-- name: history_key
IF NOT EXISTS (
  SELECT 1 FROM sys.index_columns
  WHERE object_id = OBJECT_ID('dbo.history') AND COL_NAME(object_id, column_id) = 'h_c_w_id' AND key_ordinal = 1
)
CREATE CLUSTERED INDEX history_i1 ON dbo.history (h_c_w_id, h_date, h_c_d_id, h_c_id, h_amount)

-- name: item
IF OBJECT_ID('dbo.item', 'U') IS NULL
CREATE TABLE dbo.item (
  i_id int NOT NULL,
  i_name char(24) NULL,
  i_price smallmoney NULL,
  i_data char(50) NULL,
  i_im_id int NULL,
  CONSTRAINT pk_item PRIMARY KEY CLUSTERED (i_id)
)

-- name: new_order
IF OBJECT_ID('dbo.new_order', 'U') IS NULL
CREATE TABLE dbo.new_order (
  no_o_id int NOT NULL,
  no_d_id tinyint NOT NULL,
  no_w_id int NOT NULL,
  CONSTRAINT new_order_i1 PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id)
)

-- name: orders
IF OBJECT_ID('dbo.orders', 'U') IS NULL
CREATE TABLE dbo.orders (
  o_id int NOT NULL,
  o_d_id tinyint NOT NULL,
  o_w_id int NOT NULL,
  o_c_id int NOT NULL,
  o_carrier_id tinyint NULL,
  o_ol_cnt tinyint NULL,
  o_all_local tinyint NULL,
  o_entry_d datetime NULL,
  CONSTRAINT orders_i1 PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id)
)

-- name: order_line
IF OBJECT_ID('dbo.order_line', 'U') IS NULL
CREATE TABLE dbo.order_line (
  ol_o_id int NOT NULL,
  ol_d_id tinyint NOT NULL,
  ol_w_id int NOT NULL,
  ol_number tinyint NOT NULL,
  ol_i_id int NULL,
  ol_delivery_d datetime NULL,
  ol_amount smallmoney NULL,
  ol_supply_w_id int NULL,
  ol_quantity smallint NULL,
  ol_dist_info char(24) NULL,
  CONSTRAINT order_line_i1 PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id, ol_o_id, ol_number)
)

-- name: stock
IF OBJECT_ID('dbo.stock', 'U') IS NULL
CREATE TABLE dbo.stock (
  s_i_id int NOT NULL,
  s_w_id int NOT NULL,
  s_quantity smallint NOT NULL,
  s_ytd int NOT NULL,
  s_order_cnt smallint NULL,
  s_remote_cnt smallint NULL,
  s_data char(50) NULL,
  s_dist_01 char(24) NULL,
  s_dist_02 char(24) NULL,
  s_dist_03 char(24) NULL,
  s_dist_04 char(24) NULL,
  s_dist_05 char(24) NULL,
  s_dist_06 char(24) NULL,
  s_dist_07 char(24) NULL,
  s_dist_08 char(24) NULL,
  s_dist_09 char(24) NULL,
  s_dist_10 char(24) NULL,
  CONSTRAINT pk_stock PRIMARY KEY CLUSTERED (s_w_id, s_i_id)
)

-- name: keep_row_locks
-- Babelfish has no lock escalation and refuses the words, which it therefore must not see.
IF SERVERPROPERTY('babelfish') IS NULL
EXEC sys.sp_executesql @statement = N'ALTER TABLE dbo.{table} SET (LOCK_ESCALATION = DISABLE)'

-- name: mark
CREATE TABLE dbo.vufleet_build (build varchar(100) NOT NULL)

-- name: customer_index
CREATE INDEX customer_c_last ON dbo.customer (c_w_id, c_d_id, c_last, c_first, c_id)

-- name: orders_index
CREATE INDEX orders_i2 ON dbo.orders (o_w_id, o_d_id, o_c_id, o_id)

-- name: district_index
CREATE INDEX district_d_id ON dbo.district (d_id)

-- name: count_index
-- Whoever made it, and whatever it is called.
SELECT CASE WHEN EXISTS (
  SELECT 1 FROM sys.index_columns
  WHERE object_id = OBJECT_ID('dbo.{table}') AND COL_NAME(object_id, column_id) = '{column}' AND key_ordinal = {place}
) THEN 1 ELSE 0 END

-- name: count_tables
SELECT COUNT(*) FROM sys.tables WHERE schema_id = SCHEMA_ID('dbo') AND name IN ({names})

-- name: count_procedure
SELECT COUNT(*) FROM sys.procedures WHERE schema_id = SCHEMA_ID('dbo') AND name = '{name}'

-- name: missing_procedures
SELECT wanted.name FROM ({wanted}) AS wanted
WHERE COALESCE(HAS_PERMS_BY_NAME('dbo.' + wanted.name, 'OBJECT', 'EXECUTE'), 0) = 0
