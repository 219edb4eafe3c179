//! One connection to the coordinator, and how it is made.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;
use vufleet_proto::v1::{Command, Event, fleet_client::FleetClient};
use vufleet_trust::address::Security;
use vufleet_trust::client;
use vufleet_trust::identity::Role;

/// Events that may wait inside one connection before the rest stays in the outbox.
const IN_FLIGHT: usize = 256;

/// One connection.
pub(super) struct Link {
    pub(super) events: mpsc::Sender<Event>,
    commands: Streaming<Command>,
    /// The coordinator has said what it has recorded. Before that nothing is handed over: an event that came ahead of
    /// older ones would pass for the last of them.
    pub(super) welcomed: bool,
}

/// A connection that is being made.
pub(super) type Dial = Pin<Box<dyn Future<Output = Result<Link, tonic::Status>>>>;

/// The next command; never, while there is no connection.
pub(super) async fn next_command(link: &mut Option<Link>) -> Result<Option<Command>, tonic::Status> {
    match link {
        Some(link) => link.commands.message().await,
        None => std::future::pending().await,
    }
}

/// Connects to the coordinator at `url` and introduces this agent.
pub(super) async fn dial(url: String, security: Security, hello: Event) -> Result<Link, tonic::Status> {
    let endpoint = Endpoint::from_shared(url)
        .map_err(|error| tonic::Status::unavailable(error.to_string()))?
        .http2_keep_alive_interval(Duration::from_secs(2))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true);
    let channel = client::connect(&endpoint, &security, Role::Agent).await;
    let channel = channel.map_err(|why| tonic::Status::unavailable(why.to_string()))?;
    let mut client = FleetClient::new(channel)
        .max_decoding_message_size(vufleet_proto::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(vufleet_proto::MAX_MESSAGE_BYTES);
    let (events, outgoing) = mpsc::channel(IN_FLIGHT);
    if events.try_send(hello).is_err() {
        return Err(tonic::Status::internal("a fresh channel was full"));
    }
    let commands = client.join(ReceiverStream::new(outgoing)).await?.into_inner();
    Ok(Link { events, commands, welcomed: false })
}
