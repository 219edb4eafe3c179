//! The agent's settings: defaults, then a file, then the environment, then flags; the last one wins.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser};
use serde::Deserialize;
use vufleet_telemetry::{logs, port};
use vufleet_trust::address::Security;
use vufleet_trust::credentials::Credentials;
use vufleet_trust::identity::{self as trust, Identity};

/// Checked settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the coordinator listens, `https://host:port` or `http://host:port`.
    pub coordinator: String,
    /// How it is talked to.
    pub security: Security,
    /// Unique in the fleet.
    pub name: String,
    /// What this agent does.
    pub roles: Vec<Role>,
    /// What studies choose agents by.
    pub labels: BTreeMap<String, String>,
    /// Threads for virtual users.
    pub threads: usize,
    /// Whether studies may do more here than drive and ask: change the database, run the commands below.
    pub allow_control: bool,
    /// Commands of this host that studies may ask for by name: program and arguments.
    pub commands: BTreeMap<String, Vec<String>>,
    /// The server whose files studies may have copied and put back.
    pub snapshot: Option<ServerFiles>,
    /// How log lines look.
    pub log_format: logs::Format,
    /// Where metrics and health are shown, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Memory for events that no coordinator has recorded; beyond it the load stops.
    pub send_queue_bytes: usize,
}

/// Of a host with a hundred sessions that sends everything ten times a second, this is a quarter of an hour.
const SEND_QUEUE_MIB: usize = 256;

/// A database server of this host, and how it is stopped and started around a copy of its files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFiles {
    /// Its data directory, as the server itself calls it.
    pub datadir: PathBuf,
    /// Program and arguments that stop it, and end when it has ended.
    pub stop: Vec<String>,
    /// Program and arguments that start it.
    pub start: Vec<String>,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Virtual users.
    Drive,
    /// Host and database samples, control statements.
    Observe,
}

impl Role {
    /// Name in the contract and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Drive => "drive",
            Role::Observe => "observe",
        }
    }
}

/// What is typed.
#[derive(Debug, Parser)]
#[command(
    name = "vufleet-agent",
    version,
    about = "One host's share of a vufleet: virtual users, and samples of a host and its database",
    after_help = "Settings come from defaults, then --config FILE (TOML), then VUFLEET_AGENT_* variables, then flags.\n\
                  Log level: VUFLEET_LOG, or RUST_LOG: error, warn, info (default), debug, trace.\n\
                  SIGTERM or Ctrl-C: the load stops, variants are undone, what was recorded is handed over (40 s at most);\n\
                  a second one, a second later or more, ends it at once.\n\n\
                  Examples:\n  \
                  vufleet-agent --coordinator https://coordinator:7411 --certs certs/agent-load-1 --roles drive\n  \
                  vufleet-agent --coordinator http://127.0.0.1:7411 --roles drive --name load-1 --label zone=a\n  \
                  vufleet-agent --coordinator http://127.0.0.1:7411 --roles observe --name db-1 --label host=db\n  \
                  vufleet-agent --coordinator http://127.0.0.1:7411 --metrics 127.0.0.1:7413 --log-format json\n\n\
                  Exit codes: 0 told to end, 1 the coordinator refused this agent, 2 usage, 130 told to end twice."
)]
pub struct Flags {
    /// TOML file with the same keys as the flags below, labels as a table; and [commands], by name, each a list of the
    /// program and its arguments, which studies may ask for when allow_control is true; and [snapshot] with datadir, stop and
    /// start, the database server whose files studies may have copied and put back.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Coordinator to join, for example https://coordinator:7411 with --certs, or http://127.0.0.1:7411.
    #[arg(long, value_name = "URL")]
    coordinator: Option<String>,
    /// What this agent does: drive, observe or both [default: drive,observe].
    #[arg(long, value_delimiter = ',', value_name = "ROLES")]
    roles: Vec<String>,
    /// Name, unique in the fleet [default: the certificate's, or the host's].
    #[arg(long)]
    name: Option<String>,
    /// Label that studies choose agents by; may be repeated.
    #[arg(long = "label", value_name = "K=V")]
    labels: Vec<String>,
    /// Threads for virtual users, at most one for each eight sessions [default: one per core].
    #[arg(long)]
    threads: Option<usize>,
    /// Write the manual page and completions of shells there, and end.
    #[arg(long, value_name = "DIR", hide = true, exclusive = true)]
    pub pages: Option<PathBuf>,
    #[command(flatten)]
    switches: Switches,
}

#[derive(Debug, Args)]
struct Switches {
    /// Let studies do more through this agent than drive vufleet's own workloads and ask questions: send statements that change the
    /// database (variants, resets, setup, loads of their own), and run what --config names under [commands] and [snapshot].
    #[arg(long)]
    allow_control: bool,
    /// Directory of this agent's certificates (ca.crt, tls.crt, tls.key): TLS on both sides; `vufleet certs` makes them.
    #[arg(long, value_name = "DIR")]
    certs: Option<PathBuf>,
    /// Talk to a coordinator on another host without encryption or authentication, passwords in the clear.
    #[arg(long, conflicts_with = "certs")]
    insecure: bool,
    /// Log lines: text or json [default: text].
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Show metrics (/metrics, for Prometheus), health (/health) and life (/live) at this address, for example 127.0.0.1:7413
    /// [default: nowhere].
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// Memory for what the coordinator has not recorded yet, in MiB; beyond it the load stops and the run is invalid [default:
    /// 256].
    #[arg(long, value_name = "MIB")]
    send_queue_mib: Option<usize>,
}

/// Every layer together, unchecked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Layers {
    coordinator: Option<String>,
    name: Option<String>,
    roles: Option<OneOrMore>,
    labels: BTreeMap<String, String>,
    threads: Option<usize>,
    allow_control: bool,
    commands: BTreeMap<String, Vec<String>>,
    snapshot: Option<ServerFiles>,
    certs: Option<PathBuf>,
    insecure: bool,
    log_format: Option<String>,
    metrics: Option<String>,
    send_queue_mib: Option<usize>,
}

/// A list, or the same as comma-separated text (how the environment has it).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    More(Vec<String>),
    One(String),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMore::More(list) => list,
            OneOrMore::One(text) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        }
    }
}

impl Config {
    /// Brings the layers together and checks the result, before a port is bound or a session opened.
    pub fn load(flags: Flags) -> anyhow::Result<Config> {
        let environment = config::Environment::with_prefix("VUFLEET_AGENT").prefix_separator("_").separator("__");
        Self::from_layers(flags, environment)
    }

    fn from_layers(flags: Flags, environment: config::Environment) -> anyhow::Result<Config> {
        let mut builder = config::Config::builder();
        if let Some(path) = &flags.config {
            ensure!(path.is_file(), "there is no configuration file {}; check --config", path.display());
            builder = builder.add_source(config::File::from(path.as_path()).format(config::FileFormat::Toml));
        }
        let layers: Layers = builder
            .add_source(environment.try_parsing(true))
            .build()
            .and_then(config::Config::try_deserialize)
            .context("the agent's configuration cannot be used; check --config FILE and VUFLEET_AGENT_* variables")?;
        Self::check(layers, flags)
    }

    fn check(layers: Layers, flags: Flags) -> anyhow::Result<Config> {
        let Some(coordinator) = flags.coordinator.or(layers.coordinator) else {
            bail!("no coordinator to join; add --coordinator http://HOST:PORT");
        };
        let insecure = flags.switches.insecure || layers.insecure;
        let security = Security::from_flags(flags.switches.certs.or(layers.certs), insecure)?;
        let coordinator = security.url(&coordinator)?;
        let identity = identity(&security)?;
        let metrics =
            flags.switches.metrics.or(layers.metrics).map(|text| metrics_address(&text, &security)).transpose()?;
        let roles = if flags.roles.is_empty() {
            layers.roles.map_or_else(|| vec!["drive".to_owned(), "observe".to_owned()], OneOrMore::into_vec)
        } else {
            flags.roles
        };
        let mut labels = layers.labels;
        for label in &flags.labels {
            let Some((key, value)) = label.split_once('=') else {
                bail!("label {label:?} has no value; write --label KEY=VALUE");
            };
            labels.insert(key.to_owned(), value.to_owned());
        }
        let threads = flags
            .threads
            .or(layers.threads)
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
        ensure!(threads > 0, "0 threads cannot serve anybody; give --threads at least 1, or leave it out");
        let name = match flags.name.or(layers.name) {
            Some(name) => name,
            None => identity.as_ref().and_then(own_name).map_or_else(host_name, Ok)?,
        };
        ensure!(!name.is_empty() && name.len() <= 100, "a name has 1 to 100 characters; check --name");
        if let Some(identity) = identity {
            ensure!(
                identity.may_join_as(&name),
                "this certificate is that of {identity}, with which an agent cannot join as {name:?}; leave --name out, or issue \
                 one with `vufleet certs issue agent {name}`"
            );
        }
        let allow_control = flags.switches.allow_control || layers.allow_control;
        check_commands(&layers.commands, allow_control)?;
        if let Some(files) = &layers.snapshot {
            check_snapshot(files, allow_control)?;
        }
        Ok(Config {
            coordinator,
            security,
            name,
            roles: parse_roles(&roles)?,
            labels,
            threads,
            allow_control,
            commands: layers.commands,
            snapshot: layers.snapshot,
            log_format: parse_log_format(flags.switches.log_format.or(layers.log_format).as_deref())?,
            metrics,
            send_queue_bytes: queue_bytes(flags.switches.send_queue_mib.or(layers.send_queue_mib))?,
        })
    }
}

fn queue_bytes(mib: Option<usize>) -> anyhow::Result<usize> {
    let mib = mib.unwrap_or(SEND_QUEUE_MIB);
    ensure!(
        (1..=1 << 20).contains(&mib),
        "{mib} MiB is no size for the events that wait for the coordinator; give --send-queue-mib 1 or more, or leave it out"
    );
    Ok(mib << 20)
}

/// Who this agent is by its certificate, which has to be in order before anything is begun.
fn identity(security: &Security) -> anyhow::Result<Option<Identity>> {
    match security {
        Security::Plaintext(_) => Ok(None),
        Security::Certificates(directory) => Ok(Some(Credentials::load(directory, trust::Role::Agent)?.identity)),
    }
}

/// The name that a certificate gives, unless many share it.
fn own_name(identity: &Identity) -> Option<String> {
    Some(identity.name.clone()).filter(|name| name != Identity::ANY)
}

fn host_name() -> anyhow::Result<String> {
    let name = nix::unistd::gethostname().context("this host tells no name; add --name")?;
    Ok(name.to_string_lossy().into_owned())
}

fn parse_roles(names: &[String]) -> anyhow::Result<Vec<Role>> {
    let mut roles = Vec::new();
    for name in names {
        roles.push(match name.as_str() {
            "drive" => Role::Drive,
            "observe" => Role::Observe,
            other => bail!("role {other:?} is not known; write --roles drive, observe or drive,observe"),
        });
    }
    roles.sort_unstable();
    roles.dedup();
    ensure!(!roles.is_empty(), "an agent without a role does nothing; write --roles drive, observe or drive,observe");
    Ok(roles)
}

/// What a coordinator may set going here is written down in full, and on purpose.
fn check_commands(commands: &BTreeMap<String, Vec<String>>, allowed: bool) -> anyhow::Result<()> {
    for (name, line) in commands {
        let program = line.first().map(Path::new);
        ensure!(
            program.is_some_and(Path::is_absolute),
            "command {name:?} names no program by its whole path; write {name} = [\"/path/to/program\", \"argument\"]"
        );
    }
    ensure!(
        commands.is_empty() || allowed,
        "[commands] names commands, but nobody may run them; write allow_control = true beside it, or remove them"
    );
    Ok(())
}

fn check_snapshot(files: &ServerFiles, allowed: bool) -> anyhow::Result<()> {
    let datadir = files.datadir.display();
    ensure!(
        files.datadir.is_absolute() && files.datadir.parent().is_some(),
        "[snapshot] datadir {datadir} is no whole path of a directory; write what SELECT @@datadir says on the server"
    );
    for (key, line) in [("stop", &files.stop), ("start", &files.start)] {
        ensure!(
            line.first().is_some_and(|program| Path::new(program).is_absolute()),
            "[snapshot] {key} names no program by its whole path; write {key} = [\"/usr/bin/systemctl\", \"{key}\", \"mariadb\"]"
        );
    }
    ensure!(
        allowed,
        "[snapshot] lets studies stop a server and replace its files, but nobody may; write allow_control = true beside it, or \
         remove it"
    );
    Ok(())
}

fn parse_log_format(name: Option<&str>) -> anyhow::Result<logs::Format> {
    name.map_or(Ok(logs::Format::default()), |name| name.parse().map_err(anyhow::Error::msg))
}

/// Where metrics may be shown to whoever connects.
fn metrics_address(text: &str, security: &Security) -> anyhow::Result<SocketAddr> {
    let address: SocketAddr = text.parse().with_context(|| {
        format!("--metrics {text:?} is no address to listen on; write 127.0.0.1:7413, or [::1]:7413")
    })?;
    port::check(address, security).map_err(anyhow::Error::msg)?;
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn load(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Config> {
        let flags = Flags::try_parse_from(std::iter::once(&"vufleet-agent").chain(arguments))?;
        let variables: HashMap<String, String> =
            environment.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let source = config::Environment::with_prefix("VUFLEET_AGENT").prefix_separator("_").separator("__");
        Config::from_layers(flags, source.source(Some(variables)))
    }

    const URL: [&str; 2] = ["--coordinator", "http://127.0.0.1:7411"];

    #[test]
    fn later_layers_win() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agent.toml");
        std::fs::write(&file, "name = \"file\"\nthreads = 3\nroles = [\"observe\"]\n[labels]\nzone = \"a\"\n").unwrap();
        let path = file.to_str().unwrap();
        let from_file = load(&[&URL[..], &["--config", path]].concat(), &[]).unwrap();
        assert_eq!((from_file.name.as_str(), from_file.threads), ("file", 3));
        assert_eq!(from_file.roles, [Role::Observe]);
        assert_eq!(from_file.labels["zone"], "a");
        let environment = [("VUFLEET_AGENT_NAME", "environment"), ("VUFLEET_AGENT_ROLES", "drive,observe")];
        let with_environment = load(&[&URL[..], &["--config", path]].concat(), &environment).unwrap();
        assert_eq!(with_environment.name, "environment");
        assert_eq!(with_environment.roles, [Role::Drive, Role::Observe]);
        let flags = [&URL[..], &["--config", path, "--name", "flag", "--label", "zone=b", "--roles", "drive"]].concat();
        let with_flags = load(&flags, &environment).unwrap();
        assert_eq!((with_flags.name.as_str(), with_flags.labels["zone"].as_str()), ("flag", "b"));
        assert_eq!(with_flags.roles, [Role::Drive]);
    }

    #[test]
    fn mistakes_are_named_with_their_remedy() {
        for (arguments, words) in [
            (&[][..], "add --coordinator"),
            (&["--coordinator", "ftp://127.0.0.1:7411"], "write https://HOST:7411"),
            (&["--coordinator", "http://127.0.0.1"], "has no port"),
            (&["--coordinator", "http://10.1.2.3:7411"], "--insecure"),
            (&["--coordinator", "https://10.1.2.3:7411"], "add --certs DIR"),
            (&[URL[0], URL[1], "--certs", "/nowhere"], "write https://127.0.0.1:7411"),
            (&["--coordinator", "https://127.0.0.1:7411", "--certs", "/nowhere"], "check --certs"),
            (&["--coordinator", "https://127.0.0.1:7411", "--certs", "/nowhere", "--insecure"], "--insecure"),
            (&[URL[0], URL[1], "--roles", "steer"], "drive, observe or drive,observe"),
            (&[URL[0], URL[1], "--label", "zone"], "KEY=VALUE"),
            (&[URL[0], URL[1], "--threads", "0"], "at least 1"),
            (&[URL[0], URL[1], "--log-format", "xml"], "text or json"),
            (&[URL[0], URL[1], "--metrics", "7413"], "write 127.0.0.1:7413"),
            (&[URL[0], URL[1], "--metrics", "0.0.0.0:7413"], "--insecure"),
            (&[URL[0], URL[1], "--config", "/nowhere/agent.toml"], "check --config"),
        ] {
            let error = format!("{:#}", load(arguments, &[]).unwrap_err());
            assert!(error.contains(words), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn an_unknown_key_in_the_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agent.toml");
        std::fs::write(&file, "nmae = \"x\"\n").unwrap();
        let error =
            format!("{:#}", load(&[&URL[..], &["--config", file.to_str().unwrap()]].concat(), &[]).unwrap_err());
        assert!(error.contains("nmae"), "{error}");
    }

    fn load_file(text: &str, flags: &[&str]) -> anyhow::Result<Config> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("agent.toml");
        std::fs::write(&file, text).unwrap();
        load(&[&URL[..], &["--config", file.to_str().unwrap()], flags].concat(), &[])
    }

    /// The file that the install page has people copy, as it is and with everything set that it only mentions.
    #[test]
    fn the_example_has_no_key_that_is_unknown() {
        let example = include_str!("../../deploy/agent.toml");
        let is_key =
            |line: &str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        let uncommented = |line: &str| line.strip_prefix("# ").filter(|rest| is_key(rest)).unwrap_or(line).to_owned();
        let everything: Vec<String> = example.lines().map(uncommented).collect();
        let read = |text: &str| -> Layers {
            let source = config::File::from_str(text, config::FileFormat::Toml);
            config::Config::builder().add_source(source).build().unwrap().try_deserialize().unwrap()
        };
        assert!(read(example).certs.is_some() && read(example).snapshot.is_none());
        let all = read(&everything.join("\n"));
        assert!(all.allow_control && all.name.is_some() && all.threads.is_some());
        assert_eq!((all.labels["zone"].as_str(), all.commands.len()), ("a", 1));
        check_commands(&all.commands, true).unwrap();
        check_snapshot(&all.snapshot.unwrap(), true).unwrap();
    }

    #[test]
    fn commands_are_named_in_full_and_allowed_on_purpose() {
        let commands = "[commands]\nrestore = [\"/opt/restore\", \"--fast\"]\n";
        let allowed = load_file(&format!("allow_control = true\n{commands}"), &[]).unwrap();
        assert_eq!(allowed.commands["restore"], ["/opt/restore", "--fast"]);
        load_file(commands, &["--allow-control"]).unwrap();
        for (text, words) in [
            (commands.to_owned(), "allow_control = true"),
            ("allow_control = true\n[commands]\nrestore = [\"restore\"]\n".to_owned(), "whole path"),
            ("allow_control = true\n[commands]\nrestore = []\n".to_owned(), "whole path"),
            ("allow_control = true\n[commands]\nrestore = \"/opt/restore\"\n".to_owned(), "--config"),
        ] {
            let error = format!("{:#}", load_file(&text, &[]).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_server_is_stopped_and_its_files_replaced_on_purpose() {
        let snapshot =
            "[snapshot]\ndatadir = \"/var/lib/mysql\"\nstop = [\"/bin/stop\", \"db\"]\nstart = [\"/bin/start\"]\n";
        let allowed = load_file(&format!("allow_control = true\n{snapshot}"), &[]).unwrap();
        let files = allowed.snapshot.unwrap();
        assert_eq!((files.datadir.as_path(), files.stop[1].as_str()), (Path::new("/var/lib/mysql"), "db"));
        let but = |from: &str, to: &str| format!("allow_control = true\n{}", snapshot.replace(from, to));
        for (text, words) in [
            (snapshot.to_owned(), "allow_control = true"),
            (but("/var/lib/mysql", "mysql"), "SELECT @@datadir"),
            (but("/var/lib/mysql", "/"), "SELECT @@datadir"),
            (but("/bin/stop", "stop"), "stop names no program by its whole path"),
            (but("[\"/bin/start\"]", "[]"), "start names no program by its whole path"),
            (but("start =", "run ="), "run"),
            (but("start = [\"/bin/start\"]\n", ""), "start"),
        ] {
            let error = format!("{:#}", load_file(&text, &[]).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn another_host_needs_the_word() {
        assert!(load(&["--coordinator", "http://10.1.2.3:7411", "--insecure"], &[]).is_ok());
        assert!(load(&["--coordinator", "http://localhost:7411"], &[]).is_ok());
        assert!(load(&["--coordinator", "http://[::1]:7411"], &[]).is_ok());
    }
}
