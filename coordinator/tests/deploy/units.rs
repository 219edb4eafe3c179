//! systemd's units and what they rest on.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use super::programs::{Line, agent, vufleet};
use super::{root, text};

const UNITS: [&str; 2] = ["vufleet-coordinator.service", "vufleet-agent.service"];

/// Every setting of a unit, by its name; lists are in the order in which they stand.
fn settings(path: &str) -> BTreeMap<String, Vec<String>> {
    let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text(path).lines().filter(|line| !line.starts_with('#') && !line.starts_with('[')) {
        if let Some((key, value)) = line.split_once('=') {
            settings.entry(key.to_owned()).or_default().push(value.to_owned());
        }
    }
    settings
}

fn unit(name: &str) -> BTreeMap<String, Vec<String>> {
    settings(&format!("deploy/systemd/{name}"))
}

#[test]
fn units_start_what_there_is_with_what_they_may_reach() {
    let (people, files) = (text("deploy/systemd/sysusers.conf"), text("deploy/systemd/tmpfiles.conf"));
    for name in UNITS {
        let unit = unit(name);
        let one = |key: &str| unit.get(key).unwrap_or_else(|| panic!("{name} has no {key}"))[0].as_str();
        let line = Line::of_text(one("ExecStart"), name);
        line.is_taken();
        assert!(people.contains(&format!("\nu {} ", one("User"))), "{name}: nobody makes its user");
        // Where systemd lets it write; everything else is read-only.
        let state = format!("/var/lib/{}", one("StateDirectory"));
        assert_eq!(line.flag("--data").unwrap_or(&state), state, "{name}");
        assert_eq!(one("ProtectSystem"), "strict", "{name}");
        let made = |directory: &str| {
            files.lines().any(|line| line.starts_with("d ") && line.contains(&format!(" {directory} ")))
        };
        let certs = match line.flag("--certs") {
            Some(directory) => directory.to_owned(),
            None => value_in(&text("deploy/agent.toml"), "certs"),
        };
        assert!(made(&certs) && files.contains(&format!("{certs}/*")), "{name}: nobody makes {certs}");
        let condition = one("ConditionPathExists");
        assert!(
            condition == format!("{certs}/tls.crt") || Some(condition) == line.flag("--config"),
            "{name}: {condition}"
        );
    }
}

/// Of `key = "value"`.
fn value_in(toml: &str, key: &str) -> String {
    let line = toml.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
    line.unwrap_or_else(|| panic!("no {key}")).split('"').next().unwrap().to_owned()
}

#[test]
fn a_mistake_is_not_started_again_and_a_drain_is_waited_for() {
    for name in UNITS {
        let unit = unit(name);
        let never: Vec<&str> = unit["RestartPreventExitStatus"][0].split(' ').collect();
        // `vufleet --help` and `vufleet-agent --help` have them.
        assert_eq!(never, ["1", "2"], "{name}");
        assert_eq!(unit["Restart"], ["on-failure"], "{name}");
        assert!(["1min", "3min"].contains(&unit["TimeoutStopSec"][0].as_str()), "{name}");
    }
}

#[test]
fn drop_ins_set_what_the_unit_has() {
    let agent = unit("vufleet-agent.service");
    for example in ["observe.conf", "control.conf"] {
        for key in settings(&format!("deploy/systemd/examples/{example}")).keys() {
            assert!(agent.contains_key(key) || key == "ReadWritePaths", "{example}: {key} changes nothing");
        }
    }
}

/// As the install page has it: directories, then certificates copied there by root, then the same once more.
#[test]
fn copied_keys_become_the_services_own() {
    let made = |name: &str| Command::new(name).arg("--version").output().is_ok();
    if !nix::unistd::geteuid().is_root() || !made("systemd-tmpfiles") || !made("systemd-sysusers") {
        println!("left out: it takes root, systemd-sysusers and systemd-tmpfiles");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let run = |program: &str, arguments: &[&str], file: &str| {
        let mut command = Command::new(program);
        command.arg(format!("--root={}", directory.path().display())).args(arguments);
        let output = command.arg(root().join("deploy/systemd").join(file)).output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    std::fs::create_dir(directory.path().join("etc")).unwrap();
    run("systemd-sysusers", &[], "sysusers.conf");
    run("systemd-tmpfiles", &["--create"], "tmpfiles.conf");
    for place in ["agent", "coordinator"] {
        let key = directory.path().join("etc/vufleet").join(place).join("tls.key");
        std::fs::write(&key, "").unwrap();
        for again in [false, true] {
            run("systemd-tmpfiles", &["--create"], "tmpfiles.conf");
            let file = std::fs::metadata(&key).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600, "{place} {again}");
            assert_ne!(file.uid(), 0, "{place} {again}");
        }
    }
}

#[test]
fn systemd_finds_nothing_wrong() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("left out: there is no systemd-analyze here; install systemd to have units verified");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for name in UNITS {
        let (agent, vufleet) = (agent(), vufleet());
        let text = text(&format!("deploy/systemd/{name}"))
            .replace("ExecStart=vufleet-agent ", &format!("ExecStart={} ", agent.display()))
            .replace("ExecStart=vufleet ", &format!("ExecStart={} ", vufleet.display()));
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        verify.arg(path);
    }
    for example in ["observe.conf", "control.conf"] {
        let drop_ins = directory.path().join("vufleet-agent.service.d");
        std::fs::create_dir_all(&drop_ins).unwrap();
        std::fs::copy(root().join("deploy/systemd/examples").join(example), drop_ins.join(example)).unwrap();
    }
    let output = verify.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("vufleet")).collect();
    assert!(output.status.success() && of_ours.is_empty(), "{said}");
}
