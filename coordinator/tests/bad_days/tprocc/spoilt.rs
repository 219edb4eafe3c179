//! Changes that violate one condition each, and what finds them.

use vufleet_scenarios::session::Dialect;
use vufleet_scenarios::tprocc::{Calls, Shape};
use vufleet_scenarios::workload::{Expectation, Inspection, Schema};

/// Rows of text as a database answers.
pub type Answer = Vec<Vec<Option<String>>>;

/// The condition, a statement after which it does not hold, and how the first row that violates it is named.
pub const SPOILT: [(&str, &str, &str); 15] = [
    ("condition 1,", "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1", "(w_id 1, w_ytd 300001"),
    (
        "condition 2,",
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3",
        "(d_w_id 1, d_id 3, d_next_o_id 3002, largest o_id 3000, largest no_o_id 3000)",
    ),
    (
        "condition 3,",
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 2500",
        "(no_w_id 1, no_d_id 4, smallest no_o_id 2101, largest no_o_id 3000, rows 899)",
    ),
    (
        "condition 4,",
        "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id = 7 AND ol_number = 1",
        "(d_w_id 1, d_id 5, sum of o_ol_cnt",
    ),
    (
        "condition 5,",
        "UPDATE orders SET o_carrier_id = 5 WHERE o_w_id = 1 AND o_d_id = 6 AND o_id = 2500",
        "(o_w_id 1, o_d_id 6, o_id 2500, o_carrier_id 5, no_o_id 2500)",
    ),
    (
        "condition 6,",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 7 AND o_id = 11",
        "(o_w_id 1, o_d_id 7, o_id 11, o_ol_cnt",
    ),
    (
        "condition 7,",
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 8 AND ol_o_id = 12 AND ol_number = 2",
        "(ol_w_id 1, ol_d_id 8, ol_o_id 12, ol_number 2, ol_delivery_d NULL",
    ),
    (
        "condition 8,",
        "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1",
        "(w_id 1, w_ytd 300000",
    ),
    (
        "condition 9,",
        "UPDATE history SET h_d_id = 2 WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1",
        "(d_w_id 1, d_id 1, d_ytd 30000",
    ),
    (
        "condition 10,",
        "UPDATE customer SET c_balance = c_balance - 1 WHERE c_w_id = 1 AND c_d_id = 9 AND c_id = 13",
        "(c_w_id 1, c_d_id 9, c_id 13, c_balance -11",
    ),
    (
        "condition 11,",
        "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 2101",
        "(d_w_id 1, d_id 2, orders 3000, new_order 899)",
    ),
    (
        "condition 12,",
        "UPDATE customer SET c_ytd_payment = 11 WHERE c_w_id = 1 AND c_d_id = 10 AND c_id = 14",
        "(c_w_id 1, c_d_id 10, c_id 14, c_balance -10",
    ),
    ("a warehouse has 100000 stocks", "DELETE FROM stock WHERE s_w_id = 1 AND s_i_id = 77", "(w_id 1, stocks 99999)"),
    (
        "the first 3000 orders of a district are of 3000 customers",
        "UPDATE orders SET o_c_id = (o_c_id % 3000) + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1",
        "(o_w_id 1, o_d_id 1, customers 2999)",
    ),
    (
        "history has",
        "DELETE FROM history WHERE h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1",
        "found 29999 instead of 30000",
    ),
];

/// Makes a database look as if HammerDB had loaded it.
pub const AS_HAMMERDB: [&str; 4] = [
    "UPDATE order_line SET ol_amount = CASE WHEN ol_o_id <= 2100 THEN 1 + ol_i_id % 99 ELSE 0 END",
    "UPDATE warehouse SET w_ytd = 3000000",
    "UPDATE orders SET o_c_id = 1 + o_c_id % 1500",
    "UPDATE customer SET c_credit = 'BC' WHERE c_id % 2 = 0",
];

/// Everything that is asked of a database whose origin it answers for itself.
pub fn inspection(dialect: Dialect, ask: impl Fn(&str) -> Answer) -> Inspection {
    let shape = Shape::new(1, Calls::Statements);
    let origin = ask(&shape.origin(dialect).unwrap()).remove(0);
    let origin: Vec<String> = origin.into_iter().map(|cell| cell.unwrap()).collect();
    shape.inspection(dialect, Some(&origin))
}

/// What is wrong, in sentences.
pub fn wrong(inspection: &Inspection, ask: impl Fn(&str) -> Answer) -> Vec<String> {
    inspection.expectations.iter().filter_map(|expectation| expectation.unmet(Ok(&ask(&expectation.sql)))).collect()
}

/// Fails unless a change is found by what it should be found by, and named.
#[track_caller]
pub fn assert_found(spoilt: (&str, &str, &str), dialect: Dialect, ask: impl Fn(&str) -> Answer) {
    let (condition, change, row) = spoilt;
    let inspection = inspection(dialect, &ask);
    let is_it = |expectation: &&Expectation| expectation.what.starts_with(condition);
    let expectation = inspection.expectations.iter().find(is_it).unwrap_or_else(|| panic!("{condition} is not asked"));
    let sentence = expectation.unmet(Ok(&ask(&expectation.sql))).unwrap_or_else(|| panic!("{change} is not found"));
    assert!(sentence.contains(row), "{change}: no {row:?} in {sentence}");
}
