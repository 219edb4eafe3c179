//! Hosts of a lab: network namespaces on two switches, which are a namespace too. Nothing of them is in the machine's own
//! network, and nothing is left of them when the test process has ended, however it ended.
//!
//! The control network joins everybody, the data network the agents and the database: a link of one may be taken down while
//! the other works.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// A host and the last part of its addresses.
pub type Host = (&'static str, u8);

pub const COORD: &str = "coord";
pub const DB: &str = "db";
pub const OP: &str = "op";
/// Where relays run.
pub const WAN: &str = "wan";
const HOSTS: [Host; 7] = [(COORD, 1), (DB, 2), (OP, 3), (WAN, 4), ("load1", 11), ("load2", 12), ("load3", 13)];

/// Names of labs begin so; the test's process id follows.
const PREFIX: &str = "vufleet-net-";
const NAMESPACES: &str = "/run/netns";
/// Files here take the place of those in /etc for whoever is started in a namespace.
const ETC: &str = "/etc/netns";

/// Ends what runs in namespaces and removes them.
const REMOVE: &str = r#"
for name in "$@"; do
    for pid in $(ip netns pids "$name" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
    ip netns del "$name" 2>/dev/null
    rm -rf "/etc/netns/$name"
done
"#;

/// One of the two networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    Control,
    Data,
}

impl Net {
    fn bridge(self) -> &'static str {
        match self {
            Net::Control => "ctl",
            Net::Data => "data",
        }
    }

    /// Address of a host on it.
    pub fn address(self, host: &str) -> String {
        let third = match self {
            Net::Control => 1,
            Net::Data => 2,
        };
        let (_, last) = HOSTS.iter().find(|(name, _)| *name == host).expect("a host of the lab");
        format!("10.77.{third}.{last}")
    }

    fn has(self, host: &str) -> bool {
        self == Net::Control || ![COORD, OP].contains(&host)
    }
}

/// All hosts of one test.
pub struct Hosts {
    name: String,
    /// A shell that waits for its input to end, which it does with this process, and then removes everything.
    remover: Child,
}

impl Hosts {
    /// New hosts; none, and a word about it, where that is impossible.
    pub fn start() -> Option<Hosts> {
        static SWEPT: Once = Once::new();
        if let Some(why) = impossible() {
            left_out(&format!("no faults between hosts are tested: {why}"));
            return None;
        }
        SWEPT.call_once(sweep);
        static LABS: AtomicU32 = AtomicU32::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
        let names = HOSTS.iter().map(|(host, _)| format!("{name}-{host}")).chain([format!("{name}-switch")]);
        let remover = Command::new("sh")
            .args(["-c", &format!("trap '' INT TERM; read _; {REMOVE}"), "remover"])
            .args(names)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let hosts = Hosts { name, remover };
        hosts.build();
        Some(hosts)
    }

    fn build(&self) {
        let namespaces = HOSTS.iter().map(|(host, _)| self.namespace(host)).chain([self.namespace("switch")]);
        let mut here: Vec<String> = namespaces.map(|name| format!("netns add {name}")).collect();
        let mut switch = vec!["link set lo up".to_owned()];
        for net in [Net::Control, Net::Data] {
            let bridge = net.bridge();
            switch.extend([format!("link add {bridge} type bridge"), format!("link set {bridge} up")]);
            for (host, _) in HOSTS.iter().filter(|(host, _)| net.has(host)) {
                let (port, namespace) = (port(net, host), self.namespace(host));
                here.push(format!(
                    "link add name {port} netns {} type veth peer name {bridge}0 netns {namespace}",
                    self.namespace("switch")
                ));
                switch.extend([format!("link set {port} master {bridge}"), format!("link set {port} up")]);
            }
        }
        ip(&[], &here);
        ip(&["-n", &self.namespace("switch")], &switch);
        for (host, _) in HOSTS {
            let mut lines = vec!["link set lo up".to_owned()];
            for net in [Net::Control, Net::Data].into_iter().filter(|net| net.has(host)) {
                let bridge = net.bridge();
                lines.push(format!("addr add {}/24 dev {bridge}0", net.address(host)));
                lines.push(format!("link set {bridge}0 up"));
            }
            ip(&["-n", &self.namespace(host)], &lines);
            self.name_to(host, COORD, DB);
        }
    }

    /// Name of a host's namespace.
    pub fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.name)
    }

    /// Where a namespace may be entered.
    pub fn place(&self, host: &str) -> PathBuf {
        Path::new(NAMESPACES).join(self.namespace(host))
    }

    /// What `coord.lab` and `db.lab` mean to programs that are started on a host from now on.
    pub fn name_to(&self, host: &str, coord: &str, db: &str) {
        let directory = Path::new(ETC).join(self.namespace(host));
        fs::create_dir_all(&directory).unwrap();
        let (coord, db) = (Net::Control.address(coord), Net::Data.address(db));
        fs::write(directory.join("hosts"), format!("127.0.0.1 localhost\n{coord} coord.lab\n{db} db.lab\n")).unwrap();
    }

    /// The same program on a host.
    pub fn on(&self, host: &str, command: &Command) -> Command {
        let mut there = Command::new("ip");
        there.args(["netns", "exec", &self.namespace(host)]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => there.env(name, value),
                None => there.env_remove(name),
            };
        }
        there
    }

    /// Takes a host's link to one network down, at the switch: the host is not told more than by a cable that was pulled.
    pub fn unplug(&self, host: &str, net: Net) {
        ip(&["-n", &self.namespace("switch")], &[format!("link set {} down", port(net, host))]);
    }

    pub fn plug(&self, host: &str, net: Net) {
        ip(&["-n", &self.namespace("switch")], &[format!("link set {} up", port(net, host))]);
    }

    /// Rules for what a host hears and says, in the words of nft: `ip saddr 10.77.1.1 drop`. They replace the ones before.
    pub fn filter(&self, host: &str, hears: &str, says: &str) {
        let rule = |chain: &str, words: &str| match words {
            "" => String::new(),
            words => format!("add rule ip faults {chain} {words}\n"),
        };
        let script = format!(
            "add table ip faults\ndelete table ip faults\nadd table ip faults\n\
             add chain ip faults in {{ type filter hook input priority 0; }}\n\
             add chain ip faults out {{ type filter hook output priority 0; }}\n{}{}",
            rule("in", hears),
            rule("out", says)
        );
        let mut nft = Command::new("nft");
        said(self.on(host, nft.args(["-f", "-"])), &script);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        self.remover.wait().ok();
    }
}

/// Whether packets can be dropped by rules.
pub fn has_nft() -> bool {
    Command::new("nft").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Says that a test was left out. Not by `eprintln`, which the output of a test that passes goes without.
#[expect(clippy::explicit_write, reason = "the harness keeps what eprintln says")]
pub fn left_out(why: &str) {
    writeln!(std::io::stderr(), "LEFT OUT: {why}").unwrap();
}

fn port(net: Net, host: &str) -> String {
    format!("{}-{host}", &net.bridge()[..1])
}

/// Why there can be no hosts here.
fn impossible() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("network namespaces need root".to_owned());
    }
    let name = format!("{PREFIX}{}-probe", std::process::id());
    let _alone = PROBE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let probe = Command::new("ip").args(["netns", "add", &name]).output();
    let why = match probe {
        Err(error) => Some(format!("no ip of iproute2: {error}")),
        Ok(output) if !output.status.success() => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Ok(_) => None,
    };
    Command::new("ip").args(["netns", "del", &name]).output().ok();
    why
}

static PROBE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Removes what is left of test processes that ended together with their removers.
fn sweep() {
    let Ok(entries) = fs::read_dir(NAMESPACES) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let stale: Vec<String> = names
        .filter(|name| {
            let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
            pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        })
        .collect();
    Command::new("sh").args(["-c", REMOVE, "remover"]).args(stale).output().unwrap();
}

fn ip(options: &[&str], lines: &[String]) {
    let mut command = Command::new("ip");
    command.args(options).args(["-batch", "-"]);
    said(command, &lines.join("\n"));
}

/// Runs a program on a script, and fails with what it says.
fn said(mut command: Command, script: &str) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{script}", String::from_utf8_lossy(&output.stderr));
}
