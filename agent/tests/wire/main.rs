//! The native MySQL session against what a real MariaDB said: recorded once, then played back in pieces, cut off, and mutilated.
//!
//! `scenes` says what is asked, `recorder` stands between a session and the server and keeps what both say, `player` says it
//! again. The server's words are never made up here; those of servers that cannot be had are in the driver's own tests.

mod cuts;
mod mutations;
mod player;
mod recorder;
mod scenes;

use std::sync::OnceLock;

use vufleet_scenarios::study::{self, Edits, Target};

use recorder::Recorded;

/// Runs a session the way virtual users' threads do.
fn run<T>(test: impl Future<Output = T>) -> T {
    vufleet_agent::session::install_tls_provider();
    vufleet_agent::event_loop::block_on(Box::pin(test)).expect("a loop")
}

/// A server behind a unix socket in that directory.
fn target(directory: &std::path::Path, user: &str, password: &str) -> Target {
    let text = format!(
        "name = 'wire'\nseed = 1\n[target]\nkind = 'mysql'\nsocket = '{}/s'\ndatabase = 'sbtest'\nuser = '{user}'\n\
         [workload]\nkind = 'oltp'\nscript = 'point_select'\n[[profiles]]\nvus = 1\n[schedule]\nmeasure = '1s'\n",
        directory.display()
    );
    Target { password: Some(password.to_owned().into()), ..study::read(&text, &Edits::default()).unwrap().target }
}

/// Every scene with what was said in it, recorded on first use.
fn recorded() -> &'static [Recorded] {
    static RECORDED: OnceLock<Vec<Recorded>> = OnceLock::new();
    RECORDED.get_or_init(recorder::record_all)
}
