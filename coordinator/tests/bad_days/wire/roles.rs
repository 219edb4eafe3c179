//! What each role may do: an agent cannot act as an operator, nor under another's name.

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use vufleet_proto::v1::operator_client::OperatorClient;
use vufleet_proto::v1::{AgentsRequest, Event, Hello, StopRequest, event, fleet_client::FleetClient};
use vufleet_trust::address::Security;
use vufleet_trust::client;
use vufleet_trust::identity::{Identity, Role};

use super::certs::{Certs, listed};
use crate::lab::fleet::is_here;
use crate::lab::{Lab, files, study};

async fn channel(lab: &Lab, certs: &Certs, url: &str, role: Role, name: &str) -> Channel {
    let security = Security::Certificates(certs.good(lab, role, name));
    let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
    client::connect(&endpoint, &security, role).await.unwrap()
}

async fn join(channel: Channel, name: &str) -> Result<(), Status> {
    let hello = Hello { protocol: vufleet_proto::PROTOCOL, name: name.to_owned(), boot: 1, ..Default::default() };
    let event = Event { body: Some(event::Body::Hello(hello)), ..Default::default() };
    let mut commands = FleetClient::new(channel).join(tokio_stream::iter([event])).await?.into_inner();
    commands.message().await.map(drop)
}

async fn call(channel: Channel, path: &'static str) -> Status {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<AgentsRequest, AgentsRequest>::default();
    let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
    grpc.unary(vufleet_proto::peer::introduced(AgentsRequest {}, "0.1.0"), path, codec).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_operate() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let coordinator = certs.coordinator(&lab, "");
    for role in [Role::Agent, Role::Monitor, Role::Coordinator] {
        let channel = channel(&lab, &certs, &coordinator.url, role, "x").await;
        let mut operator = OperatorClient::new(channel.clone());
        for status in [
            operator.agents(AgentsRequest {}).await.unwrap_err(),
            operator.stop(StopRequest::default()).await.unwrap_err(),
            operator.submit(vufleet_proto::v1::Job::default()).await.unwrap_err(),
            call(channel.clone(), "/vufleet.v1.Operator/Unheard").await,
            call(channel, "/other.Service/Call").await,
        ] {
            assert_eq!(status.code(), Code::PermissionDenied, "{role}: {status}");
            assert!(
                status.message().contains(&format!("{role} x")) && status.message().contains("role operator"),
                "{status}"
            );
        }
    }
    let alice = channel(&lab, &certs, &coordinator.url, Role::Operator, "alice").await;
    assert_eq!(call(alice.clone(), "/vufleet.v1.Operator/Unheard").await.code(), Code::Unimplemented);
    OperatorClient::new(alice).agents(vufleet_proto::peer::introduced(AgentsRequest {}, "0.1.0")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_agents_join_and_under_their_own_names() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let mut coordinator = certs.coordinator(&lab, "");
    for role in [Role::Operator, Role::Monitor, Role::Coordinator] {
        let refusal = join(channel(&lab, &certs, &coordinator.url, role, "x").await, "x").await.unwrap_err();
        assert_eq!(refusal.code(), Code::PermissionDenied, "{role}: {refusal}");
    }
    let refusal = join(channel(&lab, &certs, &coordinator.url, Role::Agent, "a").await, "b").await.unwrap_err();
    assert!(refusal.code() == Code::PermissionDenied && refusal.message().contains("issue agent b"), "{refusal}");
    coordinator.job.await_words("does not allow to join as b");
    join(channel(&lab, &certs, &coordinator.url, Role::Agent, "a").await, "a").await.unwrap();
    join(channel(&lab, &certs, &coordinator.url, Role::Agent, Identity::ANY).await, "c").await.unwrap();
}

#[test]
fn a_study_is_run_over_tls_and_its_agents_are_known() {
    let lab = Lab::new(&study::small(study::SIMULATED));
    let certs = Certs::new();
    let coordinator = certs.coordinator(&lab, "");
    let _agent = certs.agent(&lab, &coordinator, "drive,observe", "one");
    let operator = certs.good(&lab, Role::Operator, "alice");
    lab.run(&format!("run study.toml --coordinator {} --certs {} --out out", coordinator.url, operator.display()))
        .expect(0);
    let results = files::results(&lab.path("out"));
    assert!(!files::story(&results).contains("was lost"), "{}", files::story(&results));
    let agents = listed(&lab, &coordinator.url, &operator);
    assert!(agents.iter().any(|line| is_here(line, "one") && line.contains("127.0.0.1, agent one")), "{agents:?}");
}
