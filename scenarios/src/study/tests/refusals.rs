//! Whole study files that are refused, and with which words.

use super::super::*;
use super::{LEAST, with};

fn refused(text: &str, set: &[&str]) -> Vec<String> {
    let refusal = read(text, &with(set)).expect_err("refused");
    refusal.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_mistake_is_reported_at_once_in_the_order_of_lines() {
    let text = r#"name = "x"
[target]
kind = "mysql"
socket = "/s"
host = "db"
password = "hunter2"
[workload]
kind = "oltp"
script = "read_wirte"
tabels = 4
[[profiles]]
vus = [0, 4]
[schedule]
measure = 10
mesure = "10s"
"#;
    let found = refused(text, &["schedule.settle=1"]);
    assert_eq!(
        found,
        [
            "line 2: target.database: is missing; write the database that holds the tables, for example database = \
             \"sbtest\"",
            "line 2: target.user: is missing; write the login, for example user = \"bench\"",
            "line 5: target.host: socket is there too, and a connection takes one way; remove it, or remove socket",
            "line 6: target.password: a password does not belong in a study; write password = { env = \
             \"VUFLEET_PASSWORD\" } or { file = \"/path/to/password\" }",
            "line 9: workload.script: \"read_wirte\" is not known here; write \"read_write\"? known are \"read_only\", \
             \"read_write\", \"write_only\", \"point_select\", \"update_index\", \"update_non_index\", \"insert\", \
             \"delete\"",
            "line 10: workload.tabels: no such key; write \"tables\", or remove it",
            "line 12: profiles.0.vus.0: 0 is out of range; write a whole number from 1 to 2000000",
            "line 14: schedule.measure: 10 has no unit; write \"10s\" or \"10ms\", in quotes",
            "line 15: schedule.mesure: no such key; write \"measure\", or remove it",
            "schedule.settle: from --set: 1 has no unit; write \"1s\" or \"1ms\", in quotes",
        ]
    );
}

#[test]
fn an_empty_study_is_told_what_it_needs() {
    let found = refused("", &[]);
    let keys: Vec<_> = found.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(keys, ["name", "target", "workload", "profiles"]);
}

/// One change to a good study, the key that is blamed, and a part of what is said.
pub(super) fn assert_refusals(base: &str, cases: &[(&str, &str, &str)]) {
    for (set, key, words) in cases {
        let refusal = read(base, &with(&[set])).expect_err(set);
        let [problem] = refusal.problems.as_slice() else { panic!("{set}: one problem, not {refusal}") };
        assert_eq!(problem.key, *key, "{set}");
        let shown = format!("{}; {}", problem.what, problem.remedy);
        assert!(shown.contains(words), "{set}: {shown}");
    }
}

#[test]
fn impossible_and_contradictory_values_are_refused() {
    assert_refusals(
        LEAST,
        &[
            ("name=", "name", "is empty"),
            ("seed=-1", "seed", "out of range"),
            ("target.port=0", "target.port", "from 1 to 65535"),
            ("target.host=db:3307", "target.host", "host = \"db\" and port = 3307"),
            ("target.host=mysql://db/x", "target.host", "is not a host"),
            ("target.path=x.db", "target.path", "only SQLite"),
            ("target.faults={ deadlock = 0.1 }", "target.faults", "only a simulated database"),
            ("target.ca_file=/ca.pem", "target.ca_file", "tls = \"verify\""),
            ("target.client_key=/k.pem", "target.client_key", "client_cert is missing"),
            ("target.instance=SQL2022", "target.instance", "only SQL Server has it"),
            ("target.tls=strict", "target.tls", "it belongs to SQL Server"),
            ("target.password={ env = \"A\", file = \"b\" }", "target.password", "one of them"),
            ("target.password={ env = \"a-b\" }", "target.password.env", "is not the name"),
            ("target.password={ evn = \"A\" }", "target.password.evn", "write \"env\""),
            ("target.password={}", "target.password", "one of them"),
            ("target.deadline=0s", "target.deadline", "out of range"),
            ("workload.tables=0", "workload.tables", "out of range"),
            ("workload.range_size=10001", "workload.range_size", "the 10000 rows"),
            ("workload.mysql_storage_engine='a; DROP'", "workload.mysql_storage_engine", "is not a plain name"),
            ("workload.rand_pareto_h=0.3", "workload.rand_pareto_h", "no meaning for the distribution \"special\""),
            ("schedule=1", "schedule", "is a whole number, not a table"),
            ("profiles={ vus = 4 }", "profiles", "write [[profiles]], with two brackets"),
            ("profiles=[]", "profiles", "has no load level"),
            ("profiles.0.vus=0", "profiles.0.vus", "out of range"),
            ("profiles.0.vus=[]", "profiles.0.vus", "is an empty list"),
            ("profiles.0.vus=[4, 4]", "profiles.0", "a second profile with the id 4vu"),
            ("profiles.0.vus=2000001", "profiles.0.vus", "out of range"),
            ("profiles.0.label='!'", "profiles.0.label", "has no letter"),
            ("profiles.0.pacing=10ms", "profiles.0.pacing", "write { wait = \"10ms\" }"),
            ("profiles.0.pacing=fast", "profiles.0.pacing", "\"fast\" is not known"),
            ("profiles.0.pacing={}", "profiles.0.pacing", "is empty"),
            ("profiles.0.pacing={ wait = \"0s\" }", "profiles.0.pacing.wait", "out of range"),
            ("profiles.0.pacing={ wait = \"1s\", rate = 5 }", "profiles.0.pacing.rate", "cannot follow both"),
            ("profiles.0.pacing={ rate = 0 }", "profiles.0.pacing.rate", "out of range"),
            ("profiles.0.workload={ tables = 3 }", "profiles.0.workload.tables", "one schema"),
            ("profiles.0.workload={ kind = \"oltp\" }", "profiles.0.workload.kind", "one kind of workload"),
            ("profiles.0.workload={ range_size = 20000 }", "profiles.0.workload.range_size", "the 10000 rows"),
            ("profiles.0.workload={ scrip = 1 }", "profiles.0.workload.scrip", "write \"script\""),
            ("schedule.measure=399ms", "schedule.measure", "from 400ms"),
            ("schedule.repetitions=0", "schedule.repetitions", "out of range"),
            ("schedule.order=random", "schedule.order", "\"blocks\", \"grouped\""),
            ("schedule.transactions=0", "schedule.transactions", "out of range"),
            ("monitor.interval=50ms", "monitor.interval", "from 100ms to 1m"),
            ("report.baseline=audit", "report.baseline", "write one of \"baseline\""),
            ("report.confidence=95", "report.confidence", "from 0.5 to 0.999"),
            ("variants=[{ name = \"a\" }, { name = \"a\" }]", "variants.1.name", "a second variant"),
            ("require=[{ sql = \"SELECT 1\" }]", "require.0.equals", "is missing"),
            ("fleet.drive={ zone = 1 }", "fleet.drive.zone", "is a whole number, not text"),
            ("control={ database = \"mysql\" }", "control.user", "is missing"),
            ("schdule={}", "schdule", "write \"schedule\""),
        ],
    );
}

#[test]
fn a_study_of_tprocc_is_refused_with_its_own_words() {
    let base = LEAST.replace("kind = \"oltp\"\nscript = \"read_write\"", "kind = \"tprocc\"\nwarehouses = 4");
    let sqlite = "target={ kind = \"sqlite\", path = \"x.db\" }";
    assert_refusals(
        &base,
        &[
            ("workload={ kind = \"tprocc\" }", "workload.warehouses", "write the size of the database"),
            ("workload.warehouses=0", "workload.warehouses", "from 1 to 100000"),
            ("workload.calls=procedure", "workload.calls", "write \"procedures\""),
            ("workload.script=read_only", "workload.script", "no such key"),
            ("workload.protocol=text", "workload.protocol", "calls = \"statements\""),
            ("workload.mix={ new_order = 1001 }", "workload.mix.new_order", "from 0 to 1000"),
            ("workload.mix={ neworder = 1 }", "workload.mix.neworder", "write \"new_order\""),
            ("workload.mix={ payment = 0 }", "workload.mix", "no transaction with a weight above 0"),
            ("profiles.0.workload={ warehouses = 5 }", "profiles.0.workload.warehouses", "one schema"),
            ("profiles.0.workload={ mix = {} }", "profiles.0.workload.mix", "no transaction with a weight above 0"),
            (
                "profiles.0.pacing={ keying_thinking = { scale = 0 } }",
                "profiles.0.pacing.keying_thinking.scale",
                "from",
            ),
            (
                "profiles.0.pacing={ keying_thinking = {}, wait = \"1s\" }",
                "profiles.0.pacing.keying_thinking",
                "follow both",
            ),
        ],
    );
    let found = refused(&base, &[sqlite, "workload.calls=procedures"]);
    assert!(found.len() == 1 && found[0].contains("SQLite has no stored procedures"), "{found:?}");
    let own = "profiles.0.workload={ calls = \"procedures\" }";
    let found = refused(&base, &[sqlite, own]);
    assert!(found.len() == 1 && found[0].contains("profiles.0.workload.calls"), "{found:?}");
    let found = refused(LEAST, &["profiles.0.pacing={ keying_thinking = { scale = 1.0 } }"]);
    assert!(found.len() == 1 && found[0].contains("the workload oltp has no keying and thinking times"), "{found:?}");
}

#[test]
fn a_target_of_sql_server_is_refused_with_its_own_words() {
    let base = LEAST.replace("kind = \"mysql\"", "kind = \"mssql\"");
    let trust = "target.trust_server_certificate=true";
    assert_refusals(
        &base,
        &[
            ("target.socket=/s", "target.socket", "SQL Server does not have it"),
            ("target.driver=native", "target.driver", "SQL Server does not have it"),
            ("target.tls=preferred", "target.tls", "do not fall back"),
            ("target.user='LAB\\bench'", "target.user", "is a Windows login"),
            ("control={ user = 'LAB\\sa' }", "control.user", "create a SQL login"),
            ("target.login=windows", "target.login", "cannot be made here"),
            ("target.login=entra", "target.login", "no interactive logins"),
            ("target.packet_size=511", "target.packet_size", "from 512 to 32767"),
            ("target.path=x.db", "target.path", "only SQLite"),
        ],
    );
    for (set, key, words) in [
        (&["target.host='db1\\A'"][..], "target.host", "write host = \"db1\" and instance = \"A\""),
        (&["target.host='db1,1434'"], "target.host", "write host = \"db1\" and port = 1434"),
        (&["target.packet_size=16384"], "target.packet_size", "at most 16383 under TLS"),
        (&[trust, "target.tls=verify"], "target.trust_server_certificate", "tls says that the certificate is verified"),
        (&[trust, "target.tls=strict"], "target.trust_server_certificate", "name the authority with ca_file"),
        (&[trust, "target.tls=disabled"], "target.trust_server_certificate", "no certificate without TLS"),
        (&[trust, "target.ca_file=/ca.pem"], "target.ca_file", "nothing is verified"),
        (&["target.tls=disabled", "target.ca_file=/ca.pem"], "target.ca_file", "nothing is verified"),
    ] {
        let found = refused(&base, set);
        assert!(found.len() == 1 && found[0].starts_with(key) && found[0].contains(words), "{set:?}: {found:?}");
    }
    let token = base.replace("user = \"bench\"", "login = \"entra-token\"");
    let found = refused(&token, &[]);
    assert!(found.len() == 1 && found[0].contains("target.password: is missing; write where the access token is"));
    let env = "target.password={ env = \"TOKEN\" }";
    assert!(read(&token, &with(&[env])).is_ok());
    let found = refused(&token, &[env, "target.user=me"]);
    assert!(found.len() == 1 && found[0].contains("an access token says by itself whose it is"), "{found:?}");
    let found = refused(&token, &[env, "target.tls=disabled"]);
    assert!(found.len() == 1 && found[0].contains("could use the access token"), "{found:?}");
}

#[test]
fn a_target_of_sql_server_is_read() {
    let base = LEAST.replace("kind = \"mysql\"", "kind = \"mssql\"");
    let target = read(&base, &with(&[])).unwrap().target;
    assert_eq!((target.kind, target.port, target.tls), (TargetKind::Mssql, 1433, Tls::Required));
    assert_eq!((target.host.as_deref(), target.mssql), (Some("127.0.0.1"), Mssql::default()));
    let set = [
        "target.instance=SQL2022",
        "target.tls=login-only",
        "target.trust_server_certificate=true",
        "target.read_only_intent=true",
        "target.packet_size=16384",
    ];
    let target = read(&base, &with(&set)).unwrap().target;
    assert_eq!(target.tls, Tls::LoginOnly);
    let expected = Mssql {
        instance: Some("SQL2022".to_owned()),
        login: MssqlLogin::Sql,
        trust_server_certificate: true,
        read_only_intent: true,
        packet_size: Some(16_384),
    };
    assert_eq!(target.mssql, expected);
    let both = base.replace("[target]", "[target]\ninstance = \"A\"\nport = 1434");
    let found = refused(&both, &[]);
    assert!(found.len() == 1 && found[0].contains("target.instance: port is there too"), "{found:?}");
    // From outside the one takes the other out.
    assert_eq!(read(&both, &with(&["target.port=1435"])).unwrap().target.mssql.instance, None);
    assert_eq!(read(&both, &with(&["target.instance=B"])).unwrap().target.mssql.instance.as_deref(), Some("B"));
    let strict = read(&base, &with(&["target.tls=strict", "target.ca_file=/ca.pem", "target.server_name=db"])).unwrap();
    assert_eq!(strict.target.tls, Tls::Strict);
}

#[test]
fn repetitions_until_an_interval_is_narrow_are_bounded_and_about_a_metric_that_there_is() {
    let repetitions = |keys: &str| format!("schedule.repetitions={{ {keys} }}");
    let key = |name: &str| format!("schedule.repetitions.{name}");
    let orders = LEAST.replace("kind = \"oltp\"\nscript = \"read_write\"", "kind = \"tprocc\"\nwarehouses = 4");
    let simulated = LEAST.replace("kind = \"mysql\"", "kind = \"simulated\"");
    for (base, keys, blamed, words) in [
        (LEAST, "max = 20", "until", "is missing; write half the width of the interval"),
        (LEAST, "until = '2%'", "max", "is missing; write the most blocks"),
        (LEAST, "min = 4, max = 20, until = '2%'", "min", "from 5 to 1000"),
        (LEAST, "min = 8, max = 7, until = '2%'", "max", "fewer than the 8 of the pilot; write at least 8"),
        (LEAST, "max = 4, until = '2%'", "max", "write at least 5"),
        (LEAST, "max = 20, until = 2", "until", "2 has no unit; write \"2%\""),
        (LEAST, "max = 20, until = 'narrow'", "until", "\"narrow\" is not a number of per cent"),
        (LEAST, "max = 20, until = '0.05%'", "until", "from \"0.1%\" to \"50%\""),
        (LEAST, "max = 20, until = '51 %'", "until", "out of range"),
        (LEAST, "max = 20, until = 'nan%'", "until", "out of range"),
        (LEAST, "max = 20, until = '2%', metric = 'tsp'", "metric", "write \"tps\"?"),
        (
            LEAST,
            "max = 20, until = '2%', metric = 'nopm'",
            "metric",
            "this study has no nopm: only the workload tprocc",
        ),
        (LEAST, "max = 20, until = '2%', metric = 'batch_requests_per_s'", "metric", "only SQL Server"),
        (LEAST, "max = 20, until = '2%', metric = 'errors_per_s'", "metric", "is no metric that an interval"),
        (&simulated, "max = 20, until = '2%', metric = 'cpu_ms_per_txn'", "metric", "no process of its own"),
        (&simulated, "max = 20, until = '2%', metric = 'db_host_cpu_percent'", "metric", "has no host"),
        (&orders, "max = 20, until = '2%', metrics = 'tpm'", "metrics", "write \"metric\""),
    ] {
        assert_refusals(base, &[(&repetitions(keys), &key(blamed), words)]);
    }
    let found = refused(LEAST, &[&repetitions("max = 20, until = '2%'"), "schedule.order=grouped"]);
    assert!(found.len() == 1 && found[0].contains("the grouped order has none; write order = \"blocks\""), "{found:?}");
    let file = format!("{LEAST}[schedule.repetitions]\nmax = 3\nuntil = \"2%\"\n");
    assert!(refused(&file, &[])[0].starts_with("line 13: schedule.repetitions.max: 3 blocks at most"));
}

#[test]
fn switches_are_at_a_time_of_the_load_and_change_something() {
    let base = format!(
        "{LEAST}[schedule]\nramp_up = \"10s\"\nmeasure = \"20s\"\n[[variants]]\nname = \"baseline\"\n[[variants]]\nname = \
         \"audit\"\n"
    );
    assert_refusals(
        &base,
        &[
            ("switch=[{ variant = 'audit' }]", "switch.0.at", "write the time after the start of the load"),
            ("switch=[{ at = '5s' }]", "switch.0.variant", "is missing; write the variant"),
            ("switch=[{ at = '0s', variant = 'audit' }]", "switch.0.at", "out of range"),
            ("switch=[{ at = '30s', variant = 'audit' }]", "switch.0.at", "the load ends 30s after its start"),
            ("switch=[{ at = 5, variant = 'audit' }]", "switch.0.at", "5 has no unit"),
            ("switch=[{ at = '5s', variant = 'audi' }]", "switch.0.variant", "write one of \"baseline\", \"audit\""),
            ("switch=[{ at = '5s', variant = 'baseline' }]", "switch.0.variant", "\"baseline\" is on already"),
            (
                "switch=[{ at = '9s', variant = 'audit' }, { at = '5s', variant = 'audit' }]",
                "switch.0.variant",
                "\"audit\" is on already",
            ),
            (
                "switch=[{ at = '5s', variant = 'audit' }, { at = '5s', variant = 'baseline' }]",
                "switch.1.at",
                "another switch is at 5s too",
            ),
            ("switch=[{ at = '5s', variant = 'audit', until = '9s' }]", "switch.0.until", "no such key"),
            ("switch={ at = '5s', variant = 'audit' }", "switch", "write [[switch]], with two brackets"),
        ],
    );
    let found = refused(&base, &["switch=[{ at = '5s', variant = 'audit' }]", "schedule.transactions=3"]);
    assert!(found.len() == 1 && found[0].contains("write schedule.measure instead of transactions"), "{found:?}");
}

#[test]
fn requests_are_looked_at_on_sql_server_and_of_few_sessions() {
    let told = |set: &[&str]| {
        let all = [&["monitor.requests=true"], set].concat();
        read(LEAST, &with(&all)).map(|study| study.monitor.requests).map_err(|refusal| refusal.to_string())
    };
    let mssql = "target.kind=mssql";
    for (set, words) in [
        (&[] as &[&str], "only SQL Server tells the CPU time of a request while it runs"),
        (&[mssql, "profiles.0.vus=33"], "profile 33vu has 33 sessions, and at most 32"),
        (&[mssql, "profiles.0.vus=[4, 40, 33]"], "profile 40vu has 40 sessions"),
        (&[mssql, "profiles.0.vus=11", "profiles.0.sessions_per_vu=3"], "has 33 sessions"),
    ] {
        let refusal = told(set).expect_err("refused");
        assert!(refusal.contains("monitor.requests: ") && refusal.contains(words), "{set:?}: {refusal}");
    }
    assert_eq!(told(&[mssql, "profiles.0.vus=32"]), Ok(true));
    assert_eq!(told(&[mssql, "profiles.0.vus=16", "profiles.0.sessions_per_vu=2"]), Ok(true));
    assert_eq!(told(&["target.kind=simulated"]), Ok(true), "a rehearsal of the same study");
}

#[test]
fn pieces_that_exclude_each_other_in_the_file_are_refused() {
    let both = format!("{LEAST}[schedule]\nmeasure = \"10s\"\ntransactions = 3\n");
    assert!(refused(&both, &[])[0].starts_with("line 14: schedule.transactions: a window has a time or"));
    let rate = format!("{LEAST}pacing = {{ rate = 5 }}\n[schedule]\ntransactions = 3\n");
    assert!(refused(&rate, &[])[0].starts_with("line 14: schedule.transactions: sessions take arrivals"));
    let socket = LEAST.replace("user =", "socket = \"/s\"\ntls = \"required\"\nuser =");
    assert!(refused(&socket, &[])[0].starts_with("line 7: target.tls: a unix socket never leaves"));
    let sqlite = format!("{LEAST}[control]\nuser = \"root\"\n");
    let found = refused(&sqlite, &["target={ kind = \"sqlite\", path = \"x\", user = \"me\" }"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("line 12: control: SQLite has no logins"));
    assert!(found[1].starts_with("target.user: from --set: SQLite has no server"));
}

#[test]
fn a_transaction_needs_a_statement() {
    for (script, counts, fine) in [
        ("read_only", "point_selects = 0\nrange_selects = false", false),
        ("read_only", "point_selects = 0", true),
        ("write_only", "index_updates = 0\nnon_index_updates = 0\ndelete_inserts = 0", false),
        ("read_write", "point_selects = 0\nrange_selects = false", true),
        ("update_index", "index_updates = 0", false),
        ("update_non_index", "index_updates = 0", true),
        ("point_select", "point_selects = 0", true),
    ] {
        let text = LEAST.replace("script = \"read_write\"", &format!("script = \"{script}\"\n{counts}"));
        let result = read(&text, &with(&[]));
        assert_eq!(result.is_ok(), fine, "{script} {counts}: {result:?}");
        if let Err(refusal) = result {
            assert_eq!(refusal.problems[0].key, "workload.script");
        }
    }
}

#[test]
fn too_many_sessions_are_refused() {
    let found = refused(LEAST, &["profiles.0.vus=1000000", "profiles.0.sessions_per_vu=3"]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("makes 3000000 sessions"), "{found:?}");
}

#[test]
fn a_scaled_window_that_got_too_short_says_so() {
    let edits = Edits { scale_time: Some(0.001), ..with(&[]) };
    let text = format!("{LEAST}[schedule]\nmeasure = \"1m\"\n");
    let refusal = read(&text, &edits).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "line 13: schedule.measure: after --scale-time: \"60ms\" is out of range; write a time from 400ms to 168h"
    );
}

#[test]
fn a_password_in_the_study_is_never_repeated() {
    for text in [LEAST.replace("user =", "password = \"hunter2\"\nuser ="), "password = hunter2".to_owned()] {
        let refusal = read(&text, &with(&["target.password=hunter2"])).unwrap_err();
        assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
    }
}
