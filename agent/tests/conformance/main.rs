//! One suite for every driver: what a workload may rely on, whatever database it runs on.
//!
//! `suite` holds the points that are the same everywhere, `mysql`, `sqlite` and `simulated` what only they have.
//! `simulated` stores nothing: for it, [`Engine::stores`] turns a point about data into one about its absence.

mod bulk;
mod engine;
mod mysql;
mod mysql_refusals;
mod mysql_tls;
mod simulated;
mod sqlite;
mod suite;

use bulk::{bulk_in_a_transaction_commits_nothing_by_itself, bulk_loads_every_row_as_it_is};
use engine::{Engine, run};
use suite::*;

/// Runs every point of the suite as a test of its own on one engine.
macro_rules! conform {
    ($engine:ident: $session:ty = $open:expr) => {
        mod $engine {
            use super::*;
            conform!(@points $session, $open, [
                values_survive_prepared,
                values_survive_as_text,
                affected_rows_are_counted,
                result_sets_are_announced_in_order,
                an_error_behind_a_result_is_not_missed,
                commit_keeps_and_rollback_forgets,
                a_duplicate_key_is_told_from_other_faults,
                a_wrong_statement_leaves_the_session_usable,
                a_wrong_number_of_parameters_leaves_the_session_usable,
                statements_prepare_at_once_or_on_first_use,
                bulk_loads_every_row_as_it_is,
                bulk_in_a_transaction_commits_nothing_by_itself,
                an_interrupt_ends_the_query_and_not_the_session,
                sessions_close_and_open_again,
            ]);
        }
    };
    (@points $session:ty, $open:expr, [$($point:ident),* $(,)?]) => {
        $(
            #[test]
            fn $point() {
                let engine: Engine = $open;
                run(super::$point::<$session>(&engine.named(stringify!($point))));
            }
        )*
    };
}

conform!(mysql_over_tcp: vufleet_agent::session::MysqlSession = Engine::mysql_tcp());
conform!(mysql_over_a_socket: vufleet_agent::session::MysqlSession = Engine::mysql_socket());
conform!(mysql_with_tls: vufleet_agent::session::MysqlSession = Engine::mysql_tls());
conform!(sqlite_file: vufleet_agent::session::SqliteSession = Engine::sqlite());
conform!(no_database: vufleet_agent::session::SimulatedSession = Engine::simulated());
