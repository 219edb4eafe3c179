//! A coordinator of another version, or none of ours: it says of itself what a test has it say, and hears what it is told.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::mpsc;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};
use vufleet_proto::v1::fleet_server::{Fleet, FleetServer};
use vufleet_proto::v1::operator_server::{Operator, OperatorServer};
use vufleet_proto::v1::{self, Command, Event, command};
use vufleet_proto::{PROTOCOL_KEY, VERSION_KEY};

use super::PATIENCE;

/// What it says of itself in its answers' metadata.
#[derive(Debug, Clone)]
pub struct Words {
    /// None: nothing, as those before protocol 4.
    pub protocol: Option<u32>,
    pub version: &'static str,
    /// Why it refuses agents, if it does.
    pub refuses: Option<&'static str>,
}

/// One that serves until it is dropped.
pub struct Other {
    pub url: String,
    calls: mpsc::Receiver<&'static str>,
    _runtime: Runtime,
}

impl Other {
    pub fn serve(words: &Words) -> Other {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (heard, calls) = mpsc::channel();
        let stage = Stage { words: words.clone(), heard };
        let router = tonic::transport::Server::builder()
            .add_service(FleetServer::new(stage.clone()))
            .add_service(OperatorServer::new(stage));
        runtime.spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
        Other { url, calls, _runtime: runtime }
    }

    /// The next call.
    pub fn call(&self) -> &'static str {
        self.calls.recv_timeout(PATIENCE).expect("a call comes")
    }

    /// Those that came and were not asked for.
    pub fn calls(&self) -> Vec<&'static str> {
        self.calls.try_iter().collect()
    }
}

#[derive(Clone)]
struct Stage {
    words: Words,
    heard: mpsc::Sender<&'static str>,
}

impl Stage {
    fn answer<T>(&self, call: &'static str, message: T) -> Response<T> {
        // The test may have heard enough.
        self.heard.send(call).ok();
        let mut answer = Response::new(message);
        self.introduce(answer.metadata_mut());
        answer
    }

    fn introduce(&self, metadata: &mut MetadataMap) {
        if let Some(protocol) = self.words.protocol {
            metadata.insert(PROTOCOL_KEY, protocol.into());
            metadata.insert(VERSION_KEY, self.words.version.parse().unwrap());
        }
    }
}

#[tonic::async_trait]
impl Fleet for Stage {
    type JoinStream = Pin<Box<dyn Stream<Item = Result<Command, Status>> + Send>>;

    async fn join(&self, events: Request<Streaming<Event>>) -> Result<Response<Self::JoinStream>, Status> {
        if let Some(why) = self.words.refuses {
            return Err(Status::failed_precondition(why));
        }
        let welcome = v1::Welcome {
            lease_ns: 60_000_000_000,
            coordinator: 7,
            ledger: 7,
            version: self.words.version.to_owned(),
            ..Default::default()
        };
        let welcome = Ok(Command { body: Some(command::Body::Welcome(welcome)) });
        // As long as the agent speaks.
        let silence = events.into_inner().filter_map(|_| None);
        Ok(self.answer("join", Box::pin(tokio_stream::once(welcome).chain(silence))))
    }
}

#[tonic::async_trait]
impl Operator for Stage {
    async fn agents(&self, _: Request<v1::AgentsRequest>) -> Result<Response<v1::AgentsReply>, Status> {
        let version = self.words.version.to_owned();
        Ok(self.answer("agents", v1::AgentsReply { version, ..Default::default() }))
    }

    type SubmitStream = Pin<Box<dyn Stream<Item = Result<v1::Progress, Status>> + Send>>;

    async fn submit(&self, _: Request<v1::Job>) -> Result<Response<Self::SubmitStream>, Status> {
        Ok(self.answer("submit", Box::pin(tokio_stream::empty())))
    }

    async fn study(&self, _: Request<v1::StudyRequest>) -> Result<Response<v1::StudyReply>, Status> {
        Ok(self.answer("study", v1::StudyReply::default()))
    }

    async fn stop(&self, _: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        Ok(self.answer("stop", v1::StopReply::default()))
    }
}
