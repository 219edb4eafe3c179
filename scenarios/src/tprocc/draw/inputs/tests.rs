use std::collections::BTreeMap;

use super::super::ITEMS;
use super::*;
use crate::random::stream;
use crate::workload::Seat;

const DRAWS: u32 = 20_000;

/// Everything drawn for transactions of one kind, with the lines of each.
fn drawn(calls: Calls, warehouses: u32, kind: usize) -> Vec<(Input, Vec<Line>)> {
    let shape = Shape::new(warehouses, calls);
    let seat = Seat { seed: 42, vu: 3, session: 0, vus: 8, sessions_per_vu: 1, run: 1 };
    let draw = Draw::new(&shape, Home::of(&shape, &seat), seat.seed);
    let (mut stream, mut lines) = (stream(11, &[kind as u64]), Vec::new());
    (0..DRAWS).map(|_| (draw.inputs(kind, &mut stream, &mut lines), lines.clone())).collect()
}

fn new_orders(calls: Calls, warehouses: u32) -> Vec<(NewOrder, Vec<Line>)> {
    let order = |(input, lines)| match input {
        Input::NewOrder(order) => (order, lines),
        other => panic!("{other:?}"),
    };
    drawn(calls, warehouses, 0).into_iter().map(order).collect()
}

fn payments(calls: Calls, warehouses: u32) -> Vec<Payment> {
    let payment = |(input, _)| match input {
        Input::Payment(payment) => payment,
        other => panic!("{other:?}"),
    };
    drawn(calls, warehouses, 1).into_iter().map(payment).collect()
}

/// The count is within five standard deviations of what a share of so many leads to.
#[track_caller]
fn share(count: usize, of: usize, percent: f64) {
    let (chance, of) = (percent / 100.0, of as f64);
    let bound = 5.0 * f64::sqrt(of * chance * (1.0 - chance));
    assert!((count as f64 - of * chance).abs() <= bound, "{count} of {of} is not {percent} %");
}

#[test]
fn orders_of_statements_are_drawn_by_the_specification() {
    let orders = new_orders(Calls::Statements, 10);
    let lines: Vec<Line> = orders.iter().flat_map(|(_, lines)| lines).copied().collect();
    assert!((lines.len() as f64 / f64::from(DRAWS) - 10.0).abs() < 0.12);
    share(lines.iter().filter(|line| line.supplier != 4).count(), lines.len(), 1.0);
    let rolled_back: Vec<_> = orders.iter().filter(|(order, _)| order.unused_item).collect();
    share(rolled_back.len(), orders.len(), 1.0);
    for (order, lines) in &orders {
        assert_eq!((order.warehouse, order.lines), (4, lines.len() as u32));
        assert!((1..=10).contains(&order.district) && (1..=3_000).contains(&order.customer));
        assert!((5..=15).contains(&order.lines));
        assert!(lines.is_sorted_by_key(|line| (line.item, line.supplier)), "{lines:?}");
        let unused = lines.iter().filter(|line| line.item == UNUSED_ITEM).count();
        assert_eq!(unused, usize::from(order.unused_item), "the unused item is one line, the last");
    }
    assert!(lines.iter().all(|line| line.item <= ITEMS || line.item == UNUSED_ITEM));
    assert!(lines.iter().all(|line| (1..=10).contains(&line.supplier) && (1..=10).contains(&line.quantity)));
    let mut suppliers: BTreeMap<u32, usize> = BTreeMap::new();
    lines.iter().filter(|line| line.supplier != 4).for_each(|line| *suppliers.entry(line.supplier).or_default() += 1);
    assert_eq!(suppliers.len(), 9);
    assert!(suppliers.values().all(|count| (150..300).contains(count)), "{suppliers:?}");
}

#[test]
fn procedures_draw_their_lines_themselves() {
    for (order, lines) in new_orders(Calls::Procedures, 10) {
        assert!(lines.is_empty() && !order.unused_item && (5..=15).contains(&order.lines));
    }
}

#[test]
fn a_single_warehouse_supplies_itself() {
    let mut orders = new_orders(Calls::Statements, 1).into_iter();
    assert!(orders.all(|(_, lines)| lines.iter().all(|line| line.supplier == 1)));
    assert!(payments(Calls::Statements, 1).iter().all(|payment| payment.customer_warehouse == 1));
}

#[test]
fn payments_are_drawn_by_the_specification_in_both_spellings() {
    for calls in [Calls::Statements, Calls::Procedures] {
        let payments = payments(calls, 10);
        let is_remote = |payment: &&Payment| payment.customer_warehouse != payment.warehouse;
        share(payments.iter().filter(is_remote).count(), payments.len(), 15.0);
        share(payments.iter().filter(|it| matches!(it.customer, Customer::Name(_))).count(), payments.len(), 60.0);
        for payment in &payments {
            assert!((100..=500_000).contains(&payment.amount));
            assert!(is_remote(&payment) || payment.customer_district == payment.district);
            assert!((1..=10).contains(&payment.district) && (1..=10).contains(&payment.customer_district));
            match payment.customer {
                Customer::Id(id) => assert!((1..=3_000).contains(&id)),
                Customer::Name(number) => assert!(number < 1_000),
            }
        }
        let mean = payments.iter().map(|payment| f64::from(payment.amount)).sum::<f64>() / f64::from(DRAWS);
        assert!((mean - 250_050.0).abs() < 5_500.0, "{mean}");
    }
}

/// How often the most frequent of the customers and of the names comes, as a multiple of what a uniform draw leads to.
fn skew(calls: Calls) -> [f64; 2] {
    let (mut ids, mut names) = (BTreeMap::new(), BTreeMap::new());
    for payment in payments(calls, 10) {
        match payment.customer {
            Customer::Id(id) => *ids.entry(id).or_insert(0_u32) += 1,
            Customer::Name(number) => *names.entry(number).or_insert(0) += 1,
        }
    }
    let most = |counts: &BTreeMap<u32, u32>, range: f64| {
        f64::from(*counts.values().max().unwrap()) * range / f64::from(counts.values().sum::<u32>())
    };
    [most(&ids, 3_000.0), most(&names, 1_000.0)]
}

#[test]
fn procedures_know_customers_uniformly_and_names_as_everybody() {
    let [ids, names] = skew(Calls::Statements);
    assert!(ids > 8.0 && names > 8.0, "{ids} {names}");
    let [ids, names] = skew(Calls::Procedures);
    assert!(ids < 6.0 && names > 8.0, "{ids} {names}");
}

#[test]
fn the_other_transactions_keep_their_ranges() {
    let mut thresholds = std::collections::BTreeSet::new();
    for (input, _) in drawn(Calls::Statements, 10, 4) {
        let Input::StockLevel { warehouse, district, threshold } = input else { panic!("{input:?}") };
        assert_eq!((warehouse, district), (4, 4), "the home warehouse and its fixed district");
        thresholds.insert(threshold);
    }
    assert_eq!(thresholds, (10..=20).collect());
    let carriers = drawn(Calls::Statements, 10, 3).into_iter().map(|(input, _)| match input {
        Input::Delivery { carrier, .. } => carrier,
        other => panic!("{other:?}"),
    });
    assert_eq!(carriers.collect::<std::collections::BTreeSet<u32>>(), (1..=10).collect());
    let names = drawn(Calls::Statements, 10, 2).into_iter().filter(|(input, _)| match input {
        Input::OrderStatus(query) => matches!(query.customer, Customer::Name(_)),
        other => panic!("{other:?}"),
    });
    share(names.count(), DRAWS as usize, 60.0);
}
