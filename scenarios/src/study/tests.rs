//! Whole study files that are read.

mod custom;
mod refusals;
mod resets;
mod variants;

use proptest::prelude::*;

use super::*;
use crate::oltp::{Distribution, Script};
use crate::session::FaultKind;
use crate::sql::Protocol;
use crate::tprocc::{self, Calls, Mix};

const LEAST: &str = r#"
name = "least"
[target]
kind = "mysql"
database = "sbtest"
user = "bench"
[workload]
kind = "oltp"
script = "read_write"
[[profiles]]
vus = 4
"#;

const FULL: &str = r#"name = "mariadb-audit"
seed = 42

[target]
kind = "mysql"
host = "db1"
port = 3307
database = "sbtest"
user = "bench"
password = { env = "VUFLEET_PASSWORD" }
tls = "verify"
ca_file = "/ca.pem"
server_name = "db"
client_cert = "/c.pem"
client_key = "/k.pem"
driver = "mysql_async"
deadline = "5s"

[control]
user = "root"
password = { file = "/run/secret" }
database = "mysql"

[fleet]
drive = { zone = "a" }
observe = { host = "db" }
share = "even"

[workload]
kind = "oltp"
script = "oltp_read_write"
tables = 10
table_size = 25000
point_selects = 3
distribution = "zipfian"
rand_zipfian_exp = 0.9

[[profiles]]
vus = [4, 8]
pacing = "none"

[[profiles]]
label = "Read only"
workload = { script = "insert", distribution = "uniform" }
setup = ["SET GLOBAL x = 1"]
vus = [64]
sessions_per_vu = 5
pacing = { wait = "10ms" }

[schedule]
ramp_up = "1s"
measure = "2s"
settle = "3s"
checkpoint = true
repetitions = 7
max_repeats = 1
order = "grouped"
nest = "variant"
connect_rate = 10

[[require]]
sql = "SELECT 1"
equals = "1"

[[variants]]
name = "baseline"
[[variants]]
name = "audit"

[reset]
before = "never"

[monitor]
interval = "500ms"
process = "mariadbd"
requests = false

[report]
baseline = "audit"
confidence = 0.9
relative_only = true
"#;

fn with(set: &[&str]) -> Edits {
    Edits { set: set.iter().map(|typed| (*typed).to_owned()).collect(), default_seed: 7, ..Edits::default() }
}

fn good(text: &str, set: &[&str]) -> Study {
    read(text, &with(set)).unwrap_or_else(|refusal| panic!("{set:?}: {refusal}"))
}

#[test]
fn the_least_study_gets_every_default() {
    let study = good(LEAST, &[]);
    assert_eq!(study.seed, 7);
    assert_eq!(study.target.host.as_deref(), Some("127.0.0.1"));
    assert_eq!((study.target.port, study.target.tls), (3306, Tls::Preferred));
    assert_eq!(study.target.deadline, Duration::from_secs(30));
    assert_eq!(study.baseline(), "baseline");
    assert_eq!(study.variants.len(), 1);
    assert_eq!(study.monitor, Monitor { interval: Duration::from_secs(1), process: None, requests: false });
    let Workload::Oltp(shape) = &study.workload else { panic!("an OLTP workload") };
    assert_eq!((shape.tables, shape.table_size, shape.range_size), (1, 10_000, 100));
    assert_eq!(shape.distribution, Distribution::Special { pct: 1, iter: 12, res: 75 });
    assert_eq!(shape.mysql_storage_engine, "innodb");
    assert_eq!(study.profiles[0].workload, study.workload);
    assert_eq!(
        study.schedule,
        Schedule {
            ramp_up: Duration::from_secs(60),
            measure: Measure::Duration(Duration::from_secs(240)),
            settle: Duration::from_secs(60),
            checkpoint: false,
            repetitions: Repetitions::Fixed(5),
            max_repeats: 3,
            order: Order::Blocks,
            nest: Nest::Profile,
            connect_rate: 200.0,
        }
    );
}

#[test]
fn every_key_is_read() {
    let study = good(FULL, &[]);
    assert_eq!((study.name.as_str(), study.seed), ("mariadb-audit", 42));
    let target = &study.target;
    assert_eq!((target.host.as_deref(), target.port, target.tls), (Some("db1"), 3307, Tls::Verify));
    assert_eq!(target.password_source, Some(PasswordSource::Env("VUFLEET_PASSWORD".to_owned())));
    assert_eq!(target.ca_file, Some(PathBuf::from("/ca.pem")));
    assert_eq!(target.server_name.as_deref(), Some("db"));
    assert_eq!(target.deadline, Duration::from_secs(5));
    assert_eq!(study.control_target().database.as_deref(), Some("mysql"));
    assert_eq!(study.control_target().password_source, Some(PasswordSource::File(PathBuf::from("/run/secret"))));
    assert_eq!(study.fleet.drive["zone"], "a");
    assert_eq!(study.fleet.observe["host"], "db");
    assert_eq!(study.fleet.share, Share::Even);
    assert_eq!(study.require, [Require { sql: "SELECT 1".to_owned(), equals: "1".to_owned() }]);
    assert_eq!(study.monitor.process.as_deref(), Some("mariadbd"));
    assert_eq!(study.report, ReportChoice { baseline: "audit".to_owned(), confidence: 0.9, relative_only: true });
    let schedule = &study.schedule;
    assert_eq!((schedule.order, schedule.nest, schedule.checkpoint), (Order::Grouped, Nest::Variant, true));
    assert_eq!((schedule.repetitions.at_most(), schedule.max_repeats, schedule.connect_rate), (7, 1, 10.0));
}

#[test]
fn profiles_expand_and_override() {
    let study = good(FULL, &[]);
    let ids: Vec<_> = study.profiles.iter().map(|profile| profile.id.as_str()).collect();
    assert_eq!(ids, ["4vu", "8vu", "read-only-64vu-x5"]);
    let Workload::Oltp(base) = &study.profiles[0].workload else { panic!("an OLTP workload") };
    assert_eq!((base.script, base.protocol), (Script::ReadWrite, Protocol::Prepared));
    assert_eq!(base.distribution, Distribution::Zipfian { exponent: 0.9 });
    let last = &study.profiles[2];
    let Workload::Oltp(own) = &last.workload else { panic!("an OLTP workload") };
    assert_eq!((own.script, own.protocol), (Script::Insert, Protocol::Text));
    assert_eq!((own.distribution, own.tables, own.counts.point_selects), (Distribution::Uniform, 10, 3));
    assert_eq!((last.sessions(), last.pacing), (320, Pacing::Wait(Duration::from_millis(10))));
    assert_eq!(last.setup, ["SET GLOBAL x = 1"]);
}

const ORDERS: &str = "workload={ kind = \"tprocc\", warehouses = 4 }";

fn tprocc(study: &Study, profile: usize) -> &tprocc::Shape {
    match &study.profiles[profile].workload {
        Workload::Tprocc(shape) => shape,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tprocc_is_spelt_as_the_target_can() {
    let calls = |set: &[&str]| tprocc(&good(LEAST, set), 0).calls;
    assert_eq!(calls(&[ORDERS]), Calls::Procedures);
    assert_eq!(calls(&[ORDERS, "target={ kind = \"sqlite\", path = \"x.db\" }"]), Calls::Statements);
    assert_eq!(calls(&[ORDERS, "target.kind=simulated"]), Calls::Statements);
    assert_eq!(calls(&[ORDERS, "workload.calls=statements"]), Calls::Statements);
    assert_eq!(calls(&[ORDERS, "target.kind=simulated", "workload.calls=procedures"]), Calls::Procedures);
}

#[test]
fn profiles_may_change_all_of_tprocc_but_its_size() {
    let own = "profiles.0.workload={ calls = \"statements\", mix = { order_status = 1, stock_level = 2 } }";
    let study = good(LEAST, &[ORDERS, "workload.all_warehouses=true", own]);
    let Workload::Tprocc(base) = &study.workload else { panic!("TPROC-C") };
    assert_eq!((base.warehouses, base.calls, base.mix), (4, Calls::Procedures, Mix::default()));
    let shape = tprocc(&study, 0);
    assert_eq!((shape.warehouses, shape.calls, shape.all_warehouses), (4, Calls::Statements, true));
    assert_eq!(shape.mix, Mix { order_status: 1, stock_level: 2, ..Mix::NOTHING });
}

#[test]
fn keying_and_thinking_is_a_pacing_of_tprocc() {
    let pacing = |keyed: &str| {
        let set = format!("profiles.0.pacing={{ keying_thinking = {keyed} }}");
        good(LEAST, &[ORDERS, &set]).profiles[0].pacing
    };
    assert_eq!(pacing("{ scale = 0.5 }"), Pacing::KeyingThinking { scale: 0.5 });
    assert_eq!(pacing("{}"), Pacing::KeyingThinking { scale: 1.0 });
}

#[test]
fn the_other_targets_are_read() {
    let sqlite = "target={ kind = \"sqlite\", path = \"x.db\" }";
    assert_eq!(good(LEAST, &[sqlite]).target.path, Some(PathBuf::from("x.db")));
    let rehearsed = good(LEAST, &["target.kind=simulated"]);
    assert_eq!(rehearsed.target.simulated.service_time, Duration::from_millis(1));
    let set = [
        "target={ kind = \"simulated\" }",
        "target.service_time={ mean = \"2ms\", distribution = \"exponential\" }",
        "target.faults={ deadlock = 0.01, connection_lost = 0.5 }",
    ];
    assert_eq!(
        *good(LEAST, &set).target.simulated,
        Simulated {
            service_time: Duration::from_millis(2),
            distribution: ServiceDistribution::Exponential,
            faults: vec![(FaultKind::Deadlock, 0.01), (FaultKind::ConnectionLost, 0.5)],
        }
    );
}

#[test]
fn a_counted_window_has_no_ramp_up() {
    let schedule = good(FULL, &["schedule.transactions=3"]).schedule;
    assert_eq!((schedule.measure, schedule.ramp_up), (Measure::Transactions(3), Duration::ZERO));
}

#[test]
fn repetitions_until_an_interval_is_narrow_are_about_the_headline_unless_they_say_otherwise() {
    let repetitions = |set: &[&str]| good(LEAST, set).schedule.repetitions;
    let until = "schedule.repetitions={ max = 20, until = '2%' }";
    let expected = Until { min: 5, max: 20, percent: 2.0, metric: "tps" };
    assert_eq!(repetitions(&[until]), Repetitions::Until(expected));
    assert_eq!(repetitions(&[until, ORDERS]), Repetitions::Until(Until { metric: "nopm", ..expected }));
    let counted = Until { metric: "service_mean_ms", ..expected };
    assert_eq!(repetitions(&[until, "schedule.transactions=3"]), Repetitions::Until(counted));
    let own = "schedule.repetitions={ min = 7, max = 7, until = '0.5 %', metric = 'cpu_ms_per_txn' }";
    let own_metric = Until { min: 7, max: 7, percent: 0.5, metric: "cpu_ms_per_txn" };
    assert_eq!(repetitions(&[own]), Repetitions::Until(own_metric));
    // A number typed over it takes its place, wherever it stood.
    assert_eq!(repetitions(&[until, "schedule.repetitions=3"]), Repetitions::Fixed(3));
    let file = format!("{LEAST}[schedule.repetitions]\nmax = 9\nuntil = \"2%\"\n[schedule]\nsettle = \"1s\"\n");
    assert_eq!(good(&file, &["schedule.repetitions=3"]).schedule.repetitions, Repetitions::Fixed(3));
    assert_eq!(good(&file, &["schedule.repetitions.max=8"]).schedule.repetitions.at_most(), 8);
}

#[test]
fn switches_come_by_their_time() {
    let variants = "variants=[{ name = 'baseline' }, { name = 'audit' }]";
    let switches = "switch=[{ at = '3m', variant = 'baseline' }, { at = '90s', variant = 'audit' }]";
    let seen = |edits: &Edits| {
        let study = read(LEAST, edits).unwrap_or_else(|refusal| panic!("{refusal}"));
        study.switches.iter().map(|switch| (switch.at.as_secs(), switch.variant.clone())).collect::<Vec<_>>()
    };
    let edits = with(&[variants, switches]);
    assert_eq!(seen(&edits), [(90, "audit".to_owned()), (180, "baseline".to_owned())]);
    let scaled = Edits { scale_time: Some(0.1), ..edits };
    assert_eq!(seen(&scaled), [(9, "audit".to_owned()), (18, "baseline".to_owned())]);
}

#[test]
fn what_is_read_again_is_the_same() {
    for set in [&[][..], &["schedule.measure=10s", "profiles.0.vus=9", "fleet.share=even", "monitor.interval=2s"]] {
        for text in [LEAST, FULL] {
            let edits = Edits { scale_time: Some(0.5), ..with(set) };
            let first = read(text, &edits).unwrap();
            let again = read(&first.text, &Edits { default_seed: 99, ..Edits::default() }).unwrap();
            assert_eq!(format!("{first:?}"), format!("{again:?}"));
            assert_eq!(first.digest.len(), 64);
        }
    }
    assert_ne!(good(LEAST, &[]).digest, good(LEAST, &["schedule.settle=2s"]).digest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_is_typed_after_set_reads_the_same_a_second_time(
        key in prop::sample::select(vec![
            "name", "seed", "target.socket", "target.kind", "target.password", "target.password.env", "fleet.drive.a.b",
            "fleet.share", "workload", "workload.tables", "profiles", "profiles.0", "profiles.0.vus", "profiles.1.vus.0",
            "profiles.1.workload.script", "schedule.measure", "schedule.transactions", "report.x", "variants.0.name",
        ]),
        value in prop_oneof![
            "\\PC{0,12}",
            prop::sample::select(vec!["3", "'x'", "\"10s\"", "[1, 2]", "{ vus = 3 }", "{ a = [{}] }", "insert", "0.5"])
                .prop_map(str::to_owned),
        ],
        scale_time in prop::option::of(prop_oneof![Just(0.5), Just(3.0), any::<f64>()]),
    ) {
        let edits = Edits { scale_time, ..with(&[&format!("{key}={value}")]) };
        if let Ok(first) = read(FULL, &edits) {
            let again = read(&first.text, &Edits::default());
            prop_assert_eq!(format!("{first:?}"), format!("{:?}", again.unwrap()));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "([a-z]{1,4}( = |\\.|\n)|\\[|\\]|\\{|\\}|[0-9]|\"|,|\\PC){0,40}", typed in "\\PC{0,20}") {
        prop_assert!(read(&text, &with(&[&typed])).is_err());
    }
}

const REFERENCE: &str = include_str!("../../../docs/study-file.md");

#[test]
fn the_study_in_the_reference_is_read() {
    let example = REFERENCE.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(good(example, &[]).profiles.len(), 4);
}

#[test]
fn the_reference_names_every_key() {
    for text in [LEAST, FULL].into_iter().chain(READY.map(|study| study.text)) {
        let keys = text.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key.trim());
        for key in keys.filter(|key| !key.starts_with('#')) {
            assert!(REFERENCE.contains(&format!("`{key}")), "{key} is not in docs/study-file.md");
        }
    }
}
