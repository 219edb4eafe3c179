//! What the rows of a warehouse look like, table by table.

use std::collections::BTreeSet;

use super::*;
use crate::session::Value;
use crate::tprocc::names::LastName;

/// A value that outlives its row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Int(i64),
    Decimal(i64, u8),
    Text(String),
    Instant(i64),
}

impl Cell {
    fn int(&self) -> i64 {
        match self {
            Cell::Int(value) | Cell::Decimal(value, _) => *value,
            other => panic!("{other:?} is no number"),
        }
    }

    fn text(&self) -> &str {
        match self {
            Cell::Text(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }
}

fn cell(value: &Value<'_>) -> Cell {
    match *value {
        Value::Null => Cell::Null,
        Value::Int(value) => Cell::Int(value),
        Value::Decimal(value, digits) => Cell::Decimal(value, digits),
        Value::Text(text) => Cell::Text(text.to_owned()),
        Value::Instant(micros) => Cell::Instant(micros),
        other => panic!("unexpected {other:?}"),
    }
}

/// All rows of one table of a warehouse's loads.
struct Rows {
    columns: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Rows {
    fn column(&self, name: &str) -> impl Iterator<Item = &Cell> {
        let index = self.columns.iter().position(|column| *column == name).expect(name);
        self.rows.iter().map(move |row| &row[index])
    }

    fn ints(&self, name: &str) -> Vec<i64> {
        self.column(name).map(Cell::int).collect()
    }

    fn texts(&self, name: &str) -> Vec<&str> {
        self.column(name).map(Cell::text).collect()
    }
}

fn table(seed: u64, warehouse: u32, name: &str) -> Rows {
    let loads = loads(seed, warehouse);
    let mut load = loads.batches.into_iter().chain(loads.seal).find(|load| load.table == name).expect(name);
    let mut rows = Vec::new();
    while load.source.next(&mut |row| rows.push(row.iter().map(cell).collect())) {}
    assert!(!load.source.next(&mut |_| panic!("a source that has ended stays so")));
    assert!(rows.iter().all(|row: &Vec<Cell>| row.len() == load.columns.len()));
    Rows { columns: load.columns, rows }
}

/// Within a tenth of what is expected.
#[track_caller]
fn about(count: usize, expected: usize) {
    assert!(count.abs_diff(expected) * 10 < expected, "{count} is not about {expected}");
}

#[test]
fn items_have_prices_and_a_tenth_is_original() {
    let items = table(1, 1, "item");
    assert_eq!(items.ints("i_id"), (1..=100_000).collect::<Vec<_>>());
    assert!(items.ints("i_price").iter().all(|price| (100..=10_000).contains(price)));
    assert!(items.ints("i_im_id").iter().all(|image| (1..=10_000).contains(image)));
    assert!(items.texts("i_name").iter().all(|name| (14..=24).contains(&name.len())));
    about(items.texts("i_data").iter().filter(|data| data.contains("ORIGINAL")).count(), 10_000);
    assert_eq!(loads(1, 2).batches.iter().filter(|load| load.table == "item").count(), 0);
}

#[test]
fn stocks_cover_every_item() {
    let stocks = table(1, 2, "stock");
    assert_eq!(stocks.ints("s_i_id"), (1..=100_000).collect::<Vec<_>>());
    assert!(stocks.ints("s_w_id").iter().all(|id| *id == 2));
    let quantities: BTreeSet<i64> = stocks.ints("s_quantity").into_iter().collect();
    assert_eq!(quantities, (10..=100).collect());
    for zero in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
        assert!(stocks.ints(zero).iter().all(|count| *count == 0), "{zero}");
    }
    about(stocks.texts("s_data").iter().filter(|data| data.contains("ORIGINAL")).count(), 10_000);
    assert!(stocks.texts("s_dist_10").iter().all(|info| info.len() == 24));
    let unlike: BTreeSet<&str> = ["s_dist_01", "s_dist_10"].iter().flat_map(|name| stocks.texts(name)).collect();
    assert_eq!(unlike.len(), 200_000);
}

#[test]
fn places_begin_with_what_their_customers_have_paid() {
    let warehouse = table(1, 3, "warehouse");
    assert_eq!((warehouse.ints("w_id"), warehouse.ints("w_ytd")), (vec![3], vec![30_000_000]));
    let districts = table(1, 3, "district");
    assert_eq!(districts.ints("d_id"), (1..=10).collect::<Vec<_>>());
    assert_eq!(districts.ints("d_next_o_id"), [3_001; 10]);
    assert_eq!(districts.ints("d_ytd"), [3_000_000; 10]);
    assert!(districts.ints("d_tax").iter().chain(&warehouse.ints("w_tax")).all(|tax| (0..=2_000).contains(tax)));
    assert!(districts.texts("d_name").iter().all(|name| (6..=10).contains(&name.len())));
    assert!(districts.texts("d_zip").iter().all(|zip| zip.len() == 9 && zip.ends_with("11111")));
    let paid = table(1, 3, "history");
    assert_eq!(paid.ints("h_amount").iter().sum::<i64>(), 30_000_000);
    assert_eq!(paid.ints("h_c_id"), table(1, 3, "customer").ints("c_id"));
    assert_eq!((paid.ints("h_d_id"), paid.ints("h_w_id")), (paid.ints("h_c_d_id"), paid.ints("h_c_w_id")));
    assert!(paid.texts("h_data").iter().all(|data| (12..=24).contains(&data.len())));
}

#[test]
fn customers_are_named_and_credited_as_specified() {
    let customers = table(1, 1, "customer");
    assert_eq!(customers.rows.len(), 30_000);
    let names = customers.texts("c_last");
    assert_eq!((names[0], names[371], names[999]), ("BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"));
    for district in names.chunks(3_000) {
        assert_eq!(district[..1_000].iter().collect::<BTreeSet<_>>().len(), 1_000, "each number has its name");
    }
    about(customers.texts("c_credit").iter().filter(|credit| **credit == "BC").count(), 3_000);
    assert!(customers.ints("c_discount").iter().all(|discount| (0..=5_000).contains(discount)));
    assert!(customers.ints("c_balance").iter().all(|balance| *balance == -1_000));
    assert!(customers.ints("c_ytd_payment").iter().all(|paid| *paid == 1_000));
    let lengths: BTreeSet<usize> = customers.texts("c_data").iter().map(|data| data.len()).collect();
    assert_eq!(lengths, (300..=500).collect());
    assert!(customers.texts("c_phone").iter().all(|phone| phone.len() == 16));
}

/// NURand favours numbers with many bits set: with C taken off, 255 far more than 256.
#[test]
fn later_customers_share_the_frequent_names() {
    let (frequent, rare) = (LastName::of(255 + 123), LastName::of(256 + 123));
    let customers = table(1, 1, "customer");
    let later =
        customers.texts("c_last").chunks(3_000).flat_map(|district| district[1_000..].to_vec()).collect::<Vec<_>>();
    let count = |name: LastName| later.iter().filter(|last| **last == name.as_str()).count();
    assert!(count(frequent) > 10 * count(rare).max(1), "{} and {}", count(frequent), count(rare));
}

#[test]
fn orders_are_a_permutation_of_the_customers() {
    let orders = table(1, 1, "orders");
    let customers = orders.ints("o_c_id");
    let mut permutations = BTreeSet::new();
    for district in customers.chunks(3_000) {
        assert_eq!(district.iter().copied().collect::<BTreeSet<_>>(), (1..=3_000).collect());
        permutations.insert(district.to_vec());
    }
    assert_eq!(permutations.len(), 10, "each district has its own");
    for (id, carrier) in orders.ints("o_id").into_iter().zip(orders.column("o_carrier_id")) {
        assert_eq!(id <= 2_100, matches!(carrier, Cell::Int(1..=10)), "order {id}");
    }
    assert!(orders.ints("o_all_local").iter().all(|local| *local == 1));
    let waiting = table(1, 1, "new_order");
    assert_eq!(waiting.ints("no_o_id"), (2_101..=3_000).cycle().take(9_000).collect::<Vec<_>>());
    assert_eq!(waiting.ints("no_d_id").iter().collect::<BTreeSet<_>>().len(), 10);
}

#[test]
fn lines_fit_their_orders() {
    let (orders, lines) = (table(1, 2, "orders"), table(1, 2, "order_line"));
    let mut at = 0;
    let (amounts, delivered) = (lines.ints("ol_amount"), lines.column("ol_delivery_d").cloned().collect::<Vec<_>>());
    let (ids, numbers) = (lines.ints("ol_o_id"), lines.ints("ol_number"));
    let entered = orders.column("o_entry_d").next().cloned().unwrap();
    assert!(matches!(entered, Cell::Instant(micros) if micros % 1_000_000 == 0));
    for (id, count) in orders.ints("o_id").into_iter().zip(orders.ints("o_ol_cnt")) {
        assert!((5..=15).contains(&count));
        for number in 1..=count {
            assert_eq!((ids[at], numbers[at]), (id, number));
            let as_loaded =
                if id <= 2_100 { amounts[at] == 0 && delivered[at] == entered } else { delivered[at] == Cell::Null };
            assert!(
                as_loaded && (0..=10_000).contains(&amounts[at]),
                "order {id}: {}, {:?}",
                amounts[at],
                delivered[at]
            );
            at += 1;
        }
    }
    assert_eq!(at, lines.rows.len(), "no line is left over");
    about(at, 300_000);
    assert!(lines.ints("ol_i_id").iter().all(|item| (1..=100_000).contains(item)));
    assert!(lines.ints("ol_quantity").iter().all(|quantity| *quantity == 5));
    assert_eq!(lines.ints("ol_supply_w_id"), lines.ints("ol_w_id"));
}

#[test]
fn a_warehouse_is_the_same_whoever_loads_it() {
    for name in ["district", "new_order", "history", "customer"] {
        let first = table(42, 7, name).rows;
        assert_eq!(first, table(42, 7, name).rows, "{name}");
        if name != "new_order" {
            assert_ne!(first[0][3..], table(43, 7, name).rows[0][3..], "{name} of another seed");
            let other = table(42, 8, name).rows;
            assert_ne!(first[0].last(), other[0].last(), "{name} of another warehouse");
        }
    }
}
