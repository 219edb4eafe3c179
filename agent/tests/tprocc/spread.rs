//! How what virtual users draw is spread, read off the rows and the statements that they leave behind.

use vufleet_testbed::MariaDb;

use super::crew::{Load, on_mariadb};
use super::database::number;

/// The orders that each district had.
pub struct Since;

/// Remembers which orders are there now.
pub fn remember(server: &MariaDb) -> Since {
    server.sql("USE tpcc; CREATE OR REPLACE TABLE known SELECT d_w_id, d_id, d_next_o_id FROM district").unwrap();
    Since
}

/// What the orders since then are of.
struct Rows {
    orders: i64,
    customers: i64,
    lines: i64,
    items: i64,
    remote: i64,
}

impl Since {
    fn rows(&self, server: &MariaDb) -> Rows {
        let of_orders = |what: &str| {
            let sql = "FROM orders JOIN known ON d_w_id = o_w_id AND d_id = o_d_id AND o_id >= d_next_o_id";
            number(server, "tpcc", &format!("SELECT {what} {sql}"))
        };
        let of_lines = |what: &str| {
            let sql = "FROM order_line JOIN known ON d_w_id = ol_w_id AND d_id = ol_d_id AND ol_o_id >= d_next_o_id";
            number(server, "tpcc", &format!("SELECT {what} {sql}"))
        };
        Rows {
            orders: of_orders("COUNT(*)"),
            customers: of_orders("COUNT(DISTINCT o_c_id)"),
            lines: of_lines("COUNT(*)"),
            items: of_lines("COUNT(DISTINCT ol_i_id)"),
            remote: of_lines("COUNT(IF(ol_supply_w_id <> ol_w_id, 1, NULL))"),
        }
    }

    /// So many different customers and items come of a uniform draw.
    pub fn assert_drawn_uniformly(&self, server: &MariaDb) {
        let rows = self.rows(server);
        rows.assert_ten_lines_and_one_in_a_hundred_remote();
        close_to("customers", rows.customers, different(3_000.0, rows.orders), 10.0);
        close_to("items", rows.items, different(100_000.0, rows.lines), 21.0);
    }

    /// NURand(1023) and NURand(8191) repeat themselves far more often. The expected numbers, for 990 orders and 9,950
    /// lines, come from the chance of every value by the formula of [2.1.6]; they do not depend on C.
    pub fn assert_drawn_by_the_specification(&self, server: &MariaDb) {
        let rows = self.rows(server);
        rows.assert_ten_lines_and_one_in_a_hundred_remote();
        close_to("customers", rows.customers, 538.0 + 0.35 * (rows.orders - 990) as f64, 12.5);
        close_to("items", rows.items, 6_681.0 + 0.51 * (rows.lines - 9_950) as f64, 42.0);
    }
}

impl Rows {
    fn assert_ten_lines_and_one_in_a_hundred_remote(&self) {
        // Uniform over 5..=15: the standard deviation of one count is the square root of 10.
        close_to("lines", self.lines, 10.0 * self.orders as f64, f64::sqrt(10.0 * self.orders as f64));
        close_to("remote lines", self.remote, 0.01 * self.lines as f64, f64::sqrt(0.0099 * self.lines as f64));
    }
}

/// Expected number of different values among so many uniform draws.
fn different(values: f64, draws: i64) -> f64 {
    values * (1.0 - (1.0 - 1.0 / values).powf(draws as f64))
}

/// Within five standard deviations.
#[track_caller]
fn close_to(what: &str, count: i64, expected: f64, deviation: f64) {
    assert!((count as f64 - expected).abs() <= 5.0 * deviation, "{count} {what}, {expected:.0} expected");
}

/// Payments as the server's log has them.
pub async fn assert_six_of_ten_are_known_by_name(server: &MariaDb) {
    for (calls, payment, by_name) in [
        ("procedures", "CALL PAYMENT(%", "^CALL PAYMENT[(]([0-9]+, *){5}1,"),
        ("statements", "UPDATE warehouse SET w_ytd%", "^SELECT c_id FROM customer .* c_last ="),
    ] {
        server.sql("TRUNCATE mysql.general_log; SET GLOBAL log_output = 'TABLE', general_log = ON").unwrap();
        let workload = format!("warehouses = 2\ncalls = '{calls}'\nmix = {{ payment = 1 }}");
        let mut load = Load::start(on_mariadb(server, "tpcc", &workload, 4), Some(250)).await;
        load.until(|told| told.finished).await;
        load.stop().await;
        server.sql("SET GLOBAL general_log = OFF").unwrap();
        let executed = "SELECT COUNT(*) FROM general_log WHERE command_type = 'Execute' AND argument";
        let payments = number(server, "mysql", &format!("{executed} LIKE '{payment}'"));
        assert!((1_000..1_100).contains(&payments), "{calls}: {payments} payments and retries");
        let known = number(server, "mysql", &format!("{executed} RLIKE '{by_name}'"));
        close_to(calls, known, 0.6 * payments as f64, f64::sqrt(0.24 * payments as f64));
    }
}
