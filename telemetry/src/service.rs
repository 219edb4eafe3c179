//! What systemd is told by a unit of `Type=notify`: datagrams to the socket that it names, as sd_notify(3) has them. Elsewhere
//! there is no socket, and nothing is said.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The process does its work from now on.
pub fn ready() {
    say("READY=1");
}

/// It has been told to end, and does.
pub fn stopping() {
    say("STOPPING=1");
}

/// What it does now, in one line for `systemctl status`.
pub fn status(words: &str) {
    say(&format!("STATUS={}", words.replace('\n', " ")));
}

fn say(words: &str) {
    let Some(socket) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&socket.to_string_lossy(), words) {
        tracing::debug!(%error, "systemd was not told");
    }
}

fn send(socket: &str, words: &str) -> io::Result<()> {
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(words.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_has_a_path_or_a_name_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let abstract_name = format!("vufleet-test-{}", std::process::id());
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap();
        for (socket, address) in [(by_path, path.to_str().unwrap().to_owned()), (by_name, format!("@{abstract_name}"))]
        {
            send(&address, "READY=1").unwrap();
            let mut heard = [0; 32];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], b"READY=1");
        }
        send("/nowhere/at/all", "READY=1").unwrap_err();
    }
}
