-- TPROC-C by stored procedures on SQL Server: one call a transaction, its parameters named as HammerDB names them. The
-- results come back as rows. An argument cannot be an expression: the time is the caller's.

-- name: call_new_order
EXEC dbo.neword @no_w_id = :warehouse::int, @no_max_w_id = :warehouses::int, @no_d_id = :district::int,
  @no_c_id = :customer::int, @no_o_ol_cnt = :lines::int, @TIMESTAMP = :now::datetime2(0)

-- name: call_payment
EXEC dbo.payment @p_w_id = :warehouse::int, @p_d_id = :district::int, @p_c_w_id = :customer_warehouse::int,
  @p_c_d_id = :customer_district::int, @p_c_id = :customer::int, @byname = :by_name::int,
  @p_h_amount = :amount::decimal(6,2), @p_c_last = :last::char(16), @TIMESTAMP = :now::datetime2(0)

-- name: call_order_status
EXEC dbo.ostat @os_w_id = :warehouse::int, @os_d_id = :district::int, @os_c_id = :customer::int,
  @byname = :by_name::int, @os_c_last = :last::char(20)

-- name: call_delivery
EXEC dbo.delivery @d_w_id = :warehouse::int, @d_o_carrier_id = :carrier::int, @timestamp = :now::datetime2(0)

-- name: call_stock_level
EXEC dbo.slev @st_w_id = :warehouse::int, @st_d_id = :district::int, @threshold = :threshold::int
