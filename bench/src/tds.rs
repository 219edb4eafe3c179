//! What sessions of SQL Server cost the client: CPU of a call beside the client library alone, and memory.
//!
//! No SQL Server can be started here, so a scripted one answers (`vufleet-bench-tds`), in a process of its own: what it costs is
//! nobody's. Its answers are as long as those of the procedures that TPROC-C calls.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::processes;
use crate::statistics::Quartiles;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Sessions of the run that others are compared with.
const NEXT_TO_NONE: u32 = 2;
/// The agent that makes the load.
const DRIVER: &str = "drive-1";
/// Variable that the password is read from.
const PASSWORD: &str = "VUFLEET_BENCH_PASSWORD";
/// What is called, as `vufleet-bench-tds` and as people call it.
const CALLS: [(&str, &str); 4] = [
    ("new-order", "TPROC-C's new order"),
    ("payment", "TPROC-C's payment"),
    ("outputs", "two OUT values"),
    ("point-select", "a prepared point select"),
];

/// How much, how often.
#[derive(Debug, Clone)]
pub struct Scale {
    /// Sessions that call at once.
    pub sessions: Vec<u32>,
    /// Pairs of rounds.
    pub pairs: usize,
    /// Length of a round.
    pub round: Duration,
    /// Sessions whose memory is looked at.
    pub held: Vec<u32>,
}

/// CPU of one call.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// What is called.
    pub call: &'static str,
    /// By how many at once.
    pub sessions: u32,
    /// Microseconds.
    pub ours_us: Quartiles,
    /// The same of the client library alone.
    pub bare_us: Quartiles,
    /// One over the other, pair by pair.
    pub ratio: Quartiles,
}

/// Bytes of a session.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Of how many.
    pub sessions: u32,
    /// With its user, connected.
    pub connected: f64,
    /// With its user, after calls with pauses between them.
    pub used: f64,
    /// With its user, calling without a pause.
    pub busy: f64,
    /// Without a user: with all of TPROC-C's statements prepared.
    pub prepared: f64,
    /// The client library alone, after calls.
    pub bare_used: f64,
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Found {
    /// CPU.
    pub cells: Vec<Cell>,
    /// Memory.
    pub held: Vec<Held>,
}

/// Measures all of it, with the programs of a directory.
pub fn measure(programs: &Path, scale: &Scale) -> Result<Found> {
    let server = Scripted::start()?;
    let mut cells = Vec::new();
    for sessions in &scale.sessions {
        for (word, call) in CALLS {
            cells.push(server.compare(word, call, *sessions, scale)?);
        }
    }
    let held = scale.held.iter().map(|sessions| server.held(programs, *sessions)).collect::<Result<_>>()?;
    Ok(Found { cells, held })
}

/// The scripted server; it ends with its standard input, that is with this.
struct Scripted {
    program: PathBuf,
    server: Child,
    port: u16,
}

impl Scripted {
    fn start() -> Result<Scripted> {
        let this = std::env::current_exe().context("cannot tell where this executable lies")?;
        let program = this.with_file_name("vufleet-bench-tds");
        ensure!(
            program.is_file(),
            "{} is missing; build it with `cargo build --release --workspace`",
            program.display()
        );
        let mut server = Command::new(&program).arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().context("no standard output")?).read_line(&mut line)?;
        let port = line.trim().parse().context("the scripted server does not tell its port")?;
        Ok(Scripted { program, server, port })
    }

    fn ask(&self, verb: &str, arguments: &[&str]) -> Result<Value> {
        let port = self.port.to_string();
        let output = Command::new(&self.program).args([verb, "--port", &port]).args(arguments).output()?;
        ensure!(output.status.success(), "{verb} failed: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn compare(&self, word: &str, call: &'static str, sessions: u32, scale: &Scale) -> Result<Cell> {
        let [count, pairs] = [sessions.to_string(), scale.pairs.to_string()];
        let round = scale.round.as_millis().to_string();
        let told =
            self.ask("compare", &["--call", word, "--sessions", &count, "--pairs", &pairs, "--round-ms", &round])?;
        let pairs: Vec<[f64; 2]> = serde_json::from_value(told["pairs"].clone())?;
        let quartiles = |figure: fn(&[f64; 2]) -> f64| Quartiles::of(pairs.iter().map(figure)).context("no pairs");
        let cell = Cell {
            call,
            sessions,
            ours_us: quartiles(|[ours, _]| *ours)?,
            bare_us: quartiles(|[_, bare]| *bare)?,
            ratio: quartiles(|[ours, bare]| ours / bare)?,
        };
        eprintln!("{call}, {sessions} sessions: {:.1} and {:.1} us", cell.ours_us.median, cell.bare_us.median);
        Ok(cell)
    }

    fn held(&self, programs: &Path, sessions: u32) -> Result<Held> {
        let count = sessions.to_string();
        let alone = |way: &str, figure: &str| {
            let told = self.ask("hold", &["--sessions", &count, "--way", way])?;
            told[figure].as_f64().with_context(|| format!("{figure} is missing"))
        };
        let with_user = |pause: &str| {
            let few = self.peak(programs, NEXT_TO_NONE, pause)?;
            let many = self.peak(programs, sessions, pause)?;
            anyhow::Ok((many as f64 - few as f64) / f64::from(sessions - NEXT_TO_NONE))
        };
        let held = Held {
            sessions,
            connected: with_user("{ wait = \"1h\" }")?,
            used: with_user("{ wait = \"1s\" }")?,
            busy: with_user("\"none\"")?,
            prepared: alone("ours", "prepared_bytes")?,
            bare_used: alone("bare", "used_bytes")?,
        };
        eprintln!("{sessions} sessions of SQL Server: {:.0} bytes each, connected", held.connected);
        Ok(held)
    }

    /// The most that the agent of `vufleet run` has resident with so many users.
    fn peak(&self, programs: &Path, sessions: u32, pause: &str) -> Result<u64> {
        let work = tempfile::Builder::new().prefix("vufleet-bench-").tempdir()?;
        let study = work.path().join("study.toml");
        std::fs::write(&study, self.study(sessions, pause))?;
        let mut run = Command::new(programs.join("vufleet"));
        run.arg("run").arg(&study).args(["--agents", "1", "--quiet", "--data"]).arg(work.path().join("data"));
        run.arg("--out").arg(work.path().join("out")).env(PASSWORD, "scripted");
        let log = std::fs::File::create(work.path().join("output.log"))?;
        let mut run =
            run.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn().context("cannot run vufleet")?;
        let (mut driver, mut peak) = (None, 0);
        let status = loop {
            if let Some(status) = run.try_wait()? {
                break status;
            }
            driver = match driver {
                None => processes::started_with(run.id() as i32, DRIVER)?,
                found => found,
            };
            peak = driver.and_then(processes::peak_resident_bytes).unwrap_or(peak).max(peak);
            std::thread::sleep(POLL);
        };
        // 3: sessions that only wait make no valid run, and were there all the same.
        if peak == 0 || !matches!(status.code(), Some(0 | 3)) {
            bail!("vufleet ended with {status}: {}", std::fs::read_to_string(work.path().join("output.log"))?);
        }
        Ok(peak)
    }

    fn study(&self, sessions: u32, pause: &str) -> String {
        format!(
            "name = \"tds\"\nseed = 1\n\
             [target]\nkind = \"mssql\"\nport = {}\ndatabase = \"tpcc\"\nuser = \"bench\"\n\
             password = {{ env = \"{PASSWORD}\" }}\ntls = \"disabled\"\n\
             [workload]\nkind = \"sql\"\n\
             [[workload.transactions]]\nname = \"new_order\"\ntransaction = false\n\
             statements = [\"EXEC dbo.neword @no_w_id = :w::int, @no_d_id = :d::int, @no_c_id = :c::int\"]\n\
             parameters = {{ w = {{ choice = [1] }}, d = {{ choice = [5] }}, c = {{ choice = [42] }} }}\n\
             [[profiles]]\nvus = {sessions}\npacing = {pause}\n\
             [schedule]\nramp_up = \"0ms\"\nmeasure = \"4s\"\nsettle = \"0ms\"\nrepetitions = 1\nmax_repeats = 0\n\
             connect_rate = 1000000\n",
            self.port,
        )
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        // Its standard input is closed with it; it may have ended by itself.
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
