//! One suite for every driver: what a workload may rely on, whatever database it runs on.
//!
//! `suite` holds the points that are the same everywhere, `mysql`, `mssql`, `sqlite` and `simulated` what only they have.
//! No SQL Server can be started here: its tests run on the one that VUFLEET_TEST_MSSQL names, and are left out without.
//! `simulated` stores nothing: for it, [`Engine::stores`] turns a point about data into one about its absence.

mod bulk;
mod engine;
mod mssql;
mod mysql;
mod mysql_load;
mod mysql_refusals;
mod mysql_tls;
mod simulated;
mod sqlite;
mod suite;

use bulk::{bulk_in_a_transaction_commits_nothing_by_itself, bulk_loads_every_row_as_it_is};
use engine::{Engine, run_for};
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
                values_survive_a_load,
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
                // A server that nobody named is no engine.
                let Some(engine) = Option::<Engine>::from($open) else { return };
                let engine = engine.named(stringify!($point));
                run_for::<$session, _>(engine.clear::<$session>());
                run_for::<$session, _>(super::$point::<$session>(&engine));
                run_for::<$session, _>(engine.clear::<$session>());
            }
        )*
    };
}

/// Runs what only MySQL servers do as tests on one driver.
macro_rules! conform_mysql {
    ($driver:ident: $session:ty) => {
        mod $driver {
            conform_mysql!(@points $session, mysql, [
                an_error_of_a_procedure_behind_its_rows_is_not_missed,
                out_parameters_follow_the_results,
                a_table_altered_behind_a_prepared_statement_is_read_as_it_is,
                a_deadlock_has_a_victim_and_a_winner,
                nothing_is_left_of_a_transaction_that_waited_too_long,
                a_killed_connection_is_lost_idle_or_busy,
                a_server_killed_and_restarted_takes_sessions_back,
                statements_over_the_time_limit_are_deadlines,
                a_session_sends_nothing_of_its_own,
                the_limit_of_prepared_statements_does_not_end_the_connection,
                the_largest_packet_limits_bulk_batches,
                discard_closes_the_socket_without_the_runtimes_help,
                unsigned_and_odd_types_read_the_same_in_both_protocols,
            ]);
            conform_mysql!(@points $session, mysql_refusals, [
                a_refused_login_names_user_place_database_and_remedy,
                a_full_server_says_which_limit,
                a_place_without_a_server_is_named,
                tls_over_a_socket_is_refused_rather_than_left_out,
                what_hangs_instead_of_a_server_is_given_up,
            ]);
            conform_mysql!(@points $session, mysql_tls, [
                the_wire_is_encrypted_exactly_when_it_says_so,
                a_server_without_tls_is_asked_once,
                verify_wants_the_right_authority_and_the_right_name,
                a_client_certificate_is_shown_to_those_who_ask,
            ]);
        }
    };
    (@points $session:ty, $module:ident, [$($point:ident),* $(,)?]) => {
        $(
            #[test]
            fn $point() {
                crate::$module::$point::<$session>();
            }
        )*
    };
}

conform_mysql!(native: vufleet_agent::session::MysqlSession);
conform_mysql!(by_mysql_async: vufleet_agent::session::MysqlAsyncSession);
conform!(mysql_over_tcp: vufleet_agent::session::MysqlSession = Engine::mysql_tcp());
conform!(mysql_over_a_socket: vufleet_agent::session::MysqlSession = Engine::mysql_socket());
conform!(mysql_with_tls: vufleet_agent::session::MysqlSession = Engine::mysql_tls());
conform!(mysql_async_over_tcp: vufleet_agent::session::MysqlAsyncSession = Engine::mysql::<vufleet_agent::session::MysqlAsyncSession>());
conform!(sqlite_file: vufleet_agent::session::SqliteSession = Engine::sqlite());
conform!(no_database: vufleet_agent::session::SimulatedSession = Engine::simulated());
conform!(mssql_server: vufleet_agent::session::MssqlSession = Engine::mssql());
