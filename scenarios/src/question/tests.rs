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
        (&[Mysql, Mssql, Sqlite], "SELECT 1., .5, 1.5e-3, 0x1F, 'x', \"it's\" FROM t WHERE a=-1"),
        (
            &[Mysql],
            "SELECT X'1F', N'x', B'01', _utf8mb4 'x', @x, @@global.x, t.*, `t`.`a` FROM t WHERE a = ? AND b=(?)",
        ),
        (&[Mssql], "SELECT N'x', 'C:\\a', @P1, @@VERSION, [a]]b] FROM tempdb..#t AS t WHERE a=@P12"),
        (&[Sqlite], "SELECT name FROM pragma_table_info('t') WHERE a = 'C:\\' OR b = ?"),
        (&[Mysql], "EXPLAIN FORMAT = JSON SELECT 1"),
        (&[Sqlite], "EXPLAIN QUERY PLAN SELECT 1"),
        (&[Sqlite], "PRAGMA journal_mode"),
        (&[Sqlite], "PRAGMA table_info('t')"),
        (&[Mssql], "SELECT [drop], \"exec\" FROM [dbo].[t] WITH (NOLOCK) WHERE b > 0x1F OR c > 1e5 OR d > 1.5"),
        (&[Mssql], "SELECT CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END FROM sys.tables AS t;"),
        (&[Mysql, Sqlite], "SELECT `größe` FROM t WHERE a = 'größe'"),
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
        (&[Sqlite], "SELECT writefile('x', 'y')"),
        (&[Sqlite], "SELECT * FROM pragma_optimize"),
        (&[Sqlite], "SELECT * FROM \"pragma_optimize\""),
        (&[Sqlite], "WITH a AS (SELECT * FROM [pragma_optimize]) SELECT * FROM a"),
        (&[Mssql], "SELECT 1 EXEC@p"),
        (&[Mssql], "SELECT@@VERSION"),
        (&[Mssql], "SELECT 1 END CONVERSATION @h"),
        // Written, or run, by servers that need no space where we would.
        (&[Mysql, Mssql, Sqlite], "SELECT \\NINTO OUTFILE '/x'"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1.e1INTO OUTFILE '/x'"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1.e1INTO @v"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1eINTO x"),
        (&[Mysql, Mssql, Sqlite], "SELECT .5INTO x"),
        (&[Mysql, Mssql, Sqlite], "SELECT 0xFFINTO x"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1..5"),
        (&[Mysql, Mssql, Sqlite], "SELECT t.1e1"),
        (&[Mysql, Mssql, Sqlite], "SELECT .e1"),
        (&[Mysql, Mssql, Sqlite], "SELECT . FROM t"),
        (&[Mssql], "SELECT 1.e1EXEC xp_cmdshell 'dir'"),
        (&[Mssql], "SELECT 1.e1DROP TABLE t"),
        (&[Mssql], "SELECT 1eEXEC p"),
        (&[Mssql], "SELECT 1e+EXEC p"),
        (&[Mssql], "SELECT @P1EXEC p"),
        (&[Mssql], "SELECT \u{20ac}1EXEC p"),
        (&[Mssql], "SELECT gr\u{f6}\u{df}e FROM t"),
        (&[Mysql, Sqlite], "SELECT ?INTO x"),
        (&[Mysql, Sqlite], "SELECT a?"),
        (&[Mysql, Sqlite], "SELECT `load_file`('/f')"),
        (&[Mysql, Sqlite], "SELECT `load_file` ('/f')"),
        (&[Mysql, Mssql, Sqlite], "SELECT \"load_file\"('/f')"),
        (&[Mssql, Sqlite], "SELECT [f](1)"),
        (&[Mysql, Mssql, Sqlite], "SELECT {fn load_file('/f')}"),
        (&[Mysql, Mssql, Sqlite], "SELECT @a:=1"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1--1"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1 /* /* */ INTO x */"),
        (&[Mysql, Mssql, Sqlite], "SELECT 'a'b"),
        (&[Mysql, Mssql, Sqlite], "SELECT b'a' _x'a'"),
        (&[Mysql, Mssql, Sqlite], "SELECT 'a\0'"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1\0INTO x"),
        (&[Mysql, Mssql, Sqlite], "SELECT 1\u{3000}FROM t"),
        // A comment to the end of its line, where it is none of a name.
        (&[Mysql, Sqlite], "SELECT 1 AS a#'\nINTO OUTFILE '/x'#'"),
        (&[Mysql, Sqlite], "SELECT a@INTO"),
        (&[Mysql], "SELECT [1]"),
        // A quote that ends elsewhere.
        (&[Mysql], "SELECT 'a\\\\'"),
        (&[Mysql], "SELECT \"a\\\" INTO @x"),
        (&[Sqlite], "SELECT [a]]; DROP TABLE t --]"),
        (&[Mysql], "SELECT NEXT VALUE FOR s"),
        (&[Mysql], "SELECT SETVAL(s, 1)"),
    ] {
        for dialect in dialects {
            assert!(check(sql, *dialect).is_err(), "{dialect:?}: {sql}");
        }
    }
}

/// What a word may follow without a space, by one server or another, and what one may take for a space.
const ENDS: &str = concat!(
    "([0-9]{1,3}|[0-9]{0,2}\\.[0-9]{1,2}|[0-9]\\.|[0-9.]{1,3}[eE][+-]?[0-9]{0,2}|0[xX][0-9a-fA-F]{0,4}|[$\u{a3}\u{20ac}][0-9]{0,2}",
    "|[NXB]?'[a-z ]{0,3}'|_utf8'[a-z]{0,3}'|\"[a-z ]{0,3}\"|`[a-z ]{1,3}`|\\[[a-z ]{1,3}\\]|\\\\N|\\?|@P[0-9]{1,2}",
    "|[-+*/%=<>!&|^~(),.:{}?\\\\]{1,2}|[\0\u{b}\u{c}\u{85}\u{a0}\u{2028}\u{3000}\u{feff}])",
);

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4096))]

    #[test]
    fn nothing_breaks_it(sql in ".{0,80}", odd in "[0-9eExX.'\"`\\[\\]@#$?\\\\ \u{f6}-]{0,20}") {
        for dialect in [Mysql, Mssql, Sqlite] {
            let _ = check(&sql, dialect);
            let _ = check(&format!("SELECT {odd}"), dialect);
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

    /// Nor does a keyword need a space before it, or behind it.
    #[test]
    fn what_writes_is_seen_behind_whatever_it_is_glued_to(
        end in ENDS,
        begun in proptest::sample::select(BEGINNING.to_vec()),
        reaching in proptest::sample::select(REACHING.to_vec()),
        tail in "[ '\"`@(/\\[]",
    ) {
        let sql = format!("SELECT {end}{reaching}{tail}x");
        for dialect in [Mysql, Mssql, Sqlite] {
            proptest::prop_assert!(check(&sql, dialect).is_err(), "{dialect:?}: {sql}");
        }
        // 0xADD and 0xDBCC are numbers to everybody.
        let hexadecimal = begun.chars().all(|digit| digit.is_ascii_hexdigit());
        if !(hexadecimal && end.to_lowercase().starts_with("0x")) {
            let sql = format!("SELECT {end}{begun}{tail}x");
            proptest::prop_assert!(check(&sql, Mssql).is_err(), "{sql}");
        }
    }
}
