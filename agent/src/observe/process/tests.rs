//! Real sockets and real processes of the test itself.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command};

use super::*;

fn me() -> i32 {
    std::process::id() as i32
}

/// A program under a name that no other process of the machine has; it sleeps.
struct Program {
    directory: tempfile::TempDir,
    name: String,
}

impl Program {
    fn new(tag: &str) -> Program {
        let directory = tempfile::tempdir().unwrap();
        let name = format!("{tag}-{}-of-vufleets-tests", std::process::id());
        fs::copy("/bin/sleep", directory.path().join(&name)).unwrap();
        Program { directory, name }
    }

    fn start(&self) -> Running {
        Running(Command::new(self.directory.path().join(&self.name)).arg("600").spawn().unwrap())
    }
}

struct Running(Child);

impl Running {
    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("a child can be killed");
        self.0.wait().expect("a child can be waited for");
    }
}

#[test]
fn a_listening_port_leads_to_its_process() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            assert!(address.starts_with('['), "only IPv6 may be switched off");
            continue;
        };
        let port = listener.local_addr().unwrap().port();
        assert_eq!(ProcessChoice::Port(port).find().unwrap().pid(), me());
        drop(listener);
        let reason = ProcessChoice::Port(port).find().unwrap_err();
        assert!(reason.contains(&format!("TCP port {port}")) && reason.contains("monitor.process"), "{reason}");
    }
}

#[test]
fn a_connected_port_is_not_a_listening_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = client.local_addr().unwrap().port();
    assert!(ProcessChoice::Port(port).find().is_err());
}

#[test]
fn a_unix_socket_leads_to_its_process_by_any_path() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("run");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, directory.path().join("link")).unwrap();
    let listener = UnixListener::bind(real.join("db.sock")).unwrap();
    let _client = UnixStream::connect(real.join("db.sock")).unwrap();
    for path in ["run/db.sock", "link/db.sock"] {
        assert_eq!(ProcessChoice::Socket(directory.path().join(path)).find().unwrap().pid(), me(), "{path}");
    }
    assert!(ProcessChoice::Socket(directory.path().join("run/other.sock")).find().is_err());
    drop(listener);
    let reason = ProcessChoice::Socket(real.join("db.sock")).find().unwrap_err();
    assert!(reason.contains("db.sock"), "{reason}");
}

#[test]
fn a_path_that_this_agent_cannot_see_is_compared_as_text() {
    for (bound, wanted, same) in [("/gone/db.sock", "/gone/db.sock", true), ("/gone/db.sock", "/lost/db.sock", false)] {
        assert_eq!(same_file(Path::new(bound), Path::new(wanted)), same, "{bound} {wanted}");
    }
}

#[test]
fn a_socket_that_nobody_seems_to_hold_is_told_from_one_that_is_hidden() {
    assert!(holder(&[u64::MAX], "TCP port 1").unwrap_err().contains("cannot see which process listens on TCP port 1"));
    assert!(unseen("TCP port 1", 0).contains("PID namespace"));
    assert!(unseen("TCP port 1", 3).contains("3 processes hide their open files"));
}

#[test]
fn a_name_must_mean_one_process() {
    let program = Program::new("one");
    let choice = ProcessChoice::Name(program.name.clone());
    assert!(choice.find().unwrap_err().contains("no process of this host is called one-"));
    let first = program.start();
    assert_eq!(choice.find().unwrap().pid(), first.pid());
    let second = program.start();
    assert!(choice.find().unwrap_err().starts_with("2 processes"));
    drop(first);
    assert_eq!(choice.find().unwrap().pid(), second.pid());
}

#[test]
fn a_restarted_process_is_found_again_and_each_change_told_once() {
    let program = Program::new("again");
    let mut watch = ProcessWatch::with_lookup_every(ProcessChoice::Name(program.name.clone()), Duration::ZERO);
    assert_eq!(watch.sample(), None);
    assert!(watch.take_notice().unwrap().contains("no process of this host is called"));
    assert_eq!((watch.sample(), watch.take_notice()), (None, None));

    let mut first = program.start();
    let sample = watch.sample().unwrap();
    assert_eq!((sample.pid, sample.role.as_str()), (first.pid(), "database"));
    assert!(watch.take_notice().unwrap().contains("is there now"));

    first.0.kill().unwrap(); // and stays a zombie until it is waited for
    while procfs::process::Process::new(first.pid()).unwrap().stat().unwrap().state != 'Z' {
        std::thread::yield_now();
    }
    assert_eq!(watch.sample(), None);
    let notice = watch.take_notice().unwrap();
    assert!(notice.contains(&format!("(process {}) is gone", first.pid())), "{notice}");
    assert_eq!((watch.sample(), watch.take_notice()), (None, None));

    let second = program.start();
    assert_eq!(watch.sample().unwrap().pid, second.pid());
    assert!(watch.take_notice().unwrap().contains("is back"));
    assert_eq!(watch.sample().unwrap().pid, second.pid());
    assert_eq!(watch.take_notice(), None);
}

#[test]
fn a_missing_process_is_not_looked_for_at_every_sample() {
    let program = Program::new("rare");
    let choice = ProcessChoice::Name(program.name.clone());
    let mut watch = ProcessWatch::with_lookup_every(choice, Duration::from_secs(3600));
    assert_eq!(watch.sample(), None);
    let _running = program.start();
    assert_eq!(watch.sample(), None, "the next look is an hour away");
}

#[test]
fn an_embedded_database_has_no_process_and_nothing_to_tell() {
    let mut watch = ProcessWatch::new(ProcessChoice::None);
    assert_eq!((watch.sample(), watch.take_notice()), (None, None));
}
