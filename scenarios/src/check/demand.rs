//! How many prepared statements a profile takes of a MySQL server.

use crate::custom::Custom;
use crate::oltp::{Oltp, Prepare};
use crate::session::Dialect;
use crate::sql::Protocol;
use crate::study::{self, Profile};
use crate::tprocc::{Calls, TprocC};
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
    /// What the study may do to take fewer.
    pub otherwise: &'static str,
}

impl Demand {
    pub(super) fn of(profile: &Profile) -> Demand {
        match &profile.workload {
            study::Workload::Oltp(shape) => {
                let otherwise = match shape.prepare {
                    Prepare::Eager => "prepare = \"lazy\" or protocol = \"text\" in [workload]",
                    Prepare::Lazy => "protocol = \"text\" in [workload]",
                };
                Demand::with::<Oltp>(profile, shape, otherwise)
            }
            study::Workload::Tprocc(shape) => {
                let otherwise = match shape.calls {
                    Calls::Procedures => "lower the profile's vus",
                    Calls::Statements => "protocol = \"text\" in [workload]",
                };
                Demand::with::<TprocC>(profile, shape, otherwise)
            }
            study::Workload::Custom(shape) => {
                Demand::with::<Custom>(profile, shape, "protocol = \"text\" in [workload]")
            }
        }
    }

    fn with<W: Workload>(profile: &Profile, shape: &W::Shape, otherwise: &'static str) -> Demand {
        let statements = W::statements(shape, Dialect::Mysql);
        let prepared = statements.iter().filter(|statement| statement.protocol == Protocol::Prepared);
        Demand {
            profile: profile.id.clone(),
            sessions: profile.sessions().into(),
            statements_per_session: prepared.count() as u64,
            eager: W::eager(shape),
            otherwise,
        }
    }

    /// Of all its sessions.
    pub(super) fn statements(&self) -> u64 {
        self.sessions * self.statements_per_session
    }
}
