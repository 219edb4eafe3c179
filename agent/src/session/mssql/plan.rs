//! A prepared statement of one session: its handle at the server, and the declaration that it was prepared with.

use std::fmt::Write as _;

use tiberius::{ColumnData, Command};
use vufleet_scenarios::session::{Fault, Value};
use vufleet_scenarios::sql::Statement;

use super::answer::Answer;
use super::value::{self, Form, Kind};

/// "Could not find prepared statement with handle": somebody reset the connection.
const UNKNOWN_HANDLE: i32 = 8179;

/// Where a statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not prepared yet.
    New,
    /// Prepared under this handle.
    Handle(i32),
    /// The server gets the text each time: it prepares without giving a handle, or there is nothing to declare.
    Handleless,
}

/// One statement.
#[derive(Debug)]
pub(super) struct Plan {
    state: State,
    /// What the value at hand was declared as, in each slot; those that the text declares do not matter. Empty where it
    /// declares all of them, as ours do: thousands of sessions have dozens of these.
    kinds: Box<[Kind]>,
}

impl Plan {
    /// Of a statement that has not been sent.
    pub fn new(statement: &Statement) -> Plan {
        let is_declared = statement.types.iter().all(Option::is_some);
        let kinds = vec![Kind::Unknown; if is_declared { 0 } else { statement.types.len() }];
        Plan { state: if statement.types.is_empty() { State::Handleless } else { State::New }, kinds: kinds.into() }
    }

    /// The command that executes the statement, and prepares it where that is to be done first.
    pub fn command<'a>(&mut self, statement: &'a Statement, params: &[Value<'a>]) -> Result<Command<'a>, Fault> {
        self.adapt(statement, params);
        let mut command = match self.state {
            State::Handle(handle) => {
                let mut command = Command::new("sp_execute");
                command.bind_param("", handle);
                command
            }
            State::New => {
                let mut command = Command::new("sp_prepexec");
                command.bind_out_param("", ColumnData::I32(None));
                command.bind_param("", self.declaration(statement));
                command.bind_param("", statement.sql.as_str());
                command
            }
            State::Handleless => {
                let mut command = Command::new("sp_executesql");
                command.bind_param("", statement.sql.as_str());
                if !statement.types.is_empty() {
                    command.bind_param("", self.declaration(statement));
                }
                command
            }
        };
        for (index, (param, declared)) in params.iter().zip(&statement.types).enumerate() {
            let form = Form::of(declared.as_deref()).for_kind(self.kind(index));
            command.bind_param("", value::wire(param, form)?);
        }
        Ok(command)
    }

    /// A value that does not fit what its slot was declared as makes a new declaration. The old handle is left to the
    /// server, which drops it with the connection: it happens once a slot and kind.
    fn adapt(&mut self, statement: &Statement, params: &[Value<'_>]) {
        for ((declared, kind), param) in statement.types.iter().zip(&mut self.kinds).zip(params) {
            if declared.is_none() && !kind.takes(Kind::of(param)) {
                *kind = Kind::of(param);
                if let State::Handle(_) = self.state {
                    self.state = State::New;
                }
            }
        }
    }

    fn kind(&self, slot: usize) -> Kind {
        self.kinds.get(slot).copied().unwrap_or(Kind::Unknown)
    }

    /// `@P1 int, @P2 nvarchar(4000)`.
    fn declaration(&self, statement: &Statement) -> String {
        let mut out = String::new();
        for (index, declared) in statement.types.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            // Writing to a String cannot fail.
            write!(out, "{separator}@P{} ", index + 1).unwrap_or_default();
            match declared {
                Some(declared) => out.push_str(declared),
                None => self.kind(index).declare(&mut out),
            }
        }
        out
    }

    /// Remembers what the server made of the command.
    pub fn learn(&mut self, answer: &Result<Answer, Fault>) {
        match (self.state, answer) {
            (State::New, Ok(answer)) => self.state = answer.handle().map_or(State::Handleless, State::Handle),
            (State::Handle(_), Err(fault)) if fault.code == Some(UNKNOWN_HANDLE) => self.state = State::New,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::session::{Dialect, FaultKind};
    use vufleet_scenarios::sql::Protocol;

    use super::*;

    fn statement(sql: &str) -> Statement {
        Statement::parse(sql, Dialect::Mssql, Protocol::Prepared)
    }

    #[test]
    fn types_are_those_of_the_text_or_else_of_the_values() {
        let statement = statement("SELECT :a::char(16), :b, :c, :d, :e, :f, :g, :h");
        let mut plan = Plan::new(&statement);
        let long = "x".repeat(4001);
        let values = [
            Value::Null,
            Value::Int(1),
            Value::Text("a"),
            Value::Text(&long),
            Value::Decimal(1, 4),
            Value::Instant(0),
            Value::Null,
            Value::Bytes(b""),
        ];
        plan.adapt(&statement, &values);
        assert_eq!(
            plan.declaration(&statement),
            "@P1 char(16), @P2 bigint, @P3 nvarchar(4000), @P4 nvarchar(max), @P5 decimal(23,4), @P6 datetime2(6), \
             @P7 nvarchar(4000), @P8 varbinary(max)"
        );
    }

    #[test]
    fn a_value_that_does_not_fit_is_prepared_for_and_one_that_does_is_not() {
        let statement = statement("SELECT :a, :b::int");
        let mut plan = Plan::new(&statement);
        let shown = |plan: &mut Plan, a: Value<'static>| {
            format!("{:?}", plan.command(&statement, &[a, Value::Int(2)]).unwrap())
        };
        let first = shown(&mut plan, Value::Null);
        assert!(first.contains("sp_prepexec") && first.contains("@P1 nvarchar(4000), @P2 int"), "{first}");
        plan.state = State::Handle(7);
        for (value, again) in [
            (Value::Null, false),
            (Value::Int(1), true),
            (Value::Int(9), false),
            (Value::Null, false),
            (Value::Decimal(1, 2), true),
            (Value::Decimal(1, 1), false),
            (Value::Decimal(1, 3), true),
            (Value::Text("a"), true),
        ] {
            let sent = shown(&mut plan, value);
            assert_eq!(sent.contains("sp_prepexec"), again, "{value:?}: {sent}");
            assert_eq!(sent.contains("sp_execute\""), !again, "{value:?}: {sent}");
            plan.state = State::Handle(7);
        }
    }

    #[test]
    fn a_server_without_handles_gets_the_text_and_a_forgotten_handle_a_new_one() {
        let statement = statement("SELECT :a");
        let mut plan = Plan::new(&statement);
        plan.learn(&Err(Fault::new(FaultKind::Statement, "no")));
        assert_eq!(plan.state, State::New);
        plan.learn(&Ok(Answer::default()));
        assert_eq!(plan.state, State::Handleless);
        let shown = format!("{:?}", plan.command(&statement, &[Value::Int(1)]).unwrap());
        assert!(shown.contains("sp_executesql") && shown.contains("@P1 bigint"), "{shown}");
        plan.state = State::Handle(1);
        plan.learn(&Err(Fault::with_code(FaultKind::Statement, 208, "no table")));
        assert_eq!(plan.state, State::Handle(1));
        plan.learn(&Err(Fault::with_code(FaultKind::Statement, UNKNOWN_HANDLE, "no handle")));
        assert_eq!(plan.state, State::New);
    }

    #[test]
    fn a_statement_whose_types_are_declared_holds_nothing_of_its_own() {
        let plan = Plan::new(&statement("SELECT :a::int, :b::char(16)"));
        assert_eq!((plan.state, plan.kinds.len(), size_of::<Plan>()), (State::New, 0, 24));
    }

    #[test]
    fn what_has_no_parameters_is_the_text_alone() {
        let statement = statement("SELECT 1");
        let shown = format!("{:?}", Plan::new(&statement).command(&statement, &[]).unwrap());
        assert!(shown.contains("sp_executesql") && shown.matches("Scalar").count() == 1, "{shown}");
    }
}
