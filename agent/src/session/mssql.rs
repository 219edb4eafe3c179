//! Microsoft SQL Server and what speaks its protocol, by way of tiberius.
//!
//! How statements travel: a bare `EXEC` is an RPC to the procedure itself, the cheapest call there is. Any other prepared
//! statement is prepared with its first values (sp_prepexec, as Microsoft's ODBC driver does) and executed by its
//! handle from then on; one without parameters goes by its text, which is all that sp_executesql needs. Nothing is prepared before that: a plan that sp_prepare compiles has seen no values, and guesses
//! how many rows a range has and how much memory its sort takes. The text protocol sends batches.
//!
//! A session asks for nothing of its own but, once, for its id and the version, and sets LOCK_TIMEOUT to the deadline: at
//! the default of -1 a lock is waited for without end. The other settings are the server's for ODBC clients, that is
//! ANSI_NULLS, QUOTED_IDENTIFIER and the like ON; NOCOUNT, IMPLICIT_TRANSACTIONS and XACT_ABORT are switched OFF, whatever the server's
//! `user options` are. The latter means that a failed statement leaves its
//! transaction open; whoever runs transactions rolls back after every fault, so nothing is committed by halves.
//!
//! Affected rows are what the server counts for statements that return no rows. tiberius does not tell the counts of a
//! batch, so that the text protocol says 0.

mod answer;
mod bulk;
mod column;
mod connect;
mod fault;
mod plan;
mod refusal;
mod row;
mod stop;
mod value;
mod wire;

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tiberius::{Client, Command};
use tokio_util::compat::Compat;
use vufleet_scenarios::session::{Access, Dialect, Fault, FaultKind, Interrupt, Rows, Session, Source, Stmt, Value};
use vufleet_scenarios::sql::{Call, Protocol, Statement};
use vufleet_scenarios::study::{Mssql, Target};

use self::connect::Opened;
use self::plan::Plan;
use self::stop::Stop;
use self::value::Form;
use self::wire::Wire;
use super::text;

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// The client.
type Tds = Client<Compat<Wire>>;

/// Bytes of a packet of a load, where the study does not say: the most that SQL Server takes under TLS, and a fifth less processor time
/// than with the client's own 4,096. Still larger ones save nothing more.
const LOAD_PACKET_SIZE: u32 = 16_383;

/// One connection to a SQL Server.
pub struct MssqlSession {
    client: Box<Tds>,
    statements: Rc<[Statement]>,
    plans: Box<[Plan]>,
    stop: Arc<Stop>,
    id: Option<u64>,
    version: Box<str>,
    route: String,
    text: String,
    in_transaction: bool,
}

impl MssqlSession {
    async fn execute_now(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        // A wish that was meant for the transaction before, which ended first.
        if !self.in_transaction {
            self.stop.forget();
        }
        let statement = &self.statements[usize::from(stmt.0)];
        if statement.slots.len() != params.len() {
            return Err(text::mismatch(&statement.sql, params.len()));
        }
        match statement.protocol {
            Protocol::Text => self.execute_text(stmt, params, rows).await,
            Protocol::Prepared if statement.call.is_some() => self.call(stmt, params, rows).await,
            Protocol::Prepared => self.execute_prepared(stmt, params, rows).await,
        }
    }

    async fn execute_prepared(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let index = usize::from(stmt.0);
        let (statement, plan) = (&self.statements[index], &mut self.plans[index]);
        let command = plan.command(statement, params)?;
        let answer =
            self.stop.unless(&mut self.client, async |client| answer::of_command(command, client, rows).await).await;
        plan.learn(&answer);
        answer.map(|answer| answer.affected)
    }

    async fn call(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        let statement = &self.statements[usize::from(stmt.0)];
        let Some(call) = &statement.call else { unreachable!("asked for calls only") };
        let command = call_command(call, statement, params)?;
        let answer = self
            .stop
            .unless(&mut self.client, async |client| {
                let answer = answer::of_command(command, client, rows).await?;
                answer.tell_outputs(rows);
                Ok(answer)
            })
            .await?;
        Ok(answer.affected)
    }

    async fn execute_text(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        self.text.clear();
        text::write(Dialect::Mssql, &self.statements[usize::from(stmt.0)].sql, params, &mut self.text)?;
        let sql = self.text.as_str();
        self.stop.unless(&mut self.client, async |client| answer::of_batch(sql, client, rows).await).await?;
        Ok(0)
    }
}

fn call_command<'a>(call: &'a Call, statement: &'a Statement, params: &[Value<'a>]) -> Result<Command<'a>, Fault> {
    let mut command = Command::new(call.procedure.as_str());
    for (slot, (argument, param)) in call.arguments.iter().zip(params).enumerate() {
        let data = value::wire(param, Form::of(statement.types[slot].as_deref()))?;
        if argument.output {
            command.bind_out_param(argument.name.as_str(), data);
        } else {
            command.bind_param(argument.name.as_str(), data);
        }
    }
    Ok(command)
}

impl Session for MssqlSession {
    const DIALECT: Dialect = Dialect::Mssql;
    const ON_TOKIO: bool = true;

    async fn connect(target: &Target, statements: Rc<[Statement]>) -> Result<Self, Fault> {
        // Boxed: it is the largest future of a session's life and done with in a moment.
        let Opened { client, id, version, route } = Box::pin(connect::open(target)).await?;
        let plans = statements.iter().map(Plan::new).collect();
        let stop = Arc::default();
        Ok(MssqlSession {
            client,
            statements,
            plans,
            stop,
            id,
            version,
            route,
            text: String::new(),
            in_transaction: false,
        })
    }

    async fn connect_to_load(target: &Target) -> Result<Self, Fault> {
        let packet_size = target.mssql.packet_size.or(Some(LOAD_PACKET_SIZE));
        let mssql = Mssql { packet_size, ..target.mssql.clone() };
        MssqlSession::connect(&Target { mssql, ..target.clone() }, Rc::from([])).await
    }

    fn may_let_in(fault: &Fault) -> bool {
        matches!(fault.kind, FaultKind::ConnectionLost | FaultKind::Overloaded)
    }

    /// Nothing yet: the first values belong to the preparation.
    async fn prepare(&mut self, _stmt: Stmt) -> Result<(), Fault> {
        Ok(())
    }

    /// Boxed, as all that waits for the server is: thousands of users that wait for something else hold none of it, and
    /// beside what the client allocates for each answer it is nothing.
    async fn execute(&mut self, stmt: Stmt, params: &[Value<'_>], rows: &mut impl Rows) -> Result<u64, Fault> {
        Box::pin(self.execute_now(stmt, params, rows)).await
    }

    async fn query(&mut self, sql: &str, rows: &mut impl Rows) -> Result<(), Fault> {
        let client = &mut self.client;
        Box::pin(self.stop.unless(client, async |client| answer::of_batch(sql, client, rows).await)).await
    }

    /// A request to the transaction manager, at the isolation level of the session, whatever the access.
    async fn begin(&mut self, _access: Access) -> Result<(), Fault> {
        self.stop.forget();
        self.in_transaction = true;
        Box::pin(self.client.begin_transaction()).await.map_err(fault::of)
    }

    /// Never stopped by an interrupt, which would leave its outcome open.
    async fn commit(&mut self) -> Result<(), Fault> {
        let result = Box::pin(self.client.commit_transaction()).await;
        self.in_transaction = false;
        self.stop.forget();
        result.map_err(|error| fault::of_commit(fault::of(error)))
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        // Whatever was to be stopped before is over.
        self.stop.forget();
        self.in_transaction = false;
        match Box::pin(self.client.rollback_transaction()).await.map_err(fault::of) {
            Err(fault) if fault::is_no_transaction(&fault) => Ok(()),
            result => result,
        }
    }

    /// The protocol has no ping: a batch that the server counts, but nobody here.
    async fn ping(&mut self) -> Result<(), Fault> {
        self.query("SELECT 1", &mut ()).await
    }

    async fn bulk(&mut self, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
        // Boxed: only who builds a schema needs it.
        Box::pin(bulk::load(&mut self.client, table, columns, rows)).await
    }

    fn bulk_way(&self) -> &'static str {
        "TDS bulk load"
    }

    /// Stops this session's own waiting and sends an attention, which needs no permission; KILL would need one. One that
    /// comes between two statements ends the next one, unless the transaction's end comes first.
    fn interrupt(&self) -> Interrupt {
        let stop = Arc::clone(&self.stop);
        Interrupt::Call(Arc::new(move || stop.now()))
    }

    fn id(&self) -> Option<u64> {
        self.id
    }

    fn now(&self) -> Option<i64> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_micros()).ok()
    }

    fn fault(code: i32, message: &str) -> Fault {
        fault::of_words(code.unsigned_abs(), 0, message)
    }

    fn version(&self) -> String {
        self.version.to_string()
    }

    fn describe(&self) -> String {
        self.route.clone()
    }

    /// Dropping the client closes the socket at once; it says no goodbye by itself.
    fn discard(self) {}

    async fn close(self) {
        // Whether the server heard it does not matter to anybody: the socket is closed either way.
        Box::pin(tokio::time::timeout(GOODBYE, self.client.close())).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_its_buffers_is_small() {
        let size = size_of::<MssqlSession>();
        assert!(size <= 168, "{size} bytes");
    }

    #[test]
    fn a_call_binds_names_types_and_outputs() {
        let sql = "EXEC p @a = :a::int, @b = :b OUTPUT";
        let statement = Statement::parse(sql, Dialect::Mssql, Protocol::Prepared);
        let call = statement.call.as_ref().unwrap();
        let command = call_command(call, &statement, &[Value::Int(1), Value::Int(2)]).unwrap();
        let shown = format!("{command:?}");
        for part in ["\"p\"", "\"@a\", out: false", "I32(Some(1))", "\"@b\", out: true", "I64(Some(2))"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
