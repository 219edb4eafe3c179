//! The operator's side of the contract: dial a coordinator, submit a job, ask for agents, stop. One path for a
//! coordinator far away and for the one that an embedded fleet starts in this very process.

use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use vufleet_proto::MAX_MESSAGE_BYTES;
use vufleet_proto::peer::{self, Said};
use vufleet_proto::v1::operator_client::OperatorClient;
use vufleet_proto::v1::{AgentsReply, AgentsRequest, Job, Progress, StopRequest, StudyRequest};
use vufleet_trust::address::Security;
use vufleet_trust::client;
use vufleet_trust::credentials::Credentials;
use vufleet_trust::identity::Role;

/// How long a coordinator may take to answer a question (a job's stream apart).
const ANSWER: Duration = Duration::from_secs(10);

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A connection to a coordinator.
#[derive(Debug, Clone)]
pub struct Operator {
    client: OperatorClient<Channel>,
    url: String,
}

impl Operator {
    /// Connects. The URL has passed [`Security::url`].
    pub async fn dial(url: &str, security: &Security) -> anyhow::Result<Operator> {
        let endpoint = Endpoint::from_shared(url.to_owned())
            .with_context(|| format!("{url} is not a coordinator's URL; write http://HOST:7411"))?
            .http2_keep_alive_interval(Duration::from_secs(10))
            .keep_alive_timeout(Duration::from_secs(20))
            .keep_alive_while_idle(true);
        if let Security::Certificates(directory) = security {
            for warning in Credentials::load(directory, Role::Operator)?.warnings(SystemTime::now()) {
                tracing::warn!("{warning}");
            }
        }
        let channel = client::connect(&endpoint, security, Role::Operator).await;
        let channel = channel.map_err(|why| anyhow::anyhow!("no connection to a coordinator at {url}: {why}"))?;
        let client = OperatorClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES);
        let mut operator = Operator { client, url: url.to_owned() };
        operator.greet().await?;
        Ok(operator)
    }

    /// Before anything is asked for: a coordinator of another protocol might take it for something else.
    async fn greet(&mut self) -> anyhow::Result<()> {
        let question = peer::introduced(AgentsRequest {}, VERSION);
        let answer =
            tokio::time::timeout(ANSWER, self.client.agents(question)).await.with_context(|| silent(&self.url))?;
        let said = match &answer {
            Ok(reply) => Said::in_metadata(reply.metadata()),
            Err(status) => Said::in_metadata(status.metadata()),
        };
        // A refusal that says nothing of versions is told for what it is.
        let silent = said == Said::default();
        if let Some(why) = said.mismatch("coordinator", "vufleet", VERSION).filter(|_| answer.is_ok() || !silent) {
            bail!("{}: {why} here", self.url);
        }
        answer.map_err(|status| told(&self.url, &status))?;
        if let Some(difference) = said.difference(&format!("the coordinator at {}", self.url), "this vufleet", VERSION)
        {
            tracing::warn!("{difference}");
        }
        Ok(())
    }

    /// Where the coordinator is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Who is there.
    pub async fn agents(&mut self) -> anyhow::Result<AgentsReply> {
        let request = peer::introduced(AgentsRequest {}, VERSION);
        let reply = tokio::time::timeout(ANSWER, self.client.agents(request)).await;
        Ok(reply.with_context(|| silent(&self.url))?.map_err(|status| told(&self.url, &status))?.into_inner())
    }

    /// Stops a study; an empty id means whatever runs. Answers the id of what was stopped, none when nothing ran.
    pub async fn stop(&mut self, study_id: &str) -> anyhow::Result<Option<String>> {
        let request = peer::introduced(StopRequest { study_id: study_id.to_owned() }, VERSION);
        let reply = tokio::time::timeout(ANSWER, self.client.stop(request)).await;
        let reply = reply.with_context(|| silent(&self.url))?.map_err(|status| told(&self.url, &status))?.into_inner();
        Ok(Some(reply.study_id).filter(|id| !id.is_empty()))
    }

    /// A study of its ledger: its id, and its text as it was begun.
    pub async fn study(&mut self, wanted: &str) -> anyhow::Result<(String, String)> {
        let request = peer::introduced(StudyRequest { study_id: wanted.to_owned() }, VERSION);
        let reply = tokio::time::timeout(ANSWER, self.client.study(request)).await;
        let reply = reply.with_context(|| silent(&self.url))?.map_err(|status| told(&self.url, &status))?.into_inner();
        Ok((reply.study_id, reply.study))
    }

    /// Has a job done. Dropping the stream does not stop it.
    pub async fn submit(&mut self, job: Job) -> anyhow::Result<Streaming<Progress>> {
        let reply = self.client.submit(peer::introduced(job, VERSION)).await;
        Ok(reply.map_err(|status| told(&self.url, &status))?.into_inner())
    }
}

fn silent(url: &str) -> String {
    format!("the coordinator at {url} does not answer; look at its log")
}

/// What a failed call means to an operator.
fn told(url: &str, status: &tonic::Status) -> anyhow::Error {
    match status.code() {
        tonic::Code::Unimplemented => anyhow::anyhow!(
            "what answers at {url} is no vufleet coordinator of this version ({}); check the address, or upgrade both \
             sides to one version",
            status.message()
        ),
        tonic::Code::Unavailable => {
            anyhow::anyhow!("the coordinator at {url} went away ({}); is it still running?", status.message())
        }
        _ if !status.message().is_empty() => anyhow::anyhow!("{}", status.message()),
        code => anyhow::anyhow!("the coordinator at {url} refused: {}", code.description()),
    }
}
