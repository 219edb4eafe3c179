//! Where a virtual user works: a warehouse, or one of several for each transaction, and a district for Stock-Level.

use super::{DISTRICTS, uniform};
use crate::random::Stream;
use crate::tprocc::Shape;
use crate::workload::Seat;

/// A virtual user's place among the warehouses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tprocc) struct Home {
    /// Its first warehouse.
    first: u32,
    /// The next one is so many further.
    step: u32,
    /// How many it has.
    count: u32,
    /// Fixed for its life [2.8.1.1].
    pub(in crate::tprocc) district: u32,
}

impl Home {
    /// One warehouse each. Where virtual users share warehouses, neighbours do, so that an agent, which has a range of
    /// virtual users, has whole warehouses where there is one for every agent.
    pub(in crate::tprocc) fn of(shape: &Shape, seat: &Seat) -> Home {
        let (warehouses, vus) = (shape.warehouses, seat.vus.max(seat.vu + 1));
        let district = seat.vu % DISTRICTS + 1;
        if shape.all_warehouses {
            let first = seat.vu % warehouses;
            let count = (warehouses - first).div_ceil(vus);
            return Home { first: first + 1, step: vus, count, district };
        }
        let home = match vus <= warehouses {
            true => seat.vu,
            false => (u64::from(seat.vu) * u64::from(warehouses) / u64::from(vus)) as u32,
        };
        Home { first: home + 1, step: 0, count: 1, district }
    }

    /// The first of each row of neighbours that share a warehouse; each by itself where nobody shares.
    pub(in crate::tprocc) fn neighbourhoods(shape: &Shape, vus: u32) -> Vec<u32> {
        if shape.all_warehouses || vus <= shape.warehouses {
            return (0..vus).collect();
        }
        // The first virtual user of whom `of` says this warehouse or a later one.
        let first = |warehouse: u32| u64::from(warehouse) * u64::from(vus);
        (0..shape.warehouses).map(|warehouse| first(warehouse).div_ceil(shape.warehouses.into()) as u32).collect()
    }

    /// The warehouse of the next transaction.
    pub(in crate::tprocc) fn warehouse(&self, stream: &mut Stream) -> u32 {
        match self.count {
            1 => self.first,
            count => self.first + self.step * uniform(stream, 0, count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::stream;
    use crate::tprocc::Calls;

    fn homes(warehouses: u32, vus: u32, all_warehouses: bool) -> Vec<Home> {
        let shape = Shape { all_warehouses, ..Shape::new(warehouses, Calls::Statements) };
        (0..vus)
            .map(|vu| Home::of(&shape, &Seat { seed: 1, vu, session: 0, vus, sessions_per_vu: 1, run: 1 }))
            .collect()
    }

    fn drawn(home: &Home) -> BTreeSet<u32> {
        let mut stream = stream(5, &[]);
        (0..2_000).map(|_| home.warehouse(&mut stream)).collect()
    }

    #[test]
    fn each_user_has_a_warehouse_of_its_own_while_there_are_enough() {
        let firsts: Vec<u32> = homes(8, 4, false).iter().map(|home| home.first).collect();
        assert_eq!(firsts, [1, 2, 3, 4]);
        assert!(homes(8, 4, false).iter().all(|home| drawn(home).len() == 1));
    }

    #[test]
    fn users_share_warehouses_evenly_and_with_their_neighbours() {
        let firsts: Vec<u32> = homes(3, 7, false).iter().map(|home| home.first).collect();
        assert_eq!(firsts, [1, 1, 1, 2, 2, 3, 3]);
        for (warehouses, vus) in [(10, 100), (7, 100), (1, 16), (2_048, 10_240)] {
            let firsts: Vec<u32> = homes(warehouses, vus, false).iter().map(|home| home.first).collect();
            assert!(firsts.is_sorted());
            for warehouse in 1..=warehouses {
                let users = firsts.iter().filter(|first| **first == warehouse).count() as u32;
                assert!((vus / warehouses..=vus.div_ceil(warehouses)).contains(&users), "{warehouse}: {users}");
            }
        }
    }

    #[test]
    fn a_neighbourhood_is_a_warehouse() {
        for (warehouses, vus, all) in
            [(4, 16, false), (3, 7, false), (7, 100, false), (8, 4, false), (3, 7, true), (2_048, 10_240, false)]
        {
            let shape = Shape { all_warehouses: all, ..Shape::new(warehouses, Calls::Statements) };
            let homes = homes(warehouses, vus, all);
            let is_first = |vu: &u32| *vu == 0 || all || homes[*vu as usize].first != homes[*vu as usize - 1].first;
            let expected: Vec<u32> = (0..vus).filter(is_first).collect();
            assert_eq!(Home::neighbourhoods(&shape, vus), expected, "{warehouses} {vus} {all}");
        }
    }

    #[test]
    fn all_warehouses_are_taken_by_their_remainder() {
        let homes = homes(10, 4, true);
        let expected: [&[u32]; 4] = [&[1, 5, 9], &[2, 6, 10], &[3, 7], &[4, 8]];
        for (home, warehouses) in homes.iter().zip(expected) {
            assert_eq!(drawn(home), warehouses.iter().copied().collect());
        }
        let shared: Vec<u32> = self::homes(3, 7, true).iter().map(|home| home.first).collect();
        assert_eq!(shared, [1, 2, 3, 1, 2, 3, 1]);
        assert!(self::homes(3, 7, true).iter().all(|home| drawn(home).len() == 1));
    }

    #[test]
    fn neighbours_watch_different_districts() {
        let districts: Vec<u32> = homes(1, 12, false).iter().map(|home| home.district).collect();
        assert_eq!(districts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]);
    }
}
