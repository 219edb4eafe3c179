use super::*;
use Dialect::{Mssql, Mysql, Sqlite};

#[test]
fn what_only_reads_is_a_question() {
    for (dialects, sql) in [
        (&[Mysql, Mssql, Sqlite][..], "SELECT 1"),
        (&[Mysql, Mssql, Sqlite], " select count(*)\n from t where note = 'DROP; it''s' ; "),
        (&[Mysql, Mssql, Sqlite], "WITH a AS (SELECT 1 AS x), b (y) AS (SELECT x FROM a) SELECT * FROM b"),
        (&[Mysql], "SHOW GLOBAL STATUS LIKE 'Slow_queries'"),
        (&[Mysql], "SELECT @@global.general_log, INSERT('a', 1, 1, 'b'), REPLACE('a', 'b', 'c'), IF(1, 2, 3)"),
        (&[Mysql, Sqlite], "SELECT `update` FROM `lock`"),
        (&[Mysql], "SELECT 'a\\\\', \"it's\""),
        (&[Mysql], "EXPLAIN FORMAT = JSON SELECT 1"),
        (&[Sqlite], "EXPLAIN QUERY PLAN SELECT 1"),
        (&[Sqlite], "PRAGMA journal_mode"),
        (&[Sqlite], "PRAGMA table_info('t')"),
        (&[Mssql], "SELECT [drop], \"exec\" FROM [dbo].[t] WITH (NOLOCK) WHERE b > 0x1F OR c > 1e5 OR d > 1.5"),
        (&[Mssql], "SELECT CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END FROM sys.tables AS t;"),
        (&[Mysql], "SELECT größe FROM t"),
    ] {
        for dialect in dialects {
            assert_eq!(check(sql, *dialect), Ok(()), "{dialect:?}: {sql}");
        }
    }
}

#[test]
fn what_may_do_more_is_none() {
    for (dialects, sql) in [
        (&[Mysql, Mssql, Sqlite][..], ""),
        (&[Mysql, Mssql, Sqlite], ";"),
        (&[Mysql, Mssql, Sqlite], "DROP TABLE t"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1; DROP TABLE t"),
        (&[Mysql, Mssql, Sqlite], "(SELECT 1)"),
        (&[Mysql, Mssql, Sqlite], "SELECT 'open"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1 -- comment"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1 /*! INTO OUTFILE '/tmp/x' */"),
        (&[Mysql], "SELECT 1 /*M!100100 INTO @x */"),
        (&[Mysql], "SELECT 1 # comment"),
        (&[Mysql], "SELECT 1 INTO OUTFILE '/tmp/x'"),
        (&[Mysql], "SELECT 1 into @x"),
        (&[Mysql], "SELECT * FROM t FOR UPDATE"),
        (&[Mysql], "SELECT * FROM t LOCK IN SHARE MODE"),
        (&[Mysql], "SELECT * FROM t FOR SHARE"),
        (&[Mysql], "SELECT LOAD_FILE('/etc/passwd')"),
        (&[Mysql], "SELECT NEXTVAL(s)"),
        // One string where backslashes hide quotes, two statements where they do not.
        (&[Mysql], "SELECT '\\'; DROP TABLE t; SELECT '"),
        (&[Mysql, Mssql, Sqlite], "WITH a AS (SELECT 1) DELETE FROM t"),
        (&[Mysql, Mssql, Sqlite], "WITH a AS (SELECT 1) UPDATE t SET x = 1"),
        (&[Mysql], "EXPLAIN ANALYZE DELETE FROM t"),
        (&[Mysql], "EXPLAIN DELETE FROM t"),
        (&[Mysql], "ANALYZE SELECT 1"),
        (&[Mysql], "CALL p()"),
        (&[Mysql], "DO SLEEP(1)"),
        (&[Mysql], "SET GLOBAL general_log = 1"),
        (&[Mysql], "TABLE t INTO OUTFILE 'x'"),
        (&[Mysql], "PREPARE s FROM 'SELECT 1'"),
        (&[Mysql], "FLUSH LOGS"),
        (&[Mssql], "SELECT 1 DROP TABLE t"),
        (&[Mssql], "SELECT 1 EXEC xp_cmdshell 'dir'"),
        (&[Mssql], "SELECT 1EXEC xp_cmdshell 'dir'"),
        (&[Mssql], "SELECT $1EXEC xp_cmdshell 'dir'"),
        (&[Mssql], "SELECT 1\u{a0}SHUTDOWN"),
        (&[Mssql], "SELECT 1\u{b}SHUTDOWN"),
        (&[Mssql], "SELECT * INTO x FROM t"),
        (&[Mssql], "SELECT * FROM OPENQUERY(s, 'DELETE t')"),
        (&[Mssql], "SELECT * FROM t WITH (TABLOCKX)"),
        (&[Mssql], "SELECT NEXT VALUE FOR s"),
        (&[Mssql], "IF 1 = 1 SELECT 1"),
        (&[Mssql], "sp_who"),
        (&[Mssql], "SHOW TABLES"),
        (&[Sqlite], "PRAGMA journal_mode = DELETE"),
        (&[Sqlite], "PRAGMA journal_mode(DELETE)"),
        (&[Sqlite], "PRAGMA wal_checkpoint"),
        (&[Sqlite], "SELECT load_extension('x')"),
        (&[Sqlite], "ATTACH 'x' AS y"),
    ] {
        for dialect in dialects {
            assert!(check(sql, *dialect).is_err(), "{dialect:?}: {sql}");
        }
    }
}

proptest::proptest! {
    #[test]
    fn nothing_breaks_it(sql in ".{0,80}") {
        for dialect in [Mysql, Mssql, Sqlite] {
            let _ = check(&sql, dialect);
        }
    }

    /// Whatever stands around it, outside quotes a second statement is seen.
    #[test]
    fn a_second_statement_is_never_a_question(head in "[a-z0-9 ,.()=*]{0,40}", tail in "[a-z0-9 ,.()=*]{0,40}") {
        let sql = format!("SELECT {head} ; DROP TABLE t {tail}");
        for dialect in [Mysql, Mssql, Sqlite] {
            proptest::prop_assert!(check(&sql, dialect).is_err());
        }
        let sql = format!("SELECT {head} EXEC p {tail}");
        proptest::prop_assert!(check(&sql, Mssql).is_err());
    }
}
