//! What each script sends, and what its inputs depend on.

use super::*;

#[test]
fn read_write_sends_twenty_statements() {
    let calls = calls(&mut seated(Shape::new(Script::ReadWrite)));
    assert_eq!(calls.len(), 20);
    assert_eq!(calls[0], Call::Begin(Access::Write));
    assert_eq!(calls[19], Call::Commit);
    assert_eq!(statements_of(&calls), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn every_script_sends_its_statements_in_order() {
    let reads = [vec![0; 10], vec![1, 2, 3, 4]].concat();
    for (script, begin, statements) in [
        (Script::ReadOnly, Some(Access::Read), reads),
        (Script::WriteOnly, Some(Access::Write), vec![0, 1, 2, 3]),
        (Script::PointSelect, None, vec![0]),
        (Script::UpdateIndex, None, vec![0]),
        (Script::UpdateNonIndex, None, vec![0]),
        (Script::Insert, None, vec![0]),
        (Script::Delete, None, vec![0]),
    ] {
        let calls = calls(&mut seated(Shape::new(script)));
        assert_eq!(statements_of(&calls), statements, "{}", script.name());
        match begin {
            Some(access) => {
                assert_eq!(calls[0], Call::Begin(access), "{}", script.name());
                assert_eq!(calls.last(), Some(&Call::Commit), "{}", script.name());
            }
            None => assert_eq!(calls.len(), statements.len(), "{}", script.name()),
        }
        assert_eq!(Oltp::kinds(&Shape::new(script)), [script.name()]);
    }
}

#[test]
fn parameters_are_ids_ranges_texts_and_rows() {
    let shape = Shape { range_size: 7, ..Shape::new(Script::ReadWrite) };
    let sent = parameters_of(&calls(&mut seated(shape)));
    for point in &sent[..10] {
        assert_eq!(point.len(), 1);
        assert!((1..=10_000).contains(&int(&point[0])));
    }
    for range in &sent[10..14] {
        assert_eq!(int(&range[1]) - int(&range[0]), 6);
    }
    assert_eq!(sent[14].len(), 1);
    assert!(matches!(&sent[15][..], [Sent::Text(c), Sent::Int(_)] if c.len() == 119));
    let [Sent::Int(deleted)] = &sent[16][..] else { panic!("{:?}", sent[16]) };
    let [Sent::Int(inserted), Sent::Int(k), Sent::Text(c), Sent::Text(pad)] = &sent[17][..] else {
        panic!("{:?}", sent[17])
    };
    assert_eq!(deleted, inserted);
    assert!((1..=10_000).contains(k));
    assert_eq!((c.len(), pad.len()), (119, 59));
    assert!(!c.contains(pad.as_str()) && sent[15][0] != Sent::Text(c.clone()), "texts are drawn one by one");
}

#[test]
fn options_change_what_is_sent() {
    let shape = Shape::new(Script::ReadWrite);
    let sent = |shape: Shape| calls(&mut seated(shape));

    let autocommit = sent(Shape { skip_trx: true, ..shape.clone() });
    assert_eq!(autocommit.len(), 18);
    assert!(autocommit.iter().all(|call| matches!(call, Call::Execute(..))));

    let narrow = sent(Shape { range_selects: false, ..shape.clone() });
    assert_eq!(statements_of(&narrow), [vec![0; 10], vec![1, 2, 3, 4]].concat());

    let counts = Counts { point_selects: 2, sum_ranges: 0, order_ranges: 3, delete_inserts: 2, ..Counts::default() };
    let counted = sent(Shape { counts, ..shape.clone() });
    assert_eq!(statements_of(&counted), [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 6, 7]);

    let counts = Counts { index_updates: 0, non_index_updates: 0, delete_inserts: 0, ..Counts::default() };
    assert_eq!(sent(Shape { counts, ..shape })[0], Call::Begin(Access::Read), "a transaction that only reads");

    let counts = Counts { index_updates: 3, non_index_updates: 2, ..Counts::default() };
    let counted = |script| statements_of(&sent(Shape { counts, ..Shape::new(script) })).len();
    assert_eq!((counted(Script::UpdateIndex), counted(Script::UpdateNonIndex)), (3, 2));
}

#[test]
fn a_group_keeps_to_one_table_and_all_tables_are_used() {
    let shape = Shape { tables: 5, ..Shape::new(Script::ReadOnly) };
    let mut workload = seated(shape);
    let mut seen = [0; 5];
    let mut differ = 0;
    for _ in 0..500 {
        let statements = statements_of(&calls(&mut workload));
        assert!(statements[..10].iter().all(|stmt| *stmt == statements[0]), "{statements:?}");
        assert!(statements[10..].iter().zip(1..).all(|(stmt, position)| stmt % 5 == position), "{statements:?}");
        seen[usize::from(statements[0] / 5)] += 1;
        differ += usize::from(statements[0] / 5 != statements[10] / 5);
    }
    assert!(seen.iter().all(|count| (60..140).contains(count)), "{seen:?}");
    assert!((350..450).contains(&differ), "kinds of statements draw their tables independently: {differ}");
}

#[test]
fn the_last_statement_of_the_last_table_is_reached() {
    let shape = Rc::new(Shape { tables: Shape::MAX_TABLES, ..Shape::new(Script::ReadWrite) });
    let listed = Oltp::statements(&shape, Dialect::Mysql);
    let mut workload = Oltp::seat(Rc::clone(&shape), SEAT);
    let mut highest = 0;
    for _ in 0..200 {
        for (stmt, sent) in calls(&mut workload).iter().filter_map(|call| match call {
            Call::Execute(stmt, sent) => Some((*stmt, sent)),
            _ => None,
        }) {
            assert_eq!(listed[usize::from(stmt)].slots.len(), sent.len());
            highest = highest.max(stmt);
        }
    }
    assert!(highest > 64_000, "{highest}");
}

#[test]
fn a_retry_sends_the_same_inputs() {
    let mut workload = seated(Shape::new(Script::ReadWrite));
    let mut session = Scripted::<false>::new(&[(16, FaultKind::Deadlock)]);
    workload.draw();
    assert_eq!(ready(workload.run(&mut session)).unwrap_err().kind, FaultKind::Deadlock);
    let first = session.take();
    assert_eq!(first.len(), 18, "nothing is sent after the fault");
    assert_eq!(ready(workload.run(&mut session)), Ok(Outcome::Committed));
    let second = session.take();
    assert_eq!(second[..18], first[..]);
    assert_eq!(second.len(), 20);
    assert_ne!(calls(&mut workload), second, "the next transaction is another one");
}

#[test]
fn a_stream_depends_on_its_own_seat_alone() {
    let shape = Rc::new(Shape { tables: 3, ..Shape::new(Script::ReadWrite) });
    let sequence = |seat| {
        let mut workload = Oltp::seat(Rc::clone(&shape), seat);
        (0..5).map(|_| calls(&mut workload)).collect::<Vec<_>>()
    };
    let alone = sequence(SEAT);
    let mut neighbour = Oltp::seat(Rc::clone(&shape), Seat { vu: 4, ..SEAT });
    let mut workload = Oltp::seat(Rc::clone(&shape), SEAT);
    for transaction in &alone {
        calls(&mut neighbour);
        assert_eq!(&calls(&mut workload), transaction);
    }
    assert_eq!(sequence(Seat { run: 9, ..SEAT }), alone, "another run of the same study draws the same");
    for other in [Seat { seed: 43, ..SEAT }, Seat { vu: 4, ..SEAT }, Seat { session: 1, ..SEAT }] {
        assert_ne!(sequence(other), alone, "{other:?}");
    }
}

#[test]
fn buffers_are_used_again() {
    for distribution in [Distribution::default(), Distribution::Zipfian { exponent: 0.8 }] {
        let mut workload = seated(Shape { distribution, ..Shape::new(Script::ReadWrite) });
        workload.draw();
        let buffers = |workload: &Oltp| (workload.drawn.as_ptr(), workload.text.as_ptr());
        let first = buffers(&workload);
        for _ in 0..100 {
            workload.draw();
            assert_eq!(buffers(&workload), first);
        }
    }
}

#[test]
fn statements_are_prepared_early_when_they_are_prepared_at_all() {
    for (prepare, protocol, eager) in [
        (Prepare::Eager, Protocol::Prepared, true),
        (Prepare::Lazy, Protocol::Prepared, false),
        (Prepare::Eager, Protocol::Text, false),
        (Prepare::Lazy, Protocol::Text, false),
    ] {
        assert_eq!(Oltp::eager(&Shape { prepare, protocol, ..Shape::new(Script::ReadWrite) }), eager);
    }
}
