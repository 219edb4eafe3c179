//! A MariaDB of one's own: own directory, own port, own socket, gone when dropped.
//!
//! The data directory is made once per machine, user and version, kept as a template beside the temporary files and
//! copied per start. Durability is switched down; what a killed server has committed is still there after a restart.

mod certificates;
mod template;

pub use certificates::create_certificates;

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::guardian::Guardian;
use crate::program::{find, option};

/// How long a start may take on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Another process may take the port between the choice and the start.
const START_ATTEMPTS: u32 = 3;

/// A user of the test server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    /// Name.
    pub user: &'static str,
    /// Password.
    pub password: &'static str,
}

/// Options of a test server.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    options: Vec<(String, String)>,
    tls: bool,
    namespace: Option<String>,
}

impl Builder {
    /// Sets a server option, as on the command line: `option("max_connections", "20")`.
    pub fn option(mut self, name: &str, value: &str) -> Self {
        self.options.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives the server a certificate for `localhost` and 127.0.0.1, and an authority to verify it with.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts the server in a network namespace (of `ip netns`), where it listens on every address.
    pub fn namespace(mut self, name: &str) -> Self {
        self.namespace = Some(name.to_owned());
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> Result<MariaDb> {
        let server = find("mariadbd").or_else(|_| find("mysqld"))?;
        let directory = tempfile::Builder::new().prefix("vufleet-mariadb-").tempdir()?;
        template::copy(&server, &directory.path().join("data"))?;
        if self.tls {
            create_certificates(directory.path())?;
        }
        let mut database = MariaDb { directory, server, builder: self, port: 0, running: None };
        std::fs::write(database.file("init.sql"), USERS)?;
        let mut attempt = 1;
        while let Err(error) = database.launch() {
            if attempt == START_ATTEMPTS || !format!("{error:#}").contains("in use") {
                return Err(error);
            }
            database.port = 0;
            attempt += 1;
        }
        Ok(database)
    }
}

/// Run at each start; creates what is not there yet.
const USERS: &str = "\
CREATE DATABASE IF NOT EXISTS sbtest;
CREATE USER IF NOT EXISTS bench@'%' IDENTIFIED BY 'bench-password';
CREATE USER IF NOT EXISTS bench@localhost IDENTIFIED BY 'bench-password';
GRANT ALL ON sbtest.* TO bench@'%', bench@localhost;
GRANT PROCESS ON *.* TO bench@'%', bench@localhost;
CREATE USER IF NOT EXISTS admin@'%' IDENTIFIED BY 'admin-password';
CREATE USER IF NOT EXISTS admin@localhost IDENTIFIED BY 'admin-password';
GRANT ALL ON *.* TO admin@'%', admin@localhost WITH GRANT OPTION;
CREATE USER IF NOT EXISTS guest@'%' IDENTIFIED BY 'guest-password';
CREATE USER IF NOT EXISTS guest@localhost IDENTIFIED BY 'guest-password';
";

/// A running server, or one that was killed and may be restarted.
pub struct MariaDb {
    directory: TempDir,
    server: PathBuf,
    builder: Builder,
    port: u16,
    running: Option<(Child, Guardian)>,
}

impl MariaDb {
    /// Owner of the database `sbtest`.
    pub const BENCH: Login = Login { user: "bench", password: "bench-password" };
    /// May do anything, from anywhere.
    pub const ADMIN: Login = Login { user: "admin", password: "admin-password" };
    /// May log in and no more.
    pub const GUEST: Login = Login { user: "guest", password: "guest-password" };
    /// The database that is there.
    pub const DATABASE: &'static str = "sbtest";

    /// A server with default options.
    pub fn start() -> Result<MariaDb> {
        Builder::default().start()
    }

    /// A server with options.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A server without TLS that tests of one process share while any of them runs. Leave its settings alone.
    pub fn shared() -> Result<Arc<MariaDb>> {
        static SHARED: Mutex<Weak<MariaDb>> = Mutex::new(Weak::new());
        share(&SHARED, MariaDb::builder())
    }

    /// The same with TLS.
    pub fn shared_tls() -> Result<Arc<MariaDb>> {
        static SHARED: Mutex<Weak<MariaDb>> = Mutex::new(Weak::new());
        share(&SHARED, MariaDb::builder().tls())
    }

    /// TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.file("mariadb.sock")
    }

    /// Data directory.
    pub fn data(&self) -> PathBuf {
        self.file("data")
    }

    /// The authority that signed the server's certificate, PEM; there with [`Builder::tls`].
    pub fn ca_file(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// A client certificate of the same authority, PEM.
    pub fn client_cert(&self) -> PathBuf {
        self.file("client.pem")
    }

    /// The key of the client certificate, PEM.
    pub fn client_key(&self) -> PathBuf {
        self.file("client.key")
    }

    /// Program and arguments that start the server as it was started, for whoever stops it in between.
    pub fn command_line(&self) -> Vec<String> {
        let command = self.command();
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// Process id of the running server.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|(child, _)| child.id())
    }

    /// Runs SQL as root by way of the `mariadb` client. Returns its output: no headings, columns separated by tabs.
    pub fn sql(&self, sql: &str) -> Result<String> {
        let client = find("mariadb").or_else(|_| find("mysql"))?;
        let output = Command::new(client)
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names", "--default-character-set=utf8mb4"])
            .arg(option("socket", self.socket()))
            .args(["--execute", sql])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}\nSQL was: {sql}", said.trim());
        Ok(String::from_utf8(output.stdout)?)
    }

    /// SIGKILL, as a crash would be.
    pub fn kill9(&mut self) -> Result<()> {
        if let Some((mut child, guardian)) = self.running.take() {
            child.kill()?;
            child.wait()?;
            drop(guardian);
        }
        Ok(())
    }

    /// Starts the server again on the same port, with what it had committed. Kills it before, if it runs.
    pub fn restart(&mut self) -> Result<()> {
        self.kill9()?;
        self.launch()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn launch(&mut self) -> Result<()> {
        if self.port == 0 {
            self.port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        }
        // Left behind by a killed server, it would refuse connections until the new one replaces it.
        std::fs::remove_file(self.socket()).ok();
        let child = self.command().spawn().with_context(|| format!("cannot start {}", self.server.display()))?;
        let guardian = Guardian::watch(child.id(), self.directory.path())?;
        self.running = Some((child, guardian));
        let ready = self.wait_until_ready();
        if ready.is_err() {
            self.kill9()?;
        }
        ready
    }

    fn command(&self) -> Command {
        // `ip` becomes the server, with its process id.
        let (mut command, address) = match &self.builder.namespace {
            None => (Command::new(&self.server), "127.0.0.1"),
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name]).arg(&self.server);
                (command, "0.0.0.0")
            }
        };
        command
            .arg("--no-defaults")
            .args(template::SETTINGS)
            .arg(option("datadir", self.data()))
            .arg(option("socket", self.socket()))
            // A server that starts clears its directory of temporary tables, those of other servers in it too.
            .arg(option("tmpdir", self.directory.path()))
            .arg(option("init-file", self.file("init.sql")))
            .arg(option("log-error", self.log()))
            .arg(format!("--port={}", self.port))
            .arg(format!("--bind-address={address}"))
            .args(["--skip-name-resolve", "--performance-schema=OFF"])
            .args(template::run_as());
        if self.builder.tls {
            command
                .arg(option("ssl-ca", self.ca_file()))
                .arg(option("ssl-cert", self.file("server.pem")))
                .arg(option("ssl-key", self.file("server.key")));
        }
        command.args(self.builder.options.iter().map(|(name, value)| format!("--{name}={value}")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command
    }

    fn log(&self) -> PathBuf {
        self.file("error.log")
    }

    /// The server greets only after it has run its init file.
    fn wait_until_ready(&mut self) -> Result<()> {
        let start = Instant::now();
        while !self.greets() {
            let (child, _) = self.running.as_mut().context("the server was not started")?;
            if let Some(status) = child.try_wait()? {
                bail!("the test server ended with {status}:\n{}", self.last_words());
            }
            ensure!(start.elapsed() < START_LIMIT, "the test server is not ready:\n{}", self.last_words());
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn greets(&self) -> bool {
        let greeting = UnixStream::connect(self.socket()).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.read(&mut [0; 16])
        });
        matches!(greeting, Ok(length) if length > 0)
    }

    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        if let Err(error) = self.kill9() {
            eprintln!("cannot stop the test server in {}: {error}", self.directory.path().display());
        }
    }
}

/// Statics are never dropped, so they must not own a server.
fn share(shared: &Mutex<Weak<MariaDb>>, builder: Builder) -> Result<Arc<MariaDb>> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(builder.start()?);
    *shared = Arc::downgrade(&server);
    Ok(server)
}
