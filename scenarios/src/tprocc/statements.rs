//! The statements that a session sends in either spelling, and which of them a mix needs.
//!
//! Only those that the mix can use are listed, because each costs memory in every session that prepares it.

use super::{Calls, Shape};
use crate::session::{Dialect, Stmt};
use crate::sql::{Catalogue, Protocol, Statement};

macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident = $name:literal in $kinds:expr,)*) => {
        /// One statement of the workload's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Step {
            $($(#[$doc])* $step,)*
        }

        /// Every step with its name in the SQL files and the transaction kinds that use it.
        const STEPS: &[(Step, &str, &[usize])] = &[$((Step::$step, $name, $kinds),)*];
    };
}

const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;
const STOCK_LEVEL: usize = 4;

steps! {
    CallNewOrder = "call_new_order" in &[NEW_ORDER],
    CallPayment = "call_payment" in &[PAYMENT],
    CallOrderStatus = "call_order_status" in &[ORDER_STATUS],
    CallDelivery = "call_delivery" in &[DELIVERY],
    CallStockLevel = "call_stock_level" in &[STOCK_LEVEL],
    CustomerTerms = "customer_terms" in &[NEW_ORDER],
    NextOrder = "next_order" in &[NEW_ORDER],
    TakeOrderNumber = "take_order_number" in &[NEW_ORDER],
    InsertOrder = "insert_order" in &[NEW_ORDER],
    InsertNewOrder = "insert_new_order" in &[NEW_ORDER],
    Item = "item" in &[NEW_ORDER],
    Stock = "stock" in &[NEW_ORDER],
    TakeStock = "take_stock" in &[NEW_ORDER],
    InsertLine = "insert_line" in &[NEW_ORDER],
    PayWarehouse = "pay_warehouse" in &[PAYMENT],
    Warehouse = "warehouse" in &[PAYMENT],
    PayDistrict = "pay_district" in &[PAYMENT],
    District = "district" in &[PAYMENT],
    CustomersByName = "customers_by_name" in &[PAYMENT, ORDER_STATUS],
    Customer = "customer" in &[PAYMENT],
    Pay = "pay" in &[PAYMENT],
    PayWithBadCredit = "pay_with_bad_credit" in &[PAYMENT],
    InsertHistory = "insert_history" in &[PAYMENT],
    CustomerBalance = "customer_balance" in &[ORDER_STATUS],
    LastOrder = "last_order" in &[ORDER_STATUS],
    OrderLines = "order_lines" in &[ORDER_STATUS],
    OldestNewOrder = "oldest_new_order" in &[DELIVERY],
    DeleteNewOrder = "delete_new_order" in &[DELIVERY],
    OrderCustomer = "order_customer" in &[DELIVERY],
    SetCarrier = "set_carrier" in &[DELIVERY],
    DeliverLines = "deliver_lines" in &[DELIVERY],
    OrderTotal = "order_total" in &[DELIVERY],
    CreditCustomer = "credit_customer" in &[DELIVERY],
    OrdersSoFar = "orders_so_far" in &[STOCK_LEVEL],
    LowStock = "low_stock" in &[STOCK_LEVEL],
}

/// Number of steps.
const COUNT: usize = STEPS.len();

fn catalogue(shape: &Shape, dialect: Dialect) -> Catalogue {
    Catalogue::parse(match (shape.calls, dialect) {
        (Calls::Procedures, Dialect::Mssql) => include_str!("../../sql/tprocc/calls-mssql.sql"),
        (Calls::Procedures, Dialect::Mysql | Dialect::Sqlite) => include_str!("../../sql/tprocc/calls-mysql.sql"),
        (Calls::Statements, Dialect::Mysql) => include_str!("../../sql/tprocc/statements-mysql.sql"),
        (Calls::Statements, Dialect::Mssql) => include_str!("../../sql/tprocc/statements-mssql.sql"),
        (Calls::Statements, Dialect::Sqlite) => include_str!("../../sql/tprocc/statements-sqlite.sql"),
    })
}

/// The steps that a session can take, in the order of its list.
fn used(shape: &Shape) -> impl Iterator<Item = (Step, &'static str)> {
    let (weights, calls) = (shape.mix.weights(), shape.calls);
    let spelt = move |name: &str| name.starts_with("call_") == (calls == Calls::Procedures);
    let needed = move |kinds: &[usize]| kinds.iter().any(|kind| weights[*kind] > 0);
    STEPS.iter().filter(move |(_, name, kinds)| spelt(name) && needed(kinds)).map(|(step, name, _)| (*step, *name))
}

/// Every statement of the spelling and the mix.
pub(super) fn list(shape: &Shape, dialect: Dialect) -> Vec<Statement> {
    let catalogue = catalogue(shape, dialect);
    let protocol = if shape.calls == Calls::Procedures { Protocol::Prepared } else { shape.protocol };
    used(shape).map(|(_, name)| Statement::parse(catalogue.get(name), dialect, protocol)).collect()
}

/// Where each step stands in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places([u8; COUNT]);

impl Places {
    pub(super) fn of(shape: &Shape) -> Places {
        let mut places = [u8::MAX; COUNT];
        for ((step, _), place) in used(shape).zip(0..) {
            places[step as usize] = place;
        }
        Places(places)
    }

    pub(super) fn stmt(&self, step: Step) -> Stmt {
        Stmt(self.0[step as usize].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tprocc::Mix;

    fn shape(calls: Calls, mix: Mix) -> Shape {
        Shape { mix, ..Shape::new(4, calls) }
    }

    #[test]
    fn steps_stand_where_their_places_say() {
        for calls in [Calls::Procedures, Calls::Statements] {
            for mix in [Mix::default(), Mix { order_status: 1, stock_level: 1, ..Mix::NOTHING }] {
                let shape = shape(calls, mix);
                let (places, catalogue) = (Places::of(&shape), catalogue(&shape, Dialect::Mysql));
                let list = list(&shape, Dialect::Mysql);
                for (step, name) in used(&shape) {
                    let sql = Statement::parse(catalogue.get(name), Dialect::Mysql, Protocol::Prepared).sql;
                    assert_eq!(list[usize::from(places.stmt(step).0)].sql, sql, "{name}");
                }
            }
        }
    }

    #[test]
    fn a_session_prepares_only_what_its_mix_needs() {
        let reads = Mix { order_status: 1, stock_level: 1, ..Mix::NOTHING };
        for (calls, mix, count) in [
            (Calls::Procedures, Mix::default(), 5),
            (Calls::Procedures, reads, 2),
            (Calls::Statements, Mix::default(), 30),
            (Calls::Statements, reads, 6),
        ] {
            assert_eq!(list(&shape(calls, mix), Dialect::Mysql).len(), count, "{calls:?} {mix:?}");
        }
    }

    #[test]
    fn all_dialects_have_every_statement_with_the_same_slots() {
        let shape = shape(Calls::Statements, Mix::default());
        let mysql = list(&shape, Dialect::Mysql);
        for dialect in [Dialect::Sqlite, Dialect::Mssql] {
            let list = list(&shape, dialect);
            assert_eq!(list.len(), mysql.len());
            for (mysql, other) in mysql.iter().zip(&list) {
                assert_eq!(mysql.slots, other.slots, "{}", mysql.sql);
                assert_eq!(mysql.writes, other.writes, "{}", mysql.sql);
                assert!(!other.sql.contains("FOR UPDATE") && !other.sql.contains("NOW()"), "{}", other.sql);
            }
        }
    }

    #[test]
    fn every_parameter_of_sql_server_has_its_columns_type() {
        for calls in [Calls::Procedures, Calls::Statements] {
            for statement in list(&shape(calls, Mix::default()), Dialect::Mssql) {
                assert!(statement.types.iter().all(Option::is_some), "{}", statement.sql);
                assert_eq!(statement.call.is_some(), calls == Calls::Procedures, "{}", statement.sql);
            }
        }
    }

    #[test]
    fn no_sql_file_holds_a_statement_that_nobody_sends() {
        for (calls, dialect) in [
            (Calls::Procedures, Dialect::Mysql),
            (Calls::Statements, Dialect::Mysql),
            (Calls::Statements, Dialect::Sqlite),
            (Calls::Procedures, Dialect::Mssql),
            (Calls::Statements, Dialect::Mssql),
        ] {
            let shape = shape(calls, Mix::default());
            let mut sent: Vec<&str> = used(&shape).map(|(_, name)| name).collect();
            let catalogue = catalogue(&shape, dialect);
            let mut written: Vec<&str> = catalogue.names().collect();
            sent.sort_unstable();
            written.sort_unstable();
            assert_eq!(written, sent, "{calls:?} {dialect:?}");
        }
    }
}
