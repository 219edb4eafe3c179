//! `vufleet certs` as people type it: what comes to lie where, who may read it, what is refused, and a fleet that works with it.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use vufleet_trust::authority::Authority;
use vufleet_trust::files::Existing;
use vufleet_trust::validity::{DAY, Validity};

use super::certs::{agent_command, listed};
use crate::lab::fleet::{Coordinator, is_here};
use crate::lab::{Ended, Job, Lab, study};

/// `vufleet certs`, by somebody whose files everybody may read and write unless a program says otherwise.
fn certs(lab: &Lab, line: &str) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" certs \"$@\"", env!("CARGO_BIN_EXE_vufleet")]).args(line.split(' '));
    lab.spawn(command).end()
}

fn new_lab() -> Lab {
    Lab::new(&study::small(study::SIMULATED))
}

/// Every file and directory below, with its mode and what is in it.
fn tree(top: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
        let content = if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            std::fs::read(&path).unwrap()
        };
        found.insert(path.strip_prefix(top).unwrap().to_string_lossy().into_owned(), (mode, content));
    }
    found
}

#[test]
fn what_is_made_is_its_owners_alone_and_the_authoritys_key_stays_where_it_is() {
    let lab = new_lab();
    certs(&lab, "init").expect(0).says(&["certs is the authority \"vufleet lab\"", "ca.key  stays here"]);
    certs(&lab, "issue coordinator --host db1.lab --host 10.0.0.7")
        .expect(0)
        .says(&["dialled as db1.lab, 10.0.0.7, localhost, 127.0.0.1, ::1", "vufleet coordinator --certs DIR"]);
    certs(&lab, "issue agent load-1 --days 30").expect(0).says(&["a certificate for agent load-1", "vufleet-agent"]);
    certs(&lab, "issue agent --any-name").expect(0).says(&["certs/agent-_any is a certificate"]);
    certs(&lab, "issue operator").expect(0).says(&["operator main"]);
    certs(&lab, "issue monitor prometheus").expect(0).says(&["tls_config"]);
    let mut expected = vec![("", 0o700), ("ca.crt", 0o600), ("ca.key", 0o600)];
    for directory in ["coordinator-main", "agent-load-1", "agent-_any", "operator-main", "monitor-prometheus"] {
        expected.push((directory, 0o700));
    }
    let mut expected: BTreeMap<String, u32> =
        expected.into_iter().map(|(name, mode)| (name.to_owned(), mode)).collect();
    let directories: Vec<String> = expected.keys().filter(|name| name.contains('-')).cloned().collect();
    for directory in directories {
        for file in ["ca.crt", "tls.crt", "tls.key"] {
            expected.insert(format!("{directory}/{file}"), 0o600);
        }
    }
    let found = tree(&lab.path("certs"));
    let modes: BTreeMap<String, u32> = found.iter().map(|(name, (mode, _))| (name.clone(), *mode)).collect();
    assert_eq!(modes, expected, "and nothing else");
    let (_, authority) = &found["ca.crt"];
    assert!(found.iter().filter(|(name, _)| name.ends_with("/ca.crt")).all(|(_, (_, content))| content == authority));
    let keys: Vec<_> = found.iter().filter(|(name, _)| name.ends_with(".key")).map(|(_, (_, key))| key).collect();
    assert!(keys.iter().enumerate().all(|(index, key)| !keys[..index].contains(key)), "each has a key of its own");
    certs(&lab, "show").expect(0).says(&["agent load-1", "an authority", "key ca.key, mode 0600", "29 days left"]);
}

#[test]
fn mistakes_are_refused_and_leave_everything_as_it_was() {
    let lab = new_lab();
    certs(&lab, "init").expect(0);
    certs(&lab, "issue agent load-1").expect(0);
    certs(&lab, "init --dir elsewhere").expect(0);
    std::fs::remove_file(lab.path("elsewhere/ca.key")).unwrap();
    let past = Validity { from: SystemTime::now() - DAY * 9, until: SystemTime::now() - DAY };
    Authority::create("old", past).unwrap().save(&lab.path("old"), Existing::Keep).unwrap();
    std::fs::create_dir(lab.path("mixed")).unwrap();
    std::fs::copy(lab.path("certs/ca.key"), lab.path("mixed/ca.key")).unwrap();
    std::fs::copy(lab.path("elsewhere/ca.crt"), lab.path("mixed/ca.crt")).unwrap();
    let before = tree(&lab.path("."));
    for (line, code, words) in [
        ("init", 1, "certs holds an authority already; issue certificates by it, name another --dir"),
        ("init --dir elsewhere", 1, "elsewhere holds an authority already"),
        ("init --days 0 --dir new", 2, "--days"),
        ("init --name  --dir new", 1, "1 to 64 printable characters"),
        ("issue agent load-1", 1, "certs/agent-load-1 exists already; add --replace"),
        ("issue agent load-2 --dir nowhere", 1, "make one with `vufleet certs init --dir nowhere`"),
        ("issue agent load-2 --dir elsewhere", 1, "without its key"),
        ("issue agent load-2 --dir mixed", 1, "bring both from the same authority"),
        ("issue agent load-2 --dir old", 1, "has expired on"),
        ("issue agent", 2, "--any-name"),
        ("issue agent load-2 --any-name", 2, "--any-name"),
        ("issue agent ../load-2", 2, "letters, digits"),
        ("issue operator --any-name", 2, "for agents"),
        ("issue operator alice --host db1", 2, "nobody dials operators; leave --host out"),
        ("issue coordinator", 2, "add --host for each"),
        ("issue coordinator --host https://db1:7411", 2, "without scheme and port"),
        ("issue coordinator --host 10.0.0.256", 2, "is no host"),
        ("issue root", 2, "coordinator, agent, operator, monitor"),
        ("show nowhere", 1, "nowhere"),
        ("show vufleet-data", 1, "vufleet-data"),
        ("show certs/ca.key", 1, "holds no certificate"),
    ] {
        let ended = certs(&lab, line).expect(code).says(&[words]);
        assert!(ended.out.is_empty(), "{ended}");
    }
    assert_eq!(tree(&lab.path(".")), before);
}

fn coordinator(lab: &Lab) -> Coordinator {
    let mut job = lab.start("coordinator --listen 127.0.0.1:0 --certs certs/coordinator-main");
    job.await_words("coordinator at https://");
    let said = job.err();
    let (_, rest) = said.split_once("coordinator at ").unwrap();
    Coordinator { url: rest.split_once(';').unwrap().0.to_owned(), job }
}

fn joined(lab: &Lab, url: &str, directory: &str, name: &str) -> Job {
    let mut command = agent_command(url, &lab.path(directory), "drive,observe");
    command.args(["--name", name]);
    let mut job = lab.spawn(command);
    let operator = lab.path("certs/operator-alice");
    job.await_that("it joins", || listed(lab, url, &operator).iter().any(|line| is_here(line, name)));
    job
}

#[test]
fn a_fleet_of_issued_certificates_runs_a_study_and_some_agents_share_one() {
    let lab = new_lab();
    for line in [
        "init",
        "issue coordinator --host lab.example",
        "issue agent --any-name",
        "issue agent c",
        "issue operator alice",
    ] {
        certs(&lab, line).expect(0);
    }
    let coordinator = coordinator(&lab);
    let url = &coordinator.url;
    let _agents = [("_any", "a"), ("_any", "b"), ("c", "c")]
        .map(|(holder, name)| joined(&lab, url, &format!("certs/agent-{holder}"), name));
    let lines = listed(&lab, url, &lab.path("certs/operator-alice"));
    assert!(lines.iter().any(|line| line.starts_with(" c") && line.contains("127.0.0.1, agent c")), "{lines:?}");
    lab.run(&format!("run study.toml --coordinator {url} --certs certs/operator-alice --out out")).expect(0);
}

/// As `init --replace` says that it is done: no outage, and in the end the former authority is trusted no more.
#[test]
fn a_replaced_authority_is_trusted_until_it_is_taken_out() {
    let lab = new_lab();
    for line in ["init", "issue coordinator --host lab.example", "issue agent a", "issue operator alice"] {
        certs(&lab, line).expect(0);
    }
    let before = std::fs::read_to_string(lab.path("certs/ca.crt")).unwrap();
    let key = std::fs::read(lab.path("certs/ca.key")).unwrap();
    certs(&lab, "init --replace").expect(0).says(&["The authority before it is still trusted"]);
    assert_ne!(std::fs::read(lab.path("certs/ca.key")).unwrap(), key);
    let both = std::fs::read_to_string(lab.path("certs/ca.crt")).unwrap();
    assert!(both.trim_end().ends_with(before.trim_end()) && both.len() > before.len(), "the new one comes first");
    certs(&lab, "show").expect(1).says(&["it is of another authority than certs/ca.crt"]);
    // Every ca.crt first, then one certificate after the other.
    for holder in ["coordinator-main", "agent-a", "operator-alice"] {
        std::fs::write(lab.path(&format!("certs/{holder}/ca.crt")), &both).unwrap();
    }
    certs(&lab, "show").expect(0);
    certs(&lab, "issue coordinator --host lab.example").refused(&["add --replace"]);
    certs(&lab, "issue coordinator --host lab.example --replace").expect(0);
    let coordinator = coordinator(&lab);
    let agent = joined(&lab, &coordinator.url, "certs/agent-a", "a");
    certs(&lab, "issue operator alice --replace").expect(0);
    listed(&lab, &coordinator.url, &lab.path("certs/operator-alice"));
    drop((agent, coordinator));
    // The agent was forgotten.
    let new = &both[..both.find(before.trim_end()).unwrap()];
    for place in ["certs", "certs/coordinator-main", "certs/agent-a", "certs/operator-alice"] {
        std::fs::write(lab.path(place).join("ca.crt"), new).unwrap();
    }
    certs(&lab, "show").expect(1).says(&["certs/agent-a/tls.crt", "not issued by the authority"]);
    certs(&lab, "show certs/coordinator-main certs/operator-alice").expect(0);
}

#[test]
fn show_tells_what_is_wrong_and_exits_with_1() {
    let lab = new_lab();
    for line in
        ["init", "init --dir other", "issue agent a", "issue agent b --dir other", "issue operator alice --days 5"]
    {
        certs(&lab, line).expect(0);
    }
    certs(&lab, "show").expect(0).says(&["4 days left"]);
    certs(&lab, "show certs/agent-a").expect(0);
    let wrong = |paths: &str, words: &str| {
        let ended = certs(&lab, &format!("show {paths}")).expect(1).says(&["\n  wrong: ", words]);
        assert_eq!(ended.out.matches("wrong: ").count(), 1, "{ended}");
    };
    let mode = |path: &str, mode| {
        std::fs::set_permissions(lab.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (key, words) in
        [("certs/agent-a/tls.key", "tls.key"), ("certs/ca.key", "ca.key can be read by others; chmod 600")]
    {
        mode(key, 0o644);
        wrong("certs", words);
        mode(key, 0o600);
    }
    certs(&lab, "show").expect(0);

    let authority = Authority::load(&lab.path("certs")).unwrap();
    let pair = super::certs::pair(&authority, vufleet_trust::identity::Role::Agent, "old", super::certs::expired());
    pair.save(&lab.path("certs/agent-old"), &authority, Existing::Keep).unwrap();
    wrong("certs", "has expired on ");
    wrong("certs/agent-old/tls.crt", "expired on ");
    std::fs::remove_dir_all(lab.path("certs/agent-old")).unwrap();

    // Of another authority, whole: usable by itself, and not in this lab.
    std::fs::rename(lab.path("other/agent-b"), lab.path("certs/agent-b")).unwrap();
    certs(&lab, "show certs/agent-b").expect(0);
    wrong("certs", "it is of another authority than certs/ca.crt");
    // With this lab's ca.crt beside it, it is usable by nobody.
    std::fs::copy(lab.path("certs/ca.crt"), lab.path("certs/agent-b/ca.crt")).unwrap();
    wrong("certs", "not issued by the authority");
    std::fs::remove_dir_all(lab.path("certs/agent-b")).unwrap();
    // A key of somebody else, and none.
    std::fs::copy(lab.path("certs/operator-alice/tls.key"), lab.path("certs/agent-a/tls.key")).unwrap();
    wrong("certs", "tls.key");
    std::fs::remove_file(lab.path("certs/agent-a/tls.key")).unwrap();
    wrong("certs", "tls.key");
}
