//! The goodbye, and what is shown meanwhile, on a connection that takes little and answers nothing.

use std::convert::Infallible;

use http_body_util::StreamBody;
use tonic::Status;
use tonic::codec::{DecodeBuf, Decoder};
use tonic::codegen::{Body as HttpBody, Bytes};
use vufleet_proto::v1::{ClockEcho, Event};
use vufleet_trust::address::{Plaintext, Security};

use super::super::link::Link;
use super::*;
use crate::clock::CommonClock;
use crate::config::{Config, Role};
use crate::limits::Host;

/// Commands that never come.
struct Silence;

impl Decoder for Silence {
    type Item = Command;
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<Command>, Status> {
        Ok(None)
    }
}

fn nothing() -> impl HttpBody<Data = Bytes, Error = Infallible> + Send + 'static {
    StreamBody::new(tokio_stream::pending())
}

fn uplink() -> Uplink {
    let config = Config {
        coordinator: "http://127.0.0.1:9".to_owned(),
        security: Security::Plaintext(Plaintext::Loopback),
        name: "load-1".to_owned(),
        roles: vec![Role::Drive],
        labels: Default::default(),
        threads: 1,
        allow_control: false,
        commands: Default::default(),
        snapshot: None,
        log_format: Default::default(),
        metrics: None,
        send_queue_bytes: 1 << 20,
    };
    Uplink::new(config, Host::read().unwrap(), CommonClock::default())
}

/// Connects it, with so many places of which none is free.
fn connect(uplink: &mut Uplink, places: usize) -> mpsc::Receiver<Event> {
    let (events, taken) = mpsc::channel(places);
    (0..places).for_each(|_| events.try_send(Event::default()).unwrap());
    uplink.link = Some(Link { events, commands: tonic::Streaming::new_empty(Silence, nothing()), welcomed: true });
    taken
}

fn echo(sent_ns: u64) -> command::Body {
    command::Body::ClockEcho(ClockEcho { sent_ns, coordinator_ns: 1 })
}

fn is_goodbye(event: &Event) -> bool {
    matches!(event.body, Some(Body::Goodbye(_)))
}

#[tokio::test]
async fn a_goodbye_that_was_not_sent_is_not_heard() {
    let mut uplink = uplink();
    uplink.ending = Some("was told to end".to_owned());
    let mut taken = connect(&mut uplink, 4);
    uplink.say_goodbye();
    uplink.obey_to_the_end(echo(u64::MAX));
    assert!(!uplink.goodbye_heard);
    while taken.try_recv().is_ok() {}
    uplink.say_goodbye();
    assert!(is_goodbye(&taken.try_recv().unwrap()));
    let said = uplink.goodbye_ns.unwrap();
    uplink.obey_to_the_end(echo(said - 1));
    assert!(!uplink.goodbye_heard, "an answer to what was asked before");
    uplink.obey_to_the_end(echo(said));
    assert!(uplink.goodbye_heard);
}

#[tokio::test]
async fn a_goodbye_on_a_connection_that_broke_is_said_again_before_it_counts() {
    let mut uplink = uplink();
    uplink.ending = Some("was told to end".to_owned());
    let mut taken = connect(&mut uplink, 4);
    while taken.try_recv().is_ok() {}
    uplink.say_goodbye();
    uplink.unlink();
    let _taken = connect(&mut uplink, 4);
    uplink.obey_to_the_end(echo(u64::MAX));
    assert!(!uplink.goodbye_heard);
}

/// Every round tries once more; and whoever looks at the agent's health is told from the first moment.
#[tokio::test]
async fn a_full_connection_is_told_the_goodbye_as_soon_as_it_takes_it() {
    let mut uplink = uplink();
    let mut taken = connect(&mut uplink, 8);
    let vitals = uplink.vitals();
    let (_signal, mut signals) = mpsc::channel(1);
    let told = async {
        tokio::time::sleep(3 * ROUND).await;
        assert_eq!(vitals.borrow().ailment, "it was told to end (SIGTERM)");
        while !is_goodbye(&taken.recv().await.expect("it says goodbye")) {}
        taken
    };
    tokio::select! {
        taken = told => drop(taken),
        ending = uplink.drain("SIGTERM", &mut signals, None) => panic!("it did not say goodbye: {ending:?}"),
    }
}

/// What is shown is written down again and again until the end.
#[tokio::test]
async fn what_is_shown_while_it_ends_is_true() {
    let mut uplink = uplink();
    let _taken = connect(&mut uplink, 1);
    let mut vitals = uplink.vitals();
    let (_signal, mut signals) = mpsc::channel(1);
    let shown = async {
        for _ in 0..4 {
            vitals.changed().await.unwrap();
        }
    };
    tokio::select! {
        () = shown => {}
        ending = uplink.drain("SIGTERM", &mut signals, None) => panic!("it wrote nothing down: {ending:?}"),
    }
}
