//! Studies short enough for a test.

use vufleet_testbed::MariaDb;

/// No database: a transaction takes 5 ms.
pub const SIMULATED: &str = "kind = \"simulated\"\nservice_time = \"5ms\"";

/// The server's owner of its tables.
pub fn mariadb(server: &MariaDb) -> String {
    format!(
        "kind = \"mysql\"\nport = {}\ndatabase = \"{}\"\nuser = \"{}\"\npassword = {{ env = \"BENCH_PASSWORD\" }}",
        server.port(),
        MariaDb::DATABASE,
        MariaDb::BENCH.user
    )
}

/// The same, and another login for counters and settings.
pub fn mariadb_with_control(server: &MariaDb) -> String {
    let user = MariaDb::ADMIN.user;
    format!("{}\n\n[control]\nuser = \"{user}\"\npassword = {{ env = \"ADMIN_PASSWORD\" }}", mariadb(server))
}

/// A light load of four virtual users on two small tables. `--set` changes what a test needs differently. Runs may be
/// repeated often: a machine that does other things costs some of them.
pub fn small(target: &str) -> String {
    format!(
        r#"name = "bad-day"
seed = 42

[target]
{target}

[workload]
kind = "oltp"
script = "read_write"
tables = 2
table_size = 1000

[[profiles]]
vus = 4
pacing = {{ wait = "10ms" }}

[schedule]
ramp_up = "1s"
measure = "2s"
settle = "0s"
repetitions = 1
max_repeats = 8
"#
    )
}

/// TPROC-C on so many warehouses.
pub fn orders(target: &str, warehouses: u32, calls: &str) -> String {
    let oltp = "kind = \"oltp\"\nscript = \"read_write\"\ntables = 2\ntable_size = 1000\n";
    let tprocc = format!("kind = \"tprocc\"\nwarehouses = {warehouses}\ncalls = \"{calls}\"\n");
    small(target).replace(oltp, &tprocc)
}
