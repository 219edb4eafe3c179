//! How many prepared statements a profile takes of a MySQL server.

use crate::oltp::Oltp;
use crate::session::Dialect;
use crate::sql::Protocol;
use crate::study::{self, Profile};
use crate::tprocc::TprocC;
use crate::workload::Workload;

/// What one profile takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    /// The profile's id.
    pub profile: String,
    /// Sessions of the whole fleet.
    pub sessions: u64,
    /// Prepared statements that one of them may hold.
    pub statements_per_session: u64,
    /// Whether it prepares them all at once; else each on its first use, and the number is an upper bound.
    pub eager: bool,
}

impl Demand {
    pub(super) fn of(profile: &Profile) -> Demand {
        match &profile.workload {
            study::Workload::Oltp(shape) => Demand::with::<Oltp>(profile, shape),
            study::Workload::Tprocc(shape) => Demand::with::<TprocC>(profile, shape),
        }
    }

    fn with<W: Workload>(profile: &Profile, shape: &W::Shape) -> Demand {
        let statements = W::statements(shape, Dialect::Mysql);
        let prepared = statements.iter().filter(|statement| statement.protocol == Protocol::Prepared);
        Demand {
            profile: profile.id.clone(),
            sessions: profile.sessions().into(),
            statements_per_session: prepared.count() as u64,
            eager: W::eager(shape),
        }
    }

    /// Of all its sessions.
    pub(super) fn statements(&self) -> u64 {
        self.sessions * self.statements_per_session
    }
}
