//! What single sessions cost: their requests as another session saw them, once an interval.
//!
//! CPU and elapsed time of a request are those of the last look at it. What it did after that is not in them, up to one
//! interval's worth, and a request that began and ended between two looks was never seen.

use std::collections::BTreeMap;

use serde::Serialize;
use vufleet_proto::v1;

/// One look at one session's request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestLook {
    /// Name of the agent that looked.
    pub agent: String,
    /// Before it looked.
    pub before_ns: u64,
    /// After.
    pub after_ns: u64,
    /// The server's number of the session.
    pub session_id: u64,
    /// When the request began, on the server's own clock.
    started_ms: u64,
    /// Its CPU time so far.
    pub cpu_ms: u64,
    /// Time since its start.
    pub elapsed_ms: u64,
    /// What it waited for just then; empty for nothing.
    pub wait: String,
}

/// What was seen of one session inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionRequests {
    /// The server's number of the session.
    pub session_id: u64,
    /// Requests that were seen at least once.
    pub requests: u64,
    /// Their CPU time, as it was last seen of each.
    pub cpu_ms: u64,
    /// Their elapsed time, as it was last seen of each.
    pub elapsed_ms: u64,
    /// The request with the longest elapsed time: its CPU time.
    pub longest_cpu_ms: u64,
    /// And its elapsed time.
    pub longest_elapsed_ms: u64,
    /// How often it was seen waiting, by what for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, u64>,
}

impl RequestLook {
    /// Every look of a reading.
    pub(super) fn all_of(agent: &str, counters: &v1::Counters) -> Vec<RequestLook> {
        let look = |request: &v1::RequestSample| RequestLook {
            agent: agent.to_owned(),
            before_ns: counters.before_ns,
            after_ns: counters.after_ns,
            session_id: request.session_id,
            started_ms: request.started_ms,
            cpu_ms: request.cpu_ms,
            elapsed_ms: request.elapsed_ms,
            wait: request.wait.clone(),
        };
        counters.requests.iter().map(look).collect()
    }
}

/// Sums up looks, which come in the order of their instants, by session.
pub(super) fn by_session<'l>(looks: impl Iterator<Item = &'l RequestLook>) -> Vec<SessionRequests> {
    let mut last: BTreeMap<(u64, u64), &RequestLook> = BTreeMap::new();
    let mut sessions: BTreeMap<u64, SessionRequests> = BTreeMap::new();
    for look in looks {
        last.insert((look.session_id, look.started_ms), look);
        let session = sessions.entry(look.session_id).or_default();
        if !look.wait.is_empty() {
            *session.waits.entry(look.wait.clone()).or_default() += 1;
        }
    }
    for ((session_id, _), look) in last {
        let session = sessions.entry(session_id).or_default();
        session.session_id = session_id;
        session.requests += 1;
        session.cpu_ms += look.cpu_ms;
        session.elapsed_ms += look.elapsed_ms;
        if look.elapsed_ms >= session.longest_elapsed_ms {
            (session.longest_cpu_ms, session.longest_elapsed_ms) = (look.cpu_ms, look.elapsed_ms);
        }
    }
    sessions.into_values().collect()
}
