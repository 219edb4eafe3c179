//! Logins over TCP without TLS, where anybody may read along: a password never travels as it is.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use tokio::net::TcpListener;
use vufleet_scenarios::study::Tls;

use super::*;

async fn converse(plugin: &str, password: &str, lines: &[&[u8]]) -> (Result<(), Fault>, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target {
        password: Some(SecretString::from(password)),
        socket: None,
        host: Some("127.0.0.1".to_owned()),
        port: listener.local_addr().unwrap().port(),
        tls: Tls::Disabled,
        ..target("")
    };
    let server = async { say(listener.accept().await.unwrap().0, plugin, lines).await };
    tokio::join!(async { open(&target).await.map(drop) }, server)
}

fn assert_silent_about(password: &str, heard: &[Vec<u8>]) {
    for words in heard {
        assert!(!words.windows(password.len()).any(|part| part == password.as_bytes()), "{words:?}");
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=three.len()].copy_from_slice(three);
        let number = u32::from_be_bytes(padded);
        for digit in 0..4 {
            let is_there = digit <= three.len();
            let index = (number >> (18 - 6 * digit) & 63) as usize;
            out.push(if is_there { DIGITS[index].into() } else { '=' });
        }
    }
    out
}

/// A server's key, as servers show it, and what reads by it.
fn key(size: KeySize) -> (Vec<u8>, OaepPrivateDecryptingKey) {
    let key = PrivateDecryptingKey::generate(size).unwrap();
    let der: PublicKeyX509Der<'_> = key.public_key().as_der().unwrap();
    let digits = base64(der.as_ref());
    let lines: Vec<_> = digits.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    (pem.into_bytes(), OaepPrivateDecryptingKey::new(key).unwrap())
}

#[test]
fn a_password_in_full_is_encrypted_with_the_servers_key() {
    for (size, bytes) in [(KeySize::Rsa2048, 256), (KeySize::Rsa4096, 512)] {
        let (pem, key) = key(size);
        let shown = [&[MORE_DATA][..], &pem].concat();
        for password in [PASSWORD, &"long".repeat(53)] {
            let lines = [&[MORE_DATA, IN_FULL][..], &shown, GRANTED];
            let (opened, heard) = run(converse("caching_sha2_password", password, &lines));
            opened.unwrap();
            assert_eq!((heard.len(), &heard[1][..], heard[2].len()), (3, &[PUBLIC_KEY][..], bytes));
            assert_silent_about(password, &heard);
            let mut read = vec![0; key.min_output_size()];
            let read = key.decrypt(&OAEP_SHA1_MGF1SHA1, &heard[2], &mut read, None).unwrap();
            let masked = [password.as_bytes(), &[0]].concat().into_iter().zip(CHALLENGE.iter().cycle());
            assert_eq!(read, masked.map(|(byte, mask)| byte ^ mask).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_password_in_the_cache_needs_no_key() {
    let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &[&[MORE_DATA, CACHED], GRANTED]));
    opened.unwrap();
    assert_eq!(heard.len(), 1);
    assert_silent_about(PASSWORD, &heard);
}

#[test]
fn a_wrong_password_is_refused_with_its_remedy() {
    let (pem, _) = key(KeySize::Rsa2048);
    let shown = [&[MORE_DATA][..], &pem].concat();
    let refusal = b"\xff\x15\x04#28000Access denied for user 'u'";
    let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &[&[MORE_DATA, IN_FULL], &shown, refusal]));
    let fault = opened.unwrap_err();
    assert_eq!((fault.kind, fault.code), (FaultKind::Refused, Some(1045)));
    assert!(fault.message.contains("target.password") && fault.message.contains("CREATE USER"), "{fault}");
    assert_silent_about(PASSWORD, &heard);
}

#[test]
fn nobody_is_told_a_password_who_shows_no_key() {
    let no_key = [&[MORE_DATA][..], b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"].concat();
    for (line, words) in [
        (&[MORE_DATA, IN_FULL][..], "no public key"),
        (&[MORE_DATA], "no public key"),
        (GRANTED, "no public key"),
        (&no_key, "no public key"),
    ] {
        let lines = [&[MORE_DATA, IN_FULL][..], line];
        let (opened, heard) = run(converse("caching_sha2_password", PASSWORD, &lines));
        let fault = opened.unwrap_err();
        assert!(fault.message.contains(words), "{fault}");
        assert_silent_about(PASSWORD, &heard);
    }
    for method in ["mysql_clear_password", "dialog", "sha256_password", "parsec"] {
        let switch = [&[SWITCH][..], method.as_bytes(), &[0]].concat();
        let (opened, heard) = run(converse("mysql_native_password", PASSWORD, &[&switch]));
        let fault = opened.unwrap_err();
        assert!(fault.message.contains(method) && fault.message.contains("create the login with"), "{fault}");
        assert_silent_about(PASSWORD, &heard);
    }
}

#[test]
fn a_password_longer_than_the_key_needs_tls() {
    let (pem, _) = key(KeySize::Rsa2048);
    let shown = [&[MORE_DATA][..], &pem].concat();
    let password = "300 bytes.".repeat(30);
    let (opened, heard) = run(converse("caching_sha2_password", &password, &[&[MORE_DATA, IN_FULL], &shown]));
    let fault = opened.unwrap_err();
    assert!(fault.message.contains("too long") && fault.message.contains("tls = \"required\""), "{fault}");
    assert_silent_about("300 bytes.", &heard);
}
