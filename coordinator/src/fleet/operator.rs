//! The operators' side of the server: who is there, one job at a time, and its end.

use std::pin::Pin;
use std::sync::Arc;

use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use vufleet_proto::v1::{self, operator_server::Operator};

use super::Core;
use super::relay::relay;
use crate::autopilot;
use crate::ledger::LedgerError;

/// Serves operators.
pub struct OperatorService {
    core: Arc<Core>,
}

impl OperatorService {
    /// Serves operators of this coordinator.
    pub fn new(core: Arc<Core>) -> Self {
        OperatorService { core }
    }
}

type Progress = Pin<Box<dyn Stream<Item = Result<v1::Progress, Status>> + Send>>;

#[tonic::async_trait]
impl Operator for OperatorService {
    async fn agents(&self, _request: Request<v1::AgentsRequest>) -> Result<Response<v1::AgentsReply>, Status> {
        let agents = self.core.registry.agents().into_iter().map(|agent| v1::AgentState {
            connected: agent.connected,
            silent_ms: self.core.registry.silence(agent.hello.boot).unwrap_or_default().as_millis() as u64,
            address: agent.peer().address.to_string(),
            identity: agent.peer().identity.as_ref().map(ToString::to_string).unwrap_or_default(),
            goodbye: agent.goodbye.unwrap_or_default(),
            heartbeat: Some(agent.heartbeat),
            hello: Some(agent.hello),
        });
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Response::new(v1::AgentsReply {
            agents: agents.collect(),
            version,
            job: self.core.job_at_hand().unwrap_or_default(),
        }))
    }

    type SubmitStream = Progress;

    async fn submit(&self, request: Request<v1::Job>) -> Result<Response<Progress>, Status> {
        let job = request.into_inner();
        if self.core.is_closing() {
            return Err(Status::failed_precondition(
                "this coordinator was told to end and takes no more jobs; submit it again when the next one is there",
            ));
        }
        let (name, stopped) = self.core.claim_soon(autopilot::kind_of(&job)).await.map_err(|current| {
            Status::failed_precondition(format!(
                "this coordinator is busy with {current}; wait for it, or end it with `vufleet stop {current}`"
            ))
        })?;
        let (progress, followed) = relay();
        let core = Arc::clone(&self.core);
        // The job goes on when the terminal that started it goes away.
        tokio::spawn(async move {
            let work = tokio::spawn(autopilot::work(Arc::clone(&core), job, name, stopped, progress));
            if let Err(error) = work.await {
                tracing::error!(%error, "a job died");
            }
            core.release();
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(followed))))
    }

    async fn study(&self, request: Request<v1::StudyRequest>) -> Result<Response<v1::StudyReply>, Status> {
        let wanted = request.into_inner().study_id;
        let found = self.core.record.with(move |ledger| ledger.study(&wanted)).await;
        let record = found.map_err(|error| match error {
            LedgerError::NoStudy { .. } | LedgerError::Ambiguous { .. } => Status::not_found(error.to_string()),
            error => Status::unavailable(error.to_string()),
        })?;
        Ok(Response::new(v1::StudyReply { study_id: record.id.0, study: record.text }))
    }

    async fn stop(&self, request: Request<v1::StopRequest>) -> Result<Response<v1::StopReply>, Status> {
        let wanted = request.into_inner().study_id;
        match self.core.end_job_named(&wanted) {
            Ok(ended) => Ok(Response::new(v1::StopReply { study_id: ended.unwrap_or_default() })),
            Err(current) => Err(Status::not_found(format!("{wanted} is not running here; what runs is {current}"))),
        }
    }
}
