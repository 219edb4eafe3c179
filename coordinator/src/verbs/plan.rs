//! `vufleet plan`: what a study would do, told from the file alone. Connects to nothing, reads no password.

mod resets;
mod schedule;
mod sql;
mod variants;

use std::fmt::Write;
use std::time::Duration;

use comfy_table::{Table, presets};
use vufleet_scenarios::plan::{self, PlannedRun};
use vufleet_scenarios::study::{Change, Study, Target, TargetKind, Tls, Workload};

use crate::args::Plan;
use crate::exit::Exit;
use crate::stdout;
use crate::study_file;

/// Prints the plan.
pub fn run(args: &Plan) -> anyhow::Result<Exit> {
    let checked = study_file::read(&args.study)?;
    if checked.seed_drawn {
        println!(
            "the study names no seed: the order below is an example, drawn with seed {seed}, and `run` draws its own; write \
             seed = {seed} into the study to have this one",
            seed = checked.study.seed
        );
    }
    stdout::put(describe(&checked.study))?;
    if args.sql {
        stdout::put(format_args!("\n{}", sql::describe(&checked.study)))?;
    }
    Ok(Exit::Done)
}

/// Everything but the statements.
fn describe(study: &Study) -> String {
    let runs = plan::expand(study);
    let mut out = String::new();
    heading(&mut out, study, &runs);
    out.push_str(&order(study, &runs).trim_fmt());
    out.push_str("\n\n");
    let more = schedule::more(study);
    if !more.is_empty() {
        out.push_str(&more);
        out.push('\n');
    }
    out.push_str(&variants::describe(study));
    touched(&mut out, study);
    out
}

fn heading(out: &mut String, study: &Study, runs: &[PlannedRun]) {
    let cells = study.variants.len() * study.profiles.len();
    let of = format!("{}{}", count(runs.len(), "run"), schedule::or_more(study));
    let length = schedule::length(study, runs);
    say(out, format_args!("study {}, seed {}: {of} in {}, {length}", study.name, study.seed, count(cells, "cell")));
    say(out, format_args!("each run: {}", schedule::each_run(study)));
    say(out, format_args!("target: {}\n", place(&study.target)));
}

/// The runs, one a line.
fn order(study: &Study, runs: &[PlannedRun]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["run", "block", "variant", "profile", "VUs", "sessions", "pacing", "workload"]);
    for run in runs {
        let profile = study.profile(&run.profile).expect("a plan names profiles of its study");
        table.add_row([
            run.number.to_string(),
            if run.is_switched() { "-".to_owned() } else { run.repetition.to_string() },
            run.variant.clone(),
            run.profile.clone(),
            profile.vus.to_string(),
            profile.sessions().to_string(),
            profile.pacing.to_string(),
            sql::workload_name(&profile.workload),
        ]);
    }
    table
}

fn touched(out: &mut String, study: &Study) {
    let most = study.profiles.iter().map(|profile| profile.sessions()).max().unwrap_or_default();
    say(out, format_args!("touches:"));
    say(
        out,
        format_args!(
            "  {}: up to {}, one more of each driving agent, and {} for control and counters",
            place(&study.target),
            count(most as usize, "session"),
            if matches!(study.workload, Workload::Tprocc(_)) { "three" } else { "two" },
        ),
    );
    let schema = study.workload.schema();
    let own_sql = matches!(study.workload, Workload::Custom(_));
    let changes = study.profiles.iter().any(|profile| sql::writes(&study.target, &profile.workload));
    let does = if changes { "reads and writes" } else { "reads" };
    if own_sql {
        say(out, format_args!("  {does} what the study's own statements name (--sql shows them)"));
    } else {
        say(out, format_args!("  {does} {}; {} rows after a build", tables(&schema.tables()), schema.rows()));
    }
    if study.profiles.iter().any(|profile| !profile.setup.is_empty()) {
        say(out, format_args!("  runs the profiles' setup statements before their runs"));
    }
    if study.variants.iter().any(|variant| variant.change != Change::default()) {
        say(
            out,
            format_args!("  applies variants with the control login, and undoes each after its run (--sql shows how)"),
        );
    }
    for line in resets::lines(study) {
        say(out, format_args!("  {line}"));
    }
    if resets::builds(study) {
        return say(out, format_args!("`run` drops and makes these tables; so does `schema build --replace`"));
    }
    let makes = if own_sql { "whatever they need has to be there" } else { "`schema build` makes these tables" };
    say(out, format_args!("{makes}; `run` neither makes nor drops any"));
}

/// Where the database is.
fn place(target: &Target) -> String {
    let database = target.database.as_ref().map_or(String::new(), |name| format!(", database {name}"));
    let user = target.user.as_ref().map_or(String::new(), |name| format!(", as {name}"));
    match (target.kind, &target.socket, &target.host, &target.path) {
        (TargetKind::Simulated, ..) => "simulated, no database".to_owned(),
        (TargetKind::Sqlite, _, _, path) => {
            let path = path.as_ref().map_or(String::new(), |path| format!(" {}", path.display()));
            format!("sqlite file{path}")
        }
        (kind, Some(socket), ..) => format!("{} at socket {}{database}{user}", kind.name(), socket.display()),
        (TargetKind::Mssql, ..) => format!("{}{database}{user}, {}", mssql_server(target), mssql_wire(target)),
        (kind, None, host, _) => {
            let host = host.as_deref().unwrap_or("localhost");
            format!("{} at {host}:{}{database}{user}", kind.name(), target.port)
        }
    }
}

fn mssql_server(target: &Target) -> String {
    let host = target.host.as_deref().unwrap_or("localhost");
    match &target.mssql.instance {
        Some(instance) => format!("mssql at {host}\\{instance}"),
        None => format!("mssql at {host}:{}", target.port),
    }
}

/// What is encrypted, and whether anybody looks to whom: not to be overlooked by whoever approves the plan.
fn mssql_wire(target: &Target) -> String {
    let encrypted = match target.tls {
        Tls::Disabled => "no TLS (the password travels as it is)",
        Tls::LoginOnly => "only the login encrypted",
        Tls::Strict => "TLS (strict)",
        Tls::Preferred | Tls::Required | Tls::Verify => "TLS",
    };
    let verified = match (target.tls, target.mssql.trust_server_certificate) {
        (Tls::Disabled, _) => "",
        (_, true) => ", certificate NOT verified (trust_server_certificate)",
        (_, false) => ", certificate verified",
    };
    let intent = if target.mssql.read_only_intent { ", read-only intent" } else { "" };
    format!("{encrypted}{verified}{intent}")
}

/// Names of tables; long rows of them by their ends.
fn tables(names: &[String]) -> String {
    match names {
        [first, _, .., last] => format!("{} tables, {first} to {last}", names.len()),
        few => few.join(", "),
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A time as people say it, to the second where it is longer than one.
fn spoken(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        return format!("{} ms", time.as_millis());
    }
    let total = time.as_secs_f64().round() as u64;
    let parts = [(total / 3_600, "h"), (total / 60 % 60, "min"), (total % 60, "s")];
    let parts: Vec<_> =
        parts.iter().filter(|(number, _)| *number > 0).map(|(number, unit)| format!("{number} {unit}")).collect();
    parts.join(" ")
}

fn say(out: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(out, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use vufleet_scenarios::study::{Edits, read};

    use super::*;

    #[test]
    fn a_plan_says_whether_sql_servers_certificate_is_verified() {
        for (keys, expected) in [
            ("", "mssql at 127.0.0.1:1433, database tpcc, as bench, TLS, certificate verified"),
            (
                "trust_server_certificate = true",
                "mssql at 127.0.0.1:1433, database tpcc, as bench, TLS, certificate NOT verified \
                 (trust_server_certificate)",
            ),
            (
                "instance = 'S'\ntls = 'login-only'\ntrust_server_certificate = true\nread_only_intent = true",
                "mssql at 127.0.0.1\\S, database tpcc, as bench, only the login encrypted, certificate NOT verified \
                 (trust_server_certificate), read-only intent",
            ),
            (
                "tls = 'disabled'\nread_only_intent = true",
                "mssql at 127.0.0.1:1433, database tpcc, as bench, no TLS (the password travels as it is), read-only intent",
            ),
            ("tls = 'strict'", "mssql at 127.0.0.1:1433, database tpcc, as bench, TLS (strict), certificate verified"),
        ] {
            let study = format!(
                "name = 'a'\n[target]\nkind = 'mssql'\ndatabase = 'tpcc'\nuser = 'bench'\n{keys}\n[workload]\nkind = \
                 'oltp'\nscript = 'read_only'\n[[profiles]]\nvus = 1\n"
            );
            let target = read(&study, &Edits::default()).unwrap().target;
            assert_eq!(place(&target), expected);
        }
    }

    #[test]
    fn times_are_spoken_in_whole_units() {
        for (ms, text) in [
            (0, "0 ms"),
            (250, "250 ms"),
            (1_000, "1 s"),
            (70_000, "1 min 10 s"),
            (9_000_000, "2 h 30 min"),
            (3_600_400, "1 h"),
        ] {
            assert_eq!(spoken(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn many_tables_are_named_by_their_ends() {
        let names = |count: u32| (1..=count).map(|n| format!("sbtest{n}")).collect::<Vec<_>>();
        assert_eq!(tables(&names(1)), "sbtest1");
        assert_eq!(tables(&names(3)), "3 tables, sbtest1 to sbtest3");
        assert_eq!(tables(&names(2)), "sbtest1, sbtest2");
        assert_eq!(tables(&names(250)), "250 tables, sbtest1 to sbtest250");
    }
}
