//! Passwords are in nothing that is written, printed or shown of a process, at the most talkative level of every log: each
//! is looked for in all the forms that text and bytes are written in.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use vufleet_testbed::MariaDb;

use super::lab::{Lab, procs, study};

const VARIANTS: &str = r#"
[[variants]]
name = "baseline"

[[variants]]
name = "lazy"
apply = ["SET GLOBAL innodb_flush_log_at_trx_commit = 0"]
revert = ["SET GLOBAL innodb_flush_log_at_trx_commit = 2"]
"#;

/// Three passwords, each of a core that is looked for and of characters that somebody might escape.
struct Passwords {
    target: String,
    control: String,
    wrong: String,
}

impl Passwords {
    fn draw() -> Passwords {
        let draw = || format!("é'\"\\ %&<{:016x}x{:08x}>", rand::random::<u64>(), rand::random::<u32>());
        Passwords { target: draw(), control: draw(), wrong: draw() }
    }

    /// The core of each in every form, by name.
    fn forms(&self) -> BTreeMap<String, Vec<u8>> {
        let mut forms = BTreeMap::new();
        for (name, password) in [("target", &self.target), ("control", &self.control), ("wrong", &self.wrong)] {
            let start = password.find('<').unwrap() + 1;
            let core = password[start..].trim_end_matches('>');
            let mut put = |form: &str, bytes: Vec<u8>| drop(forms.insert(format!("{name} {form}"), bytes));
            put("plain", core.into());
            put("hex", core.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into());
            put("HEX", core.bytes().map(|byte| format!("{byte:02X}")).collect::<String>().into());
            put("UTF-16LE", core.encode_utf16().flat_map(u16::to_le_bytes).collect());
            put("list", core.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ").into());
            put("reversed", core.chars().rev().collect::<String>().into());
            for shift in 0..3 {
                put(&format!("base64+{shift}"), base64_within(core, shift));
            }
        }
        forms
    }
}

/// What base64 makes of the inside of a text that begins `shift` bytes into a group of three.
fn base64_within(text: &str, shift: usize) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let skipped = (3 - shift) % 3;
    text.as_bytes()[skipped..]
        .chunks_exact(3)
        .flat_map(|group| {
            let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            [18, 12, 6, 0].map(|place| DIGITS[(bits >> place & 63) as usize])
        })
        .collect()
}

/// The passwords that were looked for and found, and where.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn look(&mut self, forms: &BTreeMap<String, Vec<u8>>, place: &str, bytes: &[u8]) {
        for (form, wanted) in forms {
            if let Some(at) = bytes.windows(wanted.len()).position(|window| window == wanted) {
                let around = String::from_utf8_lossy(&bytes[at.saturating_sub(160)..at]).into_owned();
                self.0.push(format!("{form} in {place}, behind: {around}"));
            }
        }
    }

    /// Every file below a directory, the password's own apart.
    fn look_below(&mut self, forms: &BTreeMap<String, Vec<u8>>, directory: &Path) -> usize {
        let mut looked = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                looked += self.look_below(forms, &path);
            } else if !path.ends_with("control-password") && path.is_file() {
                self.look(forms, &path.display().to_string(), &std::fs::read(&path).unwrap());
                looked += 1;
            }
        }
        looked
    }

    /// Argument lists of all processes, and environments of agents. Who typed a password has it in the environment.
    fn look_at_processes(&mut self, forms: &BTreeMap<String, Vec<u8>>, lab: &Lab) {
        for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            self.look(forms, &format!("{}/cmdline", entry.path().display()), &arguments);
        }
        let agents: Vec<_> = lab.processes().into_iter().filter(|process| process.agent_name().is_some()).collect();
        assert!(agents.len() >= 3, "{agents:?}");
        // A variable that this run does not read is like any other.
        let used = forms
            .iter()
            .filter(|(form, _)| !form.starts_with("wrong"))
            .map(|(form, bytes)| (form.clone(), bytes.clone()))
            .collect();
        for agent in agents {
            let path = format!("/proc/{}/environ", agent.pid);
            self.look(&used, &path, &std::fs::read(&path).unwrap_or_default());
        }
    }
}

fn traced(lab: &Lab, passwords: &Passwords, line: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["VUFLEET_LOG=trace", "RUST_LOG=trace", "TMPDIR=."]).arg(env!("CARGO_BIN_EXE_vufleet"));
    command.args(line.split_whitespace()).env("TARGET_PASSWORD", &passwords.target);
    command.env("OTHER_PASSWORD", &passwords.wrong).current_dir(lab.path("."));
    command
}

#[test]
fn no_password_is_in_anything_that_is_written_or_shown() {
    let server = MariaDb::start().unwrap();
    let passwords = Passwords::draw();
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "''");
    server
        .sql(&format!(
            "CREATE USER spender@'%' IDENTIFIED BY '{}'; GRANT ALL ON {}.* TO spender@'%'; CREATE USER keeper@'%' IDENTIFIED BY \
             '{}'; GRANT ALL ON *.* TO keeper@'%'",
            quoted(&passwords.target),
            MariaDb::DATABASE,
            quoted(&passwords.control)
        ))
        .unwrap();
    let target = format!(
        "kind = \"mysql\"\nport = {}\ndatabase = \"{}\"\nuser = \"spender\"\npassword = {{ env = \"TARGET_PASSWORD\" }}\n[control]\n\
         user = \"keeper\"\npassword = {{ file = \"control-password\" }}",
        server.port(),
        MariaDb::DATABASE
    );
    let lab = Lab::new(&(study::small(&target) + VARIANTS));
    let file = lab.path("control-password");
    std::fs::write(&file, &passwords.control).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let forms = passwords.forms();
    let mut findings = Findings::default();
    let typed = |line: &str| lab.spawn(traced(&lab, &passwords, line));
    let mut done = |line: &str, codes: &[i32]| {
        let ended = typed(line).end();
        findings.look(&forms, line, ended.out.as_bytes());
        findings.look(&forms, line, ended.err.as_bytes());
        assert!(codes.contains(&ended.code), "{line}: {}: {}", ended.code, tail(&ended.err));
        ended
    };
    done("schema build study.toml", &[0]);
    let warned = done("check study.toml", &[0]).err;
    assert!(warned.contains("can be read by others (mode 0644)"), "{}", tail(&warned));
    let wrong = "--set target.password.env=OTHER_PASSWORD";
    done(&format!("check study.toml {wrong}"), &[1]);
    done(&format!("run study.toml {wrong} --out wrong"), &[1]);
    done("run study.toml --smoke", &[0]);
    let broken = std::fs::read_to_string(lab.path("study.toml")).unwrap().replace("commit = 0", "no_such = 0");
    std::fs::write(lab.path("broken.toml"), broken).unwrap();
    done("run broken.toml --out broken --set schedule.max_repeats=0", &[1, 3]);
    done("plan study.toml --sql", &[0]);

    let before = last_run(&lab);
    let mut job = typed("run study.toml --out first");
    job.await_that("load is under way", || !lab.processes().is_empty() && agents(&lab) >= 3);
    lab.await_load(&mut job, before + 1, 1);
    findings.look_at_processes(&forms, &lab);
    procs::agent(&lab.processes(), "drive-1").kill();
    let ended = job.end();
    findings.look(&forms, "run", ended.out.as_bytes());
    findings.look(&forms, "run", ended.err.as_bytes());
    let mut done = |line: &str, codes: &[i32]| {
        let ended = typed(line).end();
        findings.look(&forms, line, ended.out.as_bytes());
        findings.look(&forms, line, ended.err.as_bytes());
        assert!(codes.contains(&ended.code), "{line}: {}: {}", ended.code, tail(&ended.err));
    };
    for line in [
        "studies",
        "show last",
        "report last",
        "export last --out exported",
        "compare last last",
        "schema verify study.toml",
    ] {
        // A study is not compared with itself.
        done(line, &[0, 1, 3]);
    }
    let looked = findings.look_below(&forms, &lab.path("."));
    assert!(looked > 10, "{looked} files");
    assert!(
        std::fs::metadata(lab.path("vufleet-data/agents/drive-1.log")).unwrap().len() > 10_000,
        "the agents' logs are at trace level"
    );
    assert!(findings.0.is_empty(), "{}", findings.0.join("\n"));
}

/// The test can fail: every form is found where it is.
#[test]
fn every_form_is_looked_for() {
    let passwords = Passwords::draw();
    let forms = passwords.forms();
    for (form, bytes) in &forms {
        let mut findings = Findings::default();
        findings.look(&forms, "here", &[b"before ", bytes.as_slice(), b" after"].concat());
        assert!(findings.0.iter().any(|found| found.starts_with(form.as_str())), "{form}");
    }
    for lead in ["", "a", "ab"] {
        let text = format!("{lead}{}", &passwords.target[passwords.target.find('<').unwrap() + 1..]);
        let encoded = base64_within(&text, 0);
        let found = forms.iter().any(|(form, wanted)| {
            form.starts_with("target base64") && encoded.windows(wanted.len()).any(|window| window == wanted.as_slice())
        });
        assert!(found, "base64 at {} bytes", lead.len());
    }
}

fn agents(lab: &Lab) -> usize {
    lab.processes().iter().filter(|process| process.agent_name().is_some()).count()
}

/// The last run of the ledger; 0 where there is none.
fn last_run(lab: &Lab) -> u64 {
    let ledger = rusqlite::Connection::open_with_flags(
        lab.path("vufleet-data/ledger.sqlite3"),
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .unwrap();
    let last: Option<i64> = ledger.query_row("SELECT max(id) FROM runs", [], |row| row.get(0)).unwrap();
    last.map_or(0, |run| run.unsigned_abs())
}

/// The end of what was said, which at trace level is long.
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
