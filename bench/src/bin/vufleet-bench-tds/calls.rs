//! What is called, with which values, and what the answer holds.

use clap::ValueEnum;
use tiberius::numeric::Numeric;
use tiberius::time::{Date, DateTime2, Time};
use tiberius::{ColumnData, Command};
use vufleet_scenarios::session::{Dialect, Value};
use vufleet_scenarios::sql::{Catalogue, Protocol, Statement};

use crate::tokens::{Cell, HANDLE, Tokens};

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Call {
    /// TPROC-C's new order: six parameters, a row of six columns
    NewOrder,
    /// TPROC-C's payment: nine parameters, a row of 25 columns
    Payment,
    /// sysbench's point select, prepared
    PointSelect,
    /// A procedure that hands two values back and returns no row
    Outputs,
}

/// 2024-01-01, in microseconds and in days since the year 1.
const NOW: i64 = 1_704_067_200_000_000;
const TODAY: u32 = 738_885;

const ROW_OF_NEW_ORDER: &[(&str, Cell)] = &[
    ("no_c_discount", Cell::SmallMoney(1_000)),
    ("no_c_last", Cell::Char(16)),
    ("no_c_credit", Cell::Char(2)),
    ("no_d_tax", Cell::SmallMoney(1_000)),
    ("no_w_tax", Cell::SmallMoney(1_000)),
    ("no_d_next_o_id", Cell::Int(3_001)),
];

const ROW_OF_PAYMENT: &[(&str, Cell)] = &[
    ("p_c_id", Cell::Int(1)),
    ("p_c_last", Cell::Char(16)),
    ("p_w_street_1", Cell::Char(20)),
    ("p_w_street_2", Cell::Char(20)),
    ("p_w_city", Cell::Char(20)),
    ("p_w_state", Cell::Char(2)),
    ("p_w_zip", Cell::Char(9)),
    ("p_d_street_1", Cell::Char(20)),
    ("p_d_street_2", Cell::Char(20)),
    ("p_d_city", Cell::Char(20)),
    ("p_d_state", Cell::Char(2)),
    ("p_d_zip", Cell::Char(9)),
    ("p_c_first", Cell::Char(16)),
    ("p_c_middle", Cell::Char(2)),
    ("p_c_street_1", Cell::Char(20)),
    ("p_c_street_2", Cell::Char(20)),
    ("p_c_city", Cell::Char(20)),
    ("p_c_state", Cell::Char(2)),
    ("p_c_zip", Cell::Char(9)),
    ("p_c_phone", Cell::Char(16)),
    ("p_c_since", Cell::Moment),
    ("p_c_credit", Cell::Char(2)),
    ("p_c_credit_lim", Cell::Money(500_000_000)),
    ("p_c_discount", Cell::SmallMoney(1_000)),
    ("p_c_balance", Cell::Money(-100_000)),
];

/// The row of sysbench's table.
pub const ROW_OF_POINT_SELECT: &[(&str, Cell)] = &[("c", Cell::Char(119))];

/// The statements that TPROC-C sends without procedures.
pub fn statements_of_tprocc() -> Vec<Statement> {
    let catalogue = Catalogue::parse(include_str!("../../../../scenarios/sql/tprocc/statements-mssql.sql"));
    catalogue.names().map(|name| Statement::parse(catalogue.get(name), Dialect::Mssql, Protocol::Prepared)).collect()
}

impl Call {
    /// The procedure that is called once everything is prepared.
    pub fn procedure(self) -> &'static str {
        match self {
            Call::NewOrder => "dbo.neword",
            Call::Payment => "dbo.payment",
            Call::PointSelect => "sp_execute",
            Call::Outputs => "dbo.outputs",
        }
    }

    /// What the server answers. The procedures of TPROC-C say SET NOCOUNT ON.
    pub fn answer(self) -> Vec<u8> {
        let tokens = Tokens::default();
        match self {
            Call::NewOrder => tokens.row(ROW_OF_NEW_ORDER).in_procedure(None),
            Call::Payment => tokens.row(ROW_OF_PAYMENT).in_procedure(None),
            Call::PointSelect => tokens.row(ROW_OF_POINT_SELECT).in_procedure(Some(1)),
            Call::Outputs => tokens.output("@c", 3).output("@d", 4),
        }
        .procedure()
    }

    /// As a study's statement, in the words of the workload that has it.
    pub fn statement(self) -> Statement {
        let calls = Catalogue::parse(include_str!("../../../../scenarios/sql/tprocc/calls-mssql.sql"));
        let sql = match self {
            Call::NewOrder => calls.get("call_new_order"),
            Call::Payment => calls.get("call_payment"),
            Call::PointSelect => "SELECT c FROM sbtest1 WHERE id = :id::int",
            Call::Outputs => "EXEC dbo.outputs @a = :a::int, @b = :b::int, @c = :c::int OUTPUT, @d = :d::int OUTPUT",
        };
        Statement::parse(sql, Dialect::Mssql, Protocol::Prepared)
    }

    /// The values of that statement's slots.
    pub fn values(self) -> &'static [Value<'static>] {
        use Value::{Decimal, Instant, Int, Null, Text};
        match self {
            Call::NewOrder => &[Int(1), Int(4), Int(5), Int(42), Int(10), Instant(NOW)],
            Call::Payment => {
                &[Int(1), Int(5), Int(1), Int(5), Int(0), Int(1), Decimal(123_456, 2), Text("BARBARBAR"), Instant(NOW)]
            }
            Call::PointSelect => &[Int(42)],
            Call::Outputs => &[Int(1), Int(2), Null, Null],
        }
    }

    /// The same as whoever uses the client library by itself writes it.
    pub fn command(self) -> Command<'static> {
        let mut command = Command::new(self.procedure());
        let now = || ColumnData::DateTime2(Some(DateTime2::new(Date::new(TODAY), Time::new(0, 6))));
        match self {
            Call::NewOrder => {
                command.bind_param("@no_w_id", 1_i32);
                command.bind_param("@no_max_w_id", 4_i32);
                command.bind_param("@no_d_id", 5_i32);
                command.bind_param("@no_c_id", 42_i32);
                command.bind_param("@no_o_ol_cnt", 10_i32);
                command.bind_param("@TIMESTAMP", now());
            }
            Call::Payment => {
                command.bind_param("@p_w_id", 1_i32);
                command.bind_param("@p_d_id", 5_i32);
                command.bind_param("@p_c_w_id", 1_i32);
                command.bind_param("@p_c_d_id", 5_i32);
                command.bind_param("@p_c_id", 0_i32);
                command.bind_param("@byname", 1_i32);
                command.bind_param("@p_h_amount", Numeric::new_with_scale(123_456, 2));
                command.bind_param("@p_c_last", "BARBARBAR");
                command.bind_param("@TIMESTAMP", now());
            }
            Call::PointSelect => {
                command.bind_param("", HANDLE);
                command.bind_param("", 42_i32);
            }
            Call::Outputs => {
                command.bind_param("@a", 1_i32);
                command.bind_param("@b", 2_i32);
                command.bind_out_param("@c", ColumnData::I32(None));
                command.bind_out_param("@d", ColumnData::I32(None));
            }
        }
        command
    }
}
