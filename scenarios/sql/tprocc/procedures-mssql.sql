-- The stored procedures of TPROC-C for SQL Server, one entry each, and what drops them. Names, parameters and their types
-- are those of HammerDB's. Each begins and ends its transaction and runs at the isolation level of its caller. XACT_ABORT
-- has the server roll back whatever fails and pass it on to the caller as the error that it is. Nothing relies on lock
-- hints or on the value that an UPDATE assigns to a variable: a row is changed first, which locks it, and read then.
--
-- NEWORD reads customer and warehouse before it locks anything, and PAYMENT locks customer, district and warehouse in that
-- order, so that none of them waits for the other in a circle and the warehouse, which all wait for, is locked last.

-- name: neword
CREATE PROCEDURE dbo.neword
  @no_w_id int, @no_max_w_id int, @no_d_id int, @no_c_id int, @no_o_ol_cnt int, @TIMESTAMP datetime2(0)
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @discount smallmoney, @last char(16), @credit char(2), @district_tax smallmoney, @warehouse_tax smallmoney;
  DECLARE @order_no int, @line int = 1, @absent int = 0, @is_local int = 1, @rolls_back int = 0;
  DECLARE @item_no int, @supplier int, @quantity int, @price smallmoney, @dist_info char(24);
  DECLARE @item_name char(24), @item_data char(50), @stock_data char(50), @in_stock int;
  -- One order in a hundred names an item that nobody has.
  IF RAND() < 0.01 SET @rolls_back = 1;
  BEGIN TRANSACTION;
  SELECT @discount = c.c_discount, @last = c.c_last, @credit = c.c_credit, @warehouse_tax = w.w_tax
    FROM dbo.customer AS c JOIN dbo.warehouse AS w ON w.w_id = c.c_w_id
    WHERE c.c_w_id = @no_w_id AND c.c_d_id = @no_d_id AND c.c_id = @no_c_id;
  IF @@ROWCOUNT = 0 THROW 50001, N'neword: no such customer', 1;
  UPDATE dbo.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = @no_w_id AND d_id = @no_d_id;
  IF @@ROWCOUNT = 0 THROW 50001, N'neword: no such district', 1;
  SELECT @order_no = d_next_o_id - 1, @district_tax = d_tax
    FROM dbo.district WHERE d_w_id = @no_w_id AND d_id = @no_d_id;
  INSERT INTO dbo.orders (o_id, o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
    VALUES (@order_no, @no_d_id, @no_w_id, @no_c_id, NULL, @no_o_ol_cnt, 1, @TIMESTAMP);
  INSERT INTO dbo.new_order (no_o_id, no_d_id, no_w_id) VALUES (@order_no, @no_d_id, @no_w_id);
  WHILE @line <= @no_o_ol_cnt AND @absent = 0
  BEGIN
    SET @item_no = 1 + FLOOR(RAND() * 100000);
    SET @supplier = @no_w_id;
    SET @quantity = 1 + FLOOR(RAND() * 10);
    IF @no_max_w_id > 1 AND RAND() < 0.01
    BEGIN
      SET @supplier = 1 + FLOOR(RAND() * (@no_max_w_id - 1));
      IF @supplier >= @no_w_id SET @supplier = @supplier + 1;
      SET @is_local = 0;
    END;
    IF @rolls_back = 1 AND @line = @no_o_ol_cnt SET @item_no = 100001;
    SELECT @price = i_price, @item_name = i_name, @item_data = i_data FROM dbo.item WHERE i_id = @item_no;
    IF @@ROWCOUNT = 0 SET @absent = 1;
    IF @absent = 0
    BEGIN
      UPDATE dbo.stock SET
          s_quantity = s_quantity - @quantity + CASE WHEN s_quantity >= @quantity + 10 THEN 0 ELSE 91 END,
          s_ytd = s_ytd + @quantity, s_order_cnt = s_order_cnt + 1,
          s_remote_cnt = s_remote_cnt + CASE WHEN @supplier = @no_w_id THEN 0 ELSE 1 END
        WHERE s_w_id = @supplier AND s_i_id = @item_no;
      IF @@ROWCOUNT = 0 THROW 50001, N'neword: an item has no stock', 1;
      SELECT @in_stock = s_quantity, @stock_data = s_data, @dist_info = CASE @no_d_id
          WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
          WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
          WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
        FROM dbo.stock WHERE s_w_id = @supplier AND s_i_id = @item_no;
      INSERT INTO dbo.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_delivery_d, ol_amount,
          ol_supply_w_id, ol_quantity, ol_dist_info)
        VALUES (@order_no, @no_d_id, @no_w_id, @line, @item_no, NULL, @quantity * @price, @supplier, @quantity,
          @dist_info);
      SET @line = @line + 1;
    END;
  END;
  IF @absent = 1
  BEGIN
    -- No number: the caller's sign that the order was rolled back.
    ROLLBACK TRANSACTION;
    SET @order_no = NULL;
  END;
  IF @absent = 0
  BEGIN
    IF @is_local = 0
      UPDATE dbo.orders SET o_all_local = 0 WHERE o_w_id = @no_w_id AND o_d_id = @no_d_id AND o_id = @order_no;
    COMMIT TRANSACTION;
  END;
  SELECT @discount AS no_c_discount, @last AS no_c_last, @credit AS no_c_credit, @district_tax AS no_d_tax,
    @warehouse_tax AS no_w_tax, @order_no AS no_d_next_o_id;
END;

-- name: payment
CREATE PROCEDURE dbo.payment
  @p_w_id int, @p_d_id int, @p_c_w_id int, @p_c_d_id int, @p_c_id int, @byname int, @p_h_amount numeric(6,2),
  @p_c_last char(16), @TIMESTAMP datetime2(0)
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @namesakes int, @entry varchar(100);
  DECLARE @w_name char(10), @w_street_1 char(20), @w_street_2 char(20), @w_city char(20), @w_state char(2), @w_zip char(9);
  DECLARE @d_name char(10), @d_street_1 char(20), @d_street_2 char(20), @d_city char(20), @d_state char(2), @d_zip char(9);
  DECLARE @c_first char(16), @c_middle char(2), @c_street_1 char(20), @c_street_2 char(20), @c_city char(20);
  DECLARE @c_state char(2), @c_zip char(9), @c_phone char(16), @c_since datetime, @c_credit char(2), @c_credit_lim money;
  DECLARE @c_discount smallmoney, @c_balance money, @c_data char(500);
  BEGIN TRANSACTION;
  IF @byname = 1
  BEGIN
    SELECT @namesakes = COUNT(*) FROM dbo.customer
      WHERE c_w_id = @p_c_w_id AND c_d_id = @p_c_d_id AND c_last = @p_c_last;
    SELECT @p_c_id = c_id FROM dbo.customer
      WHERE c_w_id = @p_c_w_id AND c_d_id = @p_c_d_id AND c_last = @p_c_last
      ORDER BY c_first OFFSET (@namesakes - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
  END;
  SET @entry = CONCAT(@p_c_id, ' ', @p_c_d_id, ' ', @p_c_w_id, ' ', @p_d_id, ' ', @p_w_id, ' ', @p_h_amount, ' | ');
  UPDATE dbo.customer SET c_balance = c_balance - @p_h_amount, c_ytd_payment = c_ytd_payment + @p_h_amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE WHEN c_credit = 'BC' THEN LEFT(CONCAT(@entry, c_data), 500) ELSE c_data END
    WHERE c_w_id = @p_c_w_id AND c_d_id = @p_c_d_id AND c_id = @p_c_id;
  IF @@ROWCOUNT = 0 THROW 50002, N'payment: no such customer', 1;
  SELECT @c_first = c_first, @c_middle = c_middle, @p_c_last = c_last, @c_street_1 = c_street_1,
      @c_street_2 = c_street_2, @c_city = c_city, @c_state = c_state, @c_zip = c_zip, @c_phone = c_phone,
      @c_since = c_since, @c_credit = c_credit, @c_credit_lim = c_credit_lim, @c_discount = c_discount,
      @c_balance = c_balance, @c_data = CASE WHEN c_credit = 'BC' THEN c_data ELSE '' END
    FROM dbo.customer WHERE c_w_id = @p_c_w_id AND c_d_id = @p_c_d_id AND c_id = @p_c_id;
  UPDATE dbo.district SET d_ytd = d_ytd + @p_h_amount WHERE d_w_id = @p_w_id AND d_id = @p_d_id;
  IF @@ROWCOUNT = 0 THROW 50002, N'payment: no such district', 1;
  SELECT @d_name = d_name, @d_street_1 = d_street_1, @d_street_2 = d_street_2, @d_city = d_city, @d_state = d_state,
      @d_zip = d_zip
    FROM dbo.district WHERE d_w_id = @p_w_id AND d_id = @p_d_id;
  UPDATE dbo.warehouse SET w_ytd = w_ytd + @p_h_amount WHERE w_id = @p_w_id;
  IF @@ROWCOUNT = 0 THROW 50002, N'payment: no such warehouse', 1;
  SELECT @w_name = w_name, @w_street_1 = w_street_1, @w_street_2 = w_street_2, @w_city = w_city, @w_state = w_state,
      @w_zip = w_zip
    FROM dbo.warehouse WHERE w_id = @p_w_id;
  INSERT INTO dbo.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (@p_c_id, @p_c_d_id, @p_c_w_id, @p_d_id, @p_w_id, @TIMESTAMP, @p_h_amount,
      CONCAT(@w_name, '    ', @d_name));
  COMMIT TRANSACTION;
  SELECT @p_c_id AS p_c_id, @p_c_last AS p_c_last, @w_street_1 AS p_w_street_1, @w_street_2 AS p_w_street_2,
    @w_city AS p_w_city, @w_state AS p_w_state, @w_zip AS p_w_zip, @d_street_1 AS p_d_street_1,
    @d_street_2 AS p_d_street_2, @d_city AS p_d_city, @d_state AS p_d_state, @d_zip AS p_d_zip,
    @c_first AS p_c_first, @c_middle AS p_c_middle, @c_street_1 AS p_c_street_1, @c_street_2 AS p_c_street_2,
    @c_city AS p_c_city, @c_state AS p_c_state, @c_zip AS p_c_zip, @c_phone AS p_c_phone, @c_since AS p_c_since,
    @c_credit AS p_c_credit, @c_credit_lim AS p_c_credit_lim, @c_discount AS p_c_discount,
    @c_balance AS p_c_balance, @c_data AS p_c_data;
END;

-- name: delivery
CREATE PROCEDURE dbo.delivery
  @d_w_id int, @d_o_carrier_id int, @timestamp datetime2(0)
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @district_no int = 1, @order_no int, @customer_no int, @total money, @delivered int = 0, @taken int;
  BEGIN TRANSACTION;
  WHILE @district_no <= 10
  BEGIN
    -- Another delivery may take the order between the two statements: then the next one is the oldest.
    SET @taken = 0;
    SET @order_no = 0;
    WHILE @taken = 0 AND @order_no IS NOT NULL
    BEGIN
      SELECT @order_no = MIN(no_o_id) FROM dbo.new_order WHERE no_w_id = @d_w_id AND no_d_id = @district_no;
      DELETE FROM dbo.new_order WHERE no_w_id = @d_w_id AND no_d_id = @district_no AND no_o_id = @order_no;
      SET @taken = @@ROWCOUNT;
    END;
    -- A district without a new order is passed over.
    IF @taken > 0
    BEGIN
      UPDATE dbo.orders SET o_carrier_id = @d_o_carrier_id
        WHERE o_w_id = @d_w_id AND o_d_id = @district_no AND o_id = @order_no;
      IF @@ROWCOUNT = 0 THROW 50003, N'delivery: a new order has no order', 1;
      SELECT @customer_no = o_c_id FROM dbo.orders
        WHERE o_w_id = @d_w_id AND o_d_id = @district_no AND o_id = @order_no;
      UPDATE dbo.order_line SET ol_delivery_d = @timestamp
        WHERE ol_w_id = @d_w_id AND ol_d_id = @district_no AND ol_o_id = @order_no;
      SELECT @total = SUM(ol_amount) FROM dbo.order_line
        WHERE ol_w_id = @d_w_id AND ol_d_id = @district_no AND ol_o_id = @order_no;
      UPDATE dbo.customer SET c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = @d_w_id AND c_d_id = @district_no AND c_id = @customer_no;
      IF @@ROWCOUNT = 0 THROW 50003, N'delivery: an order has no customer', 1;
      SET @delivered = @delivered + 1;
    END;
    SET @district_no = @district_no + 1;
  END;
  COMMIT TRANSACTION;
  SELECT @d_w_id AS d_w_id, @d_o_carrier_id AS d_o_carrier_id, @timestamp AS delivered_at, @delivered AS delivered;
END;

-- name: ostat
CREATE PROCEDURE dbo.ostat
  @os_w_id int, @os_d_id int, @os_c_id int, @byname int, @os_c_last char(20)
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @namesakes int, @last char(16) = @os_c_last, @first char(16), @middle char(2), @balance money;
  DECLARE @order_no int, @entered datetime, @carrier tinyint;
  BEGIN TRANSACTION;
  IF @byname = 1
  BEGIN
    SELECT @namesakes = COUNT(*) FROM dbo.customer
      WHERE c_w_id = @os_w_id AND c_d_id = @os_d_id AND c_last = @last;
    SELECT @os_c_id = c_id FROM dbo.customer
      WHERE c_w_id = @os_w_id AND c_d_id = @os_d_id AND c_last = @last
      ORDER BY c_first OFFSET (@namesakes - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
  END;
  SELECT @balance = c_balance, @first = c_first, @middle = c_middle, @last = c_last FROM dbo.customer
    WHERE c_w_id = @os_w_id AND c_d_id = @os_d_id AND c_id = @os_c_id;
  IF @@ROWCOUNT = 0 THROW 50004, N'ostat: no such customer', 1;
  SELECT TOP (1) @order_no = o_id, @entered = o_entry_d, @carrier = o_carrier_id FROM dbo.orders
    WHERE o_w_id = @os_w_id AND o_d_id = @os_d_id AND o_c_id = @os_c_id ORDER BY o_id DESC;
  SELECT @os_c_id AS os_c_id, @last AS os_c_last, @first AS os_c_first, @middle AS os_c_middle,
    @balance AS os_c_balance, @order_no AS os_o_id, @entered AS os_entdate, @carrier AS os_o_carrier_id;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM dbo.order_line
    WHERE ol_w_id = @os_w_id AND ol_d_id = @os_d_id AND ol_o_id = @order_no;
  COMMIT TRANSACTION;
END;

-- name: slev
CREATE PROCEDURE dbo.slev
  @st_w_id int, @st_d_id int, @threshold int
AS
BEGIN
  SET NOCOUNT ON;
  SET XACT_ABORT ON;
  DECLARE @next_order int, @low int;
  BEGIN TRANSACTION;
  SELECT @next_order = d_next_o_id FROM dbo.district WHERE d_w_id = @st_w_id AND d_id = @st_d_id;
  IF @@ROWCOUNT = 0 THROW 50005, N'slev: no such district', 1;
  SELECT @low = COUNT(DISTINCT s.s_i_id)
    FROM dbo.order_line AS l JOIN dbo.stock AS s ON s.s_w_id = l.ol_w_id AND s.s_i_id = l.ol_i_id
    WHERE l.ol_w_id = @st_w_id AND l.ol_d_id = @st_d_id AND l.ol_o_id >= @next_order - 20
      AND l.ol_o_id < @next_order AND s.s_quantity < @threshold;
  COMMIT TRANSACTION;
  SELECT @low AS stock_count;
END;

-- name: drop_neword
DROP PROCEDURE IF EXISTS dbo.neword;

-- name: drop_payment
DROP PROCEDURE IF EXISTS dbo.payment;

-- name: drop_delivery
DROP PROCEDURE IF EXISTS dbo.delivery;

-- name: drop_ostat
DROP PROCEDURE IF EXISTS dbo.ostat;

-- name: drop_slev
DROP PROCEDURE IF EXISTS dbo.slev;
