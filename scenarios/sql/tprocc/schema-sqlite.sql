-- The tables of TPROC-C on SQLite: names and columns as everywhere. A key without rowid keeps the rows in its order.

-- name: warehouse
CREATE TABLE IF NOT EXISTS warehouse (
  w_id INTEGER NOT NULL PRIMARY KEY,
  w_ytd DECIMAL(12,2),
  w_tax DECIMAL(4,4),
  w_name VARCHAR(10),
  w_street_1 VARCHAR(20),
  w_street_2 VARCHAR(20),
  w_city VARCHAR(20),
  w_state CHAR(2),
  w_zip CHAR(9)
)

-- name: district
CREATE TABLE IF NOT EXISTS district (
  d_id INTEGER NOT NULL,
  d_w_id INTEGER NOT NULL,
  d_ytd DECIMAL(12,2),
  d_next_o_id INTEGER,
  d_tax DECIMAL(4,4),
  d_name VARCHAR(10),
  d_street_1 VARCHAR(20),
  d_street_2 VARCHAR(20),
  d_city VARCHAR(20),
  d_state CHAR(2),
  d_zip CHAR(9),
  PRIMARY KEY (d_w_id, d_id)
) WITHOUT ROWID

-- name: customer
CREATE TABLE IF NOT EXISTS customer (
  c_id INTEGER NOT NULL,
  c_d_id INTEGER NOT NULL,
  c_w_id INTEGER NOT NULL,
  c_discount DECIMAL(4,4),
  c_credit_lim DECIMAL(12,2),
  c_last VARCHAR(16),
  c_first VARCHAR(16),
  c_credit CHAR(2),
  c_balance DECIMAL(12,2),
  c_ytd_payment DECIMAL(12,2),
  c_payment_cnt INTEGER,
  c_delivery_cnt INTEGER,
  c_street_1 VARCHAR(20),
  c_street_2 VARCHAR(20),
  c_city VARCHAR(20),
  c_state CHAR(2),
  c_zip CHAR(9),
  c_phone CHAR(16),
  c_since DATETIME,
  c_middle CHAR(2),
  c_data VARCHAR(500),
  PRIMARY KEY (c_w_id, c_d_id, c_id)
) WITHOUT ROWID

-- name: history
CREATE TABLE IF NOT EXISTS history (
  h_c_id INTEGER,
  h_c_d_id INTEGER,
  h_c_w_id INTEGER,
  h_d_id INTEGER,
  h_w_id INTEGER,
  h_date DATETIME,
  h_amount DECIMAL(6,2),
  h_data VARCHAR(24)
)

-- name: item
CREATE TABLE IF NOT EXISTS item (
  i_id INTEGER NOT NULL PRIMARY KEY,
  i_name VARCHAR(24),
  i_price DECIMAL(5,2),
  i_data VARCHAR(50),
  i_im_id INTEGER
)

-- name: new_order
CREATE TABLE IF NOT EXISTS new_order (
  no_o_id INTEGER NOT NULL,
  no_d_id INTEGER NOT NULL,
  no_w_id INTEGER NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) WITHOUT ROWID

-- name: orders
CREATE TABLE IF NOT EXISTS orders (
  o_id INTEGER NOT NULL,
  o_d_id INTEGER NOT NULL,
  o_w_id INTEGER NOT NULL,
  o_c_id INTEGER,
  o_carrier_id INTEGER,
  o_ol_cnt INTEGER,
  o_all_local INTEGER,
  o_entry_d DATETIME,
  PRIMARY KEY (o_w_id, o_d_id, o_id)
) WITHOUT ROWID

-- name: order_line
CREATE TABLE IF NOT EXISTS order_line (
  ol_o_id INTEGER NOT NULL,
  ol_d_id INTEGER NOT NULL,
  ol_w_id INTEGER NOT NULL,
  ol_number INTEGER NOT NULL,
  ol_i_id INTEGER,
  ol_delivery_d DATETIME,
  ol_amount INTEGER,
  ol_supply_w_id INTEGER,
  ol_quantity INTEGER,
  ol_dist_info CHAR(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) WITHOUT ROWID

-- name: stock
CREATE TABLE IF NOT EXISTS stock (
  s_i_id INTEGER NOT NULL,
  s_w_id INTEGER NOT NULL,
  s_quantity INTEGER,
  s_ytd INTEGER,
  s_order_cnt INTEGER,
  s_remote_cnt INTEGER,
  s_data VARCHAR(50),
  s_dist_01 CHAR(24),
  s_dist_02 CHAR(24),
  s_dist_03 CHAR(24),
  s_dist_04 CHAR(24),
  s_dist_05 CHAR(24),
  s_dist_06 CHAR(24),
  s_dist_07 CHAR(24),
  s_dist_08 CHAR(24),
  s_dist_09 CHAR(24),
  s_dist_10 CHAR(24),
  PRIMARY KEY (s_w_id, s_i_id)
) WITHOUT ROWID

-- name: mark
CREATE TABLE vufleet_build (build VARCHAR(100) NOT NULL)

-- name: customer_index
CREATE INDEX customer_c_last ON customer (c_w_id, c_d_id, c_last, c_first)

-- name: orders_index
CREATE INDEX orders_i2 ON orders (o_w_id, o_d_id, o_c_id, o_id)

-- name: count_index
SELECT COUNT(*) > 0 FROM sqlite_master WHERE type = 'index' AND tbl_name = '{table}' AND sql LIKE '%{column}%'

-- name: count_tables
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ({names})
