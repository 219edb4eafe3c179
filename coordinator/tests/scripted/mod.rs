//! A coordinator that does what a test tells it: it hands over every submitted job with a sender for its progress, and
//! reports every stop.
#![allow(dead_code)] // each test file uses its part

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status};
use vufleet_proto::v1::operator_server::{Operator, OperatorServer};
use vufleet_proto::v1::progress::Body;
use vufleet_proto::v1::{self, Job, Progress};

/// The test's side of the coordinator.
pub struct Scripted {
    pub url: String,
    submitted: mpsc::Receiver<Submitted>,
    stopped: mpsc::Receiver<String>,
    listening: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Scripted {
    /// From now on nobody is let in.
    pub async fn close(&mut self) {
        self.listening.abort();
        soon(&mut self.listening).await.unwrap_err();
    }

    /// The next job.
    pub async fn job(&mut self) -> Submitted {
        soon(self.submitted.recv()).await.expect("it serves")
    }

    /// The id of the next study that is to stop.
    pub async fn stop(&mut self) -> String {
        soon(self.stopped.recv()).await.expect("it serves")
    }
}

/// A test that waits for something that never comes fails instead of hanging.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("what was waited for never came")
}

/// A job, and where its progress is said.
pub struct Submitted {
    pub job: Job,
    progress: mpsc::Sender<Result<Progress, Status>>,
}

impl Submitted {
    pub async fn say(&self, body: Body) {
        self.progress.send(Ok(Progress { body: Some(body) })).await.expect("the operator listens");
    }

    pub async fn accept(&self, study_id: &str) {
        self.say(Body::Accepted(v1::Accepted { study_id: study_id.into(), job: String::new() })).await;
    }

    pub async fn line(&self, text: &str) {
        self.say(Body::Line(v1::Line { level: 0, text: text.into() })).await;
    }

    pub async fn output(&self, name: &str, data: &'static str) {
        self.say(Body::Output(v1::Output { name: name.into(), data: data.as_bytes().into() })).await;
    }

    pub async fn finish(&self, exit_code: u32, message: &str) {
        self.say(Body::Finished(v1::Finished { exit_code, message: message.into() })).await;
    }
}

/// Starts it on a port of the system's choice.
pub async fn serve() -> Scripted {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (jobs, submitted) = mpsc::channel(4);
    let (stops, stopped) = mpsc::channel(4);
    let service = OperatorServer::new(Stage { jobs, stops });
    let router = tonic::transport::Server::builder().add_service(service);
    let listening = tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));
    Scripted { url, submitted, stopped, listening }
}

struct Stage {
    jobs: mpsc::Sender<Submitted>,
    stops: mpsc::Sender<String>,
}

#[tonic::async_trait]
impl Operator for Stage {
    async fn agents(&self, _: Request<v1::AgentsRequest>) -> Result<Response<v1::AgentsReply>, Status> {
        let mut reply = Response::new(v1::AgentsReply::default());
        vufleet_proto::peer::introduce(reply.metadata_mut(), env!("CARGO_PKG_VERSION"));
        Ok(reply)
    }

    type SubmitStream = ReceiverStream<Result<Progress, Status>>;

    async fn submit(&self, request: Request<Job>) -> Result<Response<Self::SubmitStream>, Status> {
        let (progress, stream) = mpsc::channel(16);
        let submitted = Submitted { job: request.into_inner(), progress };
        self.jobs.send(submitted).await.map_err(|_| Status::unavailable("the test has ended"))?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn study(&self, _: Request<v1::StudyRequest>) -> Result<Response<v1::StudyReply>, Status> {
        Err(Status::not_found("no study was begun here"))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        let study_id = request.into_inner().study_id;
        self.stops.send(study_id.clone()).await.map_err(|_| Status::unavailable("the test has ended"))?;
        Ok(Response::new(v1::StopReply { study_id }))
    }
}
