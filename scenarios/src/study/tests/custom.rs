//! Studies of the user's own SQL: how they are read, and with which words they are refused.

use super::super::*;
use crate::custom::{Bounds, Constant, Generator, Shape};
use crate::session::Dialect;
use crate::sql::Protocol;

/// `TRANSACTIONS` of the study starts at line 10.
fn study(target: &str, transactions: &str) -> String {
    format!(
        "name = \"own\"\nseed = 1\n[target]\n{target}\n[workload]\nkind = \"sql\"\n\n\n{transactions}\n\
         [[profiles]]\nvus = 4\n"
    )
}

const SQLITE: &str = "kind = \"sqlite\"\npath = \"x.db\"";

fn shape(text: &str, edits: &Edits) -> Shape {
    match read(text, edits).unwrap_or_else(|refusal| panic!("{refusal}")).workload {
        Workload::Custom(shape) => shape,
        other => panic!("{other:?}"),
    }
}

fn on_sqlite(transactions: &str) -> Shape {
    shape(&study(SQLITE, transactions), &Edits::default())
}

fn refused(transactions: &str) -> Vec<String> {
    let refusal = read(&study(SQLITE, transactions), &Edits::default()).expect_err("refused");
    refusal.problems.iter().map(ToString::to_string).collect()
}

fn texts(shape: &Shape) -> Vec<&str> {
    let steps = shape.transactions.iter().flat_map(|transaction| &transaction.steps);
    steps.map(|step| step.statement.sql.as_str()).collect()
}

const EVERY_GENERATOR: &str = r#"[[workload.transactions]]
name = "all"
statements = ["SELECT :u, :z, :ze, :n, :s, :c, :t, :now"]
[workload.transactions.parameters]
u = { uniform = [-5, 5] }
z = { zipfian = [1, 1000] }
ze = { zipfian = [1, 1000], exponent = 1.2 }
n = { nurand = [1, 3000], a = 1023 }
s = { sequence = [1, 9000000000] }
c = { choice = ["a", 2] }
t = { text = 40 }
now = "now"
"#;

#[test]
fn every_generator_is_read() {
    let shape = on_sqlite(EVERY_GENERATOR);
    let [transaction] = shape.transactions.as_slice() else { panic!("one transaction") };
    assert_eq!((transaction.weight, transaction.transactional, transaction.statements()), (1, false, 1));
    let bounds = |low, high| Bounds { low, high };
    let generators: Vec<&Generator> = transaction.parameters.iter().map(|parameter| &parameter.generator).collect();
    assert_eq!(
        generators,
        [
            &Generator::Uniform(bounds(-5, 5)),
            &Generator::zipfian(bounds(1, 1000), 0.8),
            &Generator::zipfian(bounds(1, 1000), 1.2),
            &Generator::Nurand { bounds: bounds(1, 3000), a: 1023 },
            &Generator::Sequence(bounds(1, 9_000_000_000)),
            &Generator::Choice(vec![Constant::Text("a".to_owned()), Constant::Int(2)]),
            &Generator::Text { length: 40 },
            &Generator::Now,
        ]
    );
    assert_eq!(texts(&shape), ["SELECT ?, ?, ?, ?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now')"]);
}

const DIALECTS: &str = r#"[[workload.transactions]]
name = "tick"
transaction = true
statements.mysql = ["UPDATE t SET at = NOW() WHERE id = :id"]
statements.sqlite = ["UPDATE t SET at = datetime('now') WHERE id = :id;", "SELECT ':id' -- all"]
statements.mssql = ["UPDATE t SET at = SYSUTCDATETIME() WHERE id = :id; SELECT @@ROWCOUNT"]
parameters = { id = { uniform = [1, 9] } }
"#;

#[test]
fn a_target_gets_the_statements_of_its_dialect() {
    let sqlite = on_sqlite(DIALECTS);
    assert_eq!(sqlite.dialect, Dialect::Sqlite);
    assert_eq!(texts(&sqlite), ["UPDATE t SET at = datetime('now') WHERE id = ?", "SELECT ':id' -- all"]);
    assert_eq!((sqlite.transactions[0].statements(), sqlite.protocol()), (4, Protocol::Prepared));
    let mysql = "kind = \"mysql\"\ndatabase = \"d\"\nuser = \"u\"";
    assert_eq!(texts(&shape(&study(mysql, DIALECTS), &Edits::default())), ["UPDATE t SET at = NOW() WHERE id = ?"]);
    let rehearsed = Edits { set: vec!["target.kind=simulated".to_owned()], ..Edits::default() };
    let only_sqlite = DIALECTS.replace("statements.mysql", "#");
    assert_eq!(texts(&shape(&study(SQLITE, &only_sqlite), &rehearsed)).len(), 2, "any dialect can be rehearsed");
    let found = refused(&DIALECTS.replace("statements.sqlite", "#"));
    assert_eq!(
        found,
        [
            "line 13: workload.transactions.0.statements: has none for the dialect of the target, sqlite; write sqlite = \
          [\"SELECT ..\"] in it"
        ]
    );
}

const MSSQL: &str = "kind = \"mssql\"\nhost = \"h\"\ndatabase = \"d\"\nuser = \"u\"\npassword = { env = \"P\" }";

fn on_mssql(statements: &str) -> Result<Shape, String> {
    let transaction = format!(
        "[[workload.transactions]]\nname = \"a\"\nstatements = [{statements}]\n[workload.transactions.parameters]\n\
         id = {{ uniform = [1, 9] }}\nnote = {{ text = 5000 }}\nmade = \"now\"\n"
    );
    match read(&study(MSSQL, &transaction), &Edits::default()) {
        Ok(study) => match study.workload {
            Workload::Custom(shape) => Ok(shape),
            other => panic!("{other:?}"),
        },
        Err(refusal) => Err(refusal.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
}

#[test]
fn sql_server_takes_batches_and_declared_types() {
    let batch = "'DECLARE @i int = :id::int; WHILE @i > 0 SET @i = @i - 1; BEGIN TRAN; COMMIT'";
    let shape = on_mssql(&format!("{batch}, 'EXEC dbo.p @id = :id, @note = :note', 'SELECT :made, :note'")).unwrap();
    let all = "DECLARE @i int = @P1; WHILE @i > 0 SET @i = @i - 1; BEGIN TRAN; COMMIT";
    assert_eq!(texts(&shape), [all, "EXEC dbo.p @id = @P1, @note = @P2", "SELECT SYSUTCDATETIME(), @P1"]);
    let [transaction] = shape.transactions.as_slice() else { panic!("one transaction") };
    let declared: Vec<String> =
        transaction.steps.iter().map(|step| step.declarations(&transaction.parameters)).collect();
    assert_eq!(declared, ["@P1 int", "@P1 bigint, @P2 nvarchar(max)", "@P1 nvarchar(max)"]);
    assert_eq!(transaction.steps[1].statement.call.as_ref().map(|call| call.procedure.as_str()), Some("dbo.p"));
}

#[test]
fn what_sql_server_does_not_take_is_refused() {
    let used = "'SELECT :id, :note, :made'";
    for (statement, words) in [
        ("'COMMIT'", "COMMIT is not for a statement to say; remove it and write transaction = true"),
        ("'rollback transaction'", "ROLLBACK is not for a statement"),
        ("'BEGIN TRAN'", "BEGIN is not for a statement"),
        ("\"SELECT 1\\nGO\\nSELECT 2\"", "GO is for programs that read files"),
        ("'EXEC p :id, :made'", ":made is the server's time, an expression, and EXEC takes none"),
    ] {
        let found = on_mssql(&format!("{statement}, {used}")).expect_err(statement);
        assert!(found.contains(words), "{found}");
    }
    on_mssql(&format!("'BEGIN SELECT 1 END', 'BEGIN TRY SELECT 1 END TRY BEGIN CATCH THROW END CATCH', {used}"))
        .unwrap();
}

#[test]
fn a_file_of_t_sql_is_cut_at_go() {
    let text = study(MSSQL, WITH_FILE);
    let file = "-- a loop\nDECLARE @i int = 0;\nWHILE @i < 9 SET @i = @i + 1;\nGO\nSELECT :id; SELECT 2;\n";
    let Workload::Custom(shape) = read(&text, &with_file(Ok(file))).unwrap().workload else { panic!("own SQL") };
    assert_eq!(texts(&shape), ["DECLARE @i int = 0;\nWHILE @i < 9 SET @i = @i + 1;", "SELECT @P1; SELECT 2;"]);
    let Workload::Custom(shape) = read(&text, &with_file(Ok("SELECT :id; SELECT 2;"))).unwrap().workload else {
        panic!("own SQL")
    };
    assert_eq!(texts(&shape), ["SELECT @P1", "SELECT 2"]);
}

#[test]
fn a_profile_may_send_otherwise_or_something_else() {
    let own = "workload = { protocol = \"text\" }\n[[profiles]]\nlabel = \"one\"\nvus = 1\n\
               workload = { transactions = [{ name = \"one\", statements = [\"SELECT 1\"] }] }\n";
    let study = read(&format!("{}{own}", study(SQLITE, DIALECTS)), &Edits::default()).unwrap();
    let [Workload::Custom(text), Workload::Custom(one)] = [0, 1].map(|at: usize| study.profiles[at].workload.clone())
    else {
        panic!("own SQL in both")
    };
    assert_eq!((text.protocol(), text.transactions.len(), texts(&text).len()), (Protocol::Text, 1, 2));
    assert_eq!((one.protocol(), texts(&one)), (Protocol::Prepared, vec!["SELECT 1"]));
}

#[test]
fn every_mistake_is_told_with_its_line_and_remedy() {
    let found = refused(
        r#"[[workload.transactions]]
name = "pay"
weight = 0
statements = [
    "UPDATE t SET a = :amount WHERE id = :idd",
    "SELECT 1; SELECT 2",
    "-- nothing",
    "COMMIT",
    "SELECT ? FROM t",
]
parameters = { amount = { unifrom = [1, 2] }, b = { uniform = [2, 1] }, c = 5, d = { text = 1, choice = [] } }
wieght = 3

[[workload.transactions]]
name = "use"
statements = ["SELECT :idd, :idd, :other FROM t", "SELECT :id"]
parameters = { id = { uniform = [1, 2] }, never = "now" }

[[workload.transactions]]
name = "use"
statements = []
"#,
    );
    let expected = [
        "line 12: workload.transactions.0.weight: with a weight of 0 it would never be sent; write a weight from 1 to 1000, \
         or remove the transaction",
        "line 15: workload.transactions.0.statements.1: is 2 statements in one; write each as an element of its own, or as \
         lines of a file",
        "line 16: workload.transactions.0.statements.2: has nothing but comments; write a statement, or remove it",
        "line 17: workload.transactions.0.statements.3: COMMIT is not for a statement to say; remove it and write \
         transaction = true",
        "line 18: workload.transactions.0.statements.4: has a placeholder without a name, ?; write a name, for example :id, \
         and id = { uniform = [1, 1000] } in parameters",
        "line 20: workload.transactions.0.parameters.amount: has no generator; write { uniform = [1, 1000] }",
        "line 20: workload.transactions.0.parameters.amount.unifrom: no such key; write \"uniform\"",
        "line 20: workload.transactions.0.parameters.b.uniform: 2 is above 1; write two whole numbers",
        "line 20: workload.transactions.0.parameters.c: is no generator; write { uniform = [1, 1000] }",
        "line 20: workload.transactions.0.parameters.d.choice: has no value; write the values in brackets",
        "line 20: workload.transactions.0.parameters.d.text: choice is there too, and a value has one source; remove one",
        "line 21: workload.transactions.0.wieght: no such key; write \"weight\", or remove it",
        "line 25: workload.transactions.1.statements.0: :idd has no generator; write :id, or idd = { uniform = [1, 1000] } in \
         parameters",
        "line 25: workload.transactions.1.statements.0: :other has no generator; write other = { uniform = [1, 1000] }",
        "line 26: workload.transactions.1.parameters.never: no statement of the transaction uses it; write :never where",
        "line 30: workload.transactions.2.statements: has no statement; write statements = [\"SELECT ..\"",
    ];
    assert_eq!(found.len(), expected.len(), "{}", found.join("\n"));
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\nnot\n{expected}");
    }
}

#[test]
fn generators_that_cannot_be_drawn_from_are_refused() {
    for (generator, key, words) in [
        ("{ uniform = [1, 5000000000] }", "uniform", "is a range of 5000000000 numbers; write at most 4294967295"),
        ("{ uniform = [1.5, 2] }", "uniform", "two whole numbers"),
        ("{ uniform = [1, 2, 3] }", "uniform", "is not the first and the last"),
        ("{ zipfian = [1, 9], exponent = -1 }", "exponent", "from 0 to 10"),
        ("{ uniform = [1, 9], exponent = 1 }", "exponent", "has no meaning without zipfian"),
        ("{ nurand = [1, 3000] }", "a", "is missing; write TPC-C's A for the range"),
        ("{ nurand = [-1, 3000], a = 1023 }", "nurand", "numbers from 0 to 2147483647"),
        ("{ sequence = 1 }", "sequence", "is not the first and the last"),
        ("{ choice = \"a\" }", "choice", "is text, not a list"),
        ("{ choice = [1.5] }", "choice", "neither text nor a whole number"),
        ("{ text = 0 }", "text", "from 1 to 65535"),
        ("\"then\"", "", "is no generator"),
        ("{}", "", "has no generator"),
    ] {
        let transaction = format!(
            "[[workload.transactions]]\nname = \"a\"\nstatements = [\"SELECT :x\"]\nparameters = {{ x = {generator} }}\n"
        );
        let found = refused(&transaction);
        let path = ["workload.transactions.0.parameters.x", key].join(".");
        let begin = format!("line 13: {}: ", path.trim_end_matches('.'));
        assert!(found.len() == 1 && found[0].starts_with(&begin) && found[0].contains(words), "{generator}: {found:?}");
    }
}

#[test]
fn a_workload_without_transactions_and_a_name_twice_are_refused() {
    assert!(refused("")[0].starts_with("line 6: workload.transactions: is missing; write [[workload.transactions]]"));
    assert!(refused("transactions = []")[0].contains("has no transaction; write [[workload.transactions]]"));
    let twice = "[[workload.transactions]]\nname = \"a\"\nstatements = [\"SELECT 1\"]\n".repeat(2);
    assert!(refused(&twice)[0].starts_with("line 14: workload.transactions.1.name: a second transaction named \"a\""));
    let nameless = refused("[[workload.transactions]]\nname = \"a b\"\n");
    assert!(
        nameless[0].contains("statements: is missing") && nameless[1].contains("is not a plain name"),
        "{nameless:?}"
    );
    let none = refused("[[workload.transactions]]\nname = \"a\"\nstatements = {}\n");
    assert!(none[0].contains("has no dialect; write mysql = "), "{none:?}");
}

const WITH_FILE: &str = "[[workload.transactions]]\nname = \"a\"\nfile = \"pay.sql\"\n\
                         parameters = { id = { uniform = [1, 2] } }\n";

fn with_file(text: Result<&str, &str>) -> Edits {
    let text = text.map(str::to_owned).map_err(str::to_owned);
    Edits { files: SqlFiles::from([("pay.sql".to_owned(), text)]), ..Edits::default() }
}

#[test]
fn the_statements_of_a_file_take_the_place_of_its_name() {
    let text = study(SQLITE, WITH_FILE);
    assert_eq!(named_files(&text, &Edits::default()), ["pay.sql"]);
    let file = "-- payments\nUPDATE t\n  SET a = ';' -- why;\n  WHERE id = :id;\n\nSELECT 1;\n";
    let read_with = read(&text, &with_file(Ok(file))).unwrap();
    let Workload::Custom(shape) = &read_with.workload else { panic!("own SQL") };
    assert_eq!(texts(shape), ["UPDATE t\n  SET a = ';' -- why;\n  WHERE id = ?", "SELECT 1"]);
    let again = read(&read_with.text, &Edits::default()).unwrap();
    assert_eq!(again.workload, read_with.workload, "agents get what the file held: {}", read_with.text);
    let set = vec!["workload.transactions.0.file=other.sql".to_owned()];
    assert_eq!(named_files(&text, &Edits { set, ..Edits::default() }), ["other.sql"]);
    let inline = "workload = { transactions = [{ name = \"b\", file = \"pay.sql\" }] }\n";
    assert_eq!(named_files(&format!("{text}{inline}"), &Edits::default()), ["pay.sql", "pay.sql"]);
}

#[test]
fn what_is_wrong_with_a_file_is_told_where_the_study_names_it() {
    let text = study(SQLITE, WITH_FILE);
    let told = |edits: &Edits| read(&text, edits).expect_err("refused").to_string();
    let begin = "line 12: workload.transactions.0.";
    let missing = told(&with_file(Err("/lab/pay.sql: No such file or directory")));
    assert_eq!(
        missing,
        format!(
            "{begin}file: cannot be read: /lab/pay.sql: No such file or directory; write the path of a text file, relative \
             to the study's own directory"
        )
    );
    assert!(told(&Edits::default()).starts_with(&format!("{begin}file: cannot be read: nobody")));
    let unknown = told(&with_file(Ok("SELECT 1;\nSELECT :idx, :id")));
    assert!(
        unknown.starts_with(&format!("{begin}statements.1: from pay.sql: :idx has no generator; write :id")),
        "{unknown}"
    );
    let empty = told(&with_file(Ok("-- nothing yet\n")));
    assert!(empty.starts_with(&format!("{begin}statements: from pay.sql: has no statement")), "{empty}");
    let both = refused(&WITH_FILE.replace("file =", "statements = [\"SELECT :id\"]\nfile ="));
    assert!(
        both.len() == 1 && both[0].starts_with("line 13: workload.transactions.0.file: statements are there too"),
        "{both:?}"
    );
}
