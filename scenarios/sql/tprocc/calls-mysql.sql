-- TPROC-C by stored procedures on MySQL, MariaDB and compatibles: one call a transaction. Every OUT and INOUT parameter
-- has a placeholder of its own; a prepared call gives them back as one more row.

-- name: call_new_order
CALL NEWORD(:warehouse, :warehouses, :district, :customer, :lines,
  :discount, :last, :credit, :district_tax, :warehouse_tax, :next_order, NOW());

-- name: call_payment
CALL PAYMENT(:warehouse, :district, :customer_warehouse, :customer_district, :customer, :by_name, :amount, :last,
  :w_street_1, :w_street_2, :w_city, :w_state, :w_zip, :d_street_1, :d_street_2, :d_city, :d_state, :d_zip,
  :c_first, :c_middle, :c_street_1, :c_street_2, :c_city, :c_state, :c_zip, :c_phone, :c_since, :c_credit,
  :c_credit_lim, :c_discount, :c_balance, :c_data, NOW());

-- name: call_order_status
CALL OSTAT(:warehouse, :district, :customer, :by_name, :last,
  :first, :middle, :balance, :order, :entered, :carrier);

-- name: call_delivery
CALL DELIVERY(:warehouse, :carrier, NOW());

-- name: call_stock_level
CALL SLEV(:warehouse, :district, :threshold, :low);
