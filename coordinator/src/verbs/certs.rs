//! `vufleet certs`: the lab's authority and what it issues. Speaks to no coordinator.

mod init;
mod issue;
mod show;

use std::time::SystemTime;

use crate::args::Certs;
use crate::exit::Exit;

/// Does one of them.
pub fn run(certs: &Certs) -> anyhow::Result<Exit> {
    match certs {
        Certs::Init(args) => init::run(args),
        Certs::Issue(args) => issue::run(args),
        Certs::Show(args) => show::run(args),
    }
}

/// Days from now to an instant; 0 when it is past.
fn days_until(instant: SystemTime) -> u64 {
    instant.duration_since(SystemTime::now()).unwrap_or_default().as_secs() / vufleet_trust::validity::DAY.as_secs()
}
