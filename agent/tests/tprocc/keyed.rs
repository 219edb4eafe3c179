//! The pace of people who key in and think.

use vufleet_scenarios::study::{self, Edits};

use super::crew::{Load, Orders};

/// A tenth of the specification's times: a mean cycle takes two seconds.
const SCALE: f64 = 0.1;
const SESSIONS: u32 = 4_000;

const MINUTE_NS: f64 = 60e9;

#[tokio::test]
async fn a_session_of_people_enters_as_many_orders_a_minute_as_the_specification_lets_it() {
    let text = format!(
        "name = 'keyed'\nseed = 1\n[target]\nkind = 'simulated'\nservice_time = '1ms'\n[workload]\nkind = 'tprocc'\n\
         warehouses = 400\n[[profiles]]\nvus = {SESSIONS}\npacing = {{ keying_thinking = {{ scale = {SCALE} }} }}\n\
         [schedule]\nmeasure = '1s'\nconnect_rate = 100000\n"
    );
    let study = study::read(&text, &Edits::default()).expect("a sound study");
    let cycle_ns = study.workload.terminal().expect("people").mean_cycle.mul_f64(SCALE).as_nanos() as u64;
    let mut load = Load::start(study, None).await;
    load.until(|told| !told.intervals.is_empty()).await;
    let begun_ns = load.told.intervals[0].start_ns;
    load.until(|told| told.intervals.iter().any(|it| it.end_ns > begun_ns + 5 * cycle_ns)).await;
    let told = load.stop().await;
    // Everybody begins somewhere in the first cycle, whatever the kind of the first transaction, and the next one has
    // less to do for it. Three usual ones follow.
    let inside: Vec<&Orders> = told
        .intervals
        .iter()
        .filter(|it| it.start_ns >= begun_ns + 2 * cycle_ns && it.end_ns <= begun_ns + 5 * cycle_ns)
        .collect();
    let orders: u64 = inside.iter().map(|it| it.new_orders).sum();
    // Time of all sessions together, less what they waited for transactions: on a busy machine that is long.
    let time_ns: f64 = inside.iter().map(|it| (it.end_ns - it.start_ns) as f64 * f64::from(SESSIONS)).sum();
    let people_ns = time_ns - inside.iter().map(|it| it.response_ns).sum::<f64>();
    let per_minute = orders as f64 / people_ns * MINUTE_NS * SCALE;
    assert!((1.20..1.30).contains(&per_minute), "{per_minute} of {orders} orders");
}
