//! Logins at a server that says what it is told to.

use mysql_common::scramble::{scramble_native, scramble_sha256};
use secrecy::SecretString;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixListener;
use vufleet_scenarios::study::{self, Edits};

use super::*;

mod in_the_open;

const PASSWORD: &str = "correct horse";
const CHALLENGE: &[u8; NONCE] = b"abcdefghijklmnopqrst";
const GRANTED: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// The first words of a MySQL 8.
fn greeting(plugin: &str) -> Vec<u8> {
    let capabilities = (wanted(&target(""), false) | CapabilityFlags::CLIENT_CONNECT_WITH_DB).bits().to_le_bytes();
    let mut out = b"\x0a8.4.3\0\x07\0\0\0".to_vec();
    out.extend_from_slice(&CHALLENGE[..8]);
    out.push(0);
    out.extend_from_slice(&capabilities[..2]);
    out.extend_from_slice(&[255, 2, 0]);
    out.extend_from_slice(&capabilities[2..]);
    out.push(NONCE as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&CHALLENGE[8..]);
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out
}

fn target(socket: &str) -> Target {
    let text = format!(
        "name = 'login'\nseed = 1\n[target]\nkind = 'mysql'\nsocket = '{socket}/s'\ndatabase = 'd'\nuser = 'u'\n\
         [workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n[schedule]\nmeasure = '1s'\n"
    );
    study::read(&text, &Edits::default()).unwrap().target
}

/// Logs in at a server that says `lines` in turn, each after it has heard something. Returns what it heard.
async fn converse(plugin: &str, password: &str, lines: &[&[u8]]) -> (Result<(), Fault>, Vec<Vec<u8>>) {
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("s")).unwrap();
    let target = Target {
        password: Some(SecretString::from(password)),
        ..target(directory.path().to_str().expect("a temporary directory has a plain name"))
    };
    let server = async { say(listener.accept().await.unwrap().0, plugin, lines).await };
    tokio::join!(async { open(&target).await.map(drop) }, server)
}

async fn say(mut client: impl AsyncRead + AsyncWrite + Unpin, plugin: &str, lines: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    let mut sequence = 0;
    for line in std::iter::once(&greeting(plugin)[..]).chain(lines.iter().copied()) {
        let mut packet = (line.len() as u32).to_le_bytes();
        packet[3] = sequence;
        client.write_all(&[&packet[..], line].concat()).await.unwrap();
        // A word that is followed by another at once has no answer.
        if line == [MORE_DATA, CACHED] {
            sequence += 1;
            continue;
        }
        let mut header = [0; 4];
        if client.read_exact(&mut header).await.is_err() {
            break;
        }
        sequence = header[3] + 1;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        client.read_exact(&mut payload).await.unwrap();
        heard.push(payload);
    }
    heard
}

fn run<T>(test: impl Future<Output = T>) -> T {
    crate::event_loop::block_on_tokio(test).unwrap()
}

#[test]
fn a_password_in_the_servers_cache_is_proved_by_its_hash() {
    let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &[&[MORE_DATA, CACHED], GRANTED]));
    opened.unwrap();
    let proof = scramble_sha256(CHALLENGE, PASSWORD.as_bytes()).unwrap();
    assert!(heard[0].windows(proof.len()).any(|part| part == proof), "{heard:?}");
    assert_eq!(heard.len(), 1);
}

#[test]
fn a_password_that_the_server_does_not_remember_goes_where_nobody_reads_along() {
    let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &[&[MORE_DATA, IN_FULL], GRANTED]));
    opened.unwrap();
    assert_eq!(heard[1], [PASSWORD.as_bytes(), &[0]].concat());
}

#[test]
fn another_method_has_a_challenge_of_its_own() {
    let challenge = b"ABCDEFGHIJKLMNOPQRST";
    let switch = [&[SWITCH][..], b"mysql_native_password\0", challenge, &[0]].concat();
    let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &[&switch, GRANTED]));
    opened.unwrap();
    assert_eq!(heard[1], scramble_native(challenge, PASSWORD.as_bytes()).unwrap());
    let (opened, heard) = run(converse("mysql_native_password", "", &[&switch, GRANTED]));
    opened.unwrap();
    assert!(heard[1].is_empty(), "an empty password is proved by nothing");
}

#[test]
fn a_challenge_of_ed25519_may_end_in_a_zero() {
    let challenge = [&[7_u8; 31][..], &[0]].concat();
    let switch = [&[SWITCH][..], b"client_ed25519\0", &challenge].concat();
    let (opened, heard) = run(converse("mysql_native_password", PASSWORD, &[&switch, GRANTED]));
    opened.unwrap();
    let proof = AuthPlugin::Ed25519.gen_data(Some(PASSWORD), &challenge).unwrap();
    assert_eq!(heard[1], *proof);
}

#[test]
fn what_cannot_be_proved_is_named() {
    for (line, words) in [
        (&[&[SWITCH][..], b"auth_gssapi_client\0"].concat()[..], "auth_gssapi_client"),
        (&[SWITCH], "mysql_old_password"),
        (b"\xff\x15\x04#28000Access denied", "Access denied"),
        (&[7], "unknown packet"),
    ] {
        let (opened, _) = run(converse("mysql_native_password", PASSWORD, &[line]));
        let fault = opened.unwrap_err();
        assert!(fault.message.contains(words) && !fault.message.contains(PASSWORD), "{fault}");
        assert_eq!(fault.kind, FaultKind::Refused, "{fault}");
    }
}

#[test]
fn a_version_is_what_the_server_calls_itself() {
    for (told, version_of_server) in [
        ("5.5.5-10.11.6-MariaDB-0+deb12u1", "10.11.6-MariaDB-0+deb12u1"),
        ("11.4.2-MariaDB", "11.4.2-MariaDB"),
        ("8.0.36", "8.0.36"),
        ("5.5.5-m3-log", "5.5.5-m3-log"),
    ] {
        assert_eq!(version(told), version_of_server);
    }
}

#[test]
fn a_challenge_has_twenty_bytes() {
    assert_eq!(nonce(&[7; 21]).len(), 20);
    assert_eq!(nonce(&[7; 8]).len(), 8);
}

#[test]
fn an_error_instead_of_a_greeting_is_the_servers_refusal() {
    let packet = [&[0xff, 0x10, 0x04][..], b"Too many connections"].concat();
    let Err(LoginError::Server(error)) = Greeting::read(&packet) else { panic!("it refused") };
    assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"));
}
