//! Variants: what is read of them, and which are refused.

use std::collections::BTreeMap;

use super::super::*;
use super::refusals::assert_refusals;
use super::{LEAST, good};

const MSSQL: &str = r#"
name = "least"
[target]
kind = "mssql"
host = "db"
database = "tpcc"
user = "bench"
[workload]
kind = "oltp"
script = "read_write"
[[profiles]]
vus = 4
"#;

fn changed(text: &str, variant: &str) -> Change {
    let set = format!("variants=[{{ name = \"v\", {variant} }}]");
    good(text, &[&set]).variants.remove(0).change
}

fn sql(text: &str) -> Action {
    Action::Sql(text.to_owned())
}

fn require(sql: &str, equals: &str) -> Require {
    Require { sql: sql.to_owned(), equals: equals.to_owned() }
}

#[test]
fn a_variant_that_changes_nothing_has_an_empty_change() {
    let text = format!("{LEAST}[[variants]]\nname = \"baseline\"\n[[variants]]\nname = \"a/a\"\nwhen = \"before\"\n");
    assert!(good(&text, &[]).variants.iter().all(|variant| variant.change == Change::default()));
}

#[test]
fn every_key_of_ones_own_statements_is_read() {
    let text = format!(
        "{LEAST}[[variants]]\nname = \"by hand\"\nwhen = \"connected\"\nremember = {{ old = \"SELECT @@x\" }}\n\
         apply = [\"SET GLOBAL x = 1\", {{ command = \"on\", agent = {{ host = \"db\" }} }}]\n\
         verify = [{{ sql = \"SELECT COUNT(*) FROM t WHERE id IN ({{session_ids}})\", equals = 4 }}]\n\
         revert = [\"SET GLOBAL x = {{remembered:old}}\"]\nundone = [{{ sql = \"SELECT @@x\", equals = \"{{remembered:old}}\" }}]\n"
    );
    let agent = BTreeMap::from([("host".to_owned(), "db".to_owned())]);
    let expected = Change {
        when: When::Connected,
        remember: vec![Remember { name: "old".to_owned(), sql: "SELECT @@x".to_owned() }],
        apply: vec![sql("SET GLOBAL x = 1"), Action::Command { name: "on".to_owned(), agent }],
        verify: vec![require("SELECT COUNT(*) FROM t WHERE id IN ({session_ids})", "4")],
        revert: vec![sql("SET GLOBAL x = {remembered:old}")],
        undone: vec![require("SELECT @@x", "{remembered:old}")],
        footprint: Vec::new(),
    };
    assert_eq!(good(&text, &[]).variants[0].change, expected);
    let set = "variants.0.apply.0=SET GLOBAL x = 2";
    assert_eq!(good(&text, &[set]).variants[0].change.apply[0], sql("SET GLOBAL x = 2"));
}

#[test]
fn something_may_be_applied_for_good_and_a_state_only_looked_at() {
    let change = changed(LEAST, "apply = [\"ANALYZE TABLE t\"], revert = []");
    assert_eq!((change.apply.len(), change.revert.len()), (1, 0));
    let change = changed(LEAST, "verify = [{ sql = \"SELECT @@x\", equals = 0 }]");
    assert_eq!((change.apply.len(), change.verify.len()), (0, 1));
}

#[test]
fn a_rehearsal_changes_nothing() {
    let variant = "variants=[{ name = \"v\", observer = { preset = \"general-log\" } }]";
    assert_ne!(good(LEAST, &[variant]).variants[0].change, Change::default());
    assert_eq!(good(LEAST, &[variant, "target.kind=simulated"]).variants[0].change, Change::default());
}

#[test]
fn ones_own_statements_are_refused_with_their_reasons() {
    let by_hand = |keys: &str| format!("variants=[{{ name = \"a\", {keys} }}]");
    let cases = [
        ("apply = [\"X\"]", "variants.0.revert", "write revert = [..] with what undoes it, or revert = []"),
        ("revert = [\"X\"]", "variants.0.revert", "there is no apply"),
        ("undone = []", "variants.0.undone", "there is no apply"),
        ("remember = { a = \"X\" }", "variants.0.remember", "there is no apply"),
        ("when = \"connected\"", "variants.0.when", "there is nothing to apply"),
        ("when = \"later\"", "variants.0.when", "\"before\", \"connected\""),
        ("apply = \"X\", revert = []", "variants.0.apply", "is text, not a list"),
        ("apply = [1], revert = []", "variants.0.apply.0", "not SQL in quotes or a command"),
        ("apply = [\" \"], revert = []", "variants.0.apply.0", "is empty"),
        ("apply = [{ command = \"x\" }], revert = []", "variants.0.apply.0", "needs agent with the labels"),
        ("apply = [{ command = \"x\", agent = {} }], revert = []", "variants.0.apply.0", "needs agent with the labels"),
        ("apply = [{ agent = { a = \"b\" } }], revert = []", "variants.0.apply.0", "needs the name"),
        ("apply = [{ comand = \"x\" }], revert = []", "variants.0.apply.0", "has no key comand"),
        ("apply = [{ command = \"x\", agent = { a = 1 } }], revert = []", "variants.0.apply.0", "not text"),
        ("apply = [\"X\"], revert = [], verify = [{ sql = \"Y\" }]", "variants.0.verify.0.equals", "is missing"),
        (
            "apply = [\"X\"], revert = [], verify = [{ sqll = 1, sql = \"Y\", equals = 1 }]",
            "variants.0.verify.0.sqll",
            "sql",
        ),
        ("apply = [\"X\"], revert = [], remember = { \"a-b\" = \"X\" }", "variants.0.remember.a-b", "not a plain name"),
        ("apply = [\"X {session_ids}\"], revert = []", "variants.0", "write when = \"connected\""),
        ("apply = [\"X {remembered:a}\"], revert = []", "variants.0", "in revert and undone only"),
        ("apply = [\"X\"], revert = [\"{remembered:a}\"]", "variants.0", "write remember = { a = \"SELECT ..\" }"),
        ("appy = [\"X\"]", "variants.0.appy", "write \"apply\""),
        ("observer = { preset = \"general-log\" }, verify = []", "variants.0.verify", "remove observer"),
    ];
    for (keys, key, words) in cases {
        assert_refusals(LEAST, &[(&by_hand(keys), key, words)]);
    }
}

#[test]
fn presets_are_refused_with_their_reasons() {
    let preset = |keys: &str| format!("variants=[{{ name = \"a\", observer = {{ {keys} }} }}]");
    let key = |key: &str| format!("variants.0.observer{}{key}", if key.is_empty() { "" } else { "." });
    let mysql = [
        ("", "preset", "write which one"),
        ("preset = \"general-lug\"", "preset", "write \"general-log\"?"),
        ("preset = \"general-log\", events = \"all\"", "events", "no such key"),
        ("preset = \"general-log\", output = \"table\", file = \"x\"", "file", "a table has no file"),
        ("preset = \"general-log\", file = \"a\\nb\"", "file", "does not fit on a line"),
        ("preset = \"slow-log\"", "long_query_time", "is missing"),
        ("preset = \"slow-log\", long_query_time = 0", "long_query_time", "has no unit"),
        ("preset = \"mariadb-server-audit\", events = \"some\"", "events", "write \"all\", or a list of \"CONNECT\""),
        ("preset = \"mariadb-server-audit\", events = [\"SELECT\"]", "events.0", "is not known here"),
        ("preset = \"mariadb-server-audit\", events = [\"TABLE\", \"TABLE\"]", "events.1", "is there already"),
        ("preset = \"mariadb-server-audit\", exclude_users = [\"a,b\"]", "exclude_users.0", "has a comma"),
        ("preset = \"mariadb-server-audit\", rotate_size = 99", "rotate_size", "from 100"),
        ("preset = \"performance-schema\"", "", "write instruments"),
        ("preset = \"performance-schema\", instruments = []", "instruments", "is an empty list"),
        ("preset = \"userstat\", output = \"file\"", "output", "no such key"),
        (
            "preset = \"mssql-audit\", path = \"x\", queue_delay = 0, actions = [\"SELECT\"]",
            "preset",
            "is \"mysql\"; write one of \"mariadb-server-audit\"",
        ),
    ];
    for (keys, blamed, words) in mysql {
        assert_refusals(LEAST, &[(&preset(keys), &key(blamed), words)]);
    }
    assert_refusals(
        LEAST,
        &[
            ("variants=[{ name = \"a\", observer = 1 }]", "variants.0.observer", "not a table"),
            (
                "variants=[{ name = \"a\", when = \"connected\", observer = { preset = \"slow-log\", long_query_time = \"0s\" } }]",
                "variants.0.when",
                "keeps the long_query_time",
            ),
        ],
    );
    let audit = "preset = \"mssql-audit\", path = \"/a/\", queue_delay = 1000, actions = [\"SELECT\"]";
    let xe = "preset = \"mssql-xe\", events = [\"logout\"]";
    let mssql = [
        ("preset = \"general-log\"".to_owned(), "preset", "write one of \"mssql-audit\", \"mssql-xe\""),
        (audit.replace("1000", "999"), "queue_delay", "write 0 (each record is on disk"),
        (audit.replace("path = \"/a/\", ", ""), "path", "is missing"),
        (audit.replace("\"SELECT\"", ""), "actions", "write at least one"),
        (audit.replace("SELECT", "SELCT"), "actions.0", "write \"SELECT\"?"),
        (audit.replace("SELECT", "DBCC_GROUP") + ", objects = [\"t\"]", "objects", "groups record the whole database"),
        (format!("{audit}, objects = [\"a.b.c\"]"), "objects.0", "is not the name of an object"),
        (format!("{audit}, objects = []"), "objects", "is an empty list"),
        (format!("{audit}, max_size = \"1MB\""), "max_size", "from 2MB"),
        (format!("{audit}, max_size = 100"), "max_size", "has no unit"),
        (format!("{audit}, on_failure = \"stop\""), "on_failure", "\"continue\", \"shutdown\", \"fail_operation\""),
        (format!("{audit}, name = \"a b\""), "name", "is not a plain name"),
        (format!("{audit}, events = [\"logout\"]"), "events", "no such key"),
        ("preset = \"mssql-xe\"".to_owned(), "events", "is missing"),
        (format!("{xe}, longer_than = \"5s\""), "longer_than", "logout has no duration"),
        (format!("{xe}, batch_text = true"), "batch_text", "carries a text"),
        (format!("{xe}, session_ids = []"), "session_ids", "has 0 ids"),
        (format!("{xe}, session_ids = \"51\""), "session_ids", "\"{session_ids}\" with when"),
        (format!("{xe}, session_ids = \"{{session_ids}}\""), "", "write when = \"connected\" beside it"),
        (format!("{xe}, file = \"{{session_ids}}.xel\""), "", "not connected yet"),
        (format!("{xe}, target = \"ring_buffer\", file = \"x\""), "file", "a ring buffer has no files"),
        (format!("{xe}, ring_buffer_memory = \"1MB\""), "ring_buffer_memory", "a file is not in memory"),
        (format!("{xe}, max_file_size = \"3MB\""), "max_file_size", "less than the buffers"),
        (format!("{xe}, max_memory = \"2GB\""), "max_memory", "out of range"),
        (format!("{xe}, max_dispatch_latency = \"1500ms\""), "max_dispatch_latency", "whole number of seconds"),
        (format!("{xe}, actions = [\"sql\"]"), "actions.0", "is not known here"),
    ];
    for (keys, blamed, words) in mssql {
        assert_refusals(MSSQL, &[(&preset(&keys), &key(blamed), words)]);
    }
    let connected = "variants=[{ name = \"a\", when = \"connected\", observer = { preset = \"mssql-xe\", events = [\"logout\"], \
                     session_ids = \"{session_ids}\" } }]";
    assert!(good(MSSQL, &[connected]).variants[0].change.apply.len() == 3);
    let refusal = read(MSSQL, &super::with(&[connected, "profiles.0.vus=61"])).unwrap_err();
    assert!(refusal.to_string().contains("a predicate holds 60 sessions, and a run has 61"), "{refusal}");
}

#[test]
fn sqlite_has_no_presets_but_ones_own_statements() {
    let set = [
        "target={ kind = \"sqlite\", path = \"x.db\" }",
        "variants=[{ name = \"a\", observer = { preset = \"userstat\" } }]",
    ];
    let refusal = read(LEAST, &super::with(&set)).unwrap_err().to_string();
    assert!(refusal.contains("write apply = [..] and revert = [..] instead of observer"), "{refusal}");
    let by_hand = "variants=[{ name = \"a\", apply = [\"PRAGMA synchronous = FULL\"], revert = [] }]";
    assert_eq!(good(LEAST, &[set[0], by_hand]).variants[0].change.apply.len(), 1);
}

#[test]
fn the_control_user_is_left_out_of_the_audit_where_it_is_another() {
    let excluded = |set: &[&str]| {
        let variant =
            "variants=[{ name = \"v\", observer = { preset = \"mariadb-server-audit\", events = [\"QUERY\"] } }]";
        let all: Vec<&str> = set.iter().copied().chain([variant]).collect();
        good(LEAST, &all).variants[0].change.verify[3].equals.clone()
    };
    assert_eq!(excluded(&[]), "");
    assert_eq!(excluded(&["control.user=root"]), "root");
    assert_eq!(excluded(&["control.user=bench"]), "", "or nothing at all would be recorded");
    let own =
        "variants=[{ name = \"v\", observer = { preset = \"mariadb-server-audit\", exclude_users = [\"a\", \"b\"] } }]";
    assert_eq!(good(LEAST, &["control.user=root", own]).variants[0].change.verify[3].equals, "a,b");
}

#[test]
fn a_preset_can_be_set_from_the_command_line() {
    let text = format!(
        "{MSSQL}[[variants]]\nname = \"audit\"\n[variants.observer]\npreset = \"mssql-audit\"\npath = \"/a/\"\nqueue_delay = 1000\n\
         actions = [\"SELECT\"]\nobjects = [\"customer\", \"[dbo].[a]];DROP TABLE x--]\"]\n"
    );
    let change = good(&text, &["variants.0.observer.queue_delay=0"]).variants.remove(0).change;
    let texts = format!("{:?}", change.apply);
    assert!(texts.contains("QUEUE_DELAY = 0") && texts.contains("[dbo].[a]];DROP TABLE x--]"), "{texts}");
}
