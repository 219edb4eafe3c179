//! The server's counters over the wire: each view by itself first, then those that are there in one batch.

use mssql_mock_tds::{ColumnDefinition, ColumnValue, QueryResponse, Row, SqlDataType};
use vufleet_agent::observe::database::DatabaseObserver;
use vufleet_agent::session::MssqlSession;
use vufleet_scenarios::counters::mssql;

use super::mock::{Mock, plain, run};

/// Rows of a name and numbers, as the views have them.
fn named(rows: &[(&str, &[i64])]) -> QueryResponse {
    let numbers = rows.first().map_or(0, |(_, numbers)| numbers.len());
    let mut columns = vec![ColumnDefinition::new("name", SqlDataType::NVarChar)];
    columns.extend((0..numbers).map(|_| ColumnDefinition::new("value", SqlDataType::BigInt)));
    let row = |(name, numbers): &(&str, &[i64])| {
        let numbers = numbers.iter().map(|number| ColumnValue::BigInt(*number));
        Row::new([ColumnValue::NVarChar((*name).to_owned())].into_iter().chain(numbers).collect())
    };
    QueryResponse::new(columns, rows.iter().map(row).collect())
}

#[test]
fn views_that_the_login_may_see_are_read_and_the_others_are_named() {
    run(async {
        let mock = Mock::start().await;
        let parts = mssql::parts(Some("tpcc"), false);
        mock.answer(&parts[0].sql, named(&[("Batch Requests/sec", &[5_000_000_000]), ("User Connections", &[7])]))
            .await;
        mock.fail(&parts[1].sql, 300, "VIEW SERVER STATE permission was denied on object 'server'").await;
        mock.answer(&parts[2].sql, named(&[("WRITELOG", &[40, 3, 9]), ("LAZYWRITER_SLEEP", &[999, 1, 1])])).await;
        let together = format!("{};\n{}", parts[0].sql, parts[2].sql);
        mock.answer(&together, named(&[("WRITELOG", &[41, 3, 10])])).await;
        let mut observer = DatabaseObserver::<MssqlSession>::new(plain(mock.port), parts);
        let first = observer.read().await;
        assert_eq!(first.values["Batch Requests/sec"], 5_000_000_000);
        assert_eq!((first.values["wait.WRITELOG.ms"], first.values["wait.WRITELOG.count"]), (40, 9));
        assert_eq!(first.values.len(), 5, "{:?}", first.values);
        let lacks = first.error.expect("one view is missing");
        for words in ["sys.dm_os_sys_info cannot be read", "permission was denied", "GRANT VIEW SERVER STATE"] {
            assert!(lacks.contains(words), "{words}: {lacks}");
        }
        let second = observer.read().await;
        assert_eq!((second.values["wait.WRITELOG.ms"], second.own_statements, second.error), (41, 4, None));
        observer.close().await;
    });
}
