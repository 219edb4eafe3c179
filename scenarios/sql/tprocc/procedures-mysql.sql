-- The stored procedures of TPROC-C for MySQL, MariaDB and compatibles, one entry each, and what drops them. They are
-- sent as they are, without a delimiter. Names, parameters and their types are those of HammerDB's; a column that has
-- the name of a parameter is written with its table's.
--
-- Each begins and ends its transaction. What fails is rolled back and passed on to the caller.

-- name: neword
CREATE PROCEDURE NEWORD (
  IN no_w_id INT, IN no_max_w_id INT, IN no_d_id INT, IN no_c_id INT, IN no_o_ol_cnt INT,
  OUT no_c_discount DECIMAL(4,4), OUT no_c_last VARCHAR(16), OUT no_c_credit VARCHAR(2),
  OUT no_d_tax DECIMAL(4,4), OUT no_w_tax DECIMAL(4,4), INOUT no_d_next_o_id INT, IN `timestamp` DATETIME)
MODIFIES SQL DATA
COMMENT 'vufleet TPROC-C'
BEGIN
  DECLARE absent, rolls_back, is_local INT DEFAULT 0;
  DECLARE line INT DEFAULT 1;
  DECLARE item_no, supplier, amount_ordered, in_stock INT;
  DECLARE price DECIMAL(5,2);
  DECLARE item_name, dist_info VARCHAR(24);
  DECLARE item_data, stock_data VARCHAR(50);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  -- One order in a hundred names an item that nobody has.
  SET rolls_back = RAND() < 0.01;
  START TRANSACTION;
  SELECT d.d_next_o_id, d.d_tax INTO no_d_next_o_id, no_d_tax
    FROM district d WHERE d.d_w_id = no_w_id AND d.d_id = no_d_id FOR UPDATE;
  UPDATE district d SET d.d_next_o_id = d.d_next_o_id + 1 WHERE d.d_w_id = no_w_id AND d.d_id = no_d_id;
  SELECT c.c_discount, c.c_last, c.c_credit, w.w_tax INTO no_c_discount, no_c_last, no_c_credit, no_w_tax
    FROM customer c JOIN warehouse w ON w.w_id = c.c_w_id
    WHERE c.c_w_id = no_w_id AND c.c_d_id = no_d_id AND c.c_id = no_c_id;
  IF absent THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'NEWORD: no such district or customer';
  END IF;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local, o_entry_d)
    VALUES (no_d_next_o_id, no_d_id, no_w_id, no_c_id, NULL, no_o_ol_cnt, 1, `timestamp`);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (no_d_next_o_id, no_d_id, no_w_id);
  SET is_local = 1;
  WHILE line <= no_o_ol_cnt AND NOT absent DO
    SET item_no = 1 + FLOOR(RAND() * 100000), supplier = no_w_id, amount_ordered = 1 + FLOOR(RAND() * 10);
    IF no_max_w_id > 1 AND RAND() < 0.01 THEN
      SET supplier = 1 + FLOOR(RAND() * (no_max_w_id - 1)), is_local = 0;
      IF supplier >= no_w_id THEN SET supplier = supplier + 1; END IF;
    END IF;
    IF rolls_back AND line = no_o_ol_cnt THEN SET item_no = 100001; END IF;
    SELECT i.i_price, i.i_name, i.i_data INTO price, item_name, item_data FROM item i WHERE i.i_id = item_no;
    IF NOT absent THEN
      SELECT s.s_quantity, s.s_data, ELT(no_d_id, s.s_dist_01, s.s_dist_02, s.s_dist_03, s.s_dist_04, s.s_dist_05,
          s.s_dist_06, s.s_dist_07, s.s_dist_08, s.s_dist_09, s.s_dist_10) INTO in_stock, stock_data, dist_info
        FROM stock s WHERE s.s_w_id = supplier AND s.s_i_id = item_no FOR UPDATE;
      IF absent THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'NEWORD: an item has no stock';
      END IF;
      UPDATE stock s SET
          s.s_quantity = in_stock - amount_ordered + IF(in_stock >= amount_ordered + 10, 0, 91),
          s.s_ytd = s.s_ytd + amount_ordered, s.s_order_cnt = s.s_order_cnt + 1,
          s.s_remote_cnt = s.s_remote_cnt + (supplier <> no_w_id)
        WHERE s.s_w_id = supplier AND s.s_i_id = item_no;
      INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_delivery_d, ol_amount, ol_supply_w_id,
          ol_quantity, ol_dist_info)
        VALUES (no_d_next_o_id, no_d_id, no_w_id, line, item_no, NULL, amount_ordered * price, supplier,
          amount_ordered, dist_info);
      SET line = line + 1;
    END IF;
  END WHILE;
  IF NOT absent AND NOT is_local THEN
    UPDATE orders o SET o.o_all_local = 0
      WHERE o.o_w_id = no_w_id AND o.o_d_id = no_d_id AND o.o_id = no_d_next_o_id;
  END IF;
  IF absent THEN
    -- No number: the caller's sign that the order was rolled back.
    ROLLBACK;
    SET no_d_next_o_id = NULL;
  ELSE
    COMMIT;
  END IF;
END;

-- name: payment
CREATE PROCEDURE PAYMENT (
  IN p_w_id INT, IN p_d_id INT, IN p_c_w_id INT, IN p_c_d_id INT, INOUT p_c_id INT, IN byname INT,
  IN p_h_amount DECIMAL(6,2), INOUT p_c_last VARCHAR(16),
  OUT p_w_street_1 VARCHAR(20), OUT p_w_street_2 VARCHAR(20), OUT p_w_city VARCHAR(20), OUT p_w_state VARCHAR(2),
  OUT p_w_zip VARCHAR(9),
  OUT p_d_street_1 VARCHAR(20), OUT p_d_street_2 VARCHAR(20), OUT p_d_city VARCHAR(20), OUT p_d_state VARCHAR(2),
  OUT p_d_zip VARCHAR(9),
  OUT p_c_first VARCHAR(16), OUT p_c_middle VARCHAR(2), OUT p_c_street_1 VARCHAR(20), OUT p_c_street_2 VARCHAR(20),
  OUT p_c_city VARCHAR(20), OUT p_c_state VARCHAR(2), OUT p_c_zip VARCHAR(9), OUT p_c_phone VARCHAR(16),
  OUT p_c_since DATETIME, INOUT p_c_credit VARCHAR(2), OUT p_c_credit_lim DECIMAL(12,2),
  OUT p_c_discount DECIMAL(4,4), INOUT p_c_balance DECIMAL(12,2), OUT p_c_data VARCHAR(500), IN `timestamp` DATETIME)
MODIFIES SQL DATA
COMMENT 'vufleet TPROC-C'
BEGIN
  DECLARE absent, namesakes, before_the_middle INT DEFAULT 0;
  DECLARE warehouse_name, district_name VARCHAR(10);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  START TRANSACTION;
  UPDATE warehouse w SET w.w_ytd = w.w_ytd + p_h_amount WHERE w.w_id = p_w_id;
  UPDATE district d SET d.d_ytd = d.d_ytd + p_h_amount WHERE d.d_w_id = p_w_id AND d.d_id = p_d_id;
  SELECT w.w_name, w.w_street_1, w.w_street_2, w.w_city, w.w_state, w.w_zip
    INTO warehouse_name, p_w_street_1, p_w_street_2, p_w_city, p_w_state, p_w_zip
    FROM warehouse w WHERE w.w_id = p_w_id;
  SELECT d.d_name, d.d_street_1, d.d_street_2, d.d_city, d.d_state, d.d_zip
    INTO district_name, p_d_street_1, p_d_street_2, p_d_city, p_d_state, p_d_zip
    FROM district d WHERE d.d_w_id = p_w_id AND d.d_id = p_d_id;
  IF byname = 1 THEN
    SELECT COUNT(*) INTO namesakes FROM customer c
      WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_last = p_c_last;
    SET before_the_middle = GREATEST(CEIL(namesakes / 2) - 1, 0);
    SELECT c.c_id INTO p_c_id FROM customer c
      WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_last = p_c_last
      ORDER BY c.c_first LIMIT before_the_middle, 1;
  END IF;
  SELECT c.c_last, c.c_first, c.c_middle, c.c_street_1, c.c_street_2, c.c_city, c.c_state, c.c_zip, c.c_phone,
      c.c_since, c.c_credit, c.c_credit_lim, c.c_discount, c.c_balance - p_h_amount
    INTO p_c_last, p_c_first, p_c_middle, p_c_street_1, p_c_street_2, p_c_city, p_c_state, p_c_zip, p_c_phone,
      p_c_since, p_c_credit, p_c_credit_lim, p_c_discount, p_c_balance
    FROM customer c WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_id = p_c_id FOR UPDATE;
  IF absent THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'PAYMENT: no such warehouse, district or customer';
  END IF;
  IF p_c_credit = 'BC' THEN
    SELECT LEFT(CONCAT(p_c_id, ' ', p_c_d_id, ' ', p_c_w_id, ' ', p_d_id, ' ', p_w_id, ' ', p_h_amount, ' | ', c.c_data),
        500) INTO p_c_data
      FROM customer c WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_id = p_c_id FOR UPDATE;
    UPDATE customer c SET c.c_balance = p_c_balance, c.c_ytd_payment = c.c_ytd_payment + p_h_amount,
        c.c_payment_cnt = c.c_payment_cnt + 1, c.c_data = p_c_data
      WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_id = p_c_id;
  ELSE
    SET p_c_data = '';
    UPDATE customer c SET c.c_balance = p_c_balance, c.c_ytd_payment = c.c_ytd_payment + p_h_amount,
        c.c_payment_cnt = c.c_payment_cnt + 1
      WHERE c.c_w_id = p_c_w_id AND c.c_d_id = p_c_d_id AND c.c_id = p_c_id;
  END IF;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, `timestamp`, p_h_amount,
      CONCAT(warehouse_name, '    ', district_name));
  COMMIT;
END;

-- name: delivery
CREATE PROCEDURE DELIVERY (IN d_w_id INT, IN d_o_carrier_id INT, IN `timestamp` DATETIME)
MODIFIES SQL DATA
COMMENT 'vufleet TPROC-C'
BEGIN
  DECLARE absent INT DEFAULT 0;
  DECLARE district_no INT DEFAULT 1;
  DECLARE order_no, customer_no INT;
  DECLARE total DECIMAL(12,2);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  START TRANSACTION;
  WHILE district_no <= 10 DO
    SET absent = 0;
    SELECT n.no_o_id INTO order_no FROM new_order n WHERE n.no_w_id = d_w_id AND n.no_d_id = district_no
      ORDER BY n.no_o_id LIMIT 1 FOR UPDATE;
    -- A district without a new order is passed over.
    IF NOT absent THEN
      DELETE FROM new_order WHERE new_order.no_w_id = d_w_id AND new_order.no_d_id = district_no
        AND new_order.no_o_id = order_no;
      SELECT o.o_c_id INTO customer_no FROM orders o
        WHERE o.o_w_id = d_w_id AND o.o_d_id = district_no AND o.o_id = order_no FOR UPDATE;
      UPDATE orders o SET o.o_carrier_id = d_o_carrier_id
        WHERE o.o_w_id = d_w_id AND o.o_d_id = district_no AND o.o_id = order_no;
      UPDATE order_line l SET l.ol_delivery_d = `timestamp`
        WHERE l.ol_w_id = d_w_id AND l.ol_d_id = district_no AND l.ol_o_id = order_no;
      SELECT SUM(l.ol_amount) INTO total FROM order_line l
        WHERE l.ol_w_id = d_w_id AND l.ol_d_id = district_no AND l.ol_o_id = order_no FOR UPDATE;
      IF absent THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'DELIVERY: a new order has no order';
      END IF;
      UPDATE customer c SET c.c_balance = c.c_balance + total, c.c_delivery_cnt = c.c_delivery_cnt + 1
        WHERE c.c_w_id = d_w_id AND c.c_d_id = district_no AND c.c_id = customer_no;
    END IF;
    SET district_no = district_no + 1;
  END WHILE;
  COMMIT;
END;

-- name: ostat
CREATE PROCEDURE OSTAT (
  IN os_w_id INT, IN os_d_id INT, INOUT os_c_id INT, IN byname INT, INOUT os_c_last VARCHAR(16),
  OUT os_c_first VARCHAR(16), OUT os_c_middle VARCHAR(2), OUT os_c_balance DECIMAL(12,2), OUT os_o_id INT,
  OUT os_entdate DATETIME, OUT os_o_carrier_id INT)
READS SQL DATA
COMMENT 'vufleet TPROC-C'
BEGIN
  DECLARE absent, namesakes, before_the_middle, lines_read INT DEFAULT 0;
  DECLARE amount_read DECIMAL(12,2);
  DECLARE last_delivery DATETIME;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  START TRANSACTION;
  IF byname = 1 THEN
    SELECT COUNT(*) INTO namesakes FROM customer c
      WHERE c.c_w_id = os_w_id AND c.c_d_id = os_d_id AND c.c_last = os_c_last;
    SET before_the_middle = GREATEST(CEIL(namesakes / 2) - 1, 0);
    SELECT c.c_id INTO os_c_id FROM customer c
      WHERE c.c_w_id = os_w_id AND c.c_d_id = os_d_id AND c.c_last = os_c_last
      ORDER BY c.c_first LIMIT before_the_middle, 1;
  END IF;
  SELECT c.c_balance, c.c_first, c.c_middle, c.c_last INTO os_c_balance, os_c_first, os_c_middle, os_c_last
    FROM customer c WHERE c.c_w_id = os_w_id AND c.c_d_id = os_d_id AND c.c_id = os_c_id;
  IF absent THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'OSTAT: no such customer';
  END IF;
  SELECT o.o_id, o.o_entry_d, o.o_carrier_id INTO os_o_id, os_entdate, os_o_carrier_id FROM orders o
    WHERE o.o_w_id = os_w_id AND o.o_d_id = os_d_id AND o.o_c_id = os_c_id ORDER BY o.o_id DESC LIMIT 1;
  -- Every column of the lines is read, though no parameter takes them.
  SELECT COUNT(l.ol_supply_w_id) + COUNT(l.ol_i_id) + COUNT(l.ol_quantity), SUM(l.ol_amount), MAX(l.ol_delivery_d)
    INTO lines_read, amount_read, last_delivery
    FROM order_line l WHERE l.ol_w_id = os_w_id AND l.ol_d_id = os_d_id AND l.ol_o_id = os_o_id;
  COMMIT;
END;

-- name: slev
CREATE PROCEDURE SLEV (IN st_w_id INT, IN st_d_id INT, IN threshold INT, OUT stock_count INT)
READS SQL DATA
COMMENT 'vufleet TPROC-C'
BEGIN
  DECLARE absent INT DEFAULT 0;
  DECLARE next_order INT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET absent = 1;
  START TRANSACTION;
  SELECT d.d_next_o_id INTO next_order FROM district d WHERE d.d_w_id = st_w_id AND d.d_id = st_d_id;
  IF absent THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'SLEV: no such district';
  END IF;
  SELECT COUNT(DISTINCT s.s_i_id) INTO stock_count
    FROM order_line l JOIN stock s ON s.s_w_id = l.ol_w_id AND s.s_i_id = l.ol_i_id
    WHERE l.ol_w_id = st_w_id AND l.ol_d_id = st_d_id AND l.ol_o_id >= next_order - 20 AND l.ol_o_id < next_order
      AND s.s_quantity < threshold;
  COMMIT;
END;

-- name: drop_neword
DROP PROCEDURE IF EXISTS NEWORD;

-- name: drop_payment
DROP PROCEDURE IF EXISTS PAYMENT;

-- name: drop_delivery
DROP PROCEDURE IF EXISTS DELIVERY;

-- name: drop_ostat
DROP PROCEDURE IF EXISTS OSTAT;

-- name: drop_slev
DROP PROCEDURE IF EXISTS SLEV;
