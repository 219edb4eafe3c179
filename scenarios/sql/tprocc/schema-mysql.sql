-- The tables of TPROC-C on MySQL, MariaDB and compatibles: names, columns and types as HammerDB has them. Rows are
-- loaded in the order of the primary keys; the other indexes are built afterwards.

-- name: warehouse
CREATE TABLE IF NOT EXISTS warehouse (
  w_id INT NOT NULL,
  w_ytd DECIMAL(12,2),
  w_tax DECIMAL(4,4),
  w_name VARCHAR(10) BINARY,
  w_street_1 VARCHAR(20) BINARY,
  w_street_2 VARCHAR(20) BINARY,
  w_city VARCHAR(20) BINARY,
  w_state CHAR(2) BINARY,
  w_zip CHAR(9) BINARY,
  PRIMARY KEY (w_id)
) ENGINE = InnoDB

-- name: district
CREATE TABLE IF NOT EXISTS district (
  d_id INT NOT NULL,
  d_w_id INT NOT NULL,
  d_ytd DECIMAL(12,2),
  d_next_o_id INT,
  d_tax DECIMAL(4,4),
  d_name VARCHAR(10) BINARY,
  d_street_1 VARCHAR(20) BINARY,
  d_street_2 VARCHAR(20) BINARY,
  d_city VARCHAR(20) BINARY,
  d_state CHAR(2) BINARY,
  d_zip CHAR(9) BINARY,
  PRIMARY KEY (d_w_id, d_id)
) ENGINE = InnoDB

-- name: customer
CREATE TABLE IF NOT EXISTS customer (
  c_id INT NOT NULL,
  c_d_id INT NOT NULL,
  c_w_id INT NOT NULL,
  c_discount DECIMAL(4,4),
  c_credit_lim DECIMAL(12,2),
  c_last VARCHAR(16) BINARY,
  c_first VARCHAR(16) BINARY,
  c_credit CHAR(2) BINARY,
  c_balance DECIMAL(12,2),
  c_ytd_payment DECIMAL(12,2),
  c_payment_cnt INT,
  c_delivery_cnt INT,
  c_street_1 VARCHAR(20) BINARY,
  c_street_2 VARCHAR(20) BINARY,
  c_city VARCHAR(20) BINARY,
  c_state CHAR(2) BINARY,
  c_zip CHAR(9) BINARY,
  c_phone CHAR(16) BINARY,
  c_since DATETIME,
  c_middle CHAR(2) BINARY,
  c_data VARCHAR(500) BINARY,
  PRIMARY KEY (c_w_id, c_d_id, c_id)
) ENGINE = InnoDB

-- name: history
CREATE TABLE IF NOT EXISTS history (
  h_c_id INT,
  h_c_d_id INT,
  h_c_w_id INT,
  h_d_id INT,
  h_w_id INT,
  h_date DATETIME,
  h_amount DECIMAL(6,2),
  h_data VARCHAR(24) BINARY
) ENGINE = InnoDB

-- name: item
CREATE TABLE IF NOT EXISTS item (
  i_id INT NOT NULL,
  i_name VARCHAR(24) BINARY,
  i_price DECIMAL(5,2),
  i_data VARCHAR(50) BINARY,
  i_im_id INT,
  PRIMARY KEY (i_id)
) ENGINE = InnoDB

-- name: new_order
CREATE TABLE IF NOT EXISTS new_order (
  no_o_id INT NOT NULL,
  no_d_id INT NOT NULL,
  no_w_id INT NOT NULL,
  PRIMARY KEY (no_w_id, no_d_id, no_o_id)
) ENGINE = InnoDB

-- name: orders
CREATE TABLE IF NOT EXISTS orders (
  o_id INT NOT NULL,
  o_d_id INT NOT NULL,
  o_w_id INT NOT NULL,
  o_c_id INT,
  o_carrier_id INT,
  o_ol_cnt INT,
  o_all_local INT,
  o_entry_d DATETIME,
  PRIMARY KEY (o_w_id, o_d_id, o_id)
) ENGINE = InnoDB

-- name: order_line
CREATE TABLE IF NOT EXISTS order_line (
  ol_o_id INT NOT NULL,
  ol_d_id INT NOT NULL,
  ol_w_id INT NOT NULL,
  ol_number INT NOT NULL,
  ol_i_id INT,
  ol_delivery_d DATETIME,
  ol_amount INT,
  ol_supply_w_id INT,
  ol_quantity INT,
  ol_dist_info CHAR(24) BINARY,
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
) ENGINE = InnoDB

-- name: stock
CREATE TABLE IF NOT EXISTS stock (
  s_i_id INT NOT NULL,
  s_w_id INT NOT NULL,
  s_quantity INT,
  s_ytd BIGINT,
  s_order_cnt INT,
  s_remote_cnt INT,
  s_data VARCHAR(50) BINARY,
  s_dist_01 CHAR(24) BINARY,
  s_dist_02 CHAR(24) BINARY,
  s_dist_03 CHAR(24) BINARY,
  s_dist_04 CHAR(24) BINARY,
  s_dist_05 CHAR(24) BINARY,
  s_dist_06 CHAR(24) BINARY,
  s_dist_07 CHAR(24) BINARY,
  s_dist_08 CHAR(24) BINARY,
  s_dist_09 CHAR(24) BINARY,
  s_dist_10 CHAR(24) BINARY,
  PRIMARY KEY (s_w_id, s_i_id)
) ENGINE = InnoDB

-- name: mark
CREATE TABLE vufleet_build (build VARCHAR(100) NOT NULL) ENGINE = InnoDB

-- name: customer_index
CREATE INDEX customer_c_last ON customer (c_w_id, c_d_id, c_last, c_first)

-- name: orders_index
CREATE INDEX orders_i2 ON orders (o_w_id, o_d_id, o_c_id, o_id)

-- name: count_index
-- Whoever made it, and whatever it is called.
SELECT COUNT(*) > 0 FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = '{table}' AND column_name = '{column}' AND seq_in_index = 3

-- name: count_tables
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({names})

-- name: count_procedure
SELECT COUNT(*) FROM information_schema.routines
WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE' AND routine_name = '{name}'

-- name: missing_procedures
SELECT name FROM ({wanted}) AS wanted
WHERE NOT EXISTS (SELECT 1 FROM information_schema.routines
  WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE' AND routine_name = name)
