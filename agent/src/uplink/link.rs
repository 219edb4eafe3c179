//! One connection to the coordinator, and how it is made.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;
use vufleet_proto::peer::{self, Said};
use vufleet_proto::v1::{Command, Event, fleet_client::FleetClient};
use vufleet_trust::address::Security;
use vufleet_trust::client;
use vufleet_trust::identity::Role;

/// This agent's.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Events that may wait inside one connection before the rest stays in the outbox.
const IN_FLIGHT: usize = 256;
/// Between a refusal and the next dial; doubled with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Far below every lease that makes sense.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// One connection.
pub(super) struct Link {
    pub(super) events: mpsc::Sender<Event>,
    pub(super) commands: Streaming<Command>,
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

/// How long to wait before the next dial. A coordinator that is away is found again soon; one that refuses this agent is not asked five
/// times a second, handshake and all.
pub(super) fn pause(refusals: u32) -> Duration {
    if refusals == 0 {
        Duration::ZERO
    } else {
        FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(refusals - 1)).min(LONGEST_PAUSE)
    }
}

/// Connects to the coordinator at `url` and introduces this agent.
pub(super) async fn dial(
    url: String,
    security: Security,
    hello: Event,
    pause: Duration,
) -> Result<Link, tonic::Status> {
    tokio::time::sleep(pause).await;
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
    let joined = client.join(peer::introduced(ReceiverStream::new(outgoing), VERSION)).await?;
    // One that says nothing of itself is older, and looks at what the agent said instead.
    let said = Said::in_metadata(joined.metadata());
    if let Some(why) = said.protocol.and_then(|_| said.mismatch("coordinator", "agent", VERSION)) {
        return Err(tonic::Status::failed_precondition(why));
    }
    let commands = joined.into_inner();
    Ok(Link { events, commands, welcomed: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        let ms: Vec<_> = [0, 1, 2, 5, 6, 7, u32::MAX].into_iter().map(|refusals| pause(refusals).as_millis()).collect();
        assert_eq!(ms, [0, 50, 100, 800, 1_000, 1_000, 1_000]);
    }
}
