//! Loading rows by TDS bulk insert.
//!
//! Each batch is committed by itself, unless a transaction is open. A batch stays below the number of rows at which locks
//! escalate to the whole table, so that loads of several sessions run beside each other.

use std::time::Duration;

use tiberius::{MetaDataColumn, SqlBulkCopyOption, TokenRow};
use vufleet_scenarios::session::{Fault, FaultKind, Source, Value};
use vufleet_scenarios::sql::bracketed;

use super::column::Target;
use super::{Tds, fault};
use crate::session::text;

/// Rows of a batch. SQL Server tries to escalate at 5,000 locks of one statement on one table.
const BATCH_ROWS: u64 = 4_000;
/// How long a server may take to forget a batch that is given up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Loads all rows. Returns how many there were.
pub(super) async fn load(client: &mut Tds, table: &str, columns: &[&str], rows: &mut dyn Source) -> Result<u64, Fault> {
    let quoted: Vec<String> = columns.iter().map(|column| bracketed(column)).collect();
    let columns: Vec<&str> = quoted.iter().map(String::as_str).collect();
    let metadata = client.column_metadata(table, &columns).await.map_err(fault::of)?;
    let targets = targets(table, columns.len(), &metadata)?;
    let mut loaded = 0;
    let mut next = take(&targets, rows)?;
    while next.is_some() {
        let batch = Batch { table, columns: &columns, targets: &targets };
        loaded += batch.send(client, &mut next, rows).await?;
    }
    Ok(loaded)
}

fn targets(table: &str, wanted: usize, metadata: &[MetaDataColumn<'_>]) -> Result<Vec<Target>, Fault> {
    let readonly = metadata.iter().find(|column| !column.base().is_updateable() && !column.base().is_identity());
    match readonly {
        Some(column) => {
            let what = format!("column {} of {table} is computed; leave it out of the load", column.col_name());
            Err(Fault::new(FaultKind::Statement, what))
        }
        None if metadata.len() != wanted => {
            let what =
                format!("{table} has {} of the {wanted} columns to be loaded; rebuild the schema", metadata.len());
            Err(Fault::new(FaultKind::Statement, what))
        }
        None => Ok(metadata.iter().map(Target::new).collect()),
    }
}

/// The next row, in the form of its columns.
fn take(targets: &[Target], rows: &mut dyn Source) -> Result<Option<TokenRow<'static>>, Fault> {
    let mut outcome = Ok(TokenRow::new());
    let more = rows.next(&mut |row| outcome = convert(targets, row));
    outcome.map(|row| more.then_some(row))
}

fn convert(targets: &[Target], row: &[Value<'_>]) -> Result<TokenRow<'static>, Fault> {
    if row.len() != targets.len() {
        return Err(text::mismatch("the columns of the load", row.len()));
    }
    let mut converted = TokenRow::with_capacity(row.len());
    for (target, value) in targets.iter().zip(row) {
        converted.push(target.value(value)?);
    }
    Ok(converted)
}

/// One INSERT BULK.
struct Batch<'a> {
    table: &'a str,
    columns: &'a [&'a str],
    targets: &'a [Target],
}

impl Batch<'_> {
    /// Sends `next` and the rows behind it, up to a batch; leaves the first row of the next batch in `next`.
    async fn send(
        &self,
        client: &mut Tds,
        next: &mut Option<TokenRow<'static>>,
        rows: &mut dyn Source,
    ) -> Result<u64, Fault> {
        // The identity column's own values, where the caller names it. No KEEP_NULLS: columns that the caller leaves out
        // would be NULL instead of having their defaults.
        let options = SqlBulkCopyOption::KeepIdentity.into();
        let mut load =
            client.bulk_insert_with_options(self.table, self.columns, options, &[]).await.map_err(fault::of)?;
        let mut sent = 0;
        let broken = loop {
            let Some(row) = next.take() else { break None };
            if let Err(error) = load.send(row).await {
                break Some(match error {
                    tiberius::error::Error::BulkInput(words) | tiberius::error::Error::Encoding(words) => {
                        Fault::new(FaultKind::Statement, format!("{}: {words}", self.table))
                    }
                    other => fault::of(other),
                });
            }
            sent += 1;
            match take(self.targets, rows) {
                Ok(row) => *next = row,
                Err(fault) => break Some(fault),
            }
            if sent == BATCH_ROWS {
                break None;
            }
        };
        match broken {
            None => load.finalize().await.map(|_| sent).map_err(fault::of),
            Some(fault) => {
                drop(load);
                Err(give_up(client, fault).await)
            }
        }
    }
}

/// Makes the server forget a batch that was begun, so that the connection can be used again.
async fn give_up(client: &mut Tds, fault: Fault) -> Fault {
    if fault.kind.ends_connection() {
        return fault;
    }
    match tokio::time::timeout(PATIENCE, client.cancel_query()).await {
        Ok(Ok(())) => fault,
        _ => Fault { kind: FaultKind::ConnectionLost, ..fault },
    }
}
