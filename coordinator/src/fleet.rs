//! The fleet's server. For now it answers operators only, and refuses every job.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use vufleet_proto::v1;
use vufleet_proto::v1::operator_server::{Operator, OperatorServer};

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Directory of the ledger.
    pub data: PathBuf,
    /// Silence after which an agent is lost.
    pub lease: Duration,
    /// How long full histograms are kept.
    pub keep: Duration,
    /// Whether the fleet belongs to one verb of this process.
    pub embedded: bool,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    url: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Server {
    /// Where it listens.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Ends it.
    pub async fn shutdown(self) -> anyhow::Result<()> {
        if self.stop.send(()).is_ok() {
            self.task.abort();
        }
        Ok(())
    }
}

/// Serves.
pub async fn serve(listener: tokio::net::TcpListener, options: ServeOptions) -> anyhow::Result<Server> {
    std::fs::create_dir_all(&options.data)?;
    let url = format!("http://{}", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let router = tonic::transport::Server::builder().add_service(OperatorServer::new(Placeholder));
    let task = tokio::spawn(router.serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
        stopped.await.unwrap_or_default();
    }));
    Ok(Server { url, stop, task })
}

struct Placeholder;

#[tonic::async_trait]
impl Operator for Placeholder {
    async fn agents(&self, _: Request<v1::AgentsRequest>) -> Result<Response<v1::AgentsReply>, Status> {
        Ok(Response::new(v1::AgentsReply { agents: vec![], version: env!("CARGO_PKG_VERSION").into() }))
    }

    type SubmitStream = tokio_stream::Iter<std::vec::IntoIter<Result<v1::Progress, Status>>>;

    async fn submit(&self, _: Request<v1::Job>) -> Result<Response<Self::SubmitStream>, Status> {
        let finished = v1::Finished { exit_code: 1, message: "no fleet in this build".into() };
        let progress = v1::Progress { body: Some(v1::progress::Body::Finished(finished)) };
        Ok(Response::new(tokio_stream::iter(vec![Ok(progress)])))
    }

    async fn stop(&self, _: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        Ok(Response::new(v1::StopReply::default()))
    }
}
