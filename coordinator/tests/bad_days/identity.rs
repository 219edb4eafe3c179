//! Agents that cannot be who they say they are, and agents of another version.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status, Streaming};
use vufleet_proto::v1::fleet_client::FleetClient;
use vufleet_proto::v1::fleet_server::{Fleet, FleetServer};
use vufleet_proto::v1::{self, Command, Event, event::Body};

use super::lab::fleet::{Coordinator, agent, agent_command, listed};
use super::lab::{Lab, files, study};

#[test]
fn a_second_agent_of_a_name_is_told_to_take_another() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let coordinator = Coordinator::start(&lab, "");
    let _first = agent(&lab, &coordinator, "drive,observe", "twin");
    let mut job = lab.start(&format!("run study.toml --coordinator {} --out out", coordinator.url));
    lab.await_load(&mut job, 1, 1);
    let mut second = lab.spawn(agent_command(&coordinator.url, "drive", "twin"));
    second.await_words("an agent named twin is already here");
    assert!(second.err().contains("--name"), "{}", second.err());
    job.end().expect(0);
    let results = files::results(&lab.path("out"));
    assert!(!files::story(&results).contains("was lost"), "{}", files::story(&results));
    let lines = listed(&lab, &coordinator.url);
    assert!(lines.len() == 2 && lines[1].contains("drive,observe"), "the first one is still the one: {lines:?}");
}

#[test]
fn an_agent_of_another_protocol_is_refused_and_both_sides_are_told() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let mut coordinator = Coordinator::start(&lab, "");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let own = vufleet_proto::PROTOCOL;
    for (protocol, remedy) in [(own + 1, "upgrade the coordinator"), (own - 1, "upgrade the agent")] {
        let hello = v1::Hello { protocol, name: format!("v{protocol}"), version: "9.9.9".into(), ..Default::default() };
        let status = runtime.block_on(introduce(&coordinator.url, hello)).unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        let sentence = format!("agent v{protocol} 9.9.9 speaks protocol {protocol}");
        assert!(status.message().contains(&sentence) && status.message().contains(remedy), "{}", status.message());
        coordinator.job.await_words(&sentence);
        assert!(coordinator.job.err().contains(remedy), "{}", coordinator.job.err());
    }
    let ended = lab.run(&format!("agents --coordinator {}", coordinator.url)).expect(0);
    assert!(ended.out.contains("no agents"), "{ended}");
}

async fn introduce(url: &str, hello: v1::Hello) -> Result<Response<Streaming<Command>>, Status> {
    let mut client = FleetClient::connect(url.to_owned()).await.unwrap();
    let first = Event { seq: 0, run: 0, body: Some(Body::Hello(hello)) };
    client.join(tokio_stream::iter([first])).await
}

#[test]
fn an_agent_that_is_refused_for_good_ends_and_says_why() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = tonic::transport::Server::builder().add_service(FleetServer::new(OfTomorrow));
    runtime.spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
    let ended = lab.spawn(agent_command(&url, "drive", "old")).end().expect(1);
    assert!(ended.err.lines().last().unwrap().ends_with(SENTENCE), "{ended}");
}

const SENTENCE: &str = "agent old 0.1.0 speaks protocol 1, coordinator 9.9.9 speaks 2: upgrade the agent";

/// A coordinator of a later version.
struct OfTomorrow;

#[tonic::async_trait]
impl Fleet for OfTomorrow {
    type JoinStream = tokio_stream::Empty<Result<Command, Status>>;

    async fn join(&self, _: Request<Streaming<Event>>) -> Result<Response<Self::JoinStream>, Status> {
        Err(Status::failed_precondition(SENTENCE))
    }
}
