//! Agents that have been without a single session for too long. Virtual users reopen theirs for as long as it takes, and a
//! window that ends with their last transaction would wait for them for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long a database may let nobody in.
const PATIENCE: Duration = Duration::from_secs(120);

/// Since when agents have had no session.
#[derive(Debug, Default)]
pub(super) struct Unserved {
    since: BTreeMap<String, Instant>,
}

impl Unserved {
    /// Looks at the sessions of every agent that has something left to do. Returns one that has had none for too long.
    pub(super) fn too_long<'a>(
        &mut self,
        now: Instant,
        sessions: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Option<String> {
        let unserved = sessions.into_iter().filter(|(_, sessions)| *sessions == 0).map(|(agent, _)| agent);
        self.since = unserved.map(|agent| (agent.to_owned(), self.since.get(agent).copied().unwrap_or(now))).collect();
        self.since.iter().find(|(_, since)| now.duration_since(**since) > PATIENCE).map(|(agent, _)| agent.clone())
    }
}

/// What is wrong with such an agent.
pub(super) fn message() -> String {
    format!("none of its sessions could be opened again for {} s; is the database up?", PATIENCE.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database that died left a run of `transactions = N` waiting for ever.
    #[test]
    fn an_agent_may_be_without_a_session_for_a_while() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut unserved = Unserved::default();
        assert_eq!(unserved.too_long(at(0), [("a", 4), ("b", 0)]), None);
        assert_eq!(unserved.too_long(at(100), [("a", 0), ("b", 1)]), None, "b is back");
        assert_eq!(unserved.too_long(at(130), [("a", 0), ("b", 0)]), None);
        assert_eq!(unserved.too_long(at(220), [("a", 0), ("b", 0)]), None);
        assert_eq!(unserved.too_long(at(221), [("a", 0), ("b", 0)]), Some("a".to_owned()));
        assert_eq!(unserved.too_long(at(249), [("b", 0)]), None, "a has finished meanwhile");
    }
}
