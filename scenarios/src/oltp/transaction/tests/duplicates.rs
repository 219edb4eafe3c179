//! Ids that another session has taken, and the ids of new rows.

use super::*;

const TAKEN: FaultKind = FaultKind::Duplicate;

fn write_only(skip_trx: bool) -> Oltp {
    seated(Shape { skip_trx, ..Shape::new(Script::WriteOnly) })
}

#[test]
fn only_the_insert_of_a_pair_is_tried_again() {
    let mut workload = write_only(true);
    let mut session = Scripted::<false>::new(&[(3, TAKEN), (4, TAKEN)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    let calls = session.take();
    assert_eq!(statements_of(&calls), [0, 1, 2, 3, 3, 3]);
    assert_eq!(calls.iter().filter(|call| **call == Call::Note(TAKEN)).count(), 2);
    let sent = parameters_of(&calls);
    assert!(sent[4..].iter().all(|row| *row == sent[3]), "the same row each time");
}

#[test]
fn a_row_that_stays_taken_is_given_up() {
    let mut workload = write_only(true);
    let mut session = Scripted::<false>::new(&[(3, TAKEN), (4, TAKEN), (5, TAKEN), (6, TAKEN), (7, TAKEN)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, TAKEN);
    let calls = session.take();
    assert_eq!(statements_of(&calls), [0, 1, 2, 3, 3, 3, 3]);
    assert_eq!(calls.iter().filter(|call| **call == Call::Note(TAKEN)).count(), 3, "the last is returned, not noted");
}

#[test]
fn inside_a_transaction_a_taken_id_is_returned_at_once() {
    let mut workload = write_only(false);
    let mut session = Scripted::<false>::new(&[(3, TAKEN)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, TAKEN);
    assert_eq!(session.take().len(), 5, "BEGIN and four statements");
}

#[test]
fn other_faults_of_a_pair_are_returned_at_once() {
    for kind in [FaultKind::Deadlock, FaultKind::LockTimeout, FaultKind::ConnectionLost] {
        for at in [2, 3] {
            let mut workload = write_only(true);
            let mut session = Scripted::<false>::new(&[(at, kind)]);
            workload.draw();
            assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, kind);
            let calls = session.take();
            assert_eq!(calls.len(), at + 1, "{calls:?}");
        }
    }
}

#[test]
fn a_database_that_numbers_rows_gets_no_id() {
    let sent = parameters_of(&calls(&mut seated(Shape::new(Script::Insert))));
    assert!(matches!(&sent[0][..], [Sent::Int(_), Sent::Text(_), Sent::Text(_)]), "{sent:?}");

    let mut workload = seated(Shape::new(Script::Insert));
    let mut session = Scripted::<false>::new(&[(0, TAKEN)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, TAKEN, "nothing can be drawn again");
    assert_eq!(session.take().len(), 1);
}

#[test]
fn sqlite_without_a_primary_key_gets_an_id_all_the_same() {
    let mut workload = seated(Shape { secondary: true, ..Shape::new(Script::Insert) });
    let mut session = Scripted::<true>::new(&[]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    let sent = parameters_of(&session.take());
    assert_eq!(sent[0].len(), 4);
    assert!(int(&sent[0][0]) > 10_000);
}

/// Ids that `count` inserts of a seat use.
fn new_ids(seat: Seat, table_size: u32, count: usize) -> Vec<i64> {
    let shape = Shape { auto_inc: false, table_size, ..Shape::new(Script::Insert) };
    let mut workload = Oltp::seat(Rc::new(shape), seat);
    (0..count).map(|_| int(&parameters_of(&calls(&mut workload))[0][0])).collect()
}

#[test]
fn new_rows_get_ids_above_the_table_that_no_run_repeats() {
    let first = new_ids(SEAT, 10_000, 200);
    assert!(first.iter().all(|id| (10_001..=i64::from(i32::MAX)).contains(id)));
    assert_eq!(first, new_ids(SEAT, 10_000, 200));
    for other in [Seat { run: 2, ..SEAT }, Seat { vu: 4, ..SEAT }, Seat { session: 1, ..SEAT }] {
        let ids = new_ids(other, 10_000, 200);
        assert!(ids.iter().all(|id| !first.contains(id)), "{other:?}");
    }
    assert!(new_ids(SEAT, Shape::MAX_TABLE_SIZE - 2, 50).iter().all(|id| *id > i64::from(i32::MAX) - 2));
}

#[test]
fn a_taken_id_is_noted_and_drawn_again() {
    let mut workload = seated(Shape { auto_inc: false, ..Shape::new(Script::Insert) });
    let mut session = Scripted::<false>::new(&[(0, TAKEN), (1, TAKEN), (3, FaultKind::LockTimeout)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    let calls = session.take();
    assert_eq!(calls.iter().filter(|call| **call == Call::Note(TAKEN)).count(), 2);
    let sent = parameters_of(&calls);
    assert!(sent[0][0] != sent[1][0] && sent[1][0] != sent[2][0] && sent[0][0] != sent[2][0]);
    assert!(sent.iter().all(|row| row[1..] == sent[0][1..]), "only the id is drawn again");

    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, FaultKind::LockTimeout);
    assert_eq!(parameters_of(&session.take())[0], sent[2], "a retry keeps the id that was drawn last");
}

#[test]
fn ids_that_stay_taken_fail_the_insert() {
    let mut workload = seated(Shape { auto_inc: false, ..Shape::new(Script::Insert) });
    let taken: Vec<_> = (0..20).map(|at| (at, TAKEN)).collect();
    let mut session = Scripted::<false>::new(&taken);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, TAKEN);
    let calls = session.take();
    assert_eq!(statements_of(&calls).len(), 10);
    assert_eq!(calls.iter().filter(|call| **call == Call::Note(TAKEN)).count(), 9);
}

#[test]
fn the_same_run_again_on_the_same_tables_moves_on_to_other_ids() {
    // Every id of the first stream is taken by the run before.
    let before = new_ids(SEAT, 10_000, 50);
    let mut workload = seated(Shape { auto_inc: false, ..Shape::new(Script::Insert) });
    let mut session = Scripted::<false>::new(&[(0, TAKEN)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    let mut now: Vec<i64> = parameters_of(&session.take())[1..].iter().map(|row| int(&row[0])).collect();
    now.extend((0..20).map(|_| int(&parameters_of(&calls(&mut workload))[0][0])));
    assert!(now.iter().all(|id| !before.contains(id)), "one duplicate is enough to leave the stream");
}

#[test]
fn no_id_is_left_above_the_largest_table() {
    let shape = Shape { auto_inc: false, table_size: Shape::MAX_TABLE_SIZE, ..Shape::new(Script::Insert) };
    let mut workload = seated(shape);
    let mut session = Scripted::<false>::new(&[]);
    workload.draw();
    let fault = ready(workload.run(&mut session)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Statement);
    assert!(fault.message.contains("auto_inc"), "{fault}");
    assert!(session.take().is_empty());
}
